"""Which output item an event means, whatever the server left out, rotated or used twice."""

from typing import Any

from partstream.protocols.openresponses.tool_calls import RULES_OF_TEXTS, SAME_ID, Item, Items
from rows import one_test_for


def _items(*announced: tuple[str | None, int | None]) -> Items[Item]:
    items: Items[Item] = Items(Item)
    for item_id, output_index in announced:
        items.announce(item_id, output_index)
    return items


@one_test_for(
    ("announced", "event", "meant"),
    [
        ([("a", 0), ("b", 1)], ("a", 0), 0),
        ([("a", 0), ("b", 1)], ("b", 0), 0),  # the index first: ids rotate
        ([("a", 0), ("b", 1)], ("x", 1), 1),
        ([("a", 0), ("b", 1)], (None, 1), 1),
        ([("a", 0), ("b", 1)], ("b", None), 1),  # then the id
        ([("a", 0), ("b", 1)], ("b", 7), 1),
        ([("a", 0), ("b", 1)], ("x", None), None),  # two are open, and nothing says which
        ([("a", 0)], ("x", None), 0),  # then the only open one
        ([("a", 0)], (None, None), 0),
        ([(None, None)], ("x", 3), 0),  # one that never had an index may be meant
        ([("a", 0)], ("x", 3), None),  # one that has another may not
        ([], ("a", 0), None),
        ([("a", 0), ("b", 0)], ("a", 0), 1),  # the later one has the index while it is open
    ],
)
def test_an_event_means_an_open_item_by_index_then_by_id_then_the_only_one(
    announced: Any, event: tuple[str | None, int | None], meant: int | None
) -> None:
    items = _items(*announced)
    expected = None if meant is None else items.all[meant]
    assert items.known(*event) is expected
    found = items.find(*event)
    assert found is (expected or items.all[-1])
    assert len(items.all) == len(announced) + (meant is None)


def test_a_closed_item_at_the_index_gives_way_to_the_item_with_the_id() -> None:
    items = _items(("a", 0), ("b", 0))
    items.all[1].closed = True
    assert items.known("a", 0) is items.all[0]
    assert items.known("b", 0) is items.all[1]
    assert items.known("c", 0) is items.all[1], "ids rotate: it may be the announced one"


def test_an_index_used_twice_without_announcement_is_another_item() -> None:
    items = _items()
    items.find("a", 0).closed = True
    assert items.known("b", 0) is None
    assert items.known("a", 0) is items.all[0]


def test_a_closed_item_is_not_the_only_open_one() -> None:
    items = _items(("a", 0), ("b", 1))
    items.all[0].closed = True
    assert items.known("x", None) is items.all[1]
    items.all[1].closed = True
    assert items.known("x", None) is None


def test_an_item_is_announced_once_by_its_id_and_after_events_that_implied_it() -> None:
    items = _items()
    implied = items.find("x", 0)
    assert not implied.announced
    assert items.announce("a", 0) is implied
    assert implied.announced
    assert items.announce("x", 0) is implied
    assert items.announce("b", 0) is not implied


def test_one_id_at_two_places_is_two_items() -> None:
    items = _items(("a", 0), ("a", 1))
    assert len(items.all) == 2
    assert [items.known("a", place) for place in range(2)] == items.all
    items.all[0].closed = True
    assert items.known("a", 0) is items.all[0]
    assert items.announce("a", None) is items.all[1]


def test_implied_items_with_other_ids_are_other_items_where_no_index_says_it() -> None:
    items = _items()
    first = items.find("a", None)
    assert items.find("b", None) is not first
    assert items.find("a", None) is first
    nameless = _items()
    assert nameless.find(None, None) is nameless.find(None, None)


def test_the_snapshot_is_paired_rule_by_rule_and_each_item_once() -> None:
    items = _items(("a", 0), ("b", 1), ("c", 2))
    snapshot: Any = [(0, {"id": "b"}), (1, {"id": "x"}), (2, {"id": "y"}), (3, {"id": "z"})]
    pairs = items.match_snapshot(snapshot, RULES_OF_TEXTS)
    first, second, third, fourth = (pairs[place] for place in range(4))
    assert first is items.all[1], "by id"
    assert third is items.all[2], "by place"
    assert second is items.all[0], "in order"
    assert fourth is items.all[3], "new"
    assert (fourth.id, fourth.output_index) == ("z", 3)


def test_without_a_rule_that_fits_everything_in_the_snapshot_is_new() -> None:
    items = _items(("a", 0))
    assert items.match_snapshot([(0, {"id": "x"})], (SAME_ID,)) == {0: items.all[1]}
