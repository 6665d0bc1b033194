"""Whichever shape the deltas of two calls have, the same two calls come out.

The shapes: docs/wires/chat-completions.md#tool-call-deltas.
"""

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.provider_state import ITEMS
from partstream.errors import ToolArgumentsError
from partstream.protocols.calls import OpenJson
from protocols.chat_completions.wire import DONE, answered, call, calls, chunk, finished, read
from protocols.openresponses.wire import Event
from rows import one_test_for

FIRST, SECOND = '{"word": "x{"}', '{"word": "y"}'
HALVES = [(FIRST[:5], FIRST[5:]), (SECOND[:8], SECOND[8:])]
(A1, A2), (B1, B2) = HALVES

SHAPES: dict[str, list[list[Event]]] = {
    "standard": [
        [call(0, "a", "look_up", "")], [call(0, None, None, A1)], [call(0, None, None, A2)],
        [call(1, "b", "add", "")], [call(1, None, None, B1)], [call(1, None, None, B2)],
    ],
    "interleaved": [
        [call(0, "a", "look_up", ""), call(1, "b", "add", "")], [call(0, None, None, A1)], [call(1, None, None, B1)],
        [call(1, None, None, B2)], [call(0, None, None, A2)],
    ],
    "no index": [
        [call(None, "a", "look_up", A1)], [call(None, None, None, A2)],
        [call(None, "b", "add", B1)], [call(None, None, None, B2)],
    ],
    "no index, whole calls in one chunk": [[call(None, "a", "look_up", FIRST), call(None, "b", "add", SECOND)]],
    "index 0 for all": [[call(0, "a", "look_up", A1)], [call(0, None, None, A2)], [call(0, "b", "add", SECOND)]],
    "index 0 for all, no ids": [
        [call(0, None, "look_up", A1)], [call(0, None, None, A2)], [call(0, None, "add", B1)], [call(0, None, None, B2)]
    ],
    "index 0 for all, no ids, no arguments beside the name": [
        [call(0, None, "look_up", "")], [call(0, None, None, FIRST)],
        [call(0, None, "add", "")], [call(0, None, None, SECOND)],
    ],
    "from 1": [[call(1, "a", "look_up", A1)], [call(1, None, None, A2)], [call(2, "b", "add", SECOND)]],
    "gaps": [[call(3, "a", "look_up", A1)], [call(3, None, None, A2)], [call(7, "b", "add", SECOND)]],
    "arguments under an index that nothing opened": [
        [call(0, "a", "look_up", "")], [call(5, None, None, A1)], [call(6, None, None, A2)],
        [call(1, "b", "add", "")], [call(8, None, None, B1)], [call(8, None, None, B2)],
    ],
    "no ids": [[call(0, None, "look_up", A1)], [call(0, None, None, A2)], [call(1, None, "add", SECOND)]],
    "no ids, no index": [
        [call(None, None, "look_up", A1)], [call(None, None, None, A2)],
        [call(None, None, "add", B1)], [call(None, None, None, B2)],
    ],
    "empty ids": [[call(0, "", "look_up", A1)], [call(0, "", None, A2)], [call(1, "", "add", SECOND)]],
    "an id on each delta": [
        [call(0, "a", "look_up", A1)], [call(0, "a", None, A2)], [call(1, "b", "add", B1)], [call(1, "b", None, B2)]
    ],
    "an id on each delta, no index": [
        [call(None, "a", "look_up", A1)], [call(None, "b", "add", B1)],
        [call(None, "a", None, A2)], [call(None, "b", None, B2)],
    ],
    "another id on each delta": [
        [call(0, "a", "look_up", A1)], [call(0, "r1", None, A2)], [call(1, "b", "add", B1)], [call(1, "r2", None, B2)]
    ],
    "the name last": [
        [call(0, "a", None, A1)], [call(0, None, None, A2)], [call(0, None, "look_up")], [call(1, "b", "add", SECOND)]
    ],
    "the name and the id last": [
        [call(0, None, None, FIRST)], [call(0, "a", "look_up")], [call(1, "b", "add", SECOND)]
    ],
    "the name on each delta": [
        [call(0, "a", "look_up", A1)], [call(0, "a", "look_up", A2)], [call(1, "b", "add", B1)], [call(1, "b", "", B2)]
    ],
    "the name on each delta, no ids, no index": [
        [call(None, None, "look_up", A1)], [call(None, None, "look_up", A2)],
        [call(None, None, "add", B1)], [call(None, None, "add", B2)],
    ],
    "objects": [[call(0, "a", "look_up", {"word": "x{"}), call(1, "b", "add", {"word": "y"})]],
    "the same call twice": [
        [call(0, "a", "look_up", FIRST), call(1, "b", "add", SECOND)], [call(0, "a", "look_up", FIRST)]
    ],
    "no type and null fields": [
        [{"index": 0, "id": "a", "type": None, "function": {"name": "look_up", "arguments": FIRST}}],
        [{"index": 0, "id": None, "function": {"name": None, "arguments": None}}],
        [call(1, "b", "add", SECOND)],
    ],
}  # fmt: skip


def _elements(shape: list[list[Event]]) -> list[Event]:
    return [calls(*elements) for elements in shape]


@one_test_for("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_deltas_gives_the_same_two_calls(shape: list[list[Event]]) -> None:
    result = read([*_elements(shape), finished("tool_calls"), DONE])
    assert [one[1:] for one in result.calls] == [("look_up", {"word": "x{"}), ("add", {"word": "y"})]
    said = {delta.get("id") for delta in itertools.chain(*shape)}
    if {"a", "b"} <= said:
        assert [one[0] for one in result.calls] == ["a", "b"]
    assert len({one[0] for one in result.calls}) == 2


def test_two_calls_of_one_tool_without_ids_at_one_index_are_two() -> None:
    shape = [[call(0, None, "add", '{"x":1}')], [call(0, None, "add", '{"x":2}')]]
    assert [one[2] for one in answered(*_elements(shape)).calls] == [{"x": 1}, {"x": 2}]


def test_ids_of_ours_differ_from_answer_to_answer() -> None:
    shape = _elements([[call(0, None, "add", "{}")]])
    other = [{**one, "id": "c-2"} for one in shape]
    ((first, *_),) = answered(*shape).calls
    ((second, *_),) = answered(*other).calls
    assert first != second
    assert len(first) <= 40


def test_the_older_form_of_one_call_is_read() -> None:
    result = read([
        chunk({"function_call": {"name": "add", "arguments": '{"x":'}}),
        chunk({"function_call": {"arguments": "1}"}}),
        finished("function_call"),
        DONE,
    ])  # fmt: skip
    assert [one[1:] for one in result.calls] == [("add", {"x": 1})]


def test_a_tool_that_is_no_function_is_counted_and_no_call() -> None:
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "x", "input": "y"}}
    result = answered(calls(custom), calls(custom))
    assert (result.calls, result.unmapped) == ([], {"tool_calls:custom": 1})


def test_arguments_without_any_name_are_an_error() -> None:
    error = answered(calls(call(0, None, None, "{}"))).finish.error
    assert isinstance(error, ToolArgumentsError)
    assert "a name for these arguments" in str(error)


def test_a_signature_travels_with_its_call() -> None:
    extra = {"google": {"thought_signature": "S"}}
    result = answered(calls(call(0, "a", "add", "{}", extra_content=extra), call(1, "b", "add", "{}")))
    (metadata,) = result.metadata
    assert metadata[ITEMS] == [{"type": "message-field", "toolCallId": "a", "extra_content": extra}]


def test_a_call_that_a_limit_cuts_is_counted_and_the_others_come_out() -> None:
    result = read([calls(call(0, "a", "add", "{}"), call(1, "b", "add", "{")), finished("length"), DONE])
    assert [one[1:] for one in result.calls] == [("add", {})]
    assert (result.finish.error, result.unmapped) == (None, {"tool call add (incomplete)": 1})


json_texts = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\{}[]é', max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='"\\{', max_size=2), inner, max_size=3)
    ),
).filter(lambda value: isinstance(value, dict))


@given(value=json_texts, cuts=st.lists(st.integers(0, 200), max_size=6), data=st.data())
def test_an_object_in_pieces_is_complete_at_its_end_and_not_before(value: Any, cuts: list[int], data: Any) -> None:
    text = json.dumps(value)
    borders = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    open_json = OpenJson()
    for start, end in itertools.pairwise(borders):
        open_json.pieces.append(text[start:end])
        assert open_json.is_complete is (end == len(text))
