"""A response from its first event to its last: order, outcomes, what is counted and what is ignored."""

from typing import Any

from partstream.errors import ToolArgumentsError, TruncatedStreamError
from partstream.streams import Outcome
from protocols.openresponses.wire import (
    OMIT,
    Event,
    added,
    arguments_delta,
    arguments_done,
    call,
    created,
    delta,
    done,
    message,
    opened_call,
    read,
    read_bytes,
    spread,
    sse,
    terminal,
)

ONE_CALL = [("gw-call_0", "look_up", {"a": 1})]
TWO_CALLS = [("gw-call_0", "look_up", {"a": 1}), ("gw-call_1", "look_up", {"b": 2})]


def two(first: str = '{"a":1}', second: str = '{"b":2}', **fields: Any) -> tuple[Event, Event]:
    return call(first, "fc_0", "call_0", **fields), call(second, "fc_1", "call_1", **fields)


def test_openrouter_closes_without_a_terminal_event() -> None:
    result = read([created(), delta("Hello"), done(message("Hello"))])
    assert result.text == "Hello"
    assert result.finish.outcome is Outcome.TRUNCATED
    assert isinstance(result.finish.error, TruncatedStreamError)


def test_openrouter_sends_done_too_early_and_messages_without_data() -> None:
    chunks = [b"data:\n\n", *sse([created(), delta("Hel")]), b"data: [DONE]\n\n", *sse([delta("lo"), terminal()])]
    result = read_bytes(chunks)
    assert result.text == "Hello"
    assert result.finish.outcome is Outcome.COMPLETED


def test_vllm_leaks_calls_as_text_and_text_they_stay() -> None:
    leaked = '<tool_call>{"name": "look_up"}</tool_call>'
    result = read([created(), delta(leaked), terminal(output=(message(leaked),))])
    assert result.text == leaked
    assert result.calls == []


def test_ollama_text_before_a_call_at_the_same_place_stays_before_it() -> None:
    result = read([added(message(content=[])), delta("Look."), opened_call(0), arguments_done('{"a":1}'), terminal()])
    assert [type(output).__name__ for output in result.outputs] == ["TextPart", "TextPart", "ToolCallPart", "Finish"]
    assert (result.text, result.calls) == ("Look.", ONE_CALL)


def test_arguments_that_cannot_be_told_whose_they_are_are_counted_when_the_calls_came_whole() -> None:
    events = spread(
        added(call("", OMIT), OMIT),
        added(call("", OMIT, "call_1"), OMIT),
        arguments_delta('{"a":1}', OMIT, OMIT),
        done(call('{"a":1}', OMIT), OMIT),
        done(call('{"b":2}', OMIT, "call_1"), OMIT),
    )
    result = read(events)
    assert sorted(result.calls) == TWO_CALLS
    assert result.finish.outcome is Outcome.COMPLETED


def test_arguments_of_no_call_at_all_are_a_clear_error() -> None:
    result = read([created(), arguments_delta('{"a":1}'), terminal()])
    error = result.finish.error
    assert isinstance(error, ToolArgumentsError)
    assert (error.name, error.call_id, error.arguments) == (None, None, '{"a":1}')
    assert "a name and a call id" in str(error)
