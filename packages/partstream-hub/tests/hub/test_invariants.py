"""What always holds in the tables, under any order of what workers do, and with many workers at once."""

import random
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase, reserve, row, settle
from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.directory import BudgetRule, Need, Owner, OwnerKind, Team
from partstream_hub.store.rows import Batch, Drop, Extend, Granted, Reserve, Settle
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Charge

OWNERS = (Owner(OwnerKind.TEAM, "core"), Owner(OwnerKind.TEAM, "web"), Owner(OwnerKind.TEAM, "data"))
WORKERS = ("w1", "w2", "w3")


def rules(limit: int) -> list[BudgetRule]:
    return [BudgetRule(owner, BudgetUnit.TOKENS, Period.TOTAL, limit) for owner in OWNERS]


def repeatable(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - for an order that can be repeated


def random_steps(store: HubStore, choice: random.Random, name: str, count: int) -> Iterable[str]:
    """What workers do, in any order; each step is one call. An answer takes at most what it has reserved."""
    windows = {rule.id: window.id for rule, window in zip(rules(1), store.open_windows(rules(1)).values(), strict=True)}
    running: dict[str, dict[str, int]] = {}
    for number in range(count):
        worker = choice.choice(WORKERS)
        action = choice.choice(("beat", "batch", "batch", "batch", "expire", "limit"))
        if action == "batch":
            is_alone = choice.random() < 0.4  # one answer begins, and nothing else happens with it
            some = choice.sample([*running], min(len(running), 0 if is_alone else choice.randint(0, 2)))
            ended: list[Settle | Drop] = []
            for one in some:
                charges = (Charge(windows[rule], choice.randint(0, most)) for rule, most in running[one].items())
                ended.append(Drop(one) if one.endswith("2") else Settle(row(one, *charges)))
            extends = [Extend(one, {choice.choice([*windows.values()]): choice.randint(1, 50)}) for one in running]
            reserves = [
                Reserve(
                    row(f"{name}-{number}-{one}"),
                    [
                        Need(rule, choice.randint(50, 400), choice.randint(1, 50))
                        for rule in choice.sample(rules(1), choice.randint(1, 3))
                    ],
                    is_alone,
                )
                for one in range(1 if is_alone else choice.randint(0, 3))
            ]
            result = store.carry_out(worker, Batch(ended, [] if is_alone else extends[:1], reserves, windows))
            for one, found in zip(reserves, result.reserved, strict=True):
                if isinstance(found, Granted):
                    running[one.row.answer_id] = dict(found.amounts)
            if choice.random() < 0.75:  # else they are ended again, by this worker or another one
                for one in some:
                    running.pop(one)
        elif action == "beat":
            store.heartbeat(worker)
        elif action == "expire":
            store.expire(worker)
        else:
            store.change(list(rules(choice.randint(300, 2_000))), "a test")
        yield f"{action} {worker}"


def made(database: HubDatabase) -> HubStore:
    store = database.migrated()
    note_overshoots(database)
    store.change([Team(owner.name) for owner in OWNERS] + list(rules(1_000)), "a test")
    return store


@pytest.mark.parametrize("seed", range(3))
def test_whatever_workers_do_in_whatever_order_the_invariants_hold(hub_database: HubDatabase, seed: int) -> None:
    store = made(hub_database)
    for step in random_steps(store, repeatable(seed), "a", 50):
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
    stores = [made(hub_database), *(hub_database.store() for _ in range(3))]
    rule = rules(1_000)[0]
    window = stores[0].open_windows([rule])[rule.id].id
    for number in range(100):
        assert reserve(stores[0], "w1", f"a{number:02}", rule, 10) == 10
    rows = [row(f"a{number:02}", Charge(window, 5)) for number in range(100)]
    stores[0].expire("w1")

    def settle_all(store: HubStore, seed: int) -> Callable[[], object]:
        order = repeatable(seed).sample(rows, len(rows))
        return lambda: [settle(store, "w1", order[start : start + 20]) for start in range(0, 100, 10)]

    together(*(settle_all(store, seed) for seed, store in enumerate(stores)))
    found = stores[0].open_windows([rule])[rule.id]
    assert (found.spent, found.reserved) == (500, 0)
    assert stores[0].read("SELECT outcome, count(*) FROM hub_ledger GROUP BY outcome") == [("", 100)]
    assert stores[0].check() == []


def test_many_workers_at_once_meet_no_deadlock_and_break_nothing(
    hub_database: HubDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Each takes windows in an order of its own, settles, is charged as lost by others; limits change meanwhile."""
    first = made(hub_database)

    def work(seed: int) -> Callable[[], object]:
        store = hub_database.store()
        return lambda: [*random_steps(store, repeatable(seed), f"s{seed}", 30)]

    together(*(work(seed) for seed in range(4)))
    assert first.check() == []
    assert overshoots(first) == []
    assert caplog.records == []  # a transaction that was taken back for a deadlock would be begun again, and logged


def test_the_check_and_the_triggers_see_what_breaks_them(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    window = store.open_windows(rules(1_000)[:1])["team/core/tokens/total"].id
    hub_database.engine().run(lambda work: work.run("UPDATE hub_windows SET spent = 900, reserved = 200"))
    assert [str(one) for one in store.check()] == [
        f"team/core/tokens/total, window {window}: got 200 reserved, expected the sum of the reservations, 0",
        f"team/core/tokens/total, window {window}: got 900 spent, expected the charges of the ledger, 0",
    ]
    assert overshoots(store) == [(window, 1_100, 1_000)]
