"""Who is taken for gone: only by the time during which one was connected oneself."""

import pytest

from partstream_hub.store.values import WorkerState
from partstream_hub.worker import Liveness


def seen(liveness: Liveness, now: float, **counters: int) -> None:
    liveness.seen({name: WorkerState(counter, 0.0, 0.0) for name, counter in counters.items()}, now)


@pytest.fixture
def liveness() -> Liveness:
    return Liveness("me", 2.0)


def test_a_worker_whose_counter_stands_still_is_silent(liveness: Liveness) -> None:
    for second in range(11):
        seen(liveness, float(second), me=second, lives=second, dead=7)
    assert list(liveness.silent(10.0)) == [("dead", 7)]
    assert liveness.alive(5.0) == 2


def test_a_worker_that_comes_back_is_not_silent(liveness: Liveness) -> None:
    for second in range(20):
        seen(liveness, float(second), other=7)
    seen(liveness, 20.0, other=8)
    assert not list(liveness.silent(1.0))


def test_nobody_is_silent_because_the_database_was_away(liveness: Liveness) -> None:
    seen(liveness, 0.0, other=7)
    liveness.disconnected()
    seen(liveness, 3_600.0, other=7)
    assert not list(liveness.silent(1.0))


def test_nobody_is_silent_because_oneself_was_stopped(liveness: Liveness) -> None:
    seen(liveness, 0.0, other=7)
    seen(liveness, 3_600.0, other=7)
    assert not list(liveness.silent(2.1))


def test_who_is_gone_already_is_not_looked_at(liveness: Liveness) -> None:
    for second in range(20):
        liveness.seen({"gone": WorkerState(7, 0.0, 0.0, is_gone=True)}, float(second))
    assert not list(liveness.silent(0.0))
    assert liveness.alive(5.0) == 1
