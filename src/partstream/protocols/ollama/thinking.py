"""Shows the thinking of an answer, and collects what goes back of it (docs/wires/ollama.md#thinking)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.conversation.reasoning import ITEMS
from partstream.outputs import StreamOutput, ThinkingMode
from partstream.parts import thinking_part
from partstream.protocols.ollama.carried_items import FIELD, ITEM_TYPE, TEXT, THINKING

if TYPE_CHECKING:
    from partstream.outputs import StreamOptions

__all__ = ["Thinking"]


class Thinking:
    """The thinking of one answer.

    Args:
        options: Whether it is shown.

    Attributes:
        is_open: Whether thinking was the last thing that was said.
    """

    __slots__ = ("_closed_once", "_items", "_kept", "_shows", "is_open", "wants_items")

    def __init__(self, options: StreamOptions) -> None:
        self.is_open = False
        self.wants_items = options.thinking is ThinkingMode.PART
        self._shows = options.thinking is not ThinkingMode.OFF
        self._closed_once = False
        self._kept: dict[str, list[str]] = {}
        self._items: list[dict[str, Any]] = []

    def read(self, thought: str, outputs: list[StreamOutput]) -> None:
        """Takes a piece of `message.thinking`."""
        self.keep(THINKING, thought)
        self.show(thought, outputs)

    def show(self, thought: str, outputs: list[StreamOutput]) -> None:
        """Emits a piece of thinking, wherever it stood."""
        self.is_open = True
        if self._shows:
            outputs.append(thinking_part(thought))

    def keep(self, field: str, text: str) -> None:
        """Keeps a text that goes back in a field of the message."""
        if self.wants_items:
            self._kept.setdefault(field, []).append(text)

    def close(self, outputs: list[StreamOutput]) -> None:
        """Text or a call follows. The first time, what goes back goes out with the thinking that it belongs to."""
        if self.is_open:
            self.is_open = False
            if not self._closed_once:
                self._closed_once = True
                self.hand_out(outputs)

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that have come since the last time, with all before them; nothing where there are none."""
        if self._kept:
            self._items += (
                {"type": ITEM_TYPE, FIELD: name, TEXT: "".join(pieces)} for name, pieces in self._kept.items()
            )
            self._kept = {}
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))
