"""The tool loop: send a request, execute the tools that the model calls, send the results, until it calls none.

Knows neither what a tool does nor who watches. Source: section 7.3 of the contract.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from partstream.codec.checks import sequence_of
from partstream.consumer.assistant_message import assistant_content
from partstream.consumer.tool_execution import ToolFunction, ToolOutcome, execute_tool_call
from partstream.consumer.tool_loop_events import (
    LoopFinished,
    PartReceived,
    RoundStarted,
    ToolCallStarted,
    ToolLoopEvent,
    ToolLoopResult,
    ToolResultReceived,
)
from partstream.errors import CallerError, ToolRoundLimitError
from partstream.lm.messages import ChatMessage, RequestOptions, ToolMode
from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultPart
from partstream.runtime.consumer import conversation_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import MessagePart, ResponsePart
    from partstream.runtime.consumer import LanguageModelChat, Prompt

__all__ = ["DEFAULT_MAX_ROUNDS", "run_tool_loop", "stream_tool_loop"]

DEFAULT_MAX_ROUNDS = 20
"""The most requests of a loop, by default."""

# How long a loop waits for cancelled tools, in seconds. Well-behaved tools end in the next turn of the event loop.
_TOOL_STOP_SECONDS = 1.0

_NO_OPTIONS = RequestOptions()


async def run_tool_loop(
    model: LanguageModelChat,
    messages: Prompt,
    tools: Sequence[ToolFunction],
    options: RequestOptions = _NO_OPTIONS,
    token: CancellationToken | None = None,
    *,
    on_part: Callable[[ResponsePart], object] | None = None,
    max_rounds: int = DEFAULT_MAX_ROUNDS,
) -> ToolLoopResult:
    """Runs :func:`stream_tool_loop` to its end and returns its result.

    Args:
        model: As in :func:`stream_tool_loop`.
        messages: As in :func:`stream_tool_loop`.
        tools: As in :func:`stream_tool_loop`.
        options: As in :func:`stream_tool_loop`.
        token: As in :func:`stream_tool_loop`.
        on_part: Called with every part of the model, as it comes.
        max_rounds: As in :func:`stream_tool_loop`.

    Raises:
        LanguageModelError: A request failed.
        ToolRoundLimitError: The model still called tools in the last round.
        CallerError: The arguments contradict each other.

    Example:
        >>> import asyncio
        >>> from partstream import Tool, ToolCallPart, ToolFunction, ToolResultPart, chat_model, connect, run_tool_loop
        >>> @chat_model(name="Reader")
        ... async def reader(messages, options):
        ...     results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]
        ...     yield results[0].content[0] if results else ToolCallPart("call-1", "read_file", {"path": "notes.txt"})
        >>> read_file = ToolFunction(Tool("read_file", "Reads a file."), lambda arguments: f"{arguments['path']}: milk")
        >>> async def main():
        ...     async with connect(reader) as model:
        ...         return await run_tool_loop(model, "What is in my notes?", [read_file])
        >>> result = asyncio.run(main())
        >>> result.text, result.rounds
        ('notes.txt: milk', 2)
    """
    async with aclosing(stream_tool_loop(model, messages, tools, options, token, max_rounds=max_rounds)) as events:
        async for event in events:
            if on_part is not None and isinstance(event, PartReceived):
                on_part(event.part)
            elif isinstance(event, LoopFinished):
                return event.result
    raise AssertionError("a tool loop ends with LoopFinished or raises")


async def stream_tool_loop(
    model: LanguageModelChat,
    messages: Prompt,
    tools: Sequence[ToolFunction],
    options: RequestOptions = _NO_OPTIONS,
    token: CancellationToken | None = None,
    *,
    max_rounds: int = DEFAULT_MAX_ROUNDS,
) -> AsyncGenerator[ToolLoopEvent, None]:
    """Runs the tool loop and yields its events; the last event is :class:`LoopFinished`.

    The calls of one response are executed at the same time, once the response is complete. For a tool that raises or
    does not exist, the model gets a result that says so, and the loop continues. Closing the iterator early cancels
    the request and the running tools.

    Args:
        model: The model.
        messages: The user's text, or the conversation so far, oldest message first.
        tools: The tools that the model may call, with unique names.
        options: Further options of every request, without `tools`. A `tool_mode` of required applies to the first
            round only: a model that had to call a tool in every round would never answer.
        token: Ends the loop at once and normally when cancelled.
        max_rounds: The most requests to send, at least 1.

    Raises:
        LanguageModelError: A request failed; the parts that came before were yielded.
        ToolRoundLimitError: The model still called tools in the last round; those calls were not executed.
        CallerError: The arguments contradict each other.

    Example:
        >>> import asyncio
        >>> from partstream import chat_model, connect, stream_tool_loop, user_request
        >>> @chat_model(name="Parrot")
        ... async def parrot(messages, options):
        ...     yield f"You said: {user_request(messages)}"
        >>> async def main():
        ...     async with connect(parrot) as model:
        ...         return [type(event).__name__ async for event in stream_tool_loop(model, "Hello", [])]
        >>> asyncio.run(main())
        ['RoundStarted', 'PartReceived', 'LoopFinished']
    """
    functions = _functions_by_name(tools, options, max_rounds)
    options = replace(options, tools=tuple(function.tool for function in tools))
    loop = _Loop(tuple(conversation_of(messages)))
    for number in range(1, max_rounds + 1):
        yield RoundStarted(number, loop.messages)
        loop.begin_round(number)
        response = await model.send_request(loop.messages, options, token)
        async with response, aclosing(response.stream) as parts:
            async for part in parts:
                loop.received.append(part)
                yield PartReceived(part)
        if response.is_cancelled or not loop.calls:
            yield LoopFinished(loop.finish(response.is_cancelled, response.finish))
            return
        if number == max_rounds:
            break
        async with aclosing(_execute(loop.calls, functions, token)) as events:
            async for event in events:
                if isinstance(event, ToolResultReceived):
                    loop.results[event.call.call_id] = event.result
                yield event
        if token is not None and token.is_cancellation_requested:
            yield LoopFinished(loop.finish(True, response.finish))
            return
        loop.end_round()
        options = replace(options, tool_mode=ToolMode.AUTO)
    raise ToolRoundLimitError(max_rounds, tuple(call.name for call in loop.calls))


@dataclass(slots=True)
class _Loop:
    """The conversation of one loop, and the parts and results of its current round."""

    messages: tuple[ChatMessage, ...]
    rounds: int = 0
    received: list[ResponsePart] = field(default_factory=list)
    results: dict[str, ToolResultPart] = field(default_factory=dict)
    usage_parts: list[DataPart] = field(default_factory=list)

    @property
    def calls(self) -> list[ToolCallPart]:
        return [part for part in self.received if isinstance(part, ToolCallPart)]

    def begin_round(self, number: int) -> None:
        self.rounds = number
        self.received = []
        self.results = {}

    def end_round(self) -> None:
        """Adds the assistant's message, and the results of the answered calls in the order of the calls."""
        self.usage_parts += [p for p in self.received if isinstance(p, DataPart) and p.mime_type == "usage"]
        content = assistant_content(self.received, answered=self.results.keys())
        if content:
            self.messages += (ChatMessage.assistant(content),)
        results: list[MessagePart] = [self.results[c.call_id] for c in self.calls if c.call_id in self.results]
        if results:
            self.messages += (ChatMessage.user(results),)

    def finish(self, is_cancelled: bool, finish: Finish | None) -> ToolLoopResult:
        self.end_round()
        text = "".join(part.value for part in self.received if isinstance(part, TextPart))
        return ToolLoopResult(text, self.messages, self.rounds, tuple(self.usage_parts), is_cancelled, finish)


def _functions_by_name(
    tools: Sequence[ToolFunction], options: RequestOptions, max_rounds: int
) -> dict[str, ToolFunction]:
    sequence_of("tools", tools, ToolFunction, "a ToolFunction")
    if max_rounds < 1:
        raise CallerError(f"max_rounds: got {max_rounds}, expected at least 1")
    if options.tools:
        raise CallerError("options.tools: got tools without functions, expected all tools in `tools`")
    twice = [name for name, count in Counter(function.tool.name for function in tools).items() if count > 1]
    if twice:
        raise CallerError(f"tools: got {', '.join(twice)} more than once, expected unique names")
    return {function.tool.name: function for function in tools}


async def _execute(
    calls: Sequence[ToolCallPart], functions: dict[str, ToolFunction], token: CancellationToken | None
) -> AsyncGenerator[ToolCallStarted | ToolResultReceived, None]:
    """Executes the calls at the same time; stops the tools and ends early when `token` is cancelled."""
    cancelled = asyncio.get_running_loop().create_future()
    subscription = None if token is None else token.on_cancellation_requested(lambda: _set(cancelled))
    running: list[asyncio.Task[ToolOutcome]] = []
    try:
        for call in calls:
            if cancelled.done():
                return
            running.append(asyncio.create_task(execute_tool_call(call, functions), name=f"tool {call.name}"))
            yield ToolCallStarted(call)
        while running and not cancelled.done():
            await asyncio.wait({cancelled, *running}, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                if cancelled.done():
                    return
                running.remove(task)
                outcome = task.result()
                yield ToolResultReceived(outcome.call, outcome.result, outcome.error)
    finally:
        if subscription is not None:
            subscription.dispose()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_TOOL_STOP_SECONDS)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
