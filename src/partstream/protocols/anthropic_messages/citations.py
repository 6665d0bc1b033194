"""Reads citations (docs/wires/anthropic-messages.md#citations); :mod:`partstream.protocols.citations` renders them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.citations import Citation
from partstream.protocols.read_response import Wire, identifier, index

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["citation_of", "key_of"]

_PLACES: Final = ("start_char_index", "start_page_number", "start_block_index", "search_result_index")
"""The fields that tell two citations of one document apart, by kind."""


def citation_of(citation: Wire) -> Citation:
    """The source that a citation names.

    Its places are those in the source, not in the answer, so they are not handed on.
    """
    source = identifier(citation, "source")
    is_address = source is not None and source.startswith(("http://", "https://"))
    return Citation(
        url=identifier(citation, "url") or (source if is_address else None),
        title=identifier(citation, "title") or identifier(citation, "document_title"),
        name=f"citation:{identifier(citation, 'type') or 'unknown'}",
        data=citation,
        source_id=source or identifier(citation, "file_id") or _document(citation),
        filename=identifier(citation, "document_title"),
        cited_text=identifier(citation, "cited_text"),
    )


def key_of(citation: Wire, block: object) -> Hashable:
    """The key by which a citation of a block is known again."""
    places: list[Any] = [index(citation, name) for name in (*_PLACES, "document_index")]
    return (id(block), *(identifier(citation, name) for name in ("type", "url", "source", "cited_text")), *places)


def _document(citation: Wire) -> str | None:
    number = index(citation, "document_index")
    return None if number is None else f"document {number}"
