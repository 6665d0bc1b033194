"""Turns the document that a server sends in place of a stream into events.

Source: OpenResponses specification 2026-04-24, `ResponseResource`, and "Errors" for a body that holds an error alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.openresponses.fields import Wire, identifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["events_of"]

_LAST: Final = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.failed",
    # Of a response in the background: what there is of it is no answer yet.
    "queued": "response.queued",
    "in_progress": "response.in_progress",
}
"""The last event of a response, by its status."""

_CANCELLED: Final = {"code": "cancelled", "message": "the response was cancelled"}


def events_of(document: Wire) -> Sequence[Wire]:
    """The events that say what a document says.

    Each item is opened and closed, so that two that say the same are two. What is neither a response nor an error comes
    out as it is, for the adapter to refuse.
    """
    if identifier(document, "type") is not None:
        return [document]  # a server that sends its last event alone
    if "output" not in document and "status" not in document:
        return [{**document, "type": "error"} if document.get("error") else document]
    error = document.get("error")
    last = _LAST.get(identifier(document, "status") or ("failed" if error else "completed"), "response.failed")
    if document.get("status") == "cancelled" and not error:
        document = {**document, "error": _CANCELLED}
    items = () if last == "response.failed" else _items(document)
    return [{"type": "response.created", "response": document}, *items, {"type": last, "response": document}]


def _items(document: Wire) -> Iterator[Wire]:
    output = document.get("output")
    for place, item in enumerate(output if isinstance(output, list) else ()):
        if isinstance(item, dict):
            yield {"type": "response.output_item.added", "output_index": place, "item": item}
            yield {"type": "response.output_item.done", "output_index": place, "item": item}
