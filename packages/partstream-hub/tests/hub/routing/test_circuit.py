"""When an upstream is left alone, for how long, and what closes its circuit again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hub.routing.circuits import CircuitState, state_of
from partstream_hub.routing import Circuit

CLOSED, OPEN, HALF_OPEN = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.HALF_OPEN


def _failing(circuit: Circuit, now: float, times: int = 1, **more) -> None:
    for _ in range(times):
        circuit.failed(circuit.begin(), now, **more)


def test_it_opens_at_the_third_failure_in_a_row():
    circuit = Circuit()
    _failing(circuit, 0.0, 2)
    assert state_of(circuit, 0.0) is CLOSED
    _failing(circuit, 0.0)
    assert (state_of(circuit, 0.0), circuit.admits(0.0)) == (OPEN, False)


def test_an_answer_that_begins_between_two_failures_keeps_it_closed():
    circuit = Circuit()
    for _ in range(5):
        _failing(circuit, 0.0, 2)
        circuit.began(circuit.begin())
    assert state_of(circuit, 0.0) is CLOSED


def test_answers_that_break_off_open_it_although_each_has_begun():
    circuit = Circuit()
    for _ in range(3):
        attempt = circuit.begin()
        circuit.began(attempt)
        circuit.failed(attempt, 0.0)
    assert state_of(circuit, 0.0) is OPEN


def test_a_whole_answer_between_two_that_break_off_keeps_it_closed():
    circuit = Circuit()
    for _ in range(5):
        for ends_well in (False, False, True):
            attempt = circuit.begin()
            circuit.began(attempt)
            if ends_well:
                circuit.completed(attempt)
            else:
                circuit.failed(attempt, 0.0)
    assert state_of(circuit, 0.0) is CLOSED


def test_after_the_pause_one_request_finds_out_and_the_others_stay_away():
    circuit = Circuit()
    _failing(circuit, 0.0, 3)
    assert (state_of(circuit, 4.9), state_of(circuit, 5.0)) == (OPEN, HALF_OPEN)
    probe = circuit.begin()
    assert not circuit.admits(5.0)
    circuit.began(probe)
    assert (state_of(circuit, 5.0), circuit.admits(5.0)) == (CLOSED, True)


def test_each_probe_that_fails_doubles_the_pause_up_to_the_longest():
    circuit, now, pauses = Circuit(), 0.0, []
    _failing(circuit, now, 3)
    for _ in range(6):
        began = now
        while state_of(circuit, now) is OPEN:
            now += 0.5
        pauses.append(now - began)
        _failing(circuit, now)
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_a_probe_whose_client_leaves_lets_the_next_request_find_out():
    circuit = Circuit()
    _failing(circuit, 0.0, 3)
    circuit.left(circuit.begin())
    assert circuit.admits(5.0)


def test_an_upstream_that_asks_for_a_pause_gets_it_at_once_and_says_how_long():
    circuit = Circuit()
    _failing(circuit, 100.0, pause=20.0, is_asked=True)
    assert (state_of(circuit, 119.0), circuit.asked_wait(119.0)) == (OPEN, 1.0)
    assert (state_of(circuit, 120.0), circuit.asked_wait(120.0)) == (HALF_OPEN, None)


def test_no_upstream_is_left_alone_for_longer_than_the_limits():
    for is_asked, longest in ((True, 3600.0), (False, 60.0)):
        circuit = Circuit()
        _failing(circuit, 0.0, pause=float("inf"), is_asked=is_asked)
        assert (state_of(circuit, longest - 1), state_of(circuit, longest)) == (OPEN, HALF_OPEN)


def test_failures_of_requests_that_were_on_their_way_do_not_prolong_the_pause():
    circuit = Circuit()
    on_their_way = [circuit.begin() for _ in range(50)]
    for number, attempt in enumerate(on_their_way):
        circuit.failed(attempt, number * 0.1)
    assert state_of(circuit, 5.2) is HALF_OPEN
    assert circuit.admits(5.2)


def test_an_answer_that_began_before_it_opened_does_not_close_it():
    circuit = Circuit()
    early = circuit.begin()
    _failing(circuit, 0.0, 3)
    circuit.began(early)
    circuit.completed(early)
    assert state_of(circuit, 0.0) is OPEN


def test_a_request_that_is_sent_although_it_is_open_closes_it_by_an_answer():
    circuit = Circuit()
    _failing(circuit, 0.0, 3)
    circuit.began(circuit.begin())
    assert state_of(circuit, 1.0) is CLOSED


_CALLS = st.lists(st.tuples(st.sampled_from(["begin", "began", "failed", "completed", "left"]), st.integers(0, 5)))


@given(_CALLS)
def test_half_open_it_admits_one_request_at_a_time_whatever_happens(calls):
    circuit, now, running, probing = Circuit(), 0.0, [], None
    for what, which in calls:
        now += 1.0
        if what == "begin":
            if circuit.admits(now):
                is_probe = state_of(circuit, now) is HALF_OPEN
                assert not (is_probe and probing in running)
                running.append(circuit.begin())
                probing = running[-1] if is_probe else probing
        elif running:
            attempt = running[which % len(running)]
            if what == "failed":
                circuit.failed(attempt, now)
            else:
                getattr(circuit, what)(attempt)
            if what != "began":
                running.remove(attempt)
        if state_of(circuit, now) is CLOSED:
            probing = None
