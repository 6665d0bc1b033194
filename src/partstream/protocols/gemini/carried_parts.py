"""Collects the parts of one answer that go back to the server (docs/wires/gemini.md#signatures)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import is_json
from partstream.conversation.reasoning import ITEMS, MOST_ITEMS
from partstream.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.parts import thinking_part
from partstream.protocols.gemini.carried_items import ITEM_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CarriedParts"]

_NOT_CARRIED: Final = f"signature (more than {MOST_ITEMS} of one answer, or no JSON)"


class CarriedParts:
    """What one answer leaves for the next request; only thinking parts can carry it.

    Args:
        mode: What becomes of thinking.
    """

    __slots__ = ("_items", "_new", "_wanted")

    def __init__(self, mode: ThinkingMode) -> None:
        self._wanted = mode is ThinkingMode.PART
        self._items: list[dict[str, Any]] = []
        self._new: list[dict[str, Any]] = []

    def add(self, *items: Mapping[str, Any]) -> None:
        """Takes items, see :mod:`partstream.protocols.gemini.carried_items`."""
        if self._wanted:
            self._new += ({"type": ITEM_TYPE, **item} for item in items)

    def take(self) -> list[dict[str, Any]]:
        """The items that were not handed out yet, which are taken away."""
        new, self._new = self._new, []
        return new

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that have come since the last time, with all before them; nothing where there are none."""
        new = self.take()
        if not new:
            return
        if len(self._items) + len(new) > MOST_ITEMS or not is_json(new):
            outputs.append(Unmapped(_NOT_CARRIED, new[0]))
            return
        self._items += new
        outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))
