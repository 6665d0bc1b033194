"""What a server wants back of its answer: the shape of the items that carry blocks through the conversation.

Thinking goes back verbatim, or is refused (docs/wires/anthropic-messages.md#thinking-that-goes-back); blocks of tools
that the server ran itself go back in pairs or not at all. So an item holds the whole block as the server would take it,
its fields in the order in which they came. The items of an answer lie, in order, in the metadata of its thinking
(:data:`partstream.conversation.reasoning.ITEMS`), and come back in requests to the same upstream and model as the
pieces :class:`partstream.conversation.turns.Reasoning`. Every item has one of these forms::

    {"type": "content-block", "block": {"type": "thinking", "thinking": TEXT, "signature": SIGNATURE}}
    {"type": "content-block", "block": BLOCK}                        any other block but `text` and `tool_use`
    {"type": "content-block", "toolCallId": ID, "fields": {...}}     what the `tool_use` block with this id, as the
                                                                     server knows it, has beside id, name and input
    {"type": "content-block", "container": {"id": ID}}               the container of the answer, whose id the next
                                                                     request repeats; the last one counts

What comes before the last block of the type `fallback` is another model's: its thinking and its client calls do not go
back (docs/wires/anthropic-messages.md#fallback-models).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = [
    "BLOCK",
    "CONTAINER",
    "FALLBACK",
    "FIELDS",
    "ITEM_TYPE",
    "TOOL_CALL_ID",
    "block_item",
    "block_of",
    "block_of_sdk",
    "call_item",
    "container_item",
    "container_of",
    "fields_of_call",
]

ITEM_TYPE: Final = "content-block"
BLOCK: Final = "block"
FIELDS: Final = "fields"
TOOL_CALL_ID: Final = "toolCallId"
CONTAINER: Final = "container"
FALLBACK: Final = "fallback"
"""The type of the block that stands where another model goes on."""


def block_item(block: Mapping[str, Any]) -> dict[str, Any]:
    """The item that carries a whole block."""
    return {"type": ITEM_TYPE, BLOCK: dict(block)}


def call_item(call_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The item that carries further fields of a `tool_use` block, such as its `caller`."""
    return {"type": ITEM_TYPE, TOOL_CALL_ID: call_id, FIELDS: dict(fields)}


def container_item(container: Mapping[str, Any]) -> dict[str, Any]:
    """The item that carries the container of an answer."""
    return {"type": ITEM_TYPE, CONTAINER: dict(container)}


def block_of(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """The whole block that an item carries; None for an item of another form."""
    block = item.get(BLOCK) if item.get("type") == ITEM_TYPE else None
    return block if isinstance(block, dict) and isinstance(block.get("type"), str) else None


def fields_of_call(item: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The id of a call and its further fields, which an item carries; None for an item of another form."""
    call_id, fields = item.get(TOOL_CALL_ID), item.get(FIELDS)
    if item.get("type") == ITEM_TYPE and isinstance(call_id, str) and isinstance(fields, Mapping):
        return call_id, fields
    return None


def container_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The container that an item carries; None for an item of another form."""
    container = item.get(CONTAINER) if item.get("type") == ITEM_TYPE else None
    return container if isinstance(container, Mapping) else None


def block_of_sdk(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """The block that an item of the AI SDK stands for, if it holds state of this wire alone; None for any other item.

    Source: `@ai-sdk/anthropic` 4.0.105, `convert-to-anthropic-prompt.ts`.
    """
    options = item.get("providerOptions")
    state = options.get("anthropic") if isinstance(options, Mapping) and len(options) == 1 else None
    if not isinstance(state, Mapping) or len(state) != 1:
        return None
    text, signature, redacted = item.get("text"), state.get("signature"), state.get("redactedData")
    if isinstance(signature, str) and isinstance(text, str):
        return {"type": "thinking", "thinking": text, "signature": signature}
    return {"type": "redacted_thinking", "data": redacted} if isinstance(redacted, str) else None
