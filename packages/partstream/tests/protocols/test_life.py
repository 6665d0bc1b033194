"""The table of how far a response has come is whole: every state decides every kind of event, and can be reached."""

from partstream.protocols.read_response import TRANSITIONS, Action, LifecycleEvent, LifecycleState
from protocols.feeding import strict_step
from rows import one_test_for

OPEN_STATES = [state for state in LifecycleState if state is not LifecycleState.ENDED]


@one_test_for("state", OPEN_STATES)
@one_test_for("kind", LifecycleEvent)
def test_every_state_decides_every_kind_of_event(state: LifecycleState, kind: LifecycleEvent) -> None:
    assert kind in TRANSITIONS[state]


def test_after_the_end_nothing_is_legal() -> None:
    assert TRANSITIONS[LifecycleState.ENDED] == {}
    assert set(TRANSITIONS) == set(LifecycleState)


def test_every_state_can_be_reached_and_can_be_left() -> None:
    reached = {LifecycleState.IDLE}
    while more := {step.next_state for state in reached for step in TRANSITIONS[state].values()} - reached:
        reached |= more
    assert reached == set(OPEN_STATES), "and ENDED by end() alone"
    for state in OPEN_STATES[:-1]:
        assert TRANSITIONS[state][LifecycleEvent.TERMINAL].next_state is LifecycleState.FINISHED


def test_every_action_is_used() -> None:
    assert {step.action for row in TRANSITIONS.values() for step in row.values()} == set(Action)


def test_nothing_leads_back_before_the_first_event_or_out_of_a_failure() -> None:
    for state, row in TRANSITIONS.items():
        for step in row.values():
            assert step.next_state is not LifecycleState.IDLE or state is LifecycleState.IDLE
            assert state is not LifecycleState.FAILING or step.next_state in {
                LifecycleState.FAILING,
                LifecycleState.FINISHED,
            }
            assert state is not LifecycleState.FINISHED or step.next_state is LifecycleState.FINISHED


def test_a_writer_may_do_what_the_rules_allow_and_nothing_else() -> None:
    assert (
        strict_step(LifecycleState.IDLE, LifecycleEvent.LIFECYCLE)
        is TRANSITIONS[LifecycleState.IDLE][LifecycleEvent.LIFECYCLE]
    )
    assert strict_step(LifecycleState.IDLE, LifecycleEvent.CONTENT) is None
    assert strict_step(LifecycleState.ENDED, LifecycleEvent.CONTENT) is None
    for kind in LifecycleEvent:
        assert strict_step(LifecycleState.FINISHED, kind) is None
