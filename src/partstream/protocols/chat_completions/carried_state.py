"""Collects what one answer gives for the next request (docs/wires/chat-completions.md#sending-reasoning-back)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import is_json
from partstream.conversation.reasoning import ITEMS, MOST_ITEMS
from partstream.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.parts import thinking_part
from partstream.protocols.chat_completions.carried_items import (
    CONTENT_PARTS,
    EXTRA_CONTENT,
    FIELD,
    ITEM_TYPE,
    REASONING_DETAILS,
    THINKING_BLOCKS,
    TOOL_CALL_ID,
)
from partstream.protocols.chat_completions.reasoning_details import BLOCK_TEXTS, DETAIL_TEXTS, MergedEntries

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CarriedState"]

_NOT_CARRIED: Final = f"reasoning (more than {MOST_ITEMS} items of one answer, or no JSON)"


class CarriedState:
    """What one answer leaves for the next request; only thinking parts can carry it.

    Args:
        mode: What becomes of thinking.

    Attributes:
        wanted: Whether anything is carried.
        details: The entries of `reasoning_details`.
        blocks: The blocks of `thinking_blocks`.
    """

    __slots__ = ("_extra", "_extra_of_calls", "_items", "_parts", "_texts", "blocks", "details", "wanted")

    def __init__(self, mode: ThinkingMode) -> None:
        self.wanted = mode is ThinkingMode.PART
        self.details = MergedEntries(DETAIL_TEXTS)
        self.blocks = MergedEntries(BLOCK_TEXTS, "signature")
        self._texts: dict[str, list[str]] = {}
        self._parts: list[str] = []
        self._extra: dict[str, Any] = {}
        self._extra_of_calls: dict[str, Mapping[str, Any]] = {}
        self._items: list[dict[str, Any]] = []

    def pieces(self, field: str) -> list[str]:
        """The pieces of a text field, to add to. A field without pieces is carried as an empty text."""
        return self._texts.setdefault(field, [])

    def add_part(self, thought: str) -> None:
        """Takes a piece of one of Mistral's parts of thinking."""
        self._parts.append(thought)

    def add_extra(self, extra: Mapping[str, Any], call_id: str | None = None) -> None:
        """Takes an `extra_content` of the message or of a call."""
        if call_id is None:
            self._extra |= extra
        else:
            self._extra_of_calls[call_id] = extra

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that have come since the last time, with all before them; nothing where there are none."""
        items = self._new_items()
        if not (items and self.wanted):
            return
        if len(self._items) + len(items) > MOST_ITEMS or not is_json(items):
            outputs.append(Unmapped(_NOT_CARRIED, items[0]))
            return
        self._items += ({"type": ITEM_TYPE, **item} for item in items)
        outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))

    def _new_items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        details = self.details.take()
        # A block without a signature is of no use to whoever made it; its text is that of the field beside it.
        blocks = [one for one in self.blocks.take() if one.get("type") != "thinking" or one.get("signature")]
        if details:
            items.append({REASONING_DETAILS: details})
        if blocks:
            items.append({THINKING_BLOCKS: blocks})
        if self._parts:
            thought = [{"type": "text", "text": "".join(self._parts)}]
            items.append({CONTENT_PARTS: [{"type": "thinking", "thinking": thought, "closed": True}]})
        replaced = bool(details or blocks)
        items += (
            {FIELD: name, "text": "".join(pieces)}
            for name, pieces in self._texts.items()
            if not (replaced and name in SAID_BESIDE)
        )
        if self._extra:
            items.append({EXTRA_CONTENT: self._extra})
        items += ({TOOL_CALL_ID: one, EXTRA_CONTENT: extra} for one, extra in self._extra_of_calls.items())
        self._texts, self._parts, self._extra, self._extra_of_calls = {}, [], {}, {}
        return items


SAID_BESIDE: Final = frozenset({"reasoning", "reasoning_content"})
"""The fields that say the text of `reasoning_details` or `thinking_blocks` again: with the list they are not sent."""
