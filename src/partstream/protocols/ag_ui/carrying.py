"""Collects what goes back of one run, and hands it out at its place in the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.conversation.reasoning import ITEMS
from partstream.outputs import ThinkingMode
from partstream.parts import thinking_part
from partstream.protocols.ag_ui.carried_items import StateBudget, item_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.outputs import StreamOptions, StreamOutput

__all__ = ["Carrying"]


class Carrying:
    """The items of one run. An item goes out before the text behind it: its place is where it goes out.

    Args:
        options: Whether thinking is wanted, which carries the items.
    """

    __slots__ = ("_given", "_items", "_wanted", "budget")

    def __init__(self, options: StreamOptions) -> None:
        self.budget = StateBudget()
        self._wanted = options.thinking is ThinkingMode.PART
        self._items: list[dict[str, Any]] = []
        self._given = 0

    def add(self, fields: Mapping[str, Any]) -> None:
        """Takes the next item."""
        if self._wanted:
            self._items.append(item_of(fields))

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits all items so far, if new ones have come."""
        if len(self._items) > self._given:
            self._given = len(self._items)
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))
