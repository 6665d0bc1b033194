"""AI SDK: chunks in, VS Code's parts out; one reader for all four streams and all versions.

Rule 1: order is in :mod:`partstream.protocols.read_response`; no handler asks how far the response has come.
Rule 2: CHUNKS says what a chunk type means and which handler it has, under every name that a version gives it.
Rule 3: no I/O, no clock, no logging. What is not understood comes out as :class:`Unmapped`.

Source: recordings of `ai` 4.3.19, 5.0.277 and 6.0.50, and the types of 7.0.173; docs/wires/ai-sdk.md#chunks-by-version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import (
    AdapterUsageError,
    LanguageModelError,
    TruncatedStreamError,
    UpstreamProtocolError,
)
from partstream.outputs import Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.ai_sdk.blocks import Blocks
from partstream.protocols.ai_sdk.carried import CarriedItems
from partstream.protocols.ai_sdk.ending import Ending
from partstream.protocols.ai_sdk.errors import aborted, failure, generation_id, thrown, tool_failure
from partstream.protocols.ai_sdk.fields import ERROR, METADATA, Chunk, field, mapping, metadata, sequence
from partstream.protocols.ai_sdk.files import data_part, file_part
from partstream.protocols.ai_sdk.sources import Sources
from partstream.protocols.ai_sdk.tool_calls import ToolCalls
from partstream.protocols.citations import RecentText
from partstream.protocols.read_response import TRANSITIONS, Action, LifecycleEvent, LifecycleState, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.outputs import FastPath
    from partstream.usage import Usage

__all__ = ["CHUNKS", "FREQUENT", "THROWN", "AISDKStream", "Dialect", "Row", "kind_of"]

Outputs: TypeAlias = list[StreamOutput]

_OVER: Final = (LifecycleState.FINISHED, LifecycleState.ENDED)

THROWN: Final = "$thrown_by_iterator"
"""The only field of a line of JSON that says what the stream's iterator threw."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences between the four streams beside framing and field names.

    Attributes:
        runs_tools: Whether the SDK stands between the model and this stream: it runs tools that it can run, and says
            what became of them.
        errors_are_text: Whether an error is the text of its message and nothing more.
        goes_on: Whether more may follow the end of an answer: an application puts several answers into its stream, and
            data of its own behind them, so that only the end of the bytes is the end.
    """

    runs_tools: bool = True
    errors_are_text: bool = False
    goes_on: bool = False


class AISDKStream:
    """One response; see :class:`partstream.outputs.ResponseStream`.

    Args:
        options: How what is read is rendered.
        dialect: Which of the four streams it is.
    """

    def __init__(self, options: StreamOptions = StreamOptions(), dialect: Dialect = Dialect()) -> None:  # noqa: B008 - immutable
        self.sink: FastPath | None = None
        self._dialect = dialect
        self._files = options.files
        said = RecentText()
        self._carried = CarriedItems(options.thinking)
        self._blocks = Blocks(options, self._carried, said)
        self._calls = ToolCalls(options.call_id_prefix, wait=dialect.runs_tools, carried=self._carried)
        self._sources = Sources(options, said)
        self._ending = Ending()
        self._error: LanguageModelError | None = None
        self._carried_before_step = 0
        self._is_chunk_waiting = False
        self._dispatch = DISPATCH[dialect.goes_on]
        self._enter(LifecycleState.IDLE)

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out."""
        return self._state in _OVER

    @property
    def failing(self) -> bool:
        """Whether an error was reported and the end has not come yet."""
        return self._error is not None and not self.finished

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported so far, or None."""
        return self._ending.usage

    def feed(self, event: Mapping[str, Any]) -> Outputs:
        """Takes the next chunk and returns what it means, in order."""
        outputs: Outputs = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: Outputs) -> None:
        """Takes the next chunk and appends what it means."""
        self.sink = None
        chunk: Chunk = event  # type: ignore[assignment]
        try:
            next_state, handler, keeps_place = self._rows[chunk["type"]]
        except (KeyError, TypeError):
            self._other(chunk, outputs)
            return
        if METADATA[0] in chunk and (said := mapping(metadata(chunk), ("gateway",))):
            # The gateway names the generation on the first chunk that has content, so that it is known if it is cut.
            self._ending.remember({"gateway": said})
        try:
            if keeps_place and self._calls.any_wait:
                self._wait(handler, chunk, outputs)
            else:
                handler(self, chunk, outputs)
        except UpstreamProtocolError as error:
            outputs += self.fail(error)
            return
        if next_state is not self._state:
            self._enter(next_state)

    def end(self, *, whole: bool = False) -> Outputs:
        """Ends the chunks; an application's own stream needs no end chunk."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: Outputs = []
        if whole:
            self.feed_into({"type": "finish"}, outputs)
        if self._state is LifecycleState.ANSWERED:
            self._conclude(outputs)
        else:
            outputs += self.fail(self._error or TruncatedStreamError(self._state.name))
        self._enter(LifecycleState.ENDED)
        return outputs

    def fail(self, error: LanguageModelError) -> Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: Outputs = []
        if self.finished:
            return outputs
        self.sink = None
        try:
            self._flush(outputs, usable=False)
        except UpstreamProtocolError as earlier:  # of a chunk that waited
            error = earlier
        outcome = Outcome.TRUNCATED if isinstance(error, TruncatedStreamError) else Outcome.FAILED
        outputs.append(self._ending.output(outcome, error))
        self._enter(LifecycleState.FINISHED)
        return outputs

    def _wait(self, handler: _Handler, chunk: Chunk, outputs: Outputs) -> None:
        def handle(later: Outputs) -> None:
            handler(self, chunk, later)
            self.sink = None  # of another type than the chunk that ended the waiting

        self._calls.add_behind(handle, outputs)
        self._is_chunk_waiting = self._calls.any_wait

    def _flush(self, outputs: Outputs, *, usable: bool) -> None:
        self._hand_out(partial(self._calls.flush, usable=usable), outputs)

    def _hand_out(self, what_waits: Callable[[Outputs], None], outputs: Outputs) -> None:
        """Hands out what waits and closes the open blocks: before the calls, unless the ends of the blocks may wait."""
        if not self._is_chunk_waiting:
            self._blocks.end_all(outputs)
        self._is_chunk_waiting = False
        try:
            what_waits(outputs)
        finally:
            self._blocks.end_all(outputs)

    def _enter(self, state: LifecycleState) -> None:
        self._state = state
        self._rows = self._dispatch[state]

    def _other(self, chunk: Chunk, outputs: Outputs) -> None:
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError(f"fed {chunk.get('type')!r} after the stream was ended")
        if self._state is LifecycleState.FINISHED:
            return
        kind = chunk.get("type")
        if THROWN in chunk:
            outputs += self.fail(thrown(chunk[THROWN]))
        elif isinstance(kind, str) and kind.startswith("data-"):
            self._wait(_Stream._data, chunk, outputs)
        elif isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, chunk))
        else:
            got = "no type" if kind is None else f"type {shown(kind)}"
            outputs += self.fail(UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string"))

    def _show(self, output: StreamOutput, outputs: Outputs) -> None:
        self._blocks.end_unnamed(outputs)
        self._blocks.shown = self._blocks.shown or not isinstance(output, Unmapped)
        outputs.append(output)

    # Steps

    def _start(self, chunk: Chunk, _outputs: Outputs) -> None:
        self._ending.identify(chunk)

    def _start_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._ending.identify(chunk)
        self._blocks.shown = False
        self._carried_before_step = self._carried.length
        if sequence(chunk, ("warnings",)):
            outputs.append(Unmapped(f"{chunk['type']} (warnings)", chunk))

    def _finish_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._ending.finish_step(chunk)
        # The UI stream says only at the very end why the model stopped.
        if field(chunk, ("finishReason",)) is not None:
            self._flush(outputs, usable=self._usable)
        else:
            self._hand_out(self._calls.release, outputs)

    def _reset_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.drop()
        self._blocks.end_all(outputs)
        self._carried.shorten(self._carried_before_step)
        if self._blocks.shown:
            outputs.append(Unmapped("reset-step (of what was shown)", chunk))

    def _finish(self, chunk: Chunk, outputs: Outputs) -> None:
        self._ending.finish(chunk)
        if self._dialect.goes_on:
            self._flush(outputs, usable=self._usable)
        else:
            self._conclude(outputs)

    def _conclude(self, outputs: Outputs) -> None:
        self._flush(outputs, usable=self._usable)
        error = self._error or self._broken_call()
        outcome = Outcome.FAILED if error is not None else self._ending.outcome()
        if error is None and outcome is Outcome.FAILED:
            error = failure(None)
        elif outcome is Outcome.TRUNCATED:
            error = TruncatedStreamError("INTERRUPTED")
        else:
            outputs += self._sources.at_end() if error is None else []
        outputs.append(self._ending.output(outcome, error))

    @property
    def _usable(self) -> bool:
        """Whether streamed input counts as whole."""
        return self._error is None and self._ending.complete

    def _broken_call(self) -> LanguageModelError | None:
        """The error for a broken call, unless the SDK has told the model about it."""
        return None if self._dialect.runs_tools or not self._ending.complete else self._calls.broken

    def _respond(self, chunk: Chunk, _outputs: Outputs) -> None:
        self._ending.respond(chunk)

    def _message_metadata(self, chunk: Chunk, _outputs: Outputs) -> None:
        self._ending.message_metadata(chunk)

    # Content

    def _text_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        self.sink = self._blocks.push_text(chunk, outputs)

    def _text_end(self, chunk: Chunk, outputs: Outputs) -> None:
        self._blocks.end_text(chunk, outputs)
        outputs += self._sources.of_text(chunk)

    def _reasoning_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        self.sink = self._blocks.push_reasoning(chunk, outputs)

    def _source(self, chunk: Chunk, outputs: Outputs) -> None:
        for output in self._sources.source(chunk):
            self._show(output, outputs)

    def _file(self, chunk: Chunk, outputs: Outputs) -> None:
        self._show(file_part(chunk, self._files), outputs)

    def _data(self, chunk: Chunk, outputs: Outputs) -> None:
        self._show(data_part(chunk), outputs)

    # Tools

    def _arguments_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        if self._calls.push(chunk, outputs):
            self.sink = self._calls.sink

    def _tool_call(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.add_behind(self._blocks.end_unnamed, outputs)
        self._calls.complete(chunk, outputs)

    # Errors

    def _report(self, chunk: Chunk, outputs: Outputs) -> None:
        value = field(chunk, ERROR)
        tool = tool_failure(value, from_text=self._dialect.errors_are_text)
        if tool is not None:
            outputs.append(Unmapped(f"error of the tool {tool.tool_name or 'without a name'}", chunk))
            self._calls.failed(*tool, outputs)
            return
        if self._error is None:
            self._error = failure(value)
        generation = generation_id(value)
        if generation is not None:
            self._ending.remember({"gateway": {"generationId": generation}})

    def _abort(self, chunk: Chunk, outputs: Outputs) -> None:
        outputs += self.fail(self._error or aborted(field(chunk, ("reason",))))


_Stream = AISDKStream
_Handler: TypeAlias = Callable[[AISDKStream, Chunk, Outputs], None]


class Row(NamedTuple):
    """A chunk type.

    Attributes:
        kind: What it means for the life of a response.
        handler: What is done with it.
        keeps_place: Whether it waits behind a tool call that waits: parts keep the order of their chunks.
    """

    kind: LifecycleEvent
    handler: _Handler
    keeps_place: bool = False


def _nothing(*_: object) -> None:
    """The handler of chunks without effect."""


def _count(_stream: AISDKStream, chunk: Chunk, outputs: Outputs) -> None:
    outputs.append(Unmapped(chunk["type"], chunk))


def _to_blocks(handle: Callable[[Blocks, Chunk, Outputs], None]) -> _Handler:
    return lambda stream, chunk, outputs: handle(stream._blocks, chunk, outputs)


def _to_calls(handle: Callable[[ToolCalls, Chunk, Outputs], None]) -> _Handler:
    return lambda stream, chunk, outputs: handle(stream._calls, chunk, outputs)


def _content(handler: _Handler) -> Row:
    return Row(LifecycleEvent.CONTENT, handler, keeps_place=True)


def _at_once(handler: _Handler) -> Row:
    """Content that concerns a call, or becomes no part."""
    return Row(LifecycleEvent.CONTENT, handler)


CHUNKS: Final[dict[str, Row]] = {
    # Framing.
    "start": Row(LifecycleEvent.LIFECYCLE, _Stream._start),
    "stream-start": Row(LifecycleEvent.LIFECYCLE, _Stream._start_step),
    "start-step": Row(LifecycleEvent.LIFECYCLE, _Stream._start_step),
    "step-start": Row(LifecycleEvent.LIFECYCLE, _Stream._start_step),
    "finish-step": Row(LifecycleEvent.REPORT, _Stream._finish_step),
    "step-finish": Row(LifecycleEvent.REPORT, _Stream._finish_step),
    "reset-step": _at_once(_Stream._reset_step),
    "finish": Row(LifecycleEvent.TERMINAL, _Stream._finish),
    "response-metadata": Row(LifecycleEvent.REPORT, _Stream._respond),
    "message-metadata": Row(LifecycleEvent.REPORT, _Stream._message_metadata),
    "ping": Row(LifecycleEvent.SILENT, _nothing),
    # Text: its name since 5, and that of the pre-releases.
    "text-start": _content(_to_blocks(Blocks.start_text)),
    "text-delta": _content(_Stream._text_delta),
    "text": _content(_Stream._text_delta),
    "text-end": _content(_Stream._text_end),
    # Reasoning: 5 and later; 4 and the pre-releases of 5; 4 alone.
    "reasoning-start": _content(_to_blocks(Blocks.start_reasoning)),
    "reasoning-delta": _content(_Stream._reasoning_delta),
    "reasoning": _content(_Stream._reasoning_delta),
    "reasoning-end": _content(_to_blocks(Blocks.end_reasoning)),
    "reasoning-part-finish": _content(_to_blocks(Blocks.end_reasoning)),
    "reasoning-signature": _content(_to_blocks(Blocks.sign)),
    "redacted-reasoning": _content(_to_blocks(Blocks.redact)),
    # Files and sources.
    "file": _content(_Stream._file),
    "source": _content(_Stream._source),
    "source-url": _content(_Stream._source),
    "source-document": _content(_Stream._source),
    # Tools: 5 and later; 4; the UI stream.
    "tool-input-start": _at_once(_to_calls(ToolCalls.start)),
    "tool-call-streaming-start": _at_once(_to_calls(ToolCalls.start)),
    "tool-input-delta": _at_once(_Stream._arguments_delta),
    "tool-call-delta": _at_once(_Stream._arguments_delta),
    "tool-input-end": _at_once(_to_calls(ToolCalls.end_input)),
    "tool-call": _at_once(_Stream._tool_call),
    "tool-input-available": _at_once(_Stream._tool_call),
    "tool-input-error": _at_once(_to_calls(ToolCalls.invalid)),
    "tool-result": _at_once(_to_calls(ToolCalls.over)),
    "tool-error": _at_once(_to_calls(ToolCalls.over)),
    "tool-output-available": _at_once(_to_calls(ToolCalls.over)),
    "tool-output-error": _at_once(_to_calls(ToolCalls.over)),
    "tool-output-denied": _at_once(_to_calls(ToolCalls.over)),
    "tool-approval-request": _at_once(_to_calls(ToolCalls.asked)),
    "tool-approval-response": _at_once(_to_calls(ToolCalls.answered)),
    # Beside the answer: reasoning-file is a by-product of thinking, raw is what the provider sent.
    "reasoning-file": _at_once(_count),
    "custom": _at_once(_count),
    "steering-message": _at_once(_count),
    "raw": _at_once(_count),
    # A report and no end: text may follow (recording provider_executed_tool of 5.0.277), and the finish does.
    "error": Row(LifecycleEvent.REPORT, _Stream._report),
    "abort": Row(LifecycleEvent.TERMINAL, _Stream._abort),
}
"""Every chunk type that is understood, but `data-*`. All others come out as :class:`Unmapped`."""


def kind_of(chunk_type: str, *, goes_on: bool) -> LifecycleEvent:
    """The meaning of a chunk type for the life of a response.

    Raises:
        KeyError: It is not in :data:`CHUNKS`.
    """
    kind = CHUNKS[chunk_type].kind
    # Behind the end of an answer, the stream of an application may bring another one.
    return LifecycleEvent.ANSWER_END if goes_on and chunk_type == "finish" else kind


_Rows: TypeAlias = "dict[str, tuple[LifecycleState, _Handler, bool]]"


def _dispatch(state: LifecycleState, *, goes_on: bool) -> _Rows:
    """Combines CHUNKS and TRANSITIONS for one state, so that a chunk costs one look-up."""
    rows: _Rows = {}
    for chunk_type, row in CHUNKS.items():
        step = TRANSITIONS[state].get(kind_of(chunk_type, goes_on=goes_on))
        if step is not None and state is not LifecycleState.FINISHED:
            handlers = {Action.HANDLE: row.handler, Action.IGNORE: _nothing, Action.COUNT: _count}
            keeps_place = row.keeps_place and step.action is Action.HANDLE
            rows[chunk_type] = step.next_state, handlers[step.action], keeps_place
    return rows


DISPATCH: Final[dict[bool, dict[LifecycleState, _Rows]]] = {
    goes_on: {state: _dispatch(state, goes_on=goes_on) for state in LifecycleState} for goes_on in (False, True)
}
"""By whether the stream goes on behind an answer. Behind the end there are no rows: nothing there is even looked at."""

_TEXT_FIELDS: Final = {
    "text": "text?",
    "text_delta": "textDelta?",
    "delta": "delta?",
    "id": "id?",
    "metadata": f"{METADATA[0]}?",
}
_ARGUMENT_FIELDS: Final = {
    "delta": "delta?",
    "input_text_delta": "inputTextDelta?",
    "args_text_delta": "argsTextDelta?",
    "tool_call_id": "toolCallId?",
    "id": "id?",
    "metadata": f"{METADATA[0]}?",
}

FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("text-delta", "text", "reasoning-delta", "reasoning"), _TEXT_FIELDS),
    **dict.fromkeys(("tool-input-delta", "tool-call-delta"), _ARGUMENT_FIELDS),
}
"""The chunk types that come by the thousand, with the attributes that their sinks read and the fields they are."""
