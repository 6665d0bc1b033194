"""What always holds in the tables, under any order of what workers do, and with many workers at once."""

import random
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from hub.test_leases import row
from partstream_hub.directory import BudgetRule, BudgetUnit, Owner, OwnerKind, Period, Put, Team
from partstream_hub.store import rows as settling
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Charge, LeaseAsk, Transaction

OWNERS = (Owner(OwnerKind.TEAM, "core"), Owner(OwnerKind.TEAM, "web"), Owner(OwnerKind.TEAM, "data"))
ACTIONS = ("beat", "lease", "lease", "settle", "settle", "give", "recall", "forfeit", "leave", "limit")
WORKERS = ("w1", "w2", "w3")


def rules(limit: int) -> list[BudgetRule]:
    return [BudgetRule(owner, BudgetUnit.TOKENS, Period.TOTAL, limit) for owner in OWNERS]


def repeatable(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - for an order that can be repeated


def random_steps(store: HubStore, choice: random.Random, windows: list[int], count: int) -> Iterable[str]:
    """What workers do, in any order; each step is one call."""
    answers = 0
    for _ in range(count):
        worker = choice.choice(WORKERS)
        some = choice.sample(windows, choice.randint(1, len(windows)))
        action = choice.choice(
            ("beat", "lease", "lease", "settle", "settle", "give", "recall", "forfeit", "leave", "limit")
        )
        counter = store.heartbeat(worker).workers[worker].counter if action in {"beat", "give"} else 0
        if action == "lease":
            store.lease(worker, [LeaseAsk(window, choice.randint(1, 400), choice.randint(0, 100)) for window in some])
        elif action == "settle":
            # One in four is an answer that was settled before, by this worker or by another one.
            answers += choice.random() < 0.75
            charges = [Charge(window, choice.randint(0, 150)) for window in some]
            store.settle(worker, [row(f"a{choice.randint(max(0, answers - 3), answers)}", *charges)])
        elif action == "give":
            store.give_back(worker, counter, {window: choice.randint(-10, 300) for window in some}, {})
        elif action == "recall":
            store.ask_recall(dict.fromkeys(some, choice.randint(0, 3)))
        elif action == "forfeit":
            store.expire(worker)
        elif action == "leave":
            store.leave(worker)
        elif action == "limit":
            store.change([Put(rule) for rule in rules(choice.randint(300, 2_000))], "a test")
        yield f"{action} {worker}"


@pytest.mark.parametrize("seed", range(2))
def test_whatever_workers_do_in_whatever_order_the_invariants_hold(hub_database: HubDatabase, seed: int) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    store.change([Put(Team(owner.name)) for owner in OWNERS] + [Put(rule) for rule in rules(1_000)], "a test")
    windows = [window.id for window in store.open_windows(rules(1_000)).values()]
    for step in random_steps(store, repeatable(seed), windows, 50):
        assert store.check() == [], step
    assert overshoots(store) == []


def together(*actions: Callable[[], object]) -> None:
    """Runs actions in threads that begin at the same moment; an error of one is raised."""
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], object]) -> None:
        barrier.wait(10)
        action()

    with ThreadPoolExecutor(len(actions)) as threads:
        for done in [threads.submit(run, action) for action in actions]:
            done.result(50)


def test_workers_that_settle_the_same_answers_at_once_charge_each_once(hub_database: HubDatabase) -> None:
    stores = [hub_database.migrated() for _ in range(4)]
    note_overshoots(hub_database)
    rule = rules(10_000)[0]
    window = stores[0].open_windows([rule])[rule.id].id
    stores[0].heartbeat("w1")
    stores[0].lease("w1", [LeaseAsk(window, 10_000, 10_000)])
    rows = [row(f"a{number}", Charge(window, 10)) for number in range(100)]

    def settle(store: HubStore, seed: int) -> Callable[[], object]:
        order = repeatable(seed).sample(rows, len(rows))
        return lambda: [store.settle("w1", order[start : start + 20]) for start in range(0, 100, 10)]

    together(*(settle(store, seed) for seed, store in enumerate(stores)))
    found = stores[0].open_windows([rule])[rule.id]
    assert (found.spent, found.leased, found.overrun) == (1_000, 9_000, 0)
    assert stores[0].read("SELECT count(*) FROM hub_ledger") == [(100,)]
    assert stores[0].check() == []


def test_many_workers_at_once_meet_no_deadlock_and_break_nothing(
    hub_database: HubDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Each takes windows in an order of its own, settles, leaves, is forfeited by others; limits change meanwhile."""
    first = hub_database.migrated()
    note_overshoots(hub_database)
    first.change([Put(Team(owner.name)) for owner in OWNERS] + [Put(rule) for rule in rules(1_000)], "a test")
    windows = [window.id for window in first.open_windows(rules(1_000)).values()]

    def work(seed: int) -> Callable[[], object]:
        store = hub_database.store()
        return lambda: [*random_steps(store, repeatable(seed), windows, 30)]

    together(*(work(seed) for seed in range(4)))
    assert first.check() == []
    assert overshoots(first) == []
    assert caplog.records == []  # a transaction that was taken back for a deadlock would be begun again, and logged


def test_the_check_and_the_triggers_see_what_breaks_them(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    window = store.open_windows(rules(1_000)[:1])["team/core/tokens/total"].id
    hub_database.engine().run(lambda work: work.run("UPDATE hub_windows SET spent = 900, leased = 200"))
    assert [str(one) for one in store.check()] == [
        f"team/core/tokens/total, window {window}: got 200 leased, expected the sum of the leases, 0",
        f"team/core/tokens/total, window {window}: got 900 spent and 200 leased, expected 1,000 at most",
        (
            f"team/core/tokens/total, window {window}: got 900 spent and 0 overrun,"
            " expected the charges of the ledger, 0, and what is forfeited, 0"
        ),
    ]
    assert overshoots(store) == [(window, 1_100, 1_000)]


class Interrupted:
    """A transaction in the middle of which, behind its first lock, something else happens."""

    def __init__(self, work: Transaction, happens: Callable[[], object]) -> None:
        self._work = work
        self._happens = happens

    def __getattr__(self, name: str) -> object:
        return getattr(self._work, name)

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple]:
        found = self._work.rows(statement, parameters)
        happens, self._happens = self._happens, lambda: None
        happens()
        return found


def test_a_worker_that_comes_back_while_somebody_ends_it_keeps_what_it_leases_then(postgres_address: str) -> None:
    """SQLite lets nobody write in the middle of a transaction."""
    database = HubDatabase("postgres", postgres_address)
    store = database.migrated()
    rule = rules(1_000)[0]
    window = store.open_windows([rule])[rule.id].id

    def come_back() -> None:
        store.heartbeat("w1")
        store.lease("w1", [LeaseAsk(window, 10, 1)])

    def leave(work: Transaction) -> None:
        settling.leave(Interrupted(work, come_back), "w1")

    database.engine().run(leave)
    assert store.check() == []
    database.close()
