"""What a worker decides about its budgets, in virtual time over real tables."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

import pytest

from hub.budgets.crowd import TEAM
from hub.budgets.virtual_hub import SETTINGS, VirtualHub, VirtualWorker
from partstream_hub.amounts import BudgetSpentError, BudgetsUnreachableError
from partstream_hub.directory import BudgetRule, Period
from partstream_hub.store.values import Window

RULE = replace(TEAM, limit=1_000)
DAILY = replace(RULE, period=Period.DAY)


class HubOf(Protocol):
    def __call__(self, workers: int, rule: BudgetRule = RULE) -> tuple[VirtualHub, list[VirtualWorker]]: ...


@pytest.fixture
def hub_of() -> Iterator[HubOf]:
    """Makes a hub with some workers, which have nothing to do any more."""
    with ExitStack() as opened:

        def make(workers: int, rule: BudgetRule = RULE) -> tuple[VirtualHub, list[VirtualWorker]]:
            hub = opened.enter_context(VirtualHub((rule,)))
            started = [hub.start() for _ in range(workers)]
            hub.rest()
            return hub, started

        yield make


def window_of(hub: VirtualHub) -> Window:
    return hub.store.open_windows(hub.rules)[hub.rules[0].id]


def free_of(worker: VirtualWorker) -> int:
    return sum(lease.free for _, lease in worker.manager.table)


def test_what_another_worker_holds_and_does_not_use_is_recalled_before_anybody_is_refused(hub_of: HubOf) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 900, 900)
    hub.rest()
    hub.end(first, first.answers[0], 0)
    assert free_of(first) >= 900
    hub.ask(second, 600, 600)
    hub.rest(1.5)
    assert [sum(answer.amounts.values()) for answer in second.answers] == [600]
    assert hub.refused == []
    hub.check()


def test_an_answer_gets_less_when_the_whole_is_not_to_be_had_and_nothing_below_its_least(hub_of: HubOf) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 700, 700)
    hub.rest()
    hub.ask(second, 600, 200)
    hub.ask(second, 600, 500)
    hub.rest(3.0)
    assert [sum(answer.amounts.values()) for answer in second.answers] == [300]
    (error,) = hub.refused
    assert isinstance(error, BudgetSpentError)
    assert (error.limit, error.spent, error.reserved, error.resets_at) == (1_000, 0, 1_000, None)
    assert error.least == 500


def test_what_a_worker_holds_for_what_comes_next_is_not_said_to_be_reserved_by_running_answers(hub_of: HubOf) -> None:
    hub, (worker,) = hub_of(1)
    hub.ask(worker, 1_000, 1_000)
    hub.rest()
    hub.end(worker, worker.answers[0], 10)
    hub.ask(worker, 400, 400)
    hub.ask(worker, 700, 700)  # with the 400 that run, more than the 900 that are left
    hub.rest(3.0)
    (error,) = hub.refused
    assert isinstance(error, BudgetSpentError)
    assert (error.spent, error.reserved, error.least) == (100, 400, 700)


def test_a_budget_that_is_spent_is_refused_at_once_and_without_asking_others(hub_of: HubOf) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 1_000, 1_000)
    hub.rest()
    hub.end(first, first.answers[0], 100)
    hub.rest(1.0)
    hub.ask(second, 10, 10)
    hub.rest()
    assert [type(error) for error in hub.refused] == [BudgetSpentError]
    assert window_of(hub).recall == 0


def test_what_a_worker_holds_that_is_silent_is_said_to_be_out_of_reach_until_it_is_taken_for_gone(
    hub_of: HubOf,
) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 900, 900)
    hub.rest()
    hub.workers.remove(first)  # it hangs
    hub.rest(6.0)
    hub.ask(second, 600, 600)
    hub.rest(4.0)
    (error,) = hub.refused
    assert isinstance(error, BudgetsUnreachableError)
    assert error.reason == "a worker that does not answer holds what is missing"
    assert error.retry_after == SETTINGS.silent_seconds


def test_what_a_worker_holds_that_is_only_slow_to_give_back_is_worth_asking_for_again_soon(hub_of: HubOf) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 900, 900)
    hub.rest()
    hub.workers.remove(first)  # it is busy: nothing is heard of it but its heartbeat
    hub.ask(second, 600, 600)
    for beat in range(1, 13):
        if beat == 8:
            hub.ask(second, 600, 600)
        hub.store.heartbeat(first.manager.worker)
        hub.rest(1.0)
    assert len(hub.refused) == 2
    for error in hub.refused:
        assert isinstance(error, BudgetsUnreachableError)
        assert error.reason == "other workers have not given back yet what they do not use"
        assert error.retry_after == 1.0


def test_a_worker_that_is_silent_is_charged_in_full_and_gets_it_back_when_it_returns(hub_of: HubOf) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 400, 400)
    hub.rest()
    hub.workers.remove(first)  # a network that is cut
    hub.rest(30.0)
    assert window_of(hub).spent >= 400
    assert window_of(hub).leased == 0
    hub.end(first, first.answers[0], 25)
    hub.workers.append(first)
    hub.rest(3.0)
    assert (window_of(hub).spent, window_of(hub).overrun) == (100, 0)
    hub.check()
    hub.ask(second, 900, 900)
    hub.rest(1.5)
    assert len(second.answers) == 1


def test_an_answer_that_began_in_a_window_is_charged_to_it_and_new_ones_use_the_next(hub_of: HubOf) -> None:
    hub, (worker,) = hub_of(1, DAILY)
    hub.ask(worker, 1_000, 1_000)
    hub.rest()
    yesterday = window_of(hub)
    hub.pass_time(86_400)
    hub.ask(worker, 1_000, 1_000)
    hub.rest(1.5)
    old, new = worker.answers
    hub.top_up(worker, old, 10)
    hub.end(worker, old, 50)
    hub.end(worker, new, 30)
    hub.rest(1.5)
    rows = hub.store.read("SELECT id, spent, leased FROM hub_windows ORDER BY id")
    assert rows[0] == (yesterday.id, 500, 0)
    assert rows[1][1] == 300
    assert hub.refused == []


def test_a_limit_that_is_lowered_holds_for_what_is_not_in_use_and_one_that_is_raised_at_once(hub_of: HubOf) -> None:
    hub, (first, second) = hub_of(2)
    hub.ask(first, 800, 800)
    hub.rest()
    hub.end(first, first.answers[0], 10)
    hub.rest(1.0)
    hub.set_limit(RULE, 100)
    hub.rest(1.5)
    assert (window_of(hub).spent, window_of(hub).leased) == (80, 0)
    hub.ask(second, 30, 30)
    hub.rest(3.0)
    assert [type(error) for error in hub.refused] == [BudgetSpentError]
    hub.set_limit(RULE, 500)
    hub.rest(1.5)
    hub.ask(second, 400, 400)
    hub.rest(1.5)
    assert len(second.answers) == 1
    hub.check()


def test_while_the_database_is_away_answers_go_on_as_long_as_the_lease_lasts(hub_of: HubOf) -> None:
    hub, (worker,) = hub_of(1)
    for _ in range(4):
        hub.ask(worker, 50, 50)
        hub.rest()
    hub.end(worker, worker.answers[0], 0)
    free = free_of(worker)
    assert free >= 50
    for _ in range(2):
        hub.pass_time(1.1)
        while hub.step(worker, "undone"):
            pass
    assert not worker.manager.is_connected
    admitted = len(worker.answers)
    while free >= 50:
        hub.ask(worker, 50, 50)
        free -= 50
        admitted += 1
    assert len(worker.answers) == admitted
    hub.ask(worker, 50, 50)
    hub.pass_time(2.1)
    while hub.step(worker, "undone"):
        pass
    assert [type(error) for error in hub.refused] == [BudgetsUnreachableError]
    hub.pass_time(3_600)
    hub.rest(1.0)
    hub.ask(worker, 50, 50)
    hub.rest(1.0)
    assert len(worker.answers) == admitted + 1
    hub.check()


def test_what_nobody_uses_for_long_is_given_back(hub_of: HubOf) -> None:
    hub, (worker,) = hub_of(1)
    hub.ask(worker, 400, 400)
    hub.rest()
    hub.end(worker, worker.answers[0], 0)
    hub.rest(1.0)
    assert window_of(hub).leased >= 400
    hub.rest(70.0)
    assert window_of(hub).leased == 0
