"""Reads what an assistant's message brings back of its thinking.

The official types have no field for it. Each server has its own, and its clients send back what they got
(docs/wires/chat-completions.md#sending-reasoning-back). The text is shown; the state becomes items in the metadata of
the thinking part, in the forms of :mod:`partstream.protocols.chat_completions.provider_state`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from partstream.conversation.reasoning import ITEMS
from partstream.parts import ThinkingPart
from partstream.protocols.chat_completions.provider_state import (
    EXTRA_CONTENT,
    FIELD,
    ITEM_TYPE,
    REASONING_DETAILS,
    REASONING_FIELDS,
    SAID_BESIDE,
    STATE_FIELDS,
    THINKING_BLOCKS,
    TOOL_CALL_ID,
    read_sealed,
)
from partstream.protocols.read_request import checked, optional_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.read_request import Counts

__all__ = ["read_thinking"]


def read_thinking(message: Mapping[str, Any], where: str, counts: Counts) -> tuple[ThinkingPart, ...]:
    """The thinking of an assistant's message as at most one part, before everything else that the message says.

    Args:
        message: The message, whose calls have been checked.
        where: Its place in the request.
        counts: Counts the fields that hold no text.

    Raises:
        InvalidRequestError: A list or an opaque text is none.
    """
    field, text = _plain_text(message, counts)
    entries = _objects(message, REASONING_DETAILS, where)
    items, beside = _of_entries(entries)
    if blocks := _objects(message, THINKING_BLOCKS, where):
        items.append(_item({THINKING_BLOCKS: blocks}))
    if field and not ((items or beside) and field in SAID_BESIDE):
        items.append(_item({FIELD: field, "text": text}))
    items += (
        _item({FIELD: name, "text": opaque}) for name in STATE_FIELDS if (opaque := optional_text(message, name, where))
    )
    items += _extra(message)
    if not items and not beside:
        return (ThinkingPart(text),) if text else ()
    return (ThinkingPart(text or "".join(map(_shown, entries)), None, {**beside, ITEMS: items}),)


def _objects(message: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    listed = checked(message, name, list, "a list of objects", where) or []
    return [entry for entry in listed if isinstance(entry, dict)]


def _plain_text(message: Mapping[str, Any], counts: Counts) -> tuple[str, str]:
    """The field that says the thinking, and its text.

    Where all are empty, the first that there is: an empty text is what DeepSeek demands of turns without thinking
    (docs/wires/chat-completions.md#sending-reasoning-back).
    """
    said = {name: message[name] for name in REASONING_FIELDS if isinstance(message.get(name), str)}
    for name in REASONING_FIELDS:
        if message.get(name) is not None and name not in said:
            counts.add(f"messages[].{name} (no string)")
    field = next((name for name, text in said.items() if text), next(iter(said), ""))
    return field, said.get(field, "")


def _of_entries(entries: list[dict[str, Any]]) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """The items that entries stand for, and what stood beside them; neighbouring entries of a server are one item."""
    items: list[Mapping[str, Any]] = []
    beside: Mapping[str, Any] = {}
    for opened, run in groupby(((read_sealed(entry), entry) for entry in entries), lambda pair: pair[0] is not None):
        pairs = list(run)
        if not opened:
            items.append(_item({REASONING_DETAILS: [entry for _, entry in pairs]}))
            continue
        for sealed, _ in pairs:
            items += [] if sealed is None or sealed.item is None else [sealed.item]
            beside = beside if sealed is None else sealed.beside
    return items, beside


def _extra(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The state of the message and of its calls (docs/wires/chat-completions.md#gemini-signatures)."""
    own = [{EXTRA_CONTENT: message[EXTRA_CONTENT]}] if isinstance(message.get(EXTRA_CONTENT), dict) else []
    of_calls = [
        {TOOL_CALL_ID: call["id"], EXTRA_CONTENT: call[EXTRA_CONTENT]}
        for call in message.get("tool_calls") or ()
        if isinstance(call.get(EXTRA_CONTENT), dict)
    ]
    return [_item(said) for said in (*own, *of_calls)]


def _shown(entry: Mapping[str, Any]) -> str:
    text = entry.get("text") or entry.get("summary")
    return text if isinstance(text, str) else ""


def _item(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": ITEM_TYPE, **said}
