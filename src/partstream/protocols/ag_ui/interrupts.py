"""What a run waits for, as a question to the person, and the person's reply as the answer that the agent wants.

A provider has no dialog: the question becomes text, and the person's next message answers it. A text that is no clear
yes refuses, and is the reason (docs/wires/ai-sdk.md#approvals-and-interrupts).

Source: docs.ag-ui.com, concepts/interrupts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads, nests_too_deeply
from partstream.inner_activity import wish
from partstream.protocols.ag_ui.custom_interrupts import actions_of, decisions, message_of
from partstream.protocols.read_response import identifier, mapping, objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.ag_ui.tool_calls import ToolCalls
from partstream.protocols.read_response import Wire

__all__ = ["interrupted_fields", "question", "resume_entries"]

_APPROVED: Final = "approved"
_REASON: Final = "reason"
_TOOL_CALL: Final = "tool_call"
_CONFIRMATION: Final = "confirmation"
_DECISIONS: Final = "decisions"
"""How many calls a middleware for approvals asks about; beside the fields of the wire."""
_MOST_DECISIONS: Final = 100
_MOST_SCHEMA: Final = 4_000
_MOST_NAMES: Final = 10
_YES: Final = frozenset(
    {"yes", "y", "yes please", "ok", "okay", "sure", "approve", "approved", "allow", "allowed", "go ahead", "do it"}
)
_CANCEL: Final = frozenset({"cancel", "abort", "never mind"})
_HOW_TO_ALLOW: Final = "Reply *yes* to allow it. Any other reply refuses it."
_HOW_TO_ALLOW_ALL: Final = "Reply *yes* to allow all of it. Any other reply refuses all."


def question(interrupts: list[Wire], calls: ToolCalls) -> str:
    """What a run asks, as Markdown."""
    said = [_asked(one, calls) for one in interrupts]
    wants = [_wants_approval(one) for one in interrupts]
    if all(wants):
        said.append(_HOW_TO_ALLOW if len(wants) == 1 else _HOW_TO_ALLOW_ALL)
    else:
        said += filter(None, (_how(one) for one in interrupts))
    return "\n\n".join(said)


def interrupted_fields(interrupts: list[Wire], thread_id: str | None) -> dict[str, Any]:
    """What the answer to a run has to know of it: its thread, and each interrupt with the form of its answer."""
    return {"threadId": thread_id, "interrupts": [_kept(one) for one in interrupts]}


def resume_entries(interrupted: Mapping[str, Any], reply: str) -> list[dict[str, Any]]:
    """The entries of `resume` that a reply of the person stands for: one an interrupt, as the contract demands."""
    said = reply.strip()
    word = said.strip(" .!\t\n").lower()
    entries = []
    for one in objects(interrupted, "interrupts"):
        interrupt_id = text(one, "id")
        if word in _CANCEL:
            entries.append({"interruptId": interrupt_id, "status": "cancelled"})
        else:
            payload = _payload(one, said, word in _YES)
            entries.append({"interruptId": interrupt_id, "status": "resolved", "payload": payload})
    return entries


# ---- the question ----


def _asked(interrupt: Wire, calls: ToolCalls) -> str:
    call = calls.shown(identifier(interrupt, "toolCallId"))
    message = identifier(interrupt, "message") or message_of(interrupt)
    wanted = actions_of(interrupt) or ([] if call is None else [call])
    if not wanted:
        return message or f"The agent waits for an answer: {identifier(interrupt, _REASON) or 'it gives no reason'}."
    shown = "\n\n".join(map(wish, wanted))
    return f"{message}\n\n{shown}" if message else shown


def _how(interrupt: Wire) -> str:
    """How to answer an interrupt: for one that wants more than words, what."""
    if _wants_approval(interrupt):
        return _HOW_TO_ALLOW
    schema = mapping(interrupt, "responseSchema")
    names = [f"`{name}`" for name in list(mapping(schema, "properties"))[:_MOST_NAMES]]
    if len(names) > 1:
        return f"Reply with a JSON object of {', '.join(names[:-1])} and {names[-1]}."
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return f"Reply with one of {', '.join(f'`{one}`' for one in choices[:_MOST_NAMES])}."
    return f"Reply with {names[0]}." if names else ""


def _kept(interrupt: Wire) -> dict[str, Any]:
    schema = mapping(interrupt, "responseSchema")
    if schema and len(dumps(schema)) > _MOST_SCHEMA:
        schema = {"type": schema.get("type")}
    fields = {
        "id": identifier(interrupt, "id"),
        "toolCallId": identifier(interrupt, "toolCallId"),
        _REASON: identifier(interrupt, _REASON),
        "responseSchema": schema or None,
        _DECISIONS: len(actions_of(interrupt)) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


# ---- the answer ----


def _wants_approval(interrupt: Mapping[str, Any]) -> bool:
    schema = mapping(interrupt, "responseSchema")
    if _DECISIONS in interrupt or actions_of(dict(interrupt)):
        return True
    if not schema:
        return identifier(interrupt, _REASON) in {_TOOL_CALL, _CONFIRMATION}
    return schema.get("type") == "boolean" or _APPROVED in mapping(schema, "properties")


def _payload(interrupt: Mapping[str, Any], said: str, is_yes: bool) -> Any:
    schema = mapping(interrupt, "responseSchema")
    if isinstance(count := interrupt.get(_DECISIONS), int):
        return decisions(min(count, _MOST_DECISIONS), said, is_yes=is_yes)
    if isinstance(value := _object_in(said), dict) and schema.get("type") == "object":
        return value
    if not _wants_approval(interrupt):
        return _fitting(schema, said)
    if schema.get("type") == "boolean" or (not schema and identifier(interrupt, _REASON) == _CONFIRMATION):
        return is_yes
    if is_yes:
        return {_APPROVED: True}
    properties = mapping(schema, "properties")
    return {_APPROVED: False} | ({_REASON: said} if said and (not properties or _REASON in properties) else {})


def _fitting(schema: Wire, said: str) -> Any:
    """The reply in the form that a schema asks for; the text where it fits none."""
    kind, properties = schema.get("type"), mapping(schema, "properties")
    if kind in {"number", "integer", "array"} and (value := _object_in(said)) is not None:
        return value
    choices = schema.get("enum")
    if isinstance(choices, list):
        return next((one for one in choices if str(one).lower() == said.lower()), said)
    if kind == "object" and len(properties) == 1:
        ((name, inner),) = properties.items()
        return {name: _fitting(inner if isinstance(inner, dict) else {}, said)}
    return said


def _object_in(said: str) -> Any:
    if nests_too_deeply(said):
        return None
    try:
        return loads(said)
    except JSONDecodeError:
        return None
