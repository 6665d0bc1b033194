"""How fast owners may ask, at one worker of several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream_hub.admission import RateGate, RatePass, TooFast
from partstream_hub.directory import Directory, Owner, OwnerKind, RateLimits

ANA = Owner(OwnerKind.PERSON, "ana")
RED = Owner(OwnerKind.TEAM, "red")


def enter(gate: RateGate, limits: RateLimits, now: float, *, workers: int = 1) -> RatePass | TooFast:
    return gate.enter([(ANA, limits)], workers, now)


def entered(gate: RateGate, limits: RateLimits, now: float, **more: int) -> RatePass:
    found = enter(gate, limits, now, **more)
    assert isinstance(found, RatePass), found
    return found


def refused(gate: RateGate, limits: RateLimits, now: float, **more: int) -> TooFast:
    found = enter(gate, limits, now, **more)
    assert isinstance(found, TooFast)
    return found


def test_as_many_requests_pass_as_a_minute_may_have_then_one_whenever_its_time_has_come():
    gate, limits = RateGate(), RateLimits(requests_per_minute=6)
    for _ in range(6):
        entered(gate, limits, 0.0)
    late = refused(gate, limits, 0.0)
    assert (late.owner, late.limit) == (ANA, "6 requests a minute")
    assert late.retry_after == pytest.approx(10.0)
    entered(gate, limits, 10.0)
    refused(gate, limits, 10.0)


def test_a_worker_keeps_its_share():
    gate, limits = RateGate(), RateLimits(requests_per_minute=8, concurrent_answers=4)
    for _ in range(2):
        entered(gate, limits, 0.0, workers=4).end(0)
    refused(gate, limits, 0.0, workers=4)


def test_where_there_are_more_workers_than_requests_a_share_is_saved_up():
    gate, limits = RateGate(), RateLimits(requests_per_minute=1)
    entered(gate, limits, 0.0, workers=4)
    assert refused(gate, limits, 0.0, workers=4).retry_after == pytest.approx(240.0)
    entered(gate, limits, 240.0, workers=4)


def test_tokens_are_counted_when_they_are_known():
    gate, limits = RateGate(), RateLimits(tokens_per_minute=600)
    entered(gate, limits, 0.0).end(700)
    assert refused(gate, limits, 0.0).retry_after == pytest.approx(10.1)
    entered(gate, limits, 10.2)


def test_a_request_with_more_tokens_than_a_minute_may_have_passes_when_nothing_else_does():
    gate, limits = RateGate(), RateLimits(tokens_per_minute=100)
    entered(gate, limits, 0.0).end(1000)
    refused(gate, limits, 60.0)
    entered(gate, limits, 541.0)


def test_as_many_answers_run_as_may_and_an_end_makes_room_once():
    gate, limits = RateGate(), RateLimits(concurrent_answers=2)
    first = entered(gate, limits, 0.0)
    entered(gate, limits, 0.0)
    assert refused(gate, limits, 0.0).limit == "2 answers at the same time"
    first.end(0)
    first.end(0)
    entered(gate, limits, 0.0)
    refused(gate, limits, 0.0)


def test_a_limit_of_nothing_lets_nobody_in():
    for limits in (
        RateLimits(requests_per_minute=0),
        RateLimits(tokens_per_minute=0),
        RateLimits(concurrent_answers=0),
    ):
        assert refused(RateGate(), limits, 0.0).retry_after == 60.0


def test_a_request_that_one_owner_may_not_ask_costs_the_others_nothing():
    gate = RateGate()
    limits = [(ANA, RateLimits(requests_per_minute=5)), (RED, RateLimits(requests_per_minute=1))]
    assert isinstance(gate.enter(limits, 1, 0.0), RatePass)
    for _ in range(10):
        assert isinstance(gate.enter(limits, 1, 0.0), TooFast)
    for _ in range(4):
        entered(gate, RateLimits(requests_per_minute=5), 0.0)


def test_owners_without_limits_are_forgotten_once_their_answers_have_ended():
    gate, limits = RateGate(), RateLimits(concurrent_answers=1)
    running = entered(gate, limits, 0.0)
    gate.keep(Directory())
    refused(gate, limits, 0.0)
    running.end(0)
    gate.keep(Directory())
    entered(gate, limits, 0.0)


@given(
    limit=st.integers(1, 50),
    workers=st.integers(1, 8),
    times=st.lists(st.floats(0, 600, allow_nan=False), min_size=1, max_size=80).map(sorted),
)
def test_no_more_requests_pass_than_a_burst_and_the_time_allow(limit: int, workers: int, times: list[float]):
    gate, limits, passed = RateGate(), RateLimits(requests_per_minute=limit), 0
    for now in times:
        passed += isinstance(enter(gate, limits, now, workers=workers), RatePass)
    share = limit / workers
    assert passed <= max(1.0, share) + share * (times[-1] - times[0]) / 60 + 1
