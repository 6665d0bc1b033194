"""Runs a tool that a model called and turns whatever it gives into a result; knows no model and no conversation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from partstream import json_codec
from partstream.errors import CallerError
from partstream.parts import DataPart, TextPart, ToolCallPart, ToolResultContent, ToolResultPart

if TYPE_CHECKING:
    from partstream.messages import Tool

__all__ = ["ToolFunction", "ToolOutcome", "execute_tool_call", "tool_result_content"]

ToolCallable: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[object] | object]
"""Takes the call's input and gives the result, at once or as an awaitable."""


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A tool, and what executes it.

    Attributes:
        tool: What the model is told.
        call: Called with the call's input, a JSON object already parsed. A coroutine function runs on the event
            loop; any other callable runs in a worker thread, because one that blocks would hold up the answer and
            its cancellation. A cancelled coroutine is stopped; a thread cannot be, only its result is dropped.
            What it may return: see :func:`tool_result_content`. What it raises, the model is told.
    """

    tool: Tool
    call: ToolCallable


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What became of one call.

    Attributes:
        call: The call.
        result: What the model is told.
        error: What the tool raised, for the log; None also for a tool that does not exist.
    """

    call: ToolCallPart
    result: ToolResultPart
    error: BaseException | None = None


def tool_result_content(value: object) -> tuple[ToolResultContent, ...]:
    """What a tool returned, as the content of its result.

    Args:
        value: A text, a text or data part, a non-empty sequence of such parts, or any value that JSON has a form
            for, which becomes its JSON text (None becomes `null`).

    Raises:
        CallerError: It is none of these.
    """
    if isinstance(value, str):
        return (TextPart(value),)
    if isinstance(value, TextPart | DataPart):
        return (value,)
    if isinstance(value, list | tuple) and value and all(isinstance(item, TextPart | DataPart) for item in value):
        return tuple(value)
    try:
        return (TextPart(json_codec.dumps(value).decode()),)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"got {type(value).__name__}, expected a text, parts or a JSON value ({error})"
        raise CallerError(message) from error


async def execute_tool_call(call: ToolCallPart, functions: Mapping[str, ToolFunction]) -> ToolOutcome:
    """Runs the tool that `call` names, by its name in `functions`; a failure becomes a result that says so."""
    function = functions.get(call.name)
    if function is None:
        known = ", ".join(functions) or "none"
        return _failure(call, f"The tool {call.name!r} does not exist. Tools that exist: {known}.", None)
    try:
        value = await _call(function.call, call.input)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failure(call, f"The tool {call.name!r} was cancelled from within.", error)
    except Exception as error:
        said = f": {error}" if str(error) else ""
        return _failure(call, f"The tool {call.name!r} failed with {type(error).__name__}{said}", error)
    try:
        return ToolOutcome(call, ToolResultPart(call.call_id, tool_result_content(value)))
    except CallerError as error:
        return _failure(call, f"The tool {call.name!r} gave a result that cannot be sent: {error}", error)


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
