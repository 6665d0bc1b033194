"""Leases of budgets: what is granted, given back, charged and forfeited, on both databases."""

from dataclasses import replace

import pytest

from hub.stores import HubDatabase
from partstream_hub.directory import BudgetRule, BudgetUnit, Owner, OwnerKind, Period
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import AnswerPart, Charge, GivenBack, Lease, LeaseAsk, LedgerRow, Settled, Window

RULE = BudgetRule(Owner(OwnerKind.TEAM, "core"), BudgetUnit.MONEY, Period.TOTAL, 1_000)


def window_of(store: HubStore, rule: BudgetRule = RULE) -> Window:
    return store.open_windows([rule])[rule.id]


def row(answer_id: str, *charges: Charge) -> LedgerRow:
    return LedgerRow(answer_id, 1_700_000_000.0, "k1", "ana", "core", "gpt-5", charges=charges)


def lease(store: HubStore, worker: str, window: int, amount: int, least: int | None = None) -> int:
    return store.lease(worker, [LeaseAsk(window, amount, amount if least is None else least)])[window].granted


def give_back(store: HubStore, worker: str, counter: int, amounts: dict[int, int]) -> GivenBack:
    return store.give_back(worker, counter, amounts, {})


@pytest.fixture
def window(hub_store: HubStore) -> int:
    """A window, and two workers that have beaten once."""
    hub_store.heartbeat("w1")
    hub_store.heartbeat("w2")
    return window_of(hub_store).id


def test_a_lease_is_granted_as_long_as_there_is_room(hub_store: HubStore, window: int) -> None:
    assert lease(hub_store, "w1", window, 600) == 600
    assert lease(hub_store, "w2", window, 600) == 0
    assert lease(hub_store, "w2", window, 600, 100) == 400
    assert lease(hub_store, "w2", window, 1, 0) == 0
    assert window_of(hub_store).leased == 1_000
    assert hub_store.heartbeat("w2").leases == {window: Lease(400)}


PARTS = {
    "all of it where it is there": ([(400, 400), (500, 500)], 0, 1_000, 900),
    "no rest that helps nobody": ([(700, 700), (700, 700)], 0, 1_000, 700),
    "a smaller one behind a larger one": ([(700, 700), (700, 700), (300, 300)], 0, 1_000, 1_000),
    "a rest for one that is content with less": ([(700, 700), (700, 200)], 0, 1_000, 1_000),
    "nothing where nobody is helped": ([(700, 700), (800, 600)], 0, 500, 0),
    "what is missing beside what is free already": ([(700, 700), (700, 700)], 150, 1_000, 550),
    "what was used beyond the lease comes first": ([(700, 700), (700, 700)], -100, 1_000, 800),
}


@pytest.mark.parametrize(("parts", "free", "there", "granted"), PARTS.values(), ids=PARTS)
def test_answers_that_share_a_lease_are_granted(
    hub_store: HubStore, window: int, parts: list[tuple[int, int]], free: int, there: int, granted: int
) -> None:
    lease(hub_store, "w1", window, 1_000 - there)
    amount, least = sum(part for part, _ in parts) - free, min(least for _, least in parts) - free
    needs = tuple(AnswerPart(place, *part) for place, part in enumerate(parts))
    ask = LeaseAsk(window, amount, least, parts=needs, free=free)
    assert hub_store.lease("w2", [ask])[window].granted == granted


def test_an_answer_gets_nothing_of_one_budget_while_another_is_missing(hub_store: HubStore, window: int) -> None:
    other = window_of(hub_store, replace(RULE, owner=Owner(OwnerKind.PERSON, "ana"))).id
    lease(hub_store, "w1", other, 900)
    both, alone = AnswerPart(0, 300, 300), AnswerPart(1, 200, 200)
    grants = hub_store.lease(
        "w2", [LeaseAsk(window, 500, 200, parts=(both, alone)), LeaseAsk(other, 300, 300, parts=(both,))]
    )
    assert (grants[window].granted, grants[other].granted) == (200, 0)


def test_a_grant_says_what_is_held_and_what_others_have_not_answered_for(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 900)
    (grant,) = hub_store.lease("w2", [LeaseAsk(window, 600, 50)]).values()
    assert (grant.granted, grant.held, grant.unanswered, grant.is_over) == (100, 100, {"w1": 900}, False)
    assert grant.window == window_of(hub_store)
    recall = hub_store.ask_recall({window: grant.window.recall})[window]
    assert hub_store.lease("w2", [LeaseAsk(window, 1, 1, recall)])[window].unanswered == {"w1": 900}
    assert hub_store.give_back("w1", 1, {window: 300}, {window: recall}) == GivenBack(True, {window: 600})
    assert hub_store.lease("w2", [LeaseAsk(window, 500, 500, recall)])[window].unanswered == {}
    assert hub_store.lease("w2", [LeaseAsk(window, 500, 1, recall)])[window].held == 400


def test_what_is_given_back_can_be_leased_again_and_never_more_than_is_held(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 600)
    give_back(hub_store, "w1", 1, {window: 200})
    assert lease(hub_store, "w2", window, 1_000, 1) == 600
    assert give_back(hub_store, "w1", 1, {window: 10_000}) == GivenBack(True, {window: 0})
    give_back(hub_store, "w1", 1, {window: -50})
    assert window_of(hub_store).leased == 600
    assert hub_store.heartbeat("w1").leases == {}


def test_what_is_given_back_after_another_heartbeat_is_not_taken(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 600)
    hub_store.heartbeat("w1")
    assert give_back(hub_store, "w1", 1, {window: 200}) == GivenBack(False, {window: 600})
    assert window_of(hub_store).leased == 600


def test_an_answer_is_charged_once_however_often_it_is_settled(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 600)
    rows = [row("a2", Charge(window, 30)), row("a1", Charge(window, 100))]
    assert hub_store.settle("w1", rows) == Settled(frozenset({"a1", "a2"}), {window: 470})
    again = [*rows, row("a3", Charge(window, 1)), row("a3", Charge(window, 1))]
    assert hub_store.settle("w1", again) == Settled(frozenset({"a1", "a2", "a3"}), {window: 469})
    found = window_of(hub_store)
    assert (found.spent, found.leased, found.overrun) == (131, 469, 0)
    assert hub_store.read("SELECT count(*) FROM hub_ledger") == [(3,)]


def test_a_charge_beyond_the_lease_takes_what_is_free_and_shows_the_rest(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 100)
    lease(hub_store, "w2", window, 800)
    hub_store.settle("w1", [row("a1", Charge(window, 250))])
    found = window_of(hub_store)
    assert (found.spent, found.leased, found.overrun) == (200, 800, 50)


def test_a_worker_that_is_silent_has_spent_all_it_held_and_has_it_again_when_it_is_back(
    hub_store: HubStore, window: int
) -> None:
    lease(hub_store, "w1", window, 600)
    assert hub_store.expire("w1") == {window: 600}
    assert hub_store.expire("w1") == {}
    assert lease(hub_store, "w1", window, 10) == 0
    assert window_of(hub_store).spent == 600
    hub_store.settle("w1", [row("a1", Charge(window, 250))])
    found = window_of(hub_store)
    assert (found.spent, found.leased) == (600, 0)
    assert hub_store.heartbeat("w1").leases == {window: Lease(350)}
    found = window_of(hub_store)
    assert (found.spent, found.leased) == (250, 350)


def test_a_worker_that_has_beaten_meanwhile_is_not_forfeited(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 600)
    seen = hub_store.heartbeat("w2").workers["w1"].counter
    hub_store.heartbeat("w1")
    assert hub_store.expire("w1", seen) == {}
    assert window_of(hub_store).leased == 600


def test_a_worker_that_leaves_holds_nothing_any_more(hub_store: HubStore, window: int) -> None:
    lease(hub_store, "w1", window, 600)
    hub_store.expire("w1")
    lease(hub_store, "w2", window, 100)
    for worker in ("w1", "w1", "w2"):
        hub_store.leave(worker)
    found = window_of(hub_store)
    assert (found.spent, found.leased) == (0, 0)
    assert set(hub_store.heartbeat("w3").workers) == {"w3"}


def test_a_recall_reaches_whoever_asks_for_the_window_and_whoever_holds_some_of_it(
    hub_store: HubStore, window: int
) -> None:
    lease(hub_store, "w1", window, 600)
    assert hub_store.ask_recall({window: 0}) == {window: 1}
    assert hub_store.ask_recall({window: 0}) == {window: 1}
    assert hub_store.heartbeat("w2").windows == {}
    heartbeat = hub_store.heartbeat("w2", [window])
    assert heartbeat.windows[window].recall == 1
    assert heartbeat.workers["w2"].counter == 3
    heartbeat = hub_store.heartbeat("w1")
    assert heartbeat.windows[window].recall == 1
    hub_store.give_back("w1", heartbeat.workers["w1"].counter, {window: 0}, {window: 1})
    assert hub_store.heartbeat("w1").windows == {}


def test_a_charge_that_cannot_be_keeps_no_row_out_of_the_ledger(hub_store: HubStore, window: int) -> None:
    strange = replace(row("a1", Charge(window, -50)), time=float("nan"), nanodollars=10**30, input_tokens=-1)
    twice = row("a3", Charge(window, 5), Charge(window, 2))
    hub_store.settle("w1", [strange, row("a2", Charge(window, 10**30)), twice])
    assert hub_store.read("SELECT time, nanodollars, input_tokens FROM hub_ledger WHERE answer_id = 'a1'") == [
        (0.0, None, None)
    ]
    found = window_of(hub_store)
    assert (found.spent, found.leased) == (1_000, 0)
    assert hub_store.check() == []


def test_a_worker_that_has_been_gone_for_a_day_is_told_of_no_more(hub_database: HubDatabase) -> None:
    now = 1_800_000_000.0
    store = hub_database.migrated(lambda: now)
    for worker in ("w1", "w2"):
        store.heartbeat(worker)
    store.expire("w1")
    now += 86_000
    assert set(store.heartbeat("w3").workers) == {"w1", "w2", "w3"}
    now += 1_000
    assert set(store.heartbeat("w3").workers) == {"w2", "w3"}
    assert store.heartbeat("w1").workers["w1"].counter == 2
