"""Running one tool, and what becomes of what it returns."""

import asyncio
import functools
import threading

import pytest
from scripted import run

from partstream import DataPart, TextPart, Tool, ToolCallPart, ToolResultPart
from partstream.errors import CallerError
from partstream.runtime.tool_loop import ToolFunction, execute_tool_call, tool_result_content
from rows import one_test_for

IMAGE = DataPart.image(b"\x89PNG", "image/png")

RESULTS = [
    ("sunny", (TextPart("sunny"),)),
    ("", (TextPart(""),)),
    (TextPart("sunny"), (TextPart("sunny"),)),
    (IMAGE, (IMAGE,)),
    ([TextPart("a"), IMAGE], (TextPart("a"), IMAGE)),
    ((TextPart("a"),), (TextPart("a"),)),
    ({"sky": "blue", "°C": 21.5}, (TextPart('{"sky":"blue","°C":21.5}'),)),
    (["a", 1], (TextPart('["a",1]'),)),
    ([], (TextPart("[]"),)),
    (None, (TextPart("null"),)),
    (True, (TextPart("true"),)),
    (0, (TextPart("0"),)),
]


@one_test_for(("value", "content"), RESULTS)
def test_a_result_becomes_content(value, content) -> None:
    assert tool_result_content(value) == content


CYCLE: list[object] = []
CYCLE.append(CYCLE)


@one_test_for("value", [object(), {1, 2}, b"bytes", [TextPart("a"), "b"], {"a": object()}, CYCLE])
def test_a_value_without_a_form_is_refused_with_its_type(value) -> None:
    with pytest.raises(CallerError, match=f"got {type(value).__name__}, expected a text, parts or a JSON value"):
        tool_result_content(value)


async def outcome_of(call, *, name: str = "look"):
    functions = {"look": ToolFunction(Tool("look", "Looks."), call)}
    return await execute_tool_call(ToolCallPart("c1", name, {"at": "sky"}), functions)


async def _coroutine(tool_input):
    return tool_input["at"]


class _Callable:
    async def __call__(self, tool_input):
        return tool_input["at"]


CALLABLES = [
    _coroutine,
    _Callable(),
    functools.partial(_coroutine),
    lambda tool_input: tool_input["at"],
    lambda tool_input: _coroutine(dict(tool_input)),
]


@one_test_for("call", CALLABLES)
def test_any_callable_gets_the_input_and_gives_the_result(call) -> None:
    async def scenario() -> None:
        outcome = await outcome_of(call)
        assert outcome.result == ToolResultPart("c1", (TextPart("sky"),))
        assert outcome.error is None

    run(scenario())


def test_only_a_coroutine_function_runs_on_the_event_loop() -> None:
    async def scenario() -> None:
        threads: list[bool] = []

        async def coroutine(tool_input) -> None:
            threads.append(threading.current_thread() is threading.main_thread())

        def plain(tool_input) -> None:
            threads.append(threading.current_thread() is threading.main_thread())

        await outcome_of(coroutine)
        await outcome_of(plain)
        assert threads == [True, False]

    run(scenario())


def _raise_with_words(tool_input):
    raise ValueError("no such place")


def _raise_without_words(tool_input):
    raise ValueError


async def _raise_cancelled(tool_input):
    raise asyncio.CancelledError


def _return_a_set(tool_input):
    return {1}


FAILURES = [
    (_raise_with_words, "The tool 'look' failed with ValueError: no such place", ValueError),
    (_raise_without_words, "The tool 'look' failed with ValueError", ValueError),
    (_raise_cancelled, "The tool 'look' cancelled itself.", asyncio.CancelledError),
    (_return_a_set, "The tool 'look' returned a result that cannot be sent: got set", CallerError),
]


@pytest.mark.parametrize(("call", "sentence", "error"), FAILURES)
def test_a_failure_becomes_a_result_that_says_so(call, sentence: str, error) -> None:
    async def scenario() -> None:
        outcome = await outcome_of(call)
        assert outcome.result.is_error
        assert outcome.result.call_id == "c1"
        assert outcome.result.content[0].value.startswith(sentence)
        assert isinstance(outcome.error, error)

    run(scenario())


def test_a_tool_that_does_not_exist_is_answered_with_those_that_do() -> None:
    async def scenario() -> None:
        outcome = await outcome_of(_coroutine, name="listen")
        text = "The tool 'listen' does not exist. Available tools: look."
        assert outcome.result == ToolResultPart("c1", (TextPart(text),), is_error=True)

    run(scenario())
