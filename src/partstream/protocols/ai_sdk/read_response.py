"""AI SDK: chunks in, VS Code's parts out. The one meaning of all four streams and all versions.

Rule 1: CHUNKS says which handler a chunk type has, under every name that a version gives it.
Rule 2: no I/O, no clock, no logging. What is not understood comes out as :class:`Unmapped`.

Source: recordings of `ai` 4.3.19, 5.0.277 and 6.0.50, and the types of 7.0.173.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import (
    AdapterUsageError,
    LanguageModelError,
    TruncatedStreamError,
    UpstreamError,
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.outputs import Sink

__all__ = ["CHUNKS", "FREQUENT", "THROWN", "AISDKStream", "Dialect"]

Outputs: TypeAlias = list[StreamOutput]

THROWN: Final = "$thrown_by_iterator"
"""The only field of a line of JSON that says what the stream's iterator threw."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between the four streams beside the framing and the names of fields.

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
        self.sink: Sink | None = None
        self._dialect = dialect
        said = RecentText()
        self._carried = CarriedItems(options.thinking)
        self._blocks = Blocks(options, self._carried, said)
        self._calls = ToolCalls(options.call_id_prefix, wait=dialect.runs_tools, carried=self._carried)
        self._sources = Sources(options, said)
        self._ending = Ending()
        self._error: UpstreamError | None = None
        self._carried_before_step = 0
        self._state = "IDLE"
        self._answered = False
        self._finished = False
        self._ended = False

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out."""
        return self._finished

    @property
    def failing(self) -> bool:
        """Whether an error was reported and the end has not come yet."""
        return self._error is not None and not self._finished

    def feed(self, event: Mapping[str, Any]) -> Outputs:
        """Takes the next chunk and returns what it means, in order."""
        outputs: Outputs = []
        self.feed_into(event, outputs)
        return outputs

    def feed_into(self, event: Mapping[str, Any], outputs: Outputs) -> None:
        """Takes the next chunk and appends what it means."""
        self.sink = None
        if self._finished:
            if self._ended:
                raise AdapterUsageError(f"fed {event.get('type')!r} after the stream was ended")
            return
        chunk: Chunk = event  # type: ignore[assignment]
        kind = chunk.get("type")
        handler = CHUNKS.get(kind) if type(kind) is str else None
        if handler is None:
            self._other(kind, chunk, outputs)
            return
        if METADATA[0] in chunk and (said := mapping(metadata(chunk), ("gateway",))):
            # The gateway names the generation on the first chunk that has content, so that it is known if it is cut.
            self._ending.remember({"gateway": said})
        try:
            handler(self, chunk, outputs)
        except UpstreamProtocolError as error:
            outputs += self.fail(error)

    def end(self, *, whole: bool = False) -> Outputs:
        """Says that no more chunks come; an application's own stream need not say more of its end than the wire."""
        if self._ended:
            raise AdapterUsageError("the stream was ended before")
        outputs: Outputs = []
        if whole and not self._finished:
            self.feed_into({"type": "finish"}, outputs)
        if self._answered:
            self._conclude(outputs)
        elif not self._finished:
            outputs += self.fail(self._error or TruncatedStreamError(self._state))
        self._ended = True
        return outputs

    def fail(self, error: LanguageModelError) -> Outputs:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: Outputs = []
        if self._finished:
            return outputs
        self.sink = None
        self._blocks.end_all(outputs)
        self._calls.release(outputs)
        self._calls.flush(outputs, usable=False)
        outcome = Outcome.TRUNCATED if isinstance(error, TruncatedStreamError) else Outcome.FAILED
        outputs.append(self._ending.output(outcome, error))
        self._finished, self._answered = True, False
        return outputs

    def _other(self, kind: object, chunk: Chunk, outputs: Outputs) -> None:
        if THROWN in chunk:
            outputs += self.fail(thrown(chunk[THROWN]))
        elif isinstance(kind, str) and kind.startswith("data-"):
            self._show(data_part(chunk), outputs)
        elif isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, chunk))
        else:
            got = "no type" if kind is None else f"type {kind!r:.60}"
            outputs += self.fail(UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string"))

    def _show(self, output: StreamOutput, outputs: Outputs) -> None:
        self._blocks.end_unnamed(outputs)
        self._blocks.shown = self._blocks.shown or not isinstance(output, Unmapped)
        outputs.append(output)

    # Steps

    def _start(self, chunk: Chunk, _outputs: Outputs) -> None:
        self._answered = False
        self._ending.identify(chunk)

    def _start_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._state = "OPEN"
        self._answered = False
        self._ending.identify(chunk)
        self._blocks.shown = False
        self._carried_before_step = self._carried.length
        if sequence(chunk, ("warnings",)):
            outputs.append(Unmapped(f"{chunk['type']} (warnings)", chunk))

    def _finish_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._state = "STEP_FINISHED"
        self._ending.finish_step(chunk)
        self._blocks.end_all(outputs)
        self._calls.release(outputs)
        # The UI stream says only at the very end why the model stopped.
        if field(chunk, ("finishReason",)) is not None:
            self._calls.flush(outputs, usable=self._usable)

    def _reset_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.drop()
        self._blocks.end_all(outputs)
        self._carried.shorten(self._carried_before_step)
        if self._blocks.shown:
            outputs.append(Unmapped("reset-step (of what was shown)", chunk))

    def _finish(self, chunk: Chunk, outputs: Outputs) -> None:
        self._ending.finish(chunk)
        if self._dialect.goes_on:
            self._close(outputs)
            self._answered = True
        else:
            self._conclude(outputs)

    def _close(self, outputs: Outputs) -> None:
        self._blocks.end_all(outputs)
        self._calls.release(outputs)
        self._calls.flush(outputs, usable=self._usable)

    def _conclude(self, outputs: Outputs) -> None:
        self._close(outputs)
        error = self._error or self._broken_call()
        outcome = Outcome.FAILED if error is not None else self._ending.outcome()
        if error is None and outcome is Outcome.FAILED:
            error = failure(None)
        elif outcome is Outcome.TRUNCATED:
            error = TruncatedStreamError("INTERRUPTED")
        else:
            outputs += self._sources.at_end() if error is None else []
        outputs.append(self._ending.output(outcome, error))
        self._finished, self._answered = True, False

    @property
    def _usable(self) -> bool:
        """Whether input that streamed may be taken for whole."""
        return self._error is None and self._ending.complete

    def _broken_call(self) -> LanguageModelError | None:
        """The error of a call that only we could have told the model about: the SDK has done so itself."""
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
        self._show(file_part(chunk), outputs)

    # Tools

    def _arguments_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        if self._calls.push(chunk, outputs):
            self.sink = self._calls.sink

    def _tool_call(self, chunk: Chunk, outputs: Outputs) -> None:
        self._blocks.end_unnamed(outputs)
        self._calls.complete(chunk, outputs)

    # Errors

    def _report(self, chunk: Chunk, outputs: Outputs) -> None:
        value = field(chunk, ERROR)
        tool = tool_failure(value, from_text=self._dialect.errors_are_text)
        if tool is not None:
            self._calls.failed(*tool)
            outputs.append(Unmapped(f"error of the tool {tool.tool_name or 'without a name'}", chunk))
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


def _nothing(*_: object) -> None:
    """The handler of chunks that mean nothing here."""


def _count(_stream: AISDKStream, chunk: Chunk, outputs: Outputs) -> None:
    outputs.append(Unmapped(chunk["type"], chunk))


def _to_blocks(name: str) -> _Handler:
    handle = getattr(Blocks, name)
    return lambda stream, chunk, outputs: handle(stream._blocks, chunk, outputs)


def _to_calls(name: str) -> _Handler:
    handle = getattr(ToolCalls, name)
    return lambda stream, chunk, outputs: handle(stream._calls, chunk, outputs)


CHUNKS: Final[dict[str, _Handler]] = {
    # Framing.
    "start": _Stream._start,
    "stream-start": _Stream._start_step,
    "start-step": _Stream._start_step,
    "step-start": _Stream._start_step,
    "finish-step": _Stream._finish_step,
    "step-finish": _Stream._finish_step,
    "reset-step": _Stream._reset_step,
    "finish": _Stream._finish,
    "response-metadata": _Stream._respond,
    "message-metadata": _Stream._message_metadata,
    "ping": _nothing,
    # Text: its name since 5, and that of the pre-releases.
    "text-start": _to_blocks("start_text"),
    "text-delta": _Stream._text_delta,
    "text": _Stream._text_delta,
    "text-end": _Stream._text_end,
    # Reasoning: 5 and later; 4 and the pre-releases of 5; 4 alone.
    "reasoning-start": _to_blocks("start_reasoning"),
    "reasoning-delta": _Stream._reasoning_delta,
    "reasoning": _Stream._reasoning_delta,
    "reasoning-end": _to_blocks("end_reasoning"),
    "reasoning-part-finish": _to_blocks("end_reasoning"),
    "reasoning-signature": _to_blocks("sign"),
    "redacted-reasoning": _to_blocks("redact"),
    # Files and sources.
    "file": _Stream._file,
    "source": _Stream._source,
    "source-url": _Stream._source,
    "source-document": _Stream._source,
    # Tools: 5 and later; 4; the UI stream.
    "tool-input-start": _to_calls("start"),
    "tool-call-streaming-start": _to_calls("start"),
    "tool-input-delta": _Stream._arguments_delta,
    "tool-call-delta": _Stream._arguments_delta,
    "tool-input-end": _nothing,
    "tool-call": _Stream._tool_call,
    "tool-input-available": _Stream._tool_call,
    "tool-input-error": _to_calls("invalid"),
    "tool-result": _to_calls("over"),
    "tool-error": _to_calls("over"),
    "tool-output-available": _to_calls("over"),
    "tool-output-error": _to_calls("over"),
    "tool-output-denied": _to_calls("over"),
    "tool-approval-request": _to_calls("asked"),
    "tool-approval-response": _to_calls("answered"),
    # Beside the answer: reasoning-file is a by-product of thinking, raw is what the provider sent.
    "reasoning-file": _count,
    "custom": _count,
    "steering-message": _count,
    "raw": _count,
    "error": _Stream._report,
    "abort": _Stream._abort,
}
"""Every chunk type that is understood, but `data-*`. All others come out as :class:`Unmapped`."""

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
