"""Finds the output item of an event, whatever the server left out, rotated or used twice.

Events of arguments carry `item_id` and `output_index`, and no call id (docs/wires/openresponses.md#identity-of-a-call).
GitHub Copilot changes item ids with every event and keeps `output_index`; Ollama and LiteLLM use one `output_index` for
several items; llama.cpp leaves indices out; vLLM leaves `output_item.added` out. So an item is found by kind and
`output_index`, then by kind and `item_id`, then as the only open item of its kind that no field contradicts.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from partstream.outputs import StreamOutput
from partstream.protocols.openresponses.fields import Wire, identifier

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["IN_ORDER", "SAME_ID", "SAME_PLACE", "Close", "Item", "Items", "MatchRule"]


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


class MatchRule(NamedTuple):
    """A rule for :meth:`Items.match_snapshot`: an item and a wire item are partners when their keys are equal.

    Attributes:
        of_item: The key of an item; None for an item that the rule does not apply to.
        of_wire: The key of an item of the snapshot, given its place.
    """

    of_item: Callable[[Any], Hashable | None]
    of_wire: Callable[[int, Wire], Hashable | None]


SAME_ID: Final = MatchRule(lambda item: item.id, lambda _place, wire: identifier(wire, "id"))
SAME_PLACE: Final = MatchRule(lambda item: item.output_index, lambda place, _wire: place)
IN_ORDER: Final = MatchRule(lambda _item: True, lambda _place, _wire: True)
"""The first one that is left."""


class _Candidates(Generic[ItemT]):
    """Items that an event without an index may mean, in order of first appearance.

    Args:
        may_be_meant: Whether an item may still be meant. One that may not never may again, and is dropped when it is
            met: each search costs no more than what it drops.
    """

    __slots__ = ("_items", "_may_be_meant")

    def __init__(self, may_be_meant: Callable[[ItemT], bool]) -> None:
        self._may_be_meant = may_be_meant
        self._items: OrderedDict[ItemT, None] = OrderedDict()

    def add(self, item: ItemT) -> None:
        """Takes one more item; one that is there already stays where it is."""
        self._items[item] = None

    def first_two(self) -> list[ItemT]:
        """The first two that may be meant, or fewer; nobody needs to know more than whether there is only one."""
        found: list[ItemT] = []
        gone: list[ItemT] = []
        for item in self._items:
            (found if self._may_be_meant(item) else gone).append(item)
            if len(found) == _TWO:
                break
        for item in gone:
            del self._items[item]
        return found


_TWO: Final = 2


class Items(Generic[ItemT]):
    """All items of one kind in one response, in order of first appearance."""

    __slots__ = ("_announced", "_by_id", "_by_index", "_make", "_nameless", "_open", "_unplaced", "all")

    def __init__(self, make: Callable[[str | None, int | None], ItemT]) -> None:
        self._make = make
        self._by_index: dict[int, ItemT] = {}
        self._by_id: dict[str, ItemT] = {}
        self.all: list[ItemT] = []
        self._open = _Candidates[ItemT](lambda item: not item.closed)
        self._announced = _Candidates[ItemT](lambda item: not item.closed)
        self._unplaced = _Candidates[ItemT](lambda item: not item.closed)
        self._nameless = _Candidates[ItemT](lambda item: not item.closed and item.id is None)

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
        self._announced.add(item)
        if item.output_index is None:
            self._unplaced.add(item)
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

    def match_snapshot(self, snapshot: list[tuple[int, Wire]], rules: Sequence[MatchRule]) -> dict[int, ItemT]:
        """Pairs the items of the final snapshot, given with their places, with those seen before.

        The rules are tried in order, each on all that is still without a partner; what stays without one is new.
        """
        pairs: dict[int, ItemT] = {}
        left = dict.fromkeys(self.all)
        for rule in rules:
            by_key: dict[Hashable, deque[ItemT]] = {}
            for item in left:
                if (key := rule.of_item(item)) is not None:
                    by_key.setdefault(key, deque()).append(item)
            for place, wire in snapshot:
                partners = by_key.get(rule.of_wire(place, wire)) if by_key and place not in pairs else None
                if partners:
                    pairs[place] = partners.popleft()
                    del left[pairs[place]]
        return {place: pairs.get(place) or self._add(identifier(wire, "id"), place) for place, wire in snapshot}

    def _only_candidate(self, item_id: str | None) -> ItemT | None:
        """For an event without an index: an implied item with another id is another item."""
        if item_id is None:
            return _only(self._open.first_two())
        return _only({*self._announced.first_two(), *self._nameless.first_two()})

    def _only_unplaced(self) -> ItemT | None:
        """For an event with an unknown index: only an item that never had an index can be meant."""
        return _only(self._unplaced.first_two())

    def _add(self, item_id: str | None, output_index: int | None) -> ItemT:
        item = self._make(item_id, output_index)
        self.all.append(item)
        self._open.add(item)
        if item_id is None:
            self._nameless.add(item)
        if output_index is not None:
            self._by_index[output_index] = item
        if item_id is not None:
            self._by_id[item_id] = item
        return item


def _only(candidates: Collection[ItemT]) -> ItemT | None:
    return next(iter(candidates)) if len(candidates) == 1 else None
