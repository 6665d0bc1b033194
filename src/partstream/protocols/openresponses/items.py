"""Finds the output item of an event, whatever the server left out, rotated or used twice.

facts: `function_call_arguments.*` carry no call id, only `item_id` and `output_index`. GitHub Copilot rotates item
ids on every event while `output_index` stays; Ollama and LiteLLM use one `output_index` for several items; llama.cpp
leaves indices out; vLLM leaves `output_item.added` out. So an item is found by kind and `output_index`, then by
kind and `item_id`, then as the only open item of its kind that nothing speaks against.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from partstream.outputs import StreamOutput
from partstream.protocols.openresponses.fields import Wire, identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Close", "Item", "Items", "in_order", "same_id", "same_place"]


Close: TypeAlias = Callable[[Wire, list[StreamOutput], Wire], None]
"""Closes one item: given the event, the outputs, and the item as the event says it."""


class Item:
    """An output item; kinds of items derive from it.

    Attributes:
        id: The first identifier that it had, or None.
        output_index: Its place in the response's output, or None.
        announced: Whether `output_item.added` introduced it; otherwise another event implied it.
        closed: Whether `output_item.done` was seen.
    """

    __slots__ = ("announced", "closed", "id", "output_index")

    def __init__(self, item_id: str | None, output_index: int | None) -> None:
        self.id = item_id
        self.output_index = output_index
        self.announced = False
        self.closed = False


ItemT = TypeVar("ItemT", bound=Item)


def same_id(item: Item, _place: int, wire: Wire) -> bool:
    """A rule for :meth:`Items.match_snapshot`."""
    return item.id is not None and item.id == wire.get("id")


def same_place(item: Item, place: int, _wire: Wire) -> bool:
    """A rule for :meth:`Items.match_snapshot`."""
    return item.output_index == place


def in_order(_item: Item, _place: int, _wire: Wire) -> bool:
    """A rule for :meth:`Items.match_snapshot`: takes the first item that is left."""
    return True


class Items(Generic[ItemT]):
    """All items of one kind in one response, in order of first appearance."""

    __slots__ = ("_by_id", "_by_index", "_make", "all")

    def __init__(self, make: Callable[[str | None, int | None], ItemT]) -> None:
        self._make = make
        self._by_index: dict[int, ItemT] = {}
        self._by_id: dict[str, ItemT] = {}
        self.all: list[ItemT] = []

    def announce(self, item_id: str | None, output_index: int | None) -> ItemT:
        """The item that `output_item.added` introduces.

        It is new unless its id is known, or earlier events have implied it.
        """
        known = self._by_id.get(item_id) if item_id is not None else None
        if known is not None and None not in (output_index, known.output_index) and known.output_index != output_index:
            known = None  # one id for two items: the index tells them apart
        if known is None and output_index is not None:
            at_index = self._by_index.get(output_index)
            known = at_index if at_index is not None and not at_index.announced and not at_index.closed else None
        item = known or self._add(item_id, output_index)
        item.announced = True
        return item

    def find(self, item_id: str | None, output_index: int | None) -> ItemT:
        """The item that an event names; a new, implied item if none fits."""
        return self.known(item_id, output_index) or self._add(item_id, output_index)

    def known(self, item_id: str | None, output_index: int | None) -> ItemT | None:
        """The item that an event names; None if none fits."""
        by_id = self._by_id.get(item_id) if item_id is not None else None
        if output_index is None:
            return by_id or self._only_candidate(item_id)
        at_index = self._by_index.get(output_index)
        if at_index is None:
            return by_id or self._only_unplaced()
        if at_index.closed and by_id is not None:
            return at_index if at_index.id == item_id else by_id
        if at_index.closed and item_id is not None and item_id != at_index.id and not at_index.announced:
            return None  # the index is used a second time, and nothing announced the second item
        return at_index

    def match_snapshot(
        self, snapshot: list[tuple[int, Wire]], rules: Sequence[Callable[[ItemT, int, Wire], bool]]
    ) -> dict[int, ItemT]:
        """Pairs the items of the final snapshot, given with their places, with those seen before.

        The rules are tried in order, each on all that is still without a partner; what stays without one is new.
        """
        pairs: dict[int, ItemT] = {}
        left = list(self.all)
        for rule in rules:
            for place, wire in snapshot:
                partner = next((item for item in left if rule(item, place, wire)), None) if place not in pairs else None
                if partner is not None:
                    left.remove(partner)
                    pairs[place] = partner
        return {place: pairs.get(place) or self._add(identifier(wire, "id"), place) for place, wire in snapshot}

    def _only_candidate(self, item_id: str | None) -> ItemT | None:
        """For an event without an index: an implied item with another id is another item."""
        return _only([item for item in self.all if not item.closed and (item.announced or None in (item_id, item.id))])

    def _only_unplaced(self) -> ItemT | None:
        """For an event with an unknown index: only an item that never had an index can be meant."""
        return _only([item for item in self.all if not item.closed and item.announced and item.output_index is None])

    def _add(self, item_id: str | None, output_index: int | None) -> ItemT:
        item = self._make(item_id, output_index)
        self.all.append(item)
        if output_index is not None:
            self._by_index[output_index] = item
        if item_id is not None:
            self._by_id[item_id] = item
        return item


def _only(candidates: list[ItemT]) -> ItemT | None:
    return candidates[0] if len(candidates) == 1 else None
