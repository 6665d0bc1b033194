"""What a server wants back of its answer: the items that carry blocks, and the blocks that they become again.

Thinking goes back verbatim, or is refused (docs/wires/anthropic-messages.md#thinking-that-goes-back); blocks of tools
that the server ran itself go back in pairs or not at all. So an item holds the whole block as the server would take it,
its fields in the order in which they came. The items of an answer lie, in order, in the metadata of its thinking
(:data:`partstream.conversation.provider_state.ITEMS`), and come back in requests to the same upstream and model as the
pieces :class:`partstream.conversation.turns.Reasoning`. Every item has one of these forms::

    {"type": "content-block", "block": {"type": "thinking", "thinking": TEXT, "signature": SIGNATURE}}
    {"type": "content-block", "block": BLOCK}                        any other block but `text` and `tool_use`
    {"type": "content-block", "toolCallId": ID, "fields": {...}}     what the `tool_use` block with this id, as the
                                                                     server knows it, has beside id, name and input
    {"type": "content-block", "container": {"id": ID}}               the container of the answer, whose id the next
                                                                     request repeats; the last one counts

:class:`CarriedState` collects the items of an answer in their places, and :func:`answer_blocks` and :func:`paired` put
the blocks back: thinking unmodified, in order, and before what it led to. What comes before the last block of the type
`fallback` is another model's: its thinking and its client calls do not go back
(docs/wires/anthropic-messages.md#fallback-models). :func:`sealed_text` is for the state of other protocols: clients
give back the `signature` of a thinking block and the `data` of a redacted one as they are. :func:`input_blocks` writes
texts, images and files (docs/wires/anthropic-messages.md#images-and-files).
"""

from __future__ import annotations
from collections.abc import Mapping
from typing import Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS, NO_STATE, PLACE, beside_items, seal_state
from partstream.lm.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import thinking_part
from partstream.protocols.read_response import identifier

# ---- Items ----

ITEM_TYPE: Final = "content-block"
BLOCK: Final = "block"
FIELDS: Final = "fields"
TOOL_CALL_ID: Final = "toolCallId"
CONTAINER: Final = "container"
FALLBACK: Final = "fallback"
"""The type of the block at the place where another model continues."""


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
    """The block of an item of the AI SDK that holds state of this wire alone; None for any other item.

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


MOST_BYTES: Final = 1024 * 1024
"""The most that one answer carries before pairs of the server's tools are left out. A host writes it into its history,
and a fetched page or file may be of any size."""

DIRECT: Final = {"type": "direct"}
"""The `caller` of a call that the model made itself: as good as none."""
_NOT_CARRIED: Final = f"a block (more than {MOST_ITEMS} of one answer, or no JSON)"
_TOO_LARGE: Final = "a call and a result of the server's tools (too large to go back)"


class CarriedState:
    """The items of one answer; only thinking parts can carry them.

    Each thinking part lists all items so far. So items wait until something follows whose place they must know, or the
    end.
    """

    def __init__(self, mode: ThinkingMode) -> None:
        self._wanted = mode is ThinkingMode.PART
        self._items: list[Mapping[str, Any]] = []
        self._waiting: list[tuple[Mapping[str, Any], int]] = []  # each item with its size as JSON in bytes
        self._size = 0

    def add(self, item: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next item."""
        if not self._wanted:
            return
        try:
            size = len(dumps(item))
        except TypeError:
            size = 0  # JSON has no form for it
        if not size or len(self._items) + len(self._waiting) >= MOST_ITEMS:
            outputs.append(Unmapped(_NOT_CARRIED, item))
            return
        self._size += size
        self._waiting.append((item, size))

    def emit(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that wait, with all before them; nothing where none waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        pairs: set[str | None] = set()
        if self._size > MOST_BYTES:
            # Whole pairs are left out (docs/wires/anthropic-messages.md#pairs-of-server-blocks).
            blocks = [block_of(item) for item, _ in waiting]
            pairs = {identifier(one, "id") for one in blocks} & {identifier(one, "tool_use_id") for one in blocks}
            pairs.discard(None)
        kept: list[Mapping[str, Any]] = []
        for item, size in waiting:
            block = block_of(item)
            if pairs & {identifier(block, "id"), identifier(block, "tool_use_id")}:
                self._size -= size
                outputs.append(Unmapped(_TOO_LARGE, item))
            else:
                kept.append(item)
        if kept:
            self._items += kept
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))


def sealed_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> str | None:
    """The text that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
    """
    said = None if item is None else {name: value for name, value in item.items() if name != PLACE}
    return seal_state(said, beside_items(metadata))


UNSIGNED: Final = NO_STATE
"""The signature of thinking without any state: some clients discard thinking that has none."""
