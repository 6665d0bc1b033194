"""Turns the document that a server sends in place of a stream into events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.protocols.read_response import Wire, mapping

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["events_of"]


def events_of(document: Wire) -> Sequence[Wire]:
    """The events that say what a document says: a message whose content has come whole, or an error."""
    if document.get("type") == "message" or ("content" in document and "role" in document):
        return ({"type": "message_start", "message": document}, {"type": "message_stop"})
    if document.get("type") == "error" or not document.get("error"):
        return (document,)
    return ({**document, "type": "error", "error": mapping(document, "error") or {"message": document["error"]}},)
