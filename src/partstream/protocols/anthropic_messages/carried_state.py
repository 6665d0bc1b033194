"""Collects what a server wants back of one answer, and hands it out at its place (facts 4.2, 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.reasoning import ITEMS, MOST_ITEMS
from partstream.json_codec import is_json
from partstream.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.parts import thinking_part

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CarriedState"]

_NOT_CARRIED: Final = f"a block (more than {MOST_ITEMS} of one answer, or no JSON)"


class CarriedState:
    """The items of one answer; only thinking parts can carry them.

    Each hand-out lists all items so far. So items wait until something follows of which they must know their place, or
    the end.

    Args:
        mode: What becomes of thinking.
    """

    __slots__ = ("_items", "_waiting", "_wanted")

    def __init__(self, mode: ThinkingMode) -> None:
        self._wanted = mode is ThinkingMode.PART
        self._items: list[Mapping[str, Any]] = []
        self._waiting: list[Mapping[str, Any]] = []

    @property
    def is_waiting(self) -> bool:
        """Whether items have to be handed out before anything follows."""
        return bool(self._waiting)

    def add(self, item: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next item."""
        if not self._wanted:
            return
        if len(self._items) + len(self._waiting) >= MOST_ITEMS or not is_json(item):
            outputs.append(Unmapped(_NOT_CARRIED, item))
            return
        self._waiting.append(item)

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that wait, with all before them; nothing where none waits."""
        if self._waiting:
            self._items += self._waiting
            self._waiting = []
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))
