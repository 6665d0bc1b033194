"""The document that a server sends in place of a stream, as the events that it stands for.

Source: OpenResponses specification 2026-04-24, `ResponseResource`, and "Errors" for a body that holds an error alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.openresponses.fields import Wire, identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["events_of"]

_EVENTS: Final = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.failed",
    # Of a response in the background: what there is of it is no answer yet.
    "queued": "response.queued",
    "in_progress": "response.in_progress",
}
"""The event that stands for a response of each status."""


def events_of(document: Wire) -> Sequence[Wire]:
    """The events that a document stands for.

    A response is its own terminal event, which holds the whole output. What is neither a response nor an error comes
    out as it is, for the adapter to refuse.
    """
    if identifier(document, "type") is not None:
        return [document]  # a server that sends its last event alone
    if "output" not in document and "status" not in document:
        return [{**document, "type": "error"} if document.get("error") else document]
    kind = _EVENTS.get(identifier(document, "status") or "completed")
    if kind is None or (document.get("error") and "status" not in document):
        kind = "response.failed"
    event: dict[str, Any] = {"type": kind, "response": document}
    if document.get("status") == "cancelled" and not document.get("error"):
        event["response"] = {**document, "error": {"code": "cancelled", "message": "the response was cancelled"}}
    return [event]
