"""The sources of an answer as source chunks, whichever protocol named them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.ai_sdk.provider_state import PROVIDER
from partstream.protocols.citations import read_citation

if TYPE_CHECKING:
    from partstream.parts import DataPart
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.citations import Citation

__all__ = ["cited_span", "source_chunk"]

_UNKNOWN: Final = "application/octet-stream"


def source_chunk(part: DataPart) -> Chunk | None:
    """The chunk that names a source, or None for a part that names none.

    A document must have a title and a media type. No version has a place for the span on the source itself, so it
    travels as a word of the provider `partstream`.
    """
    citation = read_citation(part)
    if citation is None:
        return None
    url, title, source_id = citation.url, citation.title, citation.source_id or citation.url
    known: Chunk = {"type": "source", "sourceType": "url", "id": source_id, "url": url, "title": title}
    if url is None:
        filename = citation.filename
        known |= {"sourceType": "document", "title": title or filename or source_id, "filename": filename}
        known["mediaType"] = citation.media_type or _UNKNOWN
    known["providerMetadata"] = _span(citation)
    return {name: value for name, value in known.items() if value is not None}


def cited_span(source: Chunk) -> Chunk | None:
    """The span of a source at the end of a text, since version 4."""
    span = source.get("providerMetadata", {}).get(PROVIDER)
    if span is None:
        return None
    return {"source": {name: value for name, value in source.items() if name != "providerMetadata"}, **span}


def _span(citation: Citation) -> Chunk | None:
    said = {"startIndex": citation.start, "endIndex": citation.end, "citedText": citation.cited_text}
    span: Chunk = {name: value for name, value in said.items() if value is not None}
    return {PROVIDER: span} if span else None
