"""The state that a provider wants back in the next request: signed reasoning, and marks on tool calls.

It is kept in the conversation alone, in the metadata of thinking parts. Copilot keeps only the last metadata of a model
call, so each lists all items before it as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import is_json
from partstream.conversation.reasoning import ITEMS, MOST_ITEMS
from partstream.outputs import ThinkingMode, Unmapped
from partstream.parts import ThinkingPart

if TYPE_CHECKING:
    from partstream.outputs import StreamOutput
    from partstream.protocols.ai_sdk.fields import Chunk

__all__ = ["CarriedItems"]

_OF_THE_GATEWAY: Final = "gateway"
"""Says how a response came about (its generation id and the like): the next request has no use for it."""


class CarriedItems:
    """The items of one response, in order.

    Args:
        mode: What becomes of reasoning; only thinking parts can carry anything.

    Attributes:
        wanted: Whether items can be carried at all.
    """

    __slots__ = ("_items", "wanted")

    def __init__(self, mode: ThinkingMode) -> None:
        self.wanted = mode is ThinkingMode.PART
        self._items: list[dict[str, Any]] = []

    def add_reasoning(self, text: str, options: Chunk, block_id: str | None) -> list[StreamOutput]:
        """The part that carries a block of reasoning, if its provider attached state to it."""
        return self._add({"type": "reasoning", "text": text}, options, block_id)

    def add_summary(self, text: str, options: Chunk, block_id: str | None) -> list[StreamOutput]:
        """The part that carries the summary of a compacted conversation: without it the provider compacts again."""
        return self._add({"type": "text", "text": text}, options, block_id)

    def add_call(self, call_id: str, options: Chunk) -> list[StreamOutput]:
        """The part that carries a provider's state for a tool call; it precedes the call."""
        return self._add({"type": "tool-call", "toolCallId": call_id}, options, None)

    @property
    def length(self) -> int:
        """The number of items."""
        return len(self._items)

    def shorten(self, length: int) -> None:
        """Forgets all but the first `length` items."""
        del self._items[length:]

    def _add(self, item: dict[str, Any], options: Chunk, part_id: str | None) -> list[StreamOutput]:
        options = {name: value for name, value in options.items() if name != _OF_THE_GATEWAY and value}
        if not (self.wanted and options and is_json(options)):
            return []
        item = {**item, "providerOptions": options}
        if len(self._items) >= MOST_ITEMS:
            return [Unmapped(f"{item['type']} (more than {MOST_ITEMS} items of one answer)", item)]
        self._items.append(item)
        return [ThinkingPart("", part_id, {ITEMS: list(self._items)})]
