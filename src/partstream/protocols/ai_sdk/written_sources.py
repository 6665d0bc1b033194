"""The sources of an answer as source chunks, whichever protocol named them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import JSONDecodeError, loads
from partstream.protocols.ai_sdk.fields import Chunk, count, identifier
from partstream.protocols.ai_sdk.wrapping import PROVIDER
from partstream.protocols.citations import CITATION_MIME_TYPE

if TYPE_CHECKING:
    from partstream.parts import DataPart

__all__ = ["cited_span", "source_chunk"]

_UNKNOWN: Final = "application/octet-stream"

_SPAN: Final = {"startIndex": ("startIndex", "start_index"), "endIndex": ("endIndex", "end_index")}
"""The characters of the text that a source stands for, under the names that protocols have for them."""


def source_chunk(part: DataPart) -> Chunk | None:
    """The chunk that names a source, or None for a part that names none.

    A document must have a title and a media type. No version has a place for the span on the source itself, so it
    travels as a word of the provider `partstream`.
    """
    if part.mime_type != CITATION_MIME_TYPE:
        return None
    try:
        said: Any = loads(part.data)
    except JSONDecodeError:
        return None
    if not isinstance(said, dict):
        return None
    url = identifier(said, ("url",))
    source_id = identifier(said, ("id", "file_id")) or url
    if source_id is None:
        return None
    title, filename = identifier(said, ("title",)), identifier(said, ("filename",))
    media_type = identifier(said, ("mediaType",))
    known: Chunk = {"type": "source", "sourceType": "url", "id": source_id, "url": url, "title": title}
    if url is None:
        known |= {"sourceType": "document", "title": title or filename or source_id, "filename": filename}
        known["mediaType"] = media_type or _UNKNOWN
    known["providerMetadata"] = _span(said)
    return {name: value for name, value in known.items() if value is not None}


def cited_span(source: Chunk) -> Chunk | None:
    """What the end of a text says of a source since version 4, where it says which span it stands for."""
    span = source.get("providerMetadata", {}).get(PROVIDER)
    if span is None:
        return None
    return {"source": {name: value for name, value in source.items() if name != "providerMetadata"}, **span}


def _span(said: Chunk) -> Chunk | None:
    places = {name: count(said, names) for name, names in _SPAN.items()}
    span: Chunk = {name: place for name, place in places.items() if place is not None}
    cited = identifier(said, ("citedText",))
    if cited is not None:
        span["citedText"] = cited
    return {PROVIDER: span} if span else None
