"""How much a worker leases at a time: enough that the next answer needs no database, and little of what is left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from partstream_hub.amounts import Need
from partstream_hub.directory import BudgetRule, BudgetUnit, Owner, OwnerKind, Period
from partstream_hub.journal import TakeLease, Tools
from partstream_hub.leases import SHARES, BudgetGrant, WorkerSettings, spare_size
from partstream_hub.store.opening import opened_store
from partstream_hub.worker import BudgetManager
from rows import one_test_for

AMOUNT = st.integers(0, 10**18)


@one_test_for(
    ("answer", "unspent", "leased", "spare"),
    [
        (100, 10_000, 0, 125),  # an answer that is a quarter longer
        (100, 500, 0, 125),  # just a quarter of what is left
        (100, 499, 0, 0),  # money is short: nothing is kept
        (100, 10_000, 2_375, 125),
        (100, 10_000, 2_376, 0),  # others hold their quarter
        (0, 10_000, 0, 0),
    ],
)
def test_what_is_kept_for_the_next_answer(answer: int, unspent: int, leased: int, spare: int):
    assert spare_size(answer, unspent, leased) == spare


@given(AMOUNT, AMOUNT, AMOUNT)
def test_all_workers_together_keep_no_more_than_their_part_of_what_is_left(answer: int, unspent: int, leased: int):
    spare = spare_size(answer, unspent, leased)
    assert spare == 0 or SHARES * (leased + spare) <= unspent


class _NoJournals:
    """A journal without a row, and nobody to adopt."""

    def rows(self, most: int, *, with_running: bool = False) -> list:
        del most, with_running
        return []

    def remove(self, answer_ids) -> None:
        del answer_ids

    def adopt(self, store, most: int) -> bool:
        del store, most
        return False


def test_somebody_who_asks_seldom_waits_for_the_database_once_and_not_for_each_answer():
    rule = BudgetRule(Owner(OwnerKind.PERSON, "ana"), BudgetUnit.MONEY, Period.DAY, 10_000)
    need = Need(rule, 100, 20)
    now, leases = 0.0, 0
    store = opened_store(":memory:", lambda: 1_000_000.0 + now)
    store.migrate()
    manager, nothing = BudgetManager("w", WorkerSettings()), _NoJournals()
    tools = Tools(store, nothing, nothing)
    answered: list[BudgetGrant] = []

    def work() -> None:
        nonlocal leases
        for other in range(100):  # a large hub: an equal share of the budget is less than one answer
            store.heartbeat(f"other-{other}")
        while (operation := manager.next_operation(now)) is not None:
            leases += isinstance(operation, TakeLease)
            manager.done(operation, operation.run(tools), now)

    work()
    manager.ask((need,), now, answered.append)
    work()
    for _ in range(10):
        manager.end(answered[-1].amounts, dict.fromkeys(answered[-1].amounts, 30), now)
        now += 4.0
        granted = manager.try_reserve((need,), now)
        assert isinstance(granted, BudgetGrant), "an answer waits for the database"
        answered.append(granted)
        work()
    assert leases < 10
    assert manager.live_workers > 50
    store.close()
