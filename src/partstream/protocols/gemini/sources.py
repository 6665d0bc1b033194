"""The sources of an answer, which come late, growing, and more than once (docs/wires/gemini.md#grounding)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.citations import Citation, Citations
from partstream.protocols.read_response import Wire, identifier, index, mapping, objects, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.outputs import CitationMode, StreamOutput
    from partstream.protocols.gemini.shown_text import ShownText

__all__ = ["SOURCE_FIELDS", "Sources"]

SOURCE_FIELDS: Final = frozenset({"groundingMetadata", "urlContextMetadata", "citationMetadata"})
"""The fields of a candidate that :meth:`Sources.read` reads."""

_MOST: Final = 1000
"""Sources of one answer."""
_KINDS: Final = ("web", "retrievedContext", "maps", "image")
"""The kinds of a grounding chunk."""
_ADDRESSES: Final = ("uri", "sourceUri", "imageUri")
_STORES: Final = ("documentName", "fileSearchStore")
"""What identifies a source without an address."""


class Sources:
    """The sources of one answer.

    Args:
        mode: How they are shown.
    """

    __slots__ = ("_citations", "_cited", "_grounding", "_pages")

    def __init__(self, mode: CitationMode) -> None:
        self._citations = Citations(mode)
        self._grounding: Wire = {}
        self._cited: list[Wire] = []
        self._pages: Wire = {}

    def read(self, candidate: Wire) -> None:
        """Takes what a candidate says of sources: of each field of the grounding, the last value counts."""
        self._grounding |= {name: value for name, value in mapping(candidate, "groundingMetadata").items() if value}
        self._pages = mapping(candidate, "urlContextMetadata") or self._pages
        cited = mapping(candidate, "citationMetadata")
        # `citationSources` on the Gemini API, `citations` on Vertex
        self._cited += [*objects(cited, "citationSources"), *objects(cited, "citations")][: _MOST - len(self._cited)]

    def hand_out(self, said: ShownText, outputs: list[StreamOutput]) -> None:
        """Shows all sources, each once."""
        for citation in (*self._grounded(said), *self._recited(said)):
            key = citation.url or citation.source_id or citation.title
            outputs += self._citations.render(citation, said, key)
        outputs += self._citations.at_end()

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else the server says of its search, by its own names: Google's terms ask to show `searchEntryPoint`."""
        names = ("webSearchQueries", "imageSearchQueries", "searchEntryPoint")
        found = {name: self._grounding[name] for name in names if name in self._grounding}
        if found:
            found = {"groundingMetadata": found}
        return found | ({"urlContextMetadata": self._pages} if self._pages else {})

    def _grounded(self, said: ShownText) -> Iterator[Citation]:
        supports = self._first_supports()
        for place, chunk in enumerate(objects(self._grounding, "groundingChunks")[:_MOST]):
            kind = next((name for name in _KINDS if isinstance(chunk.get(name), dict)), None)
            source = chunk if kind is None else chunk[kind]
            segment = supports.get(place, {})
            where = said.place(index(segment, "startIndex") or 0, index(segment, "endIndex") or 0, _words(segment))
            yield Citation(
                url=_first(source, _ADDRESSES),
                title=identifier(source, "title"),
                name=f"groundingChunk:{kind or 'unknown'}",
                data=chunk,
                source_id=_first(source, _STORES),
                start=where and where[0],
                end=where and where[1],
                cited_text=identifier(source, "text"),
            )

    def _first_supports(self) -> dict[int, Wire]:
        """The segment of the answer that each chunk supports, by the number of the chunk; the first of several."""
        found: dict[int, Wire] = {}
        for support in objects(self._grounding, "groundingSupports"):
            numbers = support.get("groundingChunkIndices")
            for number in numbers if isinstance(numbers, list) else ():
                if type(number) is int:
                    found.setdefault(number, mapping(support, "segment"))
        return found

    def _recited(self, said: ShownText) -> Iterator[Citation]:
        for cited in self._cited:
            where = said.place(index(cited, "startIndex") or 0, index(cited, "endIndex") or 0, "")
            yield Citation(
                url=identifier(cited, "uri"),
                title=identifier(cited, "title"),
                name="citationSource",
                data=cited,
                start=where and where[0],
                end=where and where[1],
            )


def _words(segment: Wire) -> str:
    return text(segment, "text")


def _first(source: Wire, names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := identifier(source, name)) is not None), None)
