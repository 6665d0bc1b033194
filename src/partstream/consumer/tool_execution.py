"""Runs a tool that a model called and makes a result of its return value; knows no model and no conversation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from partstream.codec import json_codec
from partstream.codec.checks import Expectation, check_fields, instance_of
from partstream.errors import CallerError
from partstream.lm.messages import Tool
from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultContent, ToolResultPart

__all__ = ["ToolCallable", "ToolFunction", "ToolOutcome", "execute_tool_call", "tool_result_content"]

ToolCallable: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[object] | object]
"""Takes the call's input and returns the result, or an awaitable of the result."""


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A tool, and the function that executes it.

    Attributes:
        tool: The tool's description for the model.
        call: Called with the call's input, a parsed JSON object. A coroutine function runs on the event loop; any
            other callable runs in a worker thread, because a blocking call would hold up the answer and its
            cancellation. Cancelling stops a coroutine; a thread cannot be stopped, and its result is dropped. For the
            values that it may return, see :func:`tool_result_content`. The model is told of the errors that it raises.

    Example:
        >>> from partstream import Tool, ToolFunction
        >>> weather = Tool("get_weather", "Tells the weather of a city.")
        >>> get_weather = ToolFunction(weather, lambda arguments: f"19 °C in {arguments['city']}")
        >>> get_weather.call({"city": "Oslo"})
        '19 °C in Oslo'
    """

    tool: Tool
    call: ToolCallable

    def __post_init__(self) -> None:
        check_fields(self, _TOOL_FUNCTION)


_TOOL_FUNCTION = {
    "tool": instance_of(Tool),
    "call": Expectation("a function of the call's input", callable),
}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of one call.

    Attributes:
        call: The call.
        result: The result for the model.
        error: The error that the tool raised, for the log; None also for an unknown tool.
    """

    call: ToolCallPart
    result: ToolResultPart
    error: BaseException | None = None


def tool_result_content(value: object) -> tuple[ToolResultContent, ...]:
    """Makes the content of a tool's result from the tool's return value.

    Args:
        value: A text, a text or data part, a non-empty sequence of such parts, or any value that JSON can represent,
            which becomes its JSON text (None becomes `null`).

    Raises:
        CallerError: `value` is none of these.
    """
    if isinstance(value, str):
        return (TextPart(value),)
    if isinstance(value, TextPart | DataPart):
        return (value,)
    if isinstance(value, list | tuple) and value and all(isinstance(item, TextPart | DataPart) for item in value):
        return tuple(value)
    try:
        return (TextPart(json_codec.dumps(value).decode()),)
    except TypeError as error:
        message = f"got {type(value).__name__}, expected a text, parts or a JSON value ({error})"
        raise CallerError(message) from error


async def execute_tool_call(call: ToolCallPart, functions: Mapping[str, ToolFunction]) -> ToolOutcome:
    """Runs the function that `functions` has for the call's tool; a failure becomes a result that describes it."""
    function = functions.get(call.name)
    if function is None:
        known = ", ".join(functions) or "none"
        return _failure(call, f"The tool {call.name!r} does not exist. Available tools: {known}.", None)
    try:
        value = await _call(function.call, call.input)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failure(call, f"The tool {call.name!r} cancelled itself.", error)
    except Exception as error:
        reason = f": {error}" if str(error) else ""
        return _failure(call, f"The tool {call.name!r} failed with {type(error).__name__}{reason}", error)
    try:
        return ToolOutcome(call, ToolResultPart(call.call_id, tool_result_content(value)))
    except CallerError as error:
        return _failure(call, f"The tool {call.name!r} returned a result that cannot be sent: {error}", error)


async def _call(function: ToolCallable, tool_input: Mapping[str, Any]) -> object:
    if _is_coroutine_function(function):
        value = function(tool_input)
    else:
        value = await asyncio.to_thread(function, tool_input)
    return await value if inspect.isawaitable(value) else value


def _is_coroutine_function(function: ToolCallable) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _failure(call: ToolCallPart, text: str, error: BaseException | None) -> ToolOutcome:
    return ToolOutcome(call, ToolResultPart(call.call_id, (TextPart(text),), is_error=True), error)
