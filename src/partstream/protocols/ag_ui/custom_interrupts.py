"""Interrupts as servers say them that have no outcome for them: as a custom event before the end of the run.

LangGraph's server does so unless it is told otherwise: `{"type": "CUSTOM", "name": "on_interrupt", "value": TEXT,
"rawEvent": {"id"}}`, where the value is what the graph gave to `interrupt()`, as JSON text. It takes the reply as an
entry of `resume` all the same (ag-ui-langgraph 0.0.47). Its middleware for approvals gives
`{"action_requests": [{"name", "args"}]}` and wants `{"decisions": [{"type": "approve" | "reject"}]}` (langchain 1.4.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads, nests_too_deeply
from partstream.inner_activity import InnerCall
from partstream.protocols.read_response import identifier, mapping, objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.read_response import Wire

__all__ = ["ON_INTERRUPT", "actions_of", "decisions", "interrupt_of", "message_of"]

ON_INTERRUPT: Final = "on_interrupt"
_REASON: Final = "langgraph:interrupt"
_NAMELESS: Final = "interrupt"
_MESSAGES: Final = ("message", "question", "prompt", "description")
"""The fields in which graphs say what they ask, the first that is there."""


def interrupt_of(event: Wire) -> Wire:
    """The interrupt that a custom event stands for, as an outcome would list it."""
    value = _value(event.get("value"))
    given = value if isinstance(value, dict) else {}
    fields = {
        "id": identifier(event.get("rawEvent"), "id") or _NAMELESS,
        "reason": identifier(given, "reason") or _REASON,
        "message": value if isinstance(value, str) else None,
        "toolCallId": identifier(given, "toolCallId") or identifier(given, "tool_call_id"),
        "responseSchema": given.get("responseSchema") or given.get("response_schema"),
        "metadata": {"langgraph": {"raw": value}},
    }
    return {name: one for name, one in fields.items() if one is not None}


def actions_of(interrupt: Wire) -> list[InnerCall]:
    """The calls that a middleware for approvals asks about; none for every other interrupt."""
    requests = objects(_raw(interrupt), "action_requests")
    return [InnerCall("", text(one, "name"), mapping(one, "args")) for one in requests]


def message_of(interrupt: Wire) -> str | None:
    """What a graph asks in a value of its own: a field that says it, else the whole value as JSON."""
    raw = _raw(interrupt)
    if not isinstance(raw, dict) or not raw or actions_of(interrupt):
        return None
    said = next((identifier(raw, name) for name in _MESSAGES if identifier(raw, name)), None)
    if said is not None:
        return said
    try:
        return f"```json\n{dumps(raw).decode()}\n```"
    except (TypeError, ValueError, RecursionError):
        return None


def decisions(count: int, reply: str, *, is_yes: bool) -> Mapping[str, Any]:
    """What a middleware for approvals wants: a decision for each of its calls."""
    one: dict[str, str] = {"type": "approve"} if is_yes else {"type": "reject", "message": reply}
    return {"decisions": [dict(one) for _ in range(count)]}


def _raw(interrupt: Wire) -> Any:
    """The value that a graph gave, which its server keeps in the metadata."""
    return mapping(mapping(interrupt, "metadata"), "langgraph").get("raw")


def _value(said: Any) -> Any:
    if not isinstance(said, str) or nests_too_deeply(said):
        return said
    try:
        value = loads(said)
    except JSONDecodeError:
        return said
    return value if isinstance(value, dict | list) else said
