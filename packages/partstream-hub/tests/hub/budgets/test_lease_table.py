"""The account of one worker: nothing is admitted beyond what is held."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream_hub.leases import LeaseTable
from rows import one_test_for


def table_of(**held: int) -> LeaseTable:
    table = LeaseTable()
    table.leased({int(name[1:]): amount for name, amount in held.items()})
    return table


@one_test_for(
    ("amounts", "is_reserved"),
    [
        ({1: 10, 2: 5}, True),
        ({1: 11, 2: 5}, False),
        ({1: 10, 2: 6}, False),
        ({3: 1}, False),
        ({}, True),
    ],
)
def test_all_is_reserved_or_nothing(amounts: dict[int, int], is_reserved: bool) -> None:
    table = table_of(w1=10, w2=5)
    assert table.reserve(amounts, 0.0) is is_reserved
    assert [lease.reserved for _, lease in table if lease.held] == ([10, 5] if amounts and is_reserved else [0, 0])


def test_what_an_answer_did_not_take_is_free_again_and_what_it_took_is_not() -> None:
    table = table_of(w1=10)
    table.reserve({1: 8}, 0.0)
    table.release({1: 8})
    table.charge({1: 3})
    assert table.lease(1).free == 7
    table.settled({1: 3})
    table.leased({1: 7})
    assert table.lease(1).free == 7


def test_a_charge_beyond_what_is_held_is_a_debt_that_keeps_others_from_being_admitted() -> None:
    table = table_of(w1=10)
    table.reserve({1: 4}, 0.0)
    table.release({1: 4})
    table.charge({1: 13})
    assert (table.lease(1).free, table.lease(1).debt) == (0, 3)
    assert not table.reserve({1: 1}, 0.0)


def test_what_is_about_to_be_given_back_is_not_reserved_any_more() -> None:
    table = table_of(w1=10)
    table.take_back({1: 10})
    assert not table.reserve({1: 1}, 0.0)
    with pytest.raises(ValueError, match="expected at most the 0"):
        table.take_back({1: 1})


def test_a_window_is_forgotten_only_when_nothing_of_it_is_left() -> None:
    table = table_of(w1=10)
    with pytest.raises(ValueError, match="still held"):
        table.forget(1)
    table.leased({1: 0})
    table.forget(1)
    assert 1 not in table


@given(st.lists(st.tuples(st.sampled_from(["reserve", "end", "drop", "lease", "back"]), st.integers(0, 50))))
def test_the_account_never_admits_more_than_it_holds(actions: list[tuple[str, int]]) -> None:
    table = table_of(w1=100)
    live: list[int] = []
    for action, amount in actions:
        lease = table.lease(1)
        if action == "reserve" and table.reserve({1: amount}, 0.0):
            live.append(amount)
        elif action in {"end", "drop"} and live:
            reserved = live.pop()
            table.release({1: reserved})
            table.charge({1: min(amount, reserved) if action == "end" else 0})
        elif action == "lease":
            table.leased({1: lease.held + amount})
        elif action == "back":
            table.take_back({1: min(amount, lease.free)})
        assert lease.reserved == sum(live)
        assert lease.reserved + lease.unsettled <= lease.held
