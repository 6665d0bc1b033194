"""What holds for OpenResponses alone, which says most of an answer twice; the rest is in `test_properties` above."""

from hypothesis import given
from hypothesis import strategies as st

from partstream.lm.outputs import CitationMode, Outcome, StreamOptions
from protocols.openresponses.wire import read_bytes, read_events, sse
from protocols.test_properties import Answer, answers, moderate, write_openresponses


@given(answers())
@moderate
def test_closing_events_that_come_twice_change_nothing(answer: Answer) -> None:
    events = write_openresponses(answer)
    expected = read_events(events)
    doubled = [copy for event in events for copy in [event] * (2 if event["type"].endswith((".done", ".added")) else 1)]
    for result in (read_events(doubled), read_bytes(sse(doubled)), read_bytes([b"".join(sse(doubled, named=False))])):
        assert result.text == expected.text
        assert result.thinking == expected.thinking
        assert result.calls == expected.calls
        assert len(result.metadata) == len(expected.metadata)


REPEATED = {
    "deltas": (".delta",),
    "whole texts": ("_text.done", "refusal.done"),
    "whole arguments": ("arguments.done",),
    "whole parts": ("_part.done",),
    "whole items": ("_item.done",),
}


@given(answers(), st.sets(st.sampled_from(sorted(REPEATED))))
@moderate
def test_a_stream_says_the_same_without_any_of_what_it_says_again(answer: Answer, dropped: set[str]) -> None:
    events = write_openresponses(answer)
    chosen = StreamOptions(citations=CitationMode.OFF)
    expected = read_events(events, chosen)
    if expected.finish.outcome is Outcome.FAILED:
        return  # what was under way when it broke was said in deltas alone
    endings = tuple(ending for name in dropped for ending in REPEATED[name])
    result = read_events([event for event in events if not event["type"].endswith(endings)], chosen)
    assert result.text == expected.text
    assert result.thinking == expected.thinking
    if expected.finish.outcome is Outcome.COMPLETED:  # else a call may have been cut, and only some events say it
        assert sorted(map(str, result.calls)) == sorted(map(str, expected.calls))
        assert result.finish == expected.finish
