"""The tool loop: sends a request, executes the tools that the model calls, sends the results, until it calls none.

The calls of one response run at the same time, once the response is complete; a failed tool becomes a result that the
model reads. The assistant's message of the next request has the text and the thinking, joined as VS Code joins them,
the calls that have results, and the one data part that Copilot returns (section 7.3 of the contract). The loop yields
events, values that a screen or a log can show, and ends with the whole conversation.
"""

from __future__ import annotations
import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from partstream.codec import json_codec
from partstream.codec.checks import Expectation, check_fields, dataclass, field, instance_of, replace, sequence_of
from partstream.errors import CallerError, ToolRoundLimitError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.lm.outputs import Finish
from partstream.lm.parts import (
    DataPart,
    MessagePart,
    ResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
)
from partstream.runtime.consumer import LanguageModelChat, Prompt, conversation_of
from partstream.runtime.progress import told
from partstream.upstream.context import run_in_thread

# ---- Tools ----

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
            values that it may return, see :func:`tool_result_content`. The model reads the errors that it raises.

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


_TOOL_FUNCTION = {"tool": instance_of(Tool), "call": Expectation("a function of the call's input", callable)}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of one call; `error` is the one that the tool raised, for the log, None also for an unknown tool."""

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
        raise CallerError(f"got {type(value).__name__}, expected a text, parts or a JSON value ({error})") from error


async def execute_tool_call(call: ToolCallPart, functions: Mapping[str, ToolFunction]) -> ToolOutcome:
    """Runs the function that `functions` has for the call's tool; a failure becomes a result that describes it."""
    if (function := functions.get(call.name)) is None:
        known = ", ".join(functions) or "none"
        return _failure(call, f"The tool {call.name!r} does not exist. Available tools: {known}.", None)
    try:
        is_async = any(map(inspect.iscoroutinefunction, (function.call, type(function.call).__call__)))
        if is_async:
            value = function.call(call.input)
        else:
            value = await run_in_thread(lambda: function.call(call.input), f"tool {call.name}")
        if inspect.isawaitable(value):
            value = await value
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failure(call, f"The tool {call.name!r} cancelled itself.", error)
    except (Exception, SystemExit) as error:  # a function for a command line ends it for a wrong argument
        return _failure(call, f"The tool {call.name!r} failed with {told(error)}", error)
    try:
        return ToolOutcome(call, ToolResultPart(call.call_id, tool_result_content(value)))
    except CallerError as error:
        return _failure(call, f"The tool {call.name!r} returned a result that cannot be sent: {error}", error)


def _failure(call: ToolCallPart, text: str, error: BaseException | None) -> ToolOutcome:
    return ToolOutcome(call, ToolResultPart(call.call_id, (TextPart(text),), is_error=True), error)


# ---- Events ----


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The loop sends a request: the number of its round, from 1, and its messages."""

    number: int
    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class PartReceived:
    """The model reported a part."""

    part: ResponsePart


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """The response is complete, and a tool that it called is starting."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class ToolResultReceived:
    """A tool has ended, with the error that it raised or None; results come in the order in which the tools end."""

    call: ToolCallPart
    result: ToolResultPart
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class ToolLoopResult:
    """The result of a tool loop.

    Attributes:
        text: The text of the last round; after a cancellation, the text until then.
        messages: The whole conversation: the given messages, then those of the loop. After a cancellation, it ends
            with the parts until then, without the calls that have no results: no model accepts such calls.
        rounds: The number of requests that were sent.
        usage_parts: The data parts of media type `usage`, in order: normally one per round.
        is_cancelled: Whether a cancellation ended the loop.
        finish: How the last round's answer ended, or None if the provider did not report it.
    """

    text: str
    messages: tuple[ChatMessage, ...]
    rounds: int
    usage_parts: tuple[DataPart, ...]
    is_cancelled: bool
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class LoopFinished:
    """The loop has ended without an error; the last event."""

    result: ToolLoopResult


ToolLoopEvent: TypeAlias = RoundStarted | PartReceived | ToolCallStarted | ToolResultReceived | LoopFinished
"""What :func:`~partstream.stream_tool_loop` yields, in the order in which it happens."""

# ---- The loop ----

DEFAULT_MAX_ROUNDS = 20

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

    The arguments are those of :func:`stream_tool_loop`; `on_part` is called with every part of the model, as it comes.

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
    _check_arguments(tools, options, max_rounds)
    functions = {function.tool.name: function for function in tools}
    options = replace(options, tools=tuple(function.tool for function in tools))
    loop = _Loop(tuple(conversation_of(messages)))
    for number in range(1, max_rounds + 1):
        yield RoundStarted(number, loop.messages)
        loop.rounds, loop.received, loop.results = number, [], {}
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
    pending = tuple(call.name for call in loop.calls)
    raise ToolRoundLimitError(max_rounds, pending, loop.finish(False, response.finish).messages)


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


def _check_arguments(tools: Sequence[ToolFunction], options: RequestOptions, max_rounds: int) -> None:
    sequence_of("tools", tools, ToolFunction, "a ToolFunction")
    if max_rounds < 1:
        raise CallerError(f"max_rounds: got {max_rounds}, expected at least 1")
    if options.tools:
        raise CallerError("options.tools: got tools without functions, expected all tools in `tools`")
    twice = [name for name, count in Counter(function.tool.name for function in tools).items() if count > 1]
    if twice:
        raise CallerError(f"tools: got {', '.join(twice)} more than once, expected unique names")


async def _execute(
    calls: Sequence[ToolCallPart], functions: dict[str, ToolFunction], token: CancellationToken | None
) -> AsyncGenerator[ToolCallStarted | ToolResultReceived, None]:
    """Executes the calls at the same time; stops the tools and ends early when `token` is cancelled."""
    cancelled = asyncio.get_running_loop().create_future()
    subscription = None if token is None else token.on_cancellation_requested(lambda: _resolve(cancelled))
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


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


# ---- The assistant's message ----

# The one data part that Copilot returns with each assistant message: it identifies state that the provider keeps.
_RETURNED_MIME_TYPES = frozenset({"stateful_marker"})


def assistant_content(parts: Iterable[ResponsePart], answered: Collection[str]) -> tuple[ResponsePart, ...]:
    """The content of the assistant's message: joined text and thinking, answered calls, the provider's marker.

    Args:
        answered: The ids of the calls that have results; other calls are left out.
    """
    runs: list[_Run] = []
    for part in parts:
        match part:
            case ToolCallPart():
                is_returned = part.call_id in answered
            case DataPart():
                is_returned = part.mime_type in _RETURNED_MIME_TYPES
            case TextPart():
                is_returned = part.value != ""
            case ThinkingPart():
                is_returned = True
        if is_returned and (not runs or not runs[-1].take(part)):
            runs.append(_Run(part))
    return tuple(run.joined() for run in runs)


class _Run:
    """Neighbouring parts that form one part: any texts (section 2.2), or the thinking of one item."""

    def __init__(self, first: ResponsePart) -> None:
        self._last = first
        self._id = first.id if isinstance(first, ThinkingPart) else None
        self._entries: list[list[str]] = []
        if isinstance(first, TextPart | ThinkingPart):
            self._add(first)

    def take(self, part: ResponsePart) -> bool:
        """Adds `part` if it belongs to the run; returns whether it does."""
        if isinstance(part, ThinkingPart):
            # The last part of an item carries the metadata of the whole item: the part after it is of another item.
            if not isinstance(self._last, ThinkingPart) or self._last.metadata:
                return False
            self._id = part.id if self._id is None else self._id
            if part.id not in {None, self._id}:
                return False
        elif not (
            isinstance(part, TextPart) and isinstance(self._last, TextPart) and part.audience == self._last.audience
        ):
            return False
        self._add(part)
        self._last = part
        return True

    def _add(self, part: TextPart | ThinkingPart) -> None:
        """Adds a text to the last entry; a list of texts begins entries of its own."""
        if isinstance(part, ThinkingPart) and part.entries:
            self._entries += [[entry] for entry in part.entries]
        elif self._entries:
            self._entries[-1].append(part.value)
        elif part.value:
            self._entries.append([part.value])

    def joined(self) -> ResponsePart:
        """The run as one part."""
        if isinstance(self._last, TextPart):
            return TextPart("".join(map("".join, self._entries)), self._last.audience)
        if isinstance(self._last, ThinkingPart):
            entries = [*map("".join, self._entries)]
            return ThinkingPart(entries if len(entries) > 1 else "".join(entries), self._id, self._last.metadata)
        return self._last
