"""Function calls come once, whole, whatever the server leaves out, rotates or says twice."""

from typing import Any

import pytest

from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import Outcome, StreamOptions
from partstream.lm.parts import ToolCallPart
from partstream.protocols.openresponses.read_response import OpenResponsesStream
from protocols.openresponses.wire import (
    OMIT,
    Event,
    added,
    arguments_delta,
    arguments_done,
    call,
    created,
    done,
    opened_call,
    read,
    read_events,
    spread,
    terminal,
)
from rows import one_test_for

ONE_CALL = [("gw-call_0", "look_up", {"a": 1})]
TWO_CALLS = [("gw-call_0", "look_up", {"a": 1}), ("gw-call_1", "look_up", {"b": 2})]


def two(first: str = '{"a":1}', second: str = '{"b":2}', **fields: Any) -> tuple[Event, Event]:
    return call(first, "fc_0", "call_0", **fields), call(second, "fc_1", "call_1", **fields)


CALLS: dict[str, tuple[list[Event], Any]] = {
    "canonical": (
        spread(
            opened_call(),
            arguments_delta('{"a"'),
            arguments_delta(":1}"),
            arguments_done('{"a":1}'),
            done(call('{"a":1}')),
        ),
        ONE_CALL,
    ),
    "GitHub Copilot: every event has another item id": (
        spread(
            opened_call(0, item_id="r1"),
            opened_call(1, item_id="r2", call_id="call_1"),
            arguments_delta('{"a"', 0, "r3"),
            arguments_delta('{"b"', 1, "r4"),
            arguments_delta(":1}", 0, "r5"),
            arguments_delta(":2}", 1, "r6"),
            arguments_done('{"a":1}', 0, "r7"),
            arguments_done('{"b":2}', 1, "r8"),
            done(call('{"a":1}', "r9"), 0),
            done(call('{"b":2}', "r10", "call_1"), 1),
            terminal(output=(call('{"a":1}', "r11"), call('{"b":2}', "r12", "call_1"))),
        ),
        TWO_CALLS,
    ),
    "GitHub Copilot: deltas are ciphertext, the plain text comes in .done": (
        spread(
            opened_call(),
            arguments_delta("gAAAB3x"),
            arguments_delta("9Zk=="),
            arguments_done('{"a":1}'),
            done(call('{"a":1}')),
        ),
        ONE_CALL,
    ),
    "GitHub Copilot: deltas are ciphertext, the plain text comes in output_item.done": (
        spread(opened_call(), arguments_delta("gAAAB3x"), arguments_done(""), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "GitHub Copilot: deltas and .done are ciphertext": (
        spread(opened_call(), arguments_delta("gAAAB3x"), arguments_done("gAAAB3x"), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "GitHub Copilot: only the final snapshot is plain": (
        [opened_call(), arguments_delta("gAAAB3x"), terminal(output=(call('{"a":1}'),))],
        ONE_CALL,
    ),
    "LM Studio: no argument deltas": (
        spread(opened_call(), arguments_done('{"a":1}'), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "Ollama: one delta, and none for empty arguments": (
        spread(
            opened_call(0),
            arguments_delta('{"a":1}', 0),
            arguments_done('{"a":1}', 0),
            done(call('{"a":1}'), 0),
            opened_call(1, item_id="fc_1", call_id="call_1"),
            arguments_done("", 1, "fc_1"),
            done(call("", "fc_1", "call_1"), 1),
        ),
        [*ONE_CALL, ("gw-call_1", "look_up", {})],
    ),
    "Ollama: a later batch of calls begins at the same output_index": (
        spread(
            opened_call(0),
            arguments_delta('{"a":1}'),
            arguments_done('{"a":1}'),
            done(call('{"a":1}')),
            opened_call(0, item_id="fc_1", call_id="call_1"),
            arguments_delta('{"b":2}', 0, "fc_1"),
            arguments_done('{"b":2}', 0, "fc_1"),
            done(call('{"b":2}', "fc_1", "call_1"), 0),
            terminal(output=two()),
        ),
        TWO_CALLS,
    ),
    "LiteLLM: one output_index for calls that are open together": (
        spread(
            opened_call(0),
            opened_call(0, item_id="fc_1", call_id="call_1"),
            arguments_done('{"b":2}', 0, "fc_1"),
            done(call('{"b":2}', "fc_1", "call_1"), 0),
            done(call('{"a":1}', "fc_0", "call_0"), 0),
        ),
        [TWO_CALLS[1], TWO_CALLS[0]],
    ),
    "one item id for calls at different places": (
        spread(
            opened_call(0, item_id="fc"),
            opened_call(1, item_id="fc", call_id="call_1"),
            arguments_delta('{"a":1}', 0, "fc"),
            arguments_delta('{"b":2}', 1, "fc"),
            arguments_done('{"a":1}', 0, "fc"),
            arguments_done('{"b":2}', 1, "fc"),
            done(call('{"a":1}', "fc"), 0),
            done(call('{"b":2}', "fc", "call_1"), 1),
            done(call('{"a":1}', "fc"), 0),
            terminal(output=two()),
        ),
        TWO_CALLS,
    ),
    "llama.cpp: no indices and no item ids": (
        spread(
            added(call("", OMIT), OMIT),
            arguments_delta('{"a":1}', OMIT, OMIT),
            done(call('{"a":1}', OMIT), OMIT),
            added(call("", OMIT, "call_1"), OMIT),
            arguments_delta('{"b":2}', OMIT, OMIT),
            done(call('{"b":2}', OMIT, "call_1"), OMIT),
        ),
        TWO_CALLS,
    ),
    "llama.cpp: no indices, the only open call is meant": (
        spread(added(call("", OMIT), OMIT), arguments_delta('{"a"', OMIT, OMIT), arguments_delta(":1}", OMIT, OMIT)),
        ONE_CALL,
    ),
    "no indices, the item id says which call": (
        spread(
            added(call("", "fc_0"), OMIT),
            added(call("", "fc_1", "call_1"), OMIT),
            arguments_delta('{"b":2}', OMIT, "fc_1"),
            arguments_delta('{"a":1}', OMIT, "fc_0"),
            arguments_done('{"b":2}', OMIT, "fc_1"),
            arguments_done('{"a":1}', OMIT, "fc_0"),
        ),
        [TWO_CALLS[1], TWO_CALLS[0]],
    ),
    "vLLM: no output_item.added": (
        spread(arguments_delta('{"a"'), arguments_delta(":1}"), arguments_done('{"a":1}'), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "vLLM: output_item.added after the deltas": (
        spread(arguments_delta('{"a"'), opened_call(), arguments_delta(":1}"), arguments_done('{"a":1}')),
        ONE_CALL,
    ),
    "vLLM: output_item.done alone": (spread(done(call('{"a":1}'))), ONE_CALL),
    "vLLM: the item id is null in output_item.done": (
        spread(opened_call(), arguments_delta('{"a":1}'), arguments_done('{"a":1}'), done(call('{"a":1}', None))),
        ONE_CALL,
    ),
    "vLLM: another call id and item id in the final snapshot": (
        [opened_call(), done(call('{"a":1}')), terminal(output=(call('{"a":1}', "fc_9", "call_9"),))],
        ONE_CALL,
    ),
    "vLLM: other call ids in a snapshot whose places are others": (
        [
            opened_call(1),
            opened_call(2, item_id="fc_1", call_id="call_1"),
            done(two()[0], 1),
            done(two()[1], 2),
            terminal(output=(call('{ "a" : 1 }', "x", "y"), call('{"b": 2}', "z", "w"))),
        ],
        TWO_CALLS,
    ),
    "vLLM: another call id in output_item.done": (
        spread(opened_call(call_id="early"), arguments_delta('{"a":1}'), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "SGLang: no output_item.done": (
        spread(opened_call(), arguments_delta('{"a":1}'), arguments_done('{"a":1}')),
        ONE_CALL,
    ),
    "no closing events of the call at all": (spread(opened_call(), arguments_delta('{"a":1}')), ONE_CALL),
    "ChatGPT Codex: the final snapshot is empty": (
        [
            opened_call(),
            arguments_delta('{"a":1}'),
            arguments_done('{"a":1}'),
            done(call('{"a":1}')),
            terminal(output=()),
        ],
        ONE_CALL,
    ),
    "the final snapshot alone": ([created(), terminal(output=two())], TWO_CALLS),
    "parallel calls interleave": (
        spread(
            opened_call(0),
            opened_call(1, item_id="fc_1", call_id="call_1"),
            arguments_delta('{"a"', 0),
            arguments_delta('{"b"', 1, "fc_1"),
            arguments_delta(":1}", 0),
            arguments_delta(":2}", 1, "fc_1"),
            arguments_done('{"b":2}', 1, "fc_1"),
            arguments_done('{"a":1}', 0),
            done(two()[0], 0),
            done(two()[1], 1),
            terminal(output=two()),
        ),
        [TWO_CALLS[1], TWO_CALLS[0]],
    ),
    "LobeHub: a whole life of the item for each token": (
        spread(
            *(
                [opened_call(), arguments_delta(text), arguments_done(text), done(call(text))]
                for text in ('{"a"', '{"a":1', '{"a":1}')
            ),
        ),
        ONE_CALL,
    ),
    "LobeHub: each of them at a place of its own": (
        spread(
            *(
                [opened_call(place, item_id=f"fc_{place}"), done(call(text, f"fc_{place}"), place)]
                for place, text in enumerate(('{"a"', '{"a":1}'))
            ),
        ),
        ONE_CALL,
    ),
    "one call id under two item ids and at two places": (
        spread(
            [opened_call(0), done(call('{"a":1}'), 0)],
            [opened_call(1, item_id="fc_1"), arguments_done('{"a":1}', 1, "fc_1"), done(call('{"a":1}', "fc_1"), 1)],
        ),
        ONE_CALL,
    ),
    "the name comes with output_item.done": (
        spread(opened_call(name=OMIT), arguments_delta('{"a":1}'), arguments_done('{"a":1}'), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "the call id comes with output_item.done": (
        spread(opened_call(call_id=OMIT), arguments_delta('{"a":1}'), arguments_done('{"a":1}'), done(call('{"a":1}'))),
        ONE_CALL,
    ),
    "the call id never comes, so results refer to the item": (
        spread(opened_call(call_id=OMIT), arguments_done('{"a":1}'), done(call('{"a":1}', call_id=OMIT))),
        [("gw-fc_0", "look_up", {"a": 1})],
    ),
    "arguments are an object and no text": (spread(opened_call(), done(call({"a": 1}))), ONE_CALL),
    "every event comes twice": (
        [one for one in spread(opened_call(), arguments_done('{"a":1}'), done(call('{"a":1}'))) for _ in range(2)],
        ONE_CALL,
    ),
}


@one_test_for(("events", "expected"), CALLS.values(), ids=CALLS)
def test_a_function_call_comes_once_and_whole(events: list[Event], expected: Any) -> None:
    result = read(events)
    assert result.calls == expected
    assert result.finish.outcome is Outcome.COMPLETED
    assert result.text == ""


# output_item.done, then function_call_arguments.done, then the deltas, then output_item.added
# (docs/wires/openresponses.md#which-arguments-count).
SOURCES = ("added", "delta", "arguments_done", "item_done")


def _said_by(**said: str) -> list[Event]:
    return spread(
        opened_call(arguments=said.get("added", "")),
        [arguments_delta(said["delta"])] if "delta" in said else [],
        [arguments_done(said["arguments_done"])] if "arguments_done" in said else [],
        done(call(said.get("item_done", ""))),
    )


@pytest.mark.parametrize("place", range(4))
def test_the_last_source_that_says_any_arguments_is_believed(place: int) -> None:
    # Those before it are ciphertext, those after it are empty.
    said = {source: "gAAA" if index < place else "" for index, source in enumerate(SOURCES)}
    result = read(_said_by(**said | {SOURCES[place]: '{"a":1}'}))
    assert result.calls == ONE_CALL


def test_a_call_comes_at_the_first_point_where_it_is_complete_and_stays_as_it_was() -> None:
    stream = OpenResponsesStream(StreamOptions(call_id_prefix="gw-"))
    point = {
        "added": stream.feed(opened_call()),
        "delta": stream.feed(arguments_delta('{"a":1}')),
        "arguments done": stream.feed(arguments_done('{"a":1}')),
        "item done": stream.feed(done(call('{"a":2}'))),
        "response": stream.feed(terminal(output=(call('{"a":3}'),))),
    }
    assert [name for name, outputs in point.items() if any(isinstance(one, ToolCallPart) for one in outputs)] == [
        "arguments done"
    ]


@one_test_for("empty", ["", " ", "\n", None, "{}", {}, " {} "])
@one_test_for("point", ["arguments done", "item done", "response"])
def test_empty_arguments_are_an_empty_object(empty: Any, point: str) -> None:
    events = {
        "arguments done": spread(opened_call(), arguments_done(empty)),
        "item done": spread(opened_call(), done(call(empty))),
        "response": [terminal(output=(call(empty),))],
    }[point]
    assert read(events).calls == [("gw-call_0", "look_up", {})]


def test_arguments_that_are_left_out_altogether_are_an_empty_object() -> None:
    assert read(spread(done(call(OMIT)))).calls == [("gw-call_0", "look_up", {})]


NOT_AN_OBJECT = [
    "[1]",
    '"text"',
    "7",
    "null",
    "true",
    "{",
    '{"a":',
    '{"a":1}{"b":2}',
    "look it up",
    "{'a':1}",
    '{"a":1,}',
]
NO_JSON_FORM = ['{"a":NaN}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":1e999}', '{"a":' + "9" * 5000 + "}"]
TOO_DEEP = ['{"a":' + "[" * 20_000 + "]" * 20_000 + "}"]


@one_test_for("arguments", NOT_AN_OBJECT + NO_JSON_FORM + TOO_DEEP, ids=lambda text: text[:12])
@one_test_for("point", ["deltas", "arguments done", "item done", "response"])
def test_arguments_that_are_no_json_object_are_a_clear_error_and_no_call(arguments: str, point: str) -> None:
    events = {
        "deltas": spread(opened_call(), arguments_delta(arguments)),
        "arguments done": spread(opened_call(), arguments_done(arguments)),
        "item done": spread(opened_call(), done(call(arguments))),
        "response": [terminal(output=(call(arguments),))],
    }[point]
    result = read(events)
    assert result.calls == []
    assert result.finish.outcome is Outcome.FAILED
    error = result.finish.error
    assert isinstance(error, ToolArgumentsError)
    assert error.call_id == "call_0"
    assert error.name == "look_up"
    assert error.arguments == arguments[:500]
    assert error.expected == "a JSON object"
    assert error.provider_code is None
    assert "look_up" in str(error)


@pytest.mark.parametrize("value", [7, [1], True])
def test_arguments_of_another_type_say_nothing(value: Any) -> None:
    assert read(spread(opened_call(), arguments_done(value), done(call('{"a":1}')))).calls == ONE_CALL


def test_an_object_as_arguments_that_json_has_no_form_for_is_an_error() -> None:
    result = read_events(spread(done(call({"a": float("nan")}))))
    assert isinstance(result.finish.error, ToolArgumentsError)


def test_what_was_handed_out_before_a_broken_call_stays() -> None:
    result = read(spread(done(call('{"a":1}'), 0), done(call("{", "fc_1", "call_1"), 1)))
    assert result.calls == ONE_CALL
    assert isinstance(result.finish.error, ToolArgumentsError)


def test_a_call_without_a_name_is_a_clear_error() -> None:
    error = read(spread(done(call('{"a":1}', name=OMIT)))).finish.error
    assert isinstance(error, ToolArgumentsError)
    assert error.name is None
    assert error.call_id == "call_0"


@pytest.mark.parametrize("prefix", ["gw-", "", "x/"])
def test_call_ids_carry_the_prefix(prefix: str) -> None:
    assert read(spread(done(call("{}"))), call_id_prefix=prefix).calls == [(f"{prefix}call_0", "look_up", {})]


# ---- calls that were cut ----


def test_an_incomplete_response_keeps_whole_calls_and_counts_the_half_one() -> None:
    events = [
        *(opened_call(0), arguments_done('{"a":1}', 0), done(call('{"a":1}'), 0)),
        *(opened_call(1, item_id="fc_1", call_id="call_1"), arguments_delta('{"b"', 1, "fc_1")),
        terminal("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ]
    result = read(events)
    assert result.calls == ONE_CALL
    assert result.unmapped == {"tool call look_up (incomplete)": 1}
    assert result.finish.outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize("half", ['{"a"', "", '{"a":1}'])
def test_a_call_whose_item_says_incomplete_never_comes(half: str) -> None:
    events = [
        *(opened_call(), arguments_delta(half), done(call(half, status="incomplete"))),
        terminal("incomplete", output=(call(half, status="incomplete"),)),
    ]
    result = read(events)
    assert result.calls == []
    assert result.unmapped == {"tool call look_up (incomplete)": 1}
    assert result.finish.outcome is Outcome.INCOMPLETE


def test_a_call_in_the_snapshot_of_an_incomplete_response_comes_only_if_its_item_is_complete() -> None:
    whole, half = call('{"a":1}'), call('{"b":2}', "fc_1", "call_1", status="incomplete")
    assert read([terminal("incomplete", output=(whole, half))]).calls == ONE_CALL


@pytest.mark.parametrize("status", ["failed", "incomplete"])
def test_whole_arguments_that_nothing_closed_are_no_call_when_the_response_broke_off(status: str) -> None:
    result = read([opened_call(), arguments_delta('{"a":1}'), terminal(status)])
    assert result.calls == []


def test_a_failed_response_hands_out_nothing_from_its_snapshot() -> None:
    assert read([terminal("failed", output=(call('{"a":1}'),))]).calls == []


def test_the_bytes_end_before_the_call_does_and_no_call_comes() -> None:
    result = read([opened_call(), arguments_delta('{"a":1}')])
    assert result.calls == []
    assert result.finish.outcome is Outcome.TRUNCATED
