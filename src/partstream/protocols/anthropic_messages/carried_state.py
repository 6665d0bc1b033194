"""Collects what goes back of an answer, in its place (docs/wires/anthropic-messages.md#thinking-that-goes-back)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import dumps
from partstream.conversation.reasoning import ITEMS, MOST_ITEMS
from partstream.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.parts import thinking_part
from partstream.protocols.anthropic_messages.carried_blocks import block_of
from partstream.protocols.read_response import identifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MOST_BYTES", "CarriedState"]

MOST_BYTES: Final = 1024 * 1024
"""The most that one answer carries before pairs of the server's tools are left out. A host writes it into its history,
and a fetched page or file may be of any size."""

_NOT_CARRIED: Final = f"a block (more than {MOST_ITEMS} of one answer, or no JSON)"
_TOO_LARGE: Final = "a call and a result of the server's tools (too large to go back)"


class _Item(NamedTuple):
    """An item, and its size as JSON in bytes."""

    item: Mapping[str, Any]
    size: int


class CarriedState:
    """The items of one answer; only thinking parts can carry them.

    Each hand-out lists all items so far. So items wait until something follows of which they must know their place, or
    the end.

    Args:
        mode: What becomes of thinking.
    """

    __slots__ = ("_items", "_size", "_waiting", "_wanted")

    def __init__(self, mode: ThinkingMode) -> None:
        self._wanted = mode is ThinkingMode.PART
        self._items: list[Mapping[str, Any]] = []
        self._waiting: list[_Item] = []
        self._size = 0

    def add(self, item: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next item."""
        if not self._wanted:
            return
        size = _size_of(item)
        if size is None or len(self._items) + len(self._waiting) >= MOST_ITEMS:
            outputs.append(Unmapped(_NOT_CARRIED, item))
            return
        self._size += size
        self._waiting.append(_Item(item, size))

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that wait, with all before them; nothing where none waits."""
        if not self._waiting:
            return
        if self._size > MOST_BYTES:
            self._leave_out_pairs(outputs)
        if not self._waiting:
            return
        self._items += (one.item for one in self._waiting)
        self._waiting = []
        outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))

    def _leave_out_pairs(self, outputs: list[StreamOutput]) -> None:
        """Leaves out whole pairs of the server's blocks (docs/wires/anthropic-messages.md#pairs-of-server-blocks)."""
        called, answered = ({*_ids(self._waiting, field)} for field in ("id", "tool_use_id"))
        pairs = called & answered
        kept: list[_Item] = []
        for one in self._waiting:
            block = block_of(one.item)
            if pairs & {identifier(block, "id"), identifier(block, "tool_use_id")}:
                self._size -= one.size
                outputs.append(Unmapped(_TOO_LARGE, one.item))
            else:
                kept.append(one)
        self._waiting = kept


def _ids(items: Iterable[_Item], field: str) -> Iterable[str]:
    return (said for one in items if (said := identifier(block_of(one.item), field)) is not None)


def _size_of(item: Mapping[str, Any]) -> int | None:
    try:
        return len(dumps(item))
    except TypeError:
        return None
