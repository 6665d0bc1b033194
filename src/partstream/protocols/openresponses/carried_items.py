"""What a server wants back of one answer, each thing once: reasoning, and summaries of the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.conversation.reasoning import ITEMS, MOST_ITEMS

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["CarriedItems"]


class CarriedItems:
    """The items of one answer, in order."""

    __slots__ = ("_items", "_keys")

    def __init__(self) -> None:
        self._items: list[dict[str, str]] = []
        self._keys: set[Hashable] = set()

    def knows(self, item: dict[str, str]) -> bool:
        """Whether an item of the same id was added; without an id, an equal one."""
        return _key(item) in self._keys

    def add(self, item: dict[str, str]) -> dict[str, list[dict[str, str]]] | None:
        """Takes one more item; returns the metadata that lists all so far, or None if there are too many."""
        if len(self._items) >= MOST_ITEMS:
            return None
        self._keys.add(_key(item))
        self._items.append(item)
        return {ITEMS: list(self._items)}


def _key(item: dict[str, str]) -> Hashable:
    return item.get("id") or frozenset(item.items())
