"""The table of the events is whole, and a stream does what it says."""

import pytest

from partstream.errors import AdapterUsageError
from partstream.lm.outputs import Finish, StreamOptions, Unmapped
from partstream.protocols.openresponses.read_response import (
    CHANNELS,
    EVENTS,
    OUTPUT_TEXT,
    PART_CHANNELS,
    REASONING,
    REFUSAL,
    SUMMARY,
    OpenResponsesStream,
)
from partstream.protocols.read_response import TRANSITIONS, Action, LifecycleEvent, LifecycleState
from protocols.openresponses.wire import delta, event, terminal
from rows import one_test_for

# An answer of this protocol ends with its stream, and its last event reports all that there is to report.
KINDS = [kind for kind in LifecycleEvent if kind not in {LifecycleEvent.ANSWER_END, LifecycleEvent.REPORT}]
STATES = [state for state in LifecycleState if state not in {LifecycleState.ANSWERED, LifecycleState.ENDED}]


def test_every_kind_of_event_is_used() -> None:
    assert {row.kind for row in EVENTS.values()} == set(KINDS)


def test_every_channel_is_fed_by_events_and_by_parts() -> None:
    channels = {OUTPUT_TEXT, REFUSAL, REASONING, SUMMARY}
    assert set(CHANNELS.values()) == channels
    assert set(PART_CHANNELS.values()) == channels
    for channel in channels:
        endings = [name.rpartition(".")[2] for name, fed in CHANNELS.items() if fed == channel and name in EVENTS]
        assert endings.count("delta") == endings.count("done") > 0


def test_the_rows_have_every_event_until_the_end_and_none_after_it() -> None:
    for state in LifecycleState:
        is_over = state in (LifecycleState.FINISHED, LifecycleState.ENDED)
        assert OpenResponsesStream.rows[state].keys() == (set() if is_over else EVENTS.keys())


ONE_OF_EACH = {
    LifecycleEvent.LIFECYCLE: event("created"),
    LifecycleEvent.CONTENT: delta("Hi"),
    LifecycleEvent.ERROR: event("error", message="no"),
    LifecycleEvent.TERMINAL: terminal(),
    LifecycleEvent.SILENT: event("keepalive"),
}
WAY_TO = {
    LifecycleState.IDLE: [],
    LifecycleState.OPEN: [event("created")],
    LifecycleState.FAILING: [event("error", message="no")],
    LifecycleState.FINISHED: [terminal()],
}


@one_test_for("kind", KINDS)
@one_test_for("state", STATES)
def test_a_stream_does_what_the_table_says(state: LifecycleState, kind: LifecycleEvent) -> None:
    stream = OpenResponsesStream(StreamOptions())
    for before in WAY_TO[state]:
        stream.feed(before)
    outputs = stream.feed(ONE_OF_EACH[kind])
    step = TRANSITIONS[state][kind]
    assert stream._state is step.next_state
    if step.action is Action.COUNT:
        assert [type(output) for output in outputs] == [Unmapped]
    elif step.action is Action.IGNORE:
        assert outputs == []
    else:
        expected = {LifecycleEvent.CONTENT: 1, LifecycleEvent.TERMINAL: 1}
        assert len(outputs) == expected.get(kind, 0)
    assert stream.finished == (step.next_state is LifecycleState.FINISHED)
    assert stream.failing == (step.next_state is LifecycleState.FAILING)


def test_feeding_or_ending_after_the_end_is_our_callers_mistake() -> None:
    stream = OpenResponsesStream(StreamOptions())
    assert [type(output) for output in stream.end()] == [Finish]
    with pytest.raises(AdapterUsageError, match=r"'response\.output_text\.delta' after the stream was ended"):
        stream.feed(delta("late"))
    with pytest.raises(AdapterUsageError, match="after the stream was ended"):
        stream.feed({})
    with pytest.raises(AdapterUsageError, match="ended before"):
        stream.end()
    assert stream.finished
