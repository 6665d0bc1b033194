"""Reads the sources that an answer names; how they are shown is in :mod:`partstream.protocols.citations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.outputs import CitationMode, Unmapped
from partstream.protocols.ai_sdk.fields import (
    MEDIA_TYPE,
    SOURCE_ID,
    Chunk,
    count,
    field,
    identifier,
    mapping,
    metadata,
    sequence,
)
from partstream.protocols.ai_sdk.wrapping import PROVIDER
from partstream.protocols.citations import Citation, Citations

if TYPE_CHECKING:
    from partstream.outputs import StreamOptions, StreamOutput
    from partstream.protocols.citations import RecentText

__all__ = ["Sources"]


class Sources:
    """The sources of one response, each shown once.

    Args:
        options: How.
        said: The visible text.
    """

    def __init__(self, options: StreamOptions, said: RecentText) -> None:
        self._citations = Citations(options.citations)
        self._said = said

    def source(self, chunk: Chunk) -> list[StreamOutput]:
        """The outputs of a source chunk at its place."""
        # No version has a place for the span on the source itself; our own servers say it as a word of theirs.
        source = mapping(chunk, ("source",)) or chunk
        return self._cite(source, mapping(metadata(source), (PROVIDER,)), chunk["type"])

    def of_text(self, chunk: Chunk) -> list[StreamOutput]:
        """The outputs of a text block's citations at its end; version 7 states them beside the sources."""
        outputs: list[StreamOutput] = []
        for citation in sequence(chunk, ("citations",)):
            if isinstance(citation, dict):
                outputs += self._cite(mapping(citation, ("source",)) or citation, citation, "citation")
            else:
                outputs.append(Unmapped("citation", {"type": "citation", "value": citation}))
        return outputs

    def at_end(self) -> list[StreamOutput]:
        """The list of links at the end of the answer, if there is one to show."""
        return self._citations.at_end()

    def _cite(self, source: Chunk, place: Chunk, kind: str) -> list[StreamOutput]:
        url, source_id = _address(source), identifier(source, SOURCE_ID)
        start, end = count(place, ("startIndex",)), count(place, ("endIndex",))
        # As data every place is a citation of its own; as a link one is enough for all of them.
        positions = (start, end) if self._citations.mode is CitationMode.DATA else ()
        title, filename = identifier(source, ("title",)), identifier(source, ("filename",))
        citation = Citation(
            url=url,
            title=title,
            name=f"source:{'document' if url is None else 'url'}",
            data=source,
            source_id=source_id,
            filename=filename,
            media_type=identifier(source, MEDIA_TYPE),
            start=start,
            end=end,
            cited_text=identifier(place, ("citedText",)),
        )
        if citation.payload is None:
            return [Unmapped(kind, source)]
        return self._citations.render(citation, self._said, (url or source_id, *positions))


def _address(source: Chunk) -> str | None:
    """The URL; tagged recordings write a JavaScript URL as `{"$url": …}`."""
    value = field(source, ("url",))
    return identifier(value, ("$url",)) if isinstance(value, dict) else identifier(source, ("url",))
