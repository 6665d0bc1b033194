"""Reservations of answers: what is granted, extended, settled, dropped and charged as lost, on both databases."""

from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import pytest

from hub.stores import HubDatabase, reserve, row, settle
from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.directory import BudgetRule, Need, Owner, OwnerKind
from partstream_hub.store.opening import opened_store
from partstream_hub.store.rows import Batch, Drop, Extend, Granted, Refused, Reserve, Settle
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Charge, Transaction, Window

RULE = BudgetRule(Owner(OwnerKind.TEAM, "core"), BudgetUnit.MONEY, Period.TOTAL, 1_000)
OTHER = replace(RULE, owner=Owner(OwnerKind.PERSON, "ana"))


def window_of(store: HubStore, rule: BudgetRule = RULE) -> Window:
    return store.open_windows([rule])[rule.id]


def books(store: HubStore) -> tuple[int, int]:
    """What is spent and reserved of the window."""
    assert store.check() == []
    found = window_of(store)
    return found.spent, found.reserved


@pytest.fixture
def window(hub_store: HubStore) -> int:
    """A window, and a worker that has beaten once."""
    hub_store.heartbeat("w1")
    return window_of(hub_store).id


def test_an_answer_reserves_as_long_as_there_is_room(hub_store: HubStore, window: int) -> None:
    assert reserve(hub_store, "w1", "a1", RULE, 600) == 600
    assert reserve(hub_store, "w2", "a2", RULE, 600) is None
    assert reserve(hub_store, "w2", "a3", RULE, 600, 100) == 400
    assert reserve(hub_store, "w2", "a4", RULE, 1) is None
    assert books(hub_store) == (0, 1_000)


def test_answers_of_one_batch_are_served_in_their_order_and_those_that_end_make_room(
    hub_store: HubStore, window: int
) -> None:
    reserve(hub_store, "w1", "a1", RULE, 900)
    batch = Batch(
        [Settle(row("a1", Charge(window, 400)))],
        reserves=[Reserve(row(f"b{least}"), [Need(RULE, 500, least)]) for least in (500, 499, 50)],
    )
    _, (first, second, third) = hub_store.carry_out("w1", batch)
    assert first == Granted({RULE.id: window}, {RULE.id: 500})
    assert isinstance(second, Refused)
    assert (second.need.least, second.window.spent, second.window.reserved) == (499, 400, 500)
    assert third == Granted({RULE.id: window}, {RULE.id: 100})
    assert books(hub_store) == (400, 600)


def test_an_answer_reserves_of_all_its_budgets_or_of_none(hub_store: HubStore, window: int) -> None:
    reserve(hub_store, "w1", "a1", OTHER, 900)
    needs = [Need(RULE, 300, 300), Need(OTHER, 300, 300)]
    for is_whole in (False, True):
        _, (refused,) = hub_store.carry_out("w2", Batch([], reserves=[Reserve(row("a2"), needs, is_whole)]))
        assert isinstance(refused, Refused)
        assert refused.need.rule == OTHER
        assert books(hub_store) == (0, 0)
    _, (refused,) = hub_store.carry_out(
        "w2", Batch([], reserves=[Reserve(row("a2"), [Need(OTHER, 300, 50)], is_whole=True)])
    )
    assert isinstance(refused, Refused)
    assert books(hub_store) == (0, 0)


def test_an_answer_that_runs_reserves_more_or_less_all_or_nothing(hub_store: HubStore, window: int) -> None:
    reserve(hub_store, "w1", "a1", RULE, 600)
    extends = [Extend("a1", {window: amount}) for amount in (300, 300, -500, 550)]
    extended, _ = hub_store.carry_out("w1", Batch([], [*extends, Extend("unknown", {window: 1})]))
    assert extended == [True, False, True, True, False]
    assert books(hub_store) == (0, 950)
    settle(hub_store, "w1", [row("a1", Charge(window, 10))])
    assert books(hub_store) == (10, 0)
    assert hub_store.carry_out("w1", Batch([], [Extend("a1", {window: 1})])).extended == [False]


def test_an_answer_is_charged_once_however_often_it_is_settled(hub_store: HubStore, window: int) -> None:
    for name in ("a1", "a2"):
        reserve(hub_store, "w1", name, RULE, 300)
    rows = [row("a2", Charge(window, 30)), row("a1", Charge(window, 100))]
    settle(hub_store, "w1", rows)
    settle(hub_store, "w1", [*rows, row("a3", Charge(window, 1)), row("a3", Charge(window, 1))])
    assert books(hub_store) == (131, 0)
    assert hub_store.read("SELECT count(*) FROM hub_ledger") == [(3,)]


def test_an_answer_that_is_dropped_leaves_nothing(hub_store: HubStore, window: int) -> None:
    reserve(hub_store, "w1", "a1", RULE, 300)
    hub_store.carry_out("w1", Batch([Drop("a1"), Drop("a1"), Drop("unknown")]))
    assert books(hub_store) == (0, 0)
    assert hub_store.read("SELECT answer_id FROM hub_ledger") == []


def test_what_an_answer_takes_beyond_its_reservation_is_spent_and_shown(hub_store: HubStore, window: int) -> None:
    reserve(hub_store, "w1", "a1", RULE, 100)
    settle(hub_store, "w1", [row("a1", Charge(window, 1_250))])
    assert books(hub_store) == (1_250, 0)
    assert (window_of(hub_store).overrun, window_of(hub_store).free) == (250, 0)


def test_a_worker_that_is_gone_is_charged_in_full_and_what_it_settles_late_takes_its_place(
    hub_store: HubStore, window: int
) -> None:
    for name in ("a1", "a2"):
        reserve(hub_store, "w1", name, RULE, 300)
    assert [hub_store.expire("w1"), hub_store.expire("w1")] == [2, 0]
    assert books(hub_store) == (600, 0)
    assert hub_store.read(
        "SELECT answer_id, outcome, is_estimated, nanodollars, person, model FROM hub_ledger ORDER BY answer_id"
    ) == [(name, "lost", True, 300, "ana", "gpt-5") for name in ("a1", "a2")]
    for _ in range(2):
        settle(hub_store, "w1", [replace(row("a1", Charge(window, 40)), outcome="completed")])
        hub_store.carry_out("w1", Batch([Drop("a2")]))
        assert books(hub_store) == (40, 0)
    assert hub_store.read("SELECT answer_id, outcome FROM hub_ledger") == [("a1", "completed")]


def test_a_worker_is_silent_only_while_it_has_not_been_heard_of_again(hub_database: HubDatabase) -> None:
    now = 1_800_000_000.0
    store = hub_database.migrated(lambda: now)
    store.heartbeat("w1")
    reserve(store, "w1", "a1", RULE, 300)
    now += 29
    assert store.heartbeat("w2").silent == {}
    now += 2
    silent = store.heartbeat("w2").silent
    assert silent == {"w1": 1_800_000_000.0}
    store.heartbeat("w1")
    assert store.expire("w1", silent["w1"]) == 0
    now -= 3_600  # the clock of the database is set back
    assert set(store.heartbeat("w2").silent) == {"w1"}
    assert store.expire("w1", now + 3_600) == 1
    assert store.heartbeat("w2").silent == {}
    assert books(store) == (300, 0)


def test_workers_heard_of_lately_share_the_rates_and_old_ones_are_forgotten(
    hub_database: HubDatabase,
) -> None:
    now = 1_800_000_000.0
    store = hub_database.migrated(lambda: now)
    assert [store.heartbeat(worker).live_workers for worker in ("w1", "w2", "w2")] == [1, 2, 2]
    now += 10
    assert store.heartbeat("w2").live_workers == 1
    now += 3_600
    store.heartbeat("w2")
    assert store.read("SELECT name FROM hub_workers") == [("w2",)]


def test_a_charge_that_cannot_be_keeps_no_row_out_of_the_ledger(hub_store: HubStore, window: int) -> None:
    strange = replace(row("a1", Charge(window, -50)), time=float("nan"), nanodollars=10**30, input_tokens=-1)
    settle(hub_store, "w1", [strange, row("a3", Charge(window, 5), Charge(window, 2))])
    assert hub_store.read("SELECT time, nanodollars, input_tokens FROM hub_ledger WHERE answer_id = 'a1'") == [
        (0.0, None, None)
    ]
    assert books(hub_store) == (7, 0)


def test_a_batch_is_carried_out_at_once_where_nobody_writes_and_else_nothing_happens(
    hub_database: HubDatabase, hub_store: HubStore, window: int
) -> None:
    batch = Batch([], reserves=[Reserve(row("a1"), [Need(RULE, 600, 600)])], windows={RULE.id: window})
    other = hub_database.engine()

    def while_another_writes(work: Transaction) -> None:
        work.locked("SELECT id FROM hub_windows WHERE id = ?", (window,))
        assert hub_store.carry_out_at_once("w1", batch) is None

    other.run(while_another_writes)
    assert books(hub_store) == (0, 0)
    assert hub_store.carry_out_at_once("w1", replace(batch, windows={})) is None  # its window is not known
    assert hub_store.carry_out_at_once("w1", replace(batch, windows={RULE.id: window + 1})) is None  # nor is there one
    assert books(hub_store) == (0, 0)
    result = hub_store.carry_out_at_once("w1", batch)
    assert result is not None
    assert result.reserved == [Granted({RULE.id: window}, {RULE.id: 600})]
    assert books(hub_store) == (0, 600)


@pytest.mark.parametrize("left", [0.0, 0.25, 0.5, 0.99], ids=lambda left: f"{left:.0%} of it left")
def test_a_log_that_is_cut_gives_back_nothing_of_what_a_heartbeat_has_seen(tmp_path: Path, left: float) -> None:
    file, log = tmp_path / "hub.sqlite3", tmp_path / "hub.sqlite3-wal"
    store = opened_store(file)
    store.migrate()
    window = window_of(store).id
    assert reserve(store, "w1", "a1", RULE, 600) == 600
    settle(store, "w1", [row("a1", Charge(window, 250))])
    assert reserve(store, "w1", "a2", RULE, 400) == 400
    store.heartbeat_durably("w1", 30.0)
    settle(store, "w1", [row("a2", Charge(window, 1))])
    killed = tmp_path / "killed" / file.name
    killed.parent.mkdir()
    copyfile(file, killed)
    (killed.parent / log.name).write_bytes(log.read_bytes()[: int(log.stat().st_size * left)])
    store.close()
    after = opened_store(killed)
    spent, reserved = books(after)
    after.close()
    assert (spent, reserved) in {(250, 400), (251, 0)}  # as of the heartbeat, or with what came after it
