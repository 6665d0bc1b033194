"""What holds for every stream: any split, any cut, any damage."""

import itertools
import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partstream.errors import LanguageModelError
from partstream.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.openresponses.serve import PROTOCOL
from partstream.protocols.openresponses.stream import EVENTS, OpenResponsesStream
from partstream.protocols.serving import (
    Answer,
    Citation,
    Failed,
    Incomplete,
    RefusalBlock,
    Reply,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from partstream.streams import CitationMode, Outcome, StreamOptions, ThinkingMode
from protocols.openresponses.wire import Event, Result, check, comparable, read_bytes, read_events, sse

# Texts of what the reader looks at: closing marks, line ends, characters of many bytes.
words = st.text(alphabet=st.sampled_from("ab .!?…é😀\n\r\u2028"), max_size=6)
texts = st.lists(words.filter(bool), min_size=1, max_size=4).map(tuple)
arguments = st.dictionaries(words, st.one_of(st.integers(), words, st.none()), max_size=2).map(json.dumps)
citations = st.builds(Citation, st.sampled_from(["https://e.org/a", "https://e.org/b"]), words, st.just(0), st.just(1))


def _in_pieces(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + 3] for start in range(0, len(text), 3))


blocks = st.one_of(
    st.builds(TextBlock, texts, st.lists(citations, max_size=2).map(tuple)),
    st.builds(RefusalBlock, texts),
    st.builds(ThinkingBlock, texts),
    st.builds(ToolCallBlock, st.sampled_from(["look_up", "add"]), arguments.map(_in_pieces)),
)
endings = st.one_of(
    st.builds(Answer, st.lists(blocks, max_size=4).map(tuple)),
    st.builds(Answer, st.lists(blocks, max_size=4).map(tuple), st.just(Incomplete("max_output_tokens"))),
    st.builds(Answer, st.lists(blocks, max_size=4).map(tuple), st.just(Failed("c", "m"))),
)
options = st.builds(StreamOptions, st.sampled_from(ThinkingMode), st.sampled_from(CitationMode))
moderate = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def _write(answer: Answer) -> list[Event]:
    request = PROTOCOL.read_request({"model": "m", "input": "Hi", "include": ["reasoning.encrypted_content"]}, {})
    return PROTOCOL.write_events(request, answer, Reply("identity", 1))


streams = endings.map(_write)


@given(streams, options, st.lists(st.integers(0, 100_000), max_size=20))
@moderate
def test_any_split_gives_the_same_outputs(events: list[Event], chosen: StreamOptions, cuts: list[int]) -> None:
    data = b"".join([*sse(events), b"data: [DONE]\n\n"])
    borders = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    expected = comparable(read_events(events, chosen))
    pieces = [data[start:end] for start, end in itertools.pairwise(borders)]
    assert comparable(read_bytes(pieces, chosen)) == expected
    assert comparable(read_bytes([data], chosen)) == expected
    assert comparable(read_bytes((data[index : index + 1] for index in range(len(data))), chosen)) == expected


@given(streams, st.floats(0, 1, exclude_max=True), st.booleans())
@moderate
def test_a_stream_cut_anywhere_is_truncated_and_begins_like_the_whole(
    events: list[Event], place: float, between_events: bool
) -> None:
    ends = next(place for place, event in enumerate(events) if event["type"] in {*TERMINALS, "error"})
    whole = read_events(events)
    chunks = sse(events[:ends])
    if between_events:
        chunks = chunks[: int(place * len(chunks))]
        result = read_bytes(chunks)
    else:
        data = b"".join(chunks)
        result = read_bytes([data[: int(place * len(data))]])
    assert result.finish.outcome is Outcome.TRUNCATED
    assert result.finish.usage is None
    # A mark that closes a sentence waits for what comes next, and comes out when nothing comes.
    assert whole.text.startswith(result.text)
    assert whole.thinking.startswith(result.thinking)
    assert result.calls == whole.calls[: len(result.calls)]


TERMINALS = {"response.completed", "response.incomplete", "response.failed"}

# ---- damage ----

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.just(10**400), st.floats(), words, st.just("message")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["type", "id", "text", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = [
    "type",
    "response",
    "item",
    "part",
    "item_id",
    "output_index",
    "content_index",
    "summary_index",
    "delta",
    "text",
    "refusal",
    "arguments",
    "annotation",
    "error",
    "code",
    "message",
    "id",
    "call_id",
    "name",
    "status",
    "output",
    "content",
    "summary",
    "usage",
    "annotations",
    "incomplete_details",
    "encrypted_content",
    "input_tokens",
    "reason",
    "url",
    "title",
]


def _damage(value: Any, where: list[int], what: Any) -> Any:
    """The same value with one field somewhere in it changed."""
    value = json.loads(json.dumps(value))
    at = value
    for step in where:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = keys[step % len(keys)]
        if step == where[-1] or not isinstance(at[key], dict | list):
            at[key] = what
            break
        at = at[key]
    return value


wild_events = st.one_of(
    st.fixed_dictionaries(
        {"type": st.one_of(st.sampled_from(sorted(EVENTS)), json_values)},
        optional=dict.fromkeys((name for name in FIELDS if name != "type"), json_values),
    ),
    st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4),
)


def _survives(events: list[Event]) -> Result:
    """Every way of feeding ends in outputs or one of our errors; anything else is raised here."""
    for result in (
        read_bytes(sse(events)),
        read_bytes([b"".join(sse(events, named=False))]),
        read_bytes([b"\n".join(json.dumps(event).encode() for event in events)], framing="jsonl"),
    ):
        assert result.finish.error is None or isinstance(result.finish.error, LanguageModelError)
    return read_events(events)


@given(st.lists(wild_events, max_size=8))
@moderate
def test_events_of_any_shape_give_outputs_or_one_of_our_errors(events: list[Event]) -> None:
    _survives(events)


@given(streams, st.data())
@moderate
def test_a_stream_with_damaged_fields_gives_outputs_or_one_of_our_errors(
    events: list[Event], data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(events) - 1))
        where = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=5))
        events[place] = _damage(events[place], where, data.draw(json_values))
    _survives(events)


@given(streams, st.data())
@moderate
def test_shuffled_duplicated_and_dropped_events_give_outputs_and_no_call_twice(
    events: list[Event], data: st.DataObject
) -> None:
    picked = data.draw(st.lists(st.integers(0, len(events) - 1), max_size=2 * len(events)))
    result = _survives([events[place] for place in picked])
    whole = Counter(json.dumps(call[1:]) for call in read_events(events).calls)
    if isinstance(result.finish.error, LanguageModelError):
        return
    assert set(Counter(json.dumps(call[1:]) for call in result.calls)) <= {*whole, *_empty(whole)}


def _empty(calls: Counter[str]) -> set[str]:
    """The same calls without arguments: where everything that says them was dropped, none is what was said."""
    return {json.dumps([json.loads(call)[0], {}]) for call in calls}


@given(streams)
@moderate
def test_closing_events_that_come_twice_change_nothing(events: list[Event]) -> None:
    expected = read_events(events)
    doubled = [copy for event in events for copy in [event] * (2 if event["type"].endswith((".done", ".added")) else 1)]
    result = _survives(doubled)
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


@given(streams, st.sets(st.sampled_from(sorted(REPEATED))))
@moderate
def test_a_stream_says_the_same_without_any_of_what_it_says_again(events: list[Event], dropped: set[str]) -> None:
    chosen = StreamOptions(citations=CitationMode.OFF)
    expected = read_events(events, chosen)
    if expected.finish.outcome is Outcome.FAILED:
        return  # what was under way when it broke was said in deltas alone
    endings = tuple(ending for name in dropped for ending in REPEATED[name])
    result = read_events([event for event in events if not event["type"].endswith(endings)], chosen)
    assert result.text == expected.text
    assert result.thinking == expected.thinking
    if expected.finish.outcome is Outcome.COMPLETED:  # else a call may have been cut, and only some events say it
        assert sorted(map(json.dumps, result.calls)) == sorted(map(json.dumps, expected.calls))
        assert result.finish == expected.finish


@given(streams, streams, st.lists(st.booleans(), max_size=200))
@moderate
def test_streams_that_are_fed_by_turns_never_mix(first: list[Event], second: list[Event], turns: list[bool]) -> None:
    left = [iter(first), iter(second)]
    adapters = [OpenResponsesStream(StreamOptions()) for _ in left]
    outputs: list[list[Any]] = [[], []]
    for turn in turns:
        event = next(left[turn], None)
        if event is not None:
            outputs[turn] += adapters[turn].feed(event)
    for number, rest in enumerate(left):
        for event in rest:
            outputs[number] += adapters[number].feed(event)
        alone = read_events([first, second][number])
        assert comparable(check(Result(outputs[number] + adapters[number].end()))) == comparable(alone)


@given(streams)
@moderate
def test_parts_are_never_empty_and_the_stream_never_says_more_than_the_answer(events: list[Event]) -> None:
    outputs = read_events(events, StreamOptions(citations=CitationMode.OFF)).outputs
    assert all(output.value for output in outputs if isinstance(output, TextPart))
    assert all(output.value or output.metadata for output in outputs if isinstance(output, ThinkingPart))
    said = "".join(event["delta"] for event in events if event["type"].endswith(("output_text.delta", "refusal.delta")))
    assert "".join(output.value for output in outputs if isinstance(output, TextPart)) == said
    assert all(isinstance(output, ToolCallPart) == bool(getattr(output, "call_id", "")) for output in outputs)
