"""How long answers go on while the database is away: as long as what a worker leases is set to last."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.budgets.crowd import TEAM
from hub.budgets.virtual_hub import SETTINGS, VirtualHub, VirtualWorker
from partstream.codec.checks import InvalidArgumentError
from partstream_hub.amounts import BudgetsUnreachableError
from partstream_hub.leases import SHARES, WorkerSettings, is_low, lease_size
from rows import one_test_for

PLENTY = replace(TEAM, limit=1_000_000)
EVERY = 10.0
TEN_MINUTES = int(600 / EVERY)


HubInUse = Callable[[float], tuple[VirtualHub, VirtualWorker]]


@pytest.fixture
def hub_in_use() -> Iterator[HubInUse]:
    """Makes a hub whose one worker, with a lease of so many seconds, has answered at a steady rate for half an hour."""
    with VirtualHub((PLENTY,)) as hub:
        yield lambda lease_seconds: (hub, worker_in_use(hub, lease_seconds))


def worker_in_use(hub: VirtualHub, lease_seconds: float) -> VirtualWorker:
    worker = hub.start(replace(SETTINGS, lease_seconds=lease_seconds))
    hub.rest()
    for _ in range(3 * TEN_MINUTES):
        hub.ask(worker, 100, 100)
        hub.rest()
        hub.end(worker, worker.answers[0], 90)
        hub.rest(EVERY)
    assert hub.refused == []
    return worker


def answered_without_database(hub: VirtualHub, worker: VirtualWorker) -> int:
    """How many answers of ten minutes the worker gives that cannot reach the database."""
    answered = 0
    for _ in range(TEN_MINUTES):
        hub.pass_time(EVERY)
        while hub.step(worker, "undone"):
            pass
        hub.ask(worker, 100, 100)
        if worker.answers:
            answered += 1
            hub.end(worker, worker.answers[0], 90)
    assert not worker.manager.is_connected
    return answered


def test_answers_go_on_for_ten_minutes_without_a_database_where_leases_last_as_long(hub_in_use: HubInUse) -> None:
    hub, worker = hub_in_use(600.0)
    assert answered_without_database(hub, worker) == TEN_MINUTES
    assert hub.refused == []
    hub.rest(5.0)
    hub.check()


def test_answers_do_not_go_on_for_ten_minutes_without_a_database_by_default(hub_in_use: HubInUse) -> None:
    hub, worker = hub_in_use(WorkerSettings().lease_seconds)
    assert answered_without_database(hub, worker) < TEN_MINUTES / 10
    assert {type(error) for error in hub.refused} == {BudgetsUnreachableError}
    hub.rest(5.0)
    hub.check()


def test_a_long_lease_is_given_back_to_whoever_needs_it_like_a_short_one(hub_in_use: HubInUse) -> None:
    hub, worker = hub_in_use(600.0)
    assert sum(lease.free for _, lease in worker.manager.table) > 5_000
    other = hub.start()
    hub.rest()
    left = PLENTY.limit - sum(hub.ledger.values())
    hub.ask(other, left, left)
    hub.rest(2.0)
    assert [sum(answer.amounts.values()) for answer in other.answers] == [left]
    assert hub.refused == []
    hub.check()


@given(st.floats(0, 1e12), st.integers(0, 10**18), st.integers(1, 1_000), st.floats(1, 3_600))
def test_however_long_leases_last_all_together_take_at_most_a_quarter(
    rate: float, left: int, workers: int, seconds: float
) -> None:
    assert SHARES * workers * lease_size(rate, left, workers, seconds) <= left


@pytest.mark.parametrize(
    ("seconds", "free", "age", "renewed"),
    [
        (5.0, 20, 60.0, False),
        (5.0, 19, 0.0, True),
        (600.0, 99, 4.0, True),
        (600.0, 99, 3.9, False),
        (600.0, 19, 0.0, True),
        (600.0, 100, 60.0, False),
    ],
)
def test_a_longer_lease_is_renewed_as_often_as_one_of_five_seconds(
    seconds: float, free: int, age: float, *, renewed: bool
) -> None:
    assert is_low(free, 100, seconds, age) == renewed


@one_test_for("seconds", [0, 0.5, 3_601, -5, float("nan"), float("inf"), "5", None, True])
def test_a_lease_that_could_not_be_kept_is_refused(seconds: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"lease_seconds.*expected a number from 1 to 3600"):
        WorkerSettings(lease_seconds=seconds)  # type: ignore[arg-type]
