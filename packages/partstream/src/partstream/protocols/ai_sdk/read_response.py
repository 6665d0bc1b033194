"""Reads the chunks of the AI SDK as VS Code's parts: one reader for all four streams and all versions.

:data:`CHUNKS` maps each chunk type, under every name that a version gives it, to its lifecycle event and its handler.
The order of a response is in :mod:`partstream.protocols.read_response`; no handler asks for the state of the response.
What is not understood comes out as :class:`Unmapped`. There is no I/O, no clock and no log.

- Where the SDK runs tools itself, a call waits for its outcome, and the content that follows waits with it
  (:mod:`partstream.protocols.ai_sdk.tool_calls`), so that parts keep the order of their chunks.
- Version 4 does not close its blocks of reasoning: any other content closes them.
- An `error` chunk is a report: text may follow it (recording provider_executed_tool of 5.0.277), and the finish does.
- A UI stream or data stream of an application may hold several answers and data after them: the end of the bytes is
  their end.
- When a stream breaks off, version 7 gives the finish reason `interrupted`; versions 4 to 6 give `unknown` or `other`,
  and version 4 reports usage of zeros.

Source: recordings of `ai` 4.3.19, 5.0.277 and 6.0.50, and the types of 7.0.173; docs/wires/ai-sdk.md#chunks-by-version.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, TruncatedStreamError, UpstreamProtocolError
from partstream.lm.outputs import EmitText, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.protocols.ai_sdk.blocks import Blocks, Sources, data_part, file_part
from partstream.protocols.ai_sdk.errors import (
    ARGUMENTS_DELTA,
    ERROR,
    METADATA,
    TEXT,
    TOTAL_USAGE,
    Chunk,
    Names,
    aborted,
    count,
    failure,
    field,
    generation_id,
    identifier,
    mapping,
    merge,
    metadata,
    sequence,
    thrown,
    tool_failure,
)
from partstream.protocols.ai_sdk.provider_state import CarriedItems
from partstream.protocols.ai_sdk.tool_calls import ToolCalls
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec, no_item
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Deltas,
    LifecycleEvent,
    LifecycleState,
    RecentText,
    applied_edits,
    shown,
)

# ---- The end of a response: usage, finish reason, identity and provider metadata ----

INTERRUPTED: Final = "interrupted"
"""The finish reason of a stream of a provider that broke off."""

_CUTTING: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER, UnifiedFinishReason.ERROR})

_OUTCOMES: Final = {
    UnifiedFinishReason.LENGTH: Outcome.INCOMPLETE,
    UnifiedFinishReason.CONTENT_FILTER: Outcome.INCOMPLETE,
    UnifiedFinishReason.ERROR: Outcome.FAILED,
}


class Ending:
    """Collects the end of one response, step by step."""

    def __init__(self) -> None:
        self.reason: FinishReason | None = None
        self.provider_metadata: dict[str, Any] = {}
        self._steps: list[Usage] = []
        self._totals: list[Usage] = []
        self._message_usage: Usage | None = None
        self._response_id: str | None = None
        self._message_id: str | None = None
        self._model: str | None = None

    def identify(self, chunk: Chunk) -> None:
        """Takes the message's identifier, which is used if the response's own is never stated."""
        self._message_id = self._message_id or identifier(chunk, ("messageId",))
        self.message_metadata(chunk)

    def respond(self, response: Chunk) -> None:
        """Takes identity from a response object."""
        self._response_id = identifier(response, ("id",)) or self._response_id
        self._model = identifier(response, ("modelId",)) or self._model

    def message_metadata(self, chunk: Chunk) -> None:
        """Takes the application's metadata of its message: the only place of the UI stream for usage."""
        said = mapping(chunk, ("messageMetadata",))
        if said:
            merge(self.provider_metadata, "messageMetadata", said)
            self._message_usage = _usage(mapping(said, TOTAL_USAGE), self.reason) or self._message_usage

    def remember(self, by_provider: Chunk) -> None:
        """Takes provider metadata of the whole response; later values of a provider win."""
        for provider, said in by_provider.items():
            merge(self.provider_metadata, provider, said)

    def finish_step(self, chunk: Chunk) -> None:
        """Takes the end of a step."""
        self._take(chunk, self._steps, ("usage",))

    def finish(self, chunk: Chunk) -> None:
        """Takes the end of an answer. There is one, unless an application streams several answers as one."""
        self._take(chunk, self._totals, TOTAL_USAGE)
        self.message_metadata(chunk)

    def _take(self, chunk: Chunk, usages: list[Usage], names: Names) -> None:
        self.reason = _reason(chunk) or self.reason
        usage = _usage(mapping(chunk, names), self.reason)
        usages += [] if usage is None else [usage]
        self.respond(mapping(chunk, ("response",)))
        self.remember(metadata(chunk))

    @property
    def interrupted(self) -> bool:
        """Whether the provider's stream broke off and the SDK states it."""
        return self.reason is not None and self.reason.raw == INTERRUPTED

    @property
    def complete(self) -> bool:
        """Whether the stream gives no sign that anything was cut."""
        return not self.interrupted and (self.reason is None or self.reason.unified not in _CUTTING)

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported so far, or None."""
        return _sum(self._totals) or _sum(self._steps) or self._message_usage

    def outcome(self) -> Outcome:
        """The Finish of a response that stated its end."""
        if self.reason is None:
            return Outcome.COMPLETED
        return Outcome.TRUNCATED if self.interrupted else _OUTCOMES.get(self.reason.unified, Outcome.COMPLETED)

    def output(self, outcome: Outcome, error: LanguageModelError | None = None) -> Finish:
        """The last output of the response."""
        reason = self.reason
        if outcome is Outcome.FAILED and (reason is None or reason.unified is not UnifiedFinishReason.ERROR):
            reason = FinishReason(UnifiedFinishReason.ERROR, None if reason is None else reason.raw)
        return Finish(
            outcome,
            reason,
            self.usage,
            self._response_id or self._message_id,
            self._model,
            error,
            self.provider_metadata,
            applied_edits(self.provider_metadata),
        )


def _reason(chunk: Chunk) -> FinishReason | None:
    """A word (version 2 of the provider's interface, and the SDK), or the word beside the provider's own (3 and 4)."""
    said = field(chunk, ("finishReason",))
    inner = said if isinstance(said, dict) else {}
    word = said if isinstance(said, str) and said else identifier(inner, ("unified",))
    if word is None:
        return None
    raw = identifier(chunk, ("rawFinishReason",)) or identifier(inner, ("raw",))
    known = word in {*UnifiedFinishReason}
    return FinishReason(
        UnifiedFinishReason(word) if known else UnifiedFinishReason.OTHER,
        word if word == INTERRUPTED else raw or (None if known else word),
    )


def _usage(raw: Chunk, reason: FinishReason | None) -> Usage | None:
    """The tokens of a usage object in any version's form; None if it states none."""
    inputs, outputs = mapping(raw, ("inputTokens",)), mapping(raw, ("outputTokens",))
    input_details, output_details = mapping(raw, ("inputTokenDetails",)), mapping(raw, ("outputTokenDetails",))

    def first(*places: tuple[Chunk, str]) -> int | None:
        counts = (count(inside, (name,)) for inside, name in places)
        return next((found for found in counts if found is not None), None)

    input_tokens = first((raw, "inputTokens"), (inputs, "total"), (raw, "promptTokens"))
    output_tokens = first((raw, "outputTokens"), (outputs, "total"), (raw, "completionTokens"))
    if input_tokens is None and output_tokens is None:
        return None
    # Version 4 reports zeros for a stream that broke off (recording truncated_no_finish). Its word for no reason, and
    # that of version 5, is `unknown`; that of version 6 is `other`.
    if not input_tokens and not output_tokens and reason is not None and reason.raw in {"unknown", "other"}:
        return None
    total = count(raw, ("totalTokens",))
    if total is None and input_tokens is not None and output_tokens is not None:
        total = input_tokens + output_tokens
    cached = first((input_details, "cacheReadTokens"), (inputs, "cacheRead"), (raw, "cachedInputTokens"))
    reasoned = first((output_details, "reasoningTokens"), (outputs, "reasoning"), (raw, "reasoningTokens"))
    written = first((input_details, "cacheWriteTokens"), (inputs, "cacheWrite"))
    return Usage(input_tokens, output_tokens, total, cached, reasoned, raw, written)


def _sum(steps: list[Usage]) -> Usage | None:
    """The sum over all steps; a number that one step does not state is unknown."""
    if len(steps) <= 1:
        return steps[0] if steps else None

    def summed(name: str) -> int | None:
        counts = [getattr(step, name) for step in steps]
        return None if None in counts else sum(counts)

    return Usage(
        summed("input_tokens"),
        summed("output_tokens"),
        summed("total_tokens"),
        summed("cached_tokens"),
        summed("reasoning_tokens"),
        {"steps": [dict(step.raw) for step in steps]},
        summed("cache_write_tokens"),
    )


# ---- The response ----

Outputs: TypeAlias = list[StreamOutput]

_OVER: Final = (LifecycleState.FINISHED, LifecycleState.ENDED)

THROWN: Final = "$thrown_by_iterator"
"""The only field of a line of JSON that holds what the stream's iterator threw."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences between the four streams beside framing and field names.

    Attributes:
        runs_tools: Whether the SDK is between the model and this stream, runs tools and reports their outcome.
        errors_are_text: Whether an error is only the text of its message.
        goes_on: Whether more may follow the end of an answer.
    """

    runs_tools: bool = True
    errors_are_text: bool = False
    goes_on: bool = False


class AISDKStream:
    """One response; see :class:`partstream.lm.outputs.ResponseStream`."""

    def __init__(self, options: StreamOptions = StreamOptions(), dialect: Dialect = Dialect()) -> None:  # noqa: B008 - immutable
        self.emit_more: EmitText | None = None
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
        self.emit_more = None
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
        try:
            # A stream that breaks off may have brought whole calls before: those that said that they are whole.
            self._flush(outputs, usable=False, cut=isinstance(error, TruncatedStreamError))
        except UpstreamProtocolError as earlier:  # of a chunk that waited
            error = earlier
        outcome = Outcome.TRUNCATED if isinstance(error, TruncatedStreamError) else Outcome.FAILED
        outputs.append(self._ending.output(outcome, error))
        self._enter(LifecycleState.FINISHED)
        return outputs

    def _wait(self, handler: _Handler, chunk: Chunk, outputs: Outputs) -> None:
        def handle(later: Outputs) -> None:
            handler(self, chunk, later)
            self.emit_more = None  # of another type than the chunk that ended the waiting

        self._calls.add_behind(handle, outputs)
        self._is_chunk_waiting = self._calls.any_wait

    def _flush(self, outputs: Outputs, *, usable: bool, cut: bool = False) -> None:
        self._hand_out(partial(self._calls.flush, usable=usable, cut=cut), outputs)

    def _hand_out(self, what_waits: Callable[[Outputs], None], outputs: Outputs) -> None:
        """Emits what waits and closes the open blocks: before the calls, unless the ends of the blocks may wait."""
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
            self._wait(lambda stream, chunk, outputs: stream._show(data_part(chunk), outputs), chunk, outputs)
        elif (error := COMMON_ERRORS.failure_in_unknown(chunk)) is not None:
            outputs += self.fail(error)
        elif isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, chunk))
        elif (error := field(chunk, ERROR)) is not None:
            outputs += self.fail(failure(error))
        elif self._state is not LifecycleState.IDLE:  # applications add them; a stream of another wire begins with one
            outputs.append(Unmapped("a chunk without a type", chunk))
        else:
            got = "no type" if kind is None else f"type {shown(kind)}"
            outputs += self.fail(UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string"))

    def _show(self, output: StreamOutput, outputs: Outputs) -> None:
        self._blocks.end_unnamed(outputs)
        self._blocks.shown = self._blocks.shown or not isinstance(output, Unmapped)
        outputs.append(output)

    # Steps

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
        if chunk.get("isContinued") is not True:  # version 4 goes on in the middle of a sentence
            self._blocks.end_step()

    def _reset_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.drop()
        self._blocks.end_all(outputs)
        self._carried.shorten(self._carried_before_step)
        if self._blocks.shown:
            outputs.append(Unmapped("reset-step (of what was shown)", chunk))

    def _finish(self, chunk: Chunk, outputs: Outputs) -> None:
        self._ending.finish(chunk)
        if self._error is None and (said := field(chunk, ERROR)):
            self._error = failure(said)
        if self._dialect.goes_on:
            self._flush(outputs, usable=self._usable)
            self._blocks.end_step()
        else:
            self._conclude(outputs)

    def _conclude(self, outputs: Outputs) -> None:
        self._flush(outputs, usable=self._usable)
        # The error for a broken call, unless the SDK has told the model about it
        error = self._error or (None if self._dialect.runs_tools or not self._ending.complete else self._calls.broken)
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

    # Content

    def _text_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        self.emit_more = self._blocks.push_text(chunk, outputs)

    def _text_end(self, chunk: Chunk, outputs: Outputs) -> None:
        self._blocks.end_text(chunk, outputs)
        outputs += self._sources.of_text(chunk)

    def _reasoning_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        self.emit_more = self._blocks.push_reasoning(chunk, outputs)

    def _source(self, chunk: Chunk, outputs: Outputs) -> None:
        for output in self._sources.source(chunk):
            self._show(output, outputs)

    # Tools

    def _arguments_delta(self, chunk: Chunk, outputs: Outputs) -> None:
        self.emit_more = self._calls.push(chunk, outputs)

    def _tool_call(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.add_behind(self._blocks.end_unnamed, outputs)
        self._calls.complete(chunk, outputs)

    # Errors

    def _report(self, chunk: Chunk, outputs: Outputs) -> None:
        value = field(chunk, ERROR)
        if value is None:  # a gateway's, with its fields beside the type
            value = {name: said for name, said in chunk.items() if name != "type"}
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
        keeps_place: Whether it waits for a waiting tool call: parts keep the order of their chunks.
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
    "start": Row(LifecycleEvent.LIFECYCLE, lambda stream, chunk, _outputs: stream._ending.identify(chunk)),
    "stream-start": Row(LifecycleEvent.LIFECYCLE, _Stream._start_step),
    "start-step": Row(LifecycleEvent.LIFECYCLE, _Stream._start_step),
    "step-start": Row(LifecycleEvent.LIFECYCLE, _Stream._start_step),
    "finish-step": Row(LifecycleEvent.REPORT, _Stream._finish_step),
    "step-finish": Row(LifecycleEvent.REPORT, _Stream._finish_step),
    "reset-step": _at_once(_Stream._reset_step),
    "finish": Row(LifecycleEvent.TERMINAL, _Stream._finish),
    "response-metadata": Row(LifecycleEvent.REPORT, lambda stream, chunk, _outputs: stream._ending.respond(chunk)),
    "message-metadata": Row(
        LifecycleEvent.REPORT, lambda stream, chunk, _outputs: stream._ending.message_metadata(chunk)
    ),
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
    "file": _content(lambda stream, chunk, outputs: stream._show(file_part(chunk, stream._files), outputs)),
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
    # After the end of an answer, the stream of an application may bring another one.
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
"""By whether the stream goes on after an answer. After the end there are no rows: no chunk is even examined."""

DELTAS: Final = Deltas(
    {
        **dict.fromkeys(("text-delta", "text", "reasoning-delta", "reasoning"), tuple((name,) for name in TEXT)),
        **dict.fromkeys(("tool-input-delta", "tool-call-delta"), tuple((name,) for name in ARGUMENTS_DELTA)),
    }
)


# ---- The four streams, and the chunks by which a recording of one is recognized ----

if TYPE_CHECKING:
    _Signs = dict[str, Callable[[Chunk], bool]]


def _claims_full_stream(kind: str | None, chunk: Chunk) -> MatchConfidence:
    if THROWN in chunk:
        return MatchConfidence.SURE
    return _claim(kind, chunk, _FULL_STREAM, _NOT_FULL_STREAM)


def _claims_ui_stream(kind: str | None, chunk: Chunk) -> MatchConfidence:
    if kind is not None and kind.startswith("data-"):
        return MatchConfidence.SURE
    return _claim(kind, chunk, _UI_STREAM, _NOT_UI_STREAM)


def _claim(kind: str | None, chunk: Chunk, sure: _Signs, never: _Signs) -> MatchConfidence:
    if kind is None:
        return MatchConfidence.NO
    if kind in sure and sure[kind](chunk):
        return MatchConfidence.SURE
    if kind not in CHUNKS or (kind in never and never[kind](chunk)):
        return MatchConfidence.NO
    return MatchConfidence.POSSIBLE


def _always(_chunk: Chunk) -> bool:
    return True


def _has(*names: str) -> Callable[[Chunk], bool]:
    return lambda chunk: any(name in chunk for name in names)


def _of_the_sdk(chunk: Chunk) -> bool:
    """Whether an error is an Error of JavaScript, as the tagged form and plain JSON write it."""
    error: Any = chunk.get("error")
    return isinstance(error, str) or (
        isinstance(error, dict) and ("$error" in error or str(error.get("name", "")).startswith("AI_"))
    )


def _of_a_provider(chunk: Chunk) -> bool:
    """Whether an end is a provider's: its tokens are under `usage`, and it ends no step."""
    usage = chunk.get("usage")
    return isinstance(chunk.get("finishReason"), dict) or (isinstance(usage, dict) and "promptTokens" not in usage)


_FULL_STREAM: Final[_Signs] = {
    **dict.fromkeys(
        (
            "step-start",
            "step-finish",
            "reasoning-signature",
            "redacted-reasoning",
            "tool-call-streaming-start",
            "tool-call-delta",
            "tool-error",
        ),
        _always,
    ),
    "start-step": _has("request", "warnings"),
    "finish-step": _has("usage", "response"),
    "text-delta": _has("text", "textDelta"),
    "text": _has("text"),
    "reasoning-delta": _has("text"),
    "reasoning": _has("textDelta"),
    "tool-call": lambda chunk: "args" in chunk or ("input" in chunk and not isinstance(chunk["input"], str)),
    "tool-result": _has("output", "args"),
    "file": _has("file"),
    "finish": lambda chunk: "totalUsage" in chunk or ("usage" in chunk and not _of_a_provider(chunk)),
    "error": lambda chunk: _of_the_sdk(chunk) and not isinstance(chunk.get("error"), str),
    "steering-message": _has("message"),
}
"""Chunks that only this stream has, by type, with the check that is proof."""

_NOT_FULL_STREAM: Final[_Signs] = {
    **dict.fromkeys(
        (
            "tool-input-available",
            "tool-input-error",
            "tool-output-available",
            "tool-output-error",
            "source-url",
            "source-document",
            "message-metadata",
            "stream-start",
            "response-metadata",
        ),
        _always,
    ),
    "start": _has("messageId", "messageMetadata"),
    "text-delta": _has("delta"),
    "reasoning-delta": _has("delta"),
    "tool-input-start": _has("toolCallId"),
    "error": lambda chunk: "errorText" in chunk,
}

_UI_STREAM: Final[_Signs] = {
    **dict.fromkeys(
        (
            "tool-input-available",
            "tool-input-error",
            "tool-output-available",
            "tool-output-error",
            "source-url",
            "source-document",
            "message-metadata",
            "reset-step",
        ),
        _always,
    ),
    "start": _has("messageId", "messageMetadata"),
    "tool-input-start": _has("toolCallId"),
    "tool-input-delta": _has("inputTextDelta"),
    "tool-approval-request": lambda chunk: "toolCallId" in chunk and "type" in chunk and "approvalDescriptor" in chunk,
    "file": _has("url"),
    "reasoning-file": _has("url"),
    "steering-message": _has("parts"),
    "finish": _has("messageMetadata"),
    "error": _has("errorText"),
}

_NOT_UI_STREAM: Final[_Signs] = {
    **dict.fromkeys(
        ("tool-call", "tool-result", "tool-error", "source", "raw", "stream-start", "response-metadata"), _always
    ),
    "start-step": _has("request", "warnings"),
    "finish-step": _has("usage", "finishReason"),
    "text-delta": _has("text", "textDelta"),
    "reasoning-delta": _has("text"),
    "finish": _has("usage", "totalUsage"),
    "error": lambda chunk: "errorText" not in chunk,
}

_PROVIDER_STREAM: Final[_Signs] = {
    **dict.fromkeys(("stream-start", "response-metadata"), _always),
    "tool-call": lambda chunk: isinstance(chunk.get("input"), str),
    "tool-result": lambda chunk: "result" in chunk and "args" not in chunk,
    "finish": _of_a_provider,
}

_NOT_PROVIDER_STREAM: Final[_Signs] = {
    **dict.fromkeys(
        ("start", "start-step", "finish-step", "step-start", "step-finish", "tool-error", "abort"), _always
    ),
    "text-delta": _has("text", "textDelta"),
    "reasoning-delta": _has("text"),
    "tool-input-start": _has("toolCallId"),
    "error": lambda chunk: "errorText" in chunk,
}

_CODES_WITHOUT_CHUNKS: Final = frozenset({"data-data", "message-annotations"})


FULL_STREAM: Final = ResponseReaderSpec(
    partial(AISDKStream, dialect=Dialect()), _claims_full_stream, DELTAS, item_of_tags=no_item
)
"""`fullStream` of `streamText`: chunks as objects, in recordings as lines of JSON."""

UI_STREAM: Final = ResponseReaderSpec(
    partial(AISDKStream, dialect=Dialect(goes_on=True)), _claims_ui_stream, DELTAS, item_of_tags=no_item
)
"""The UI message stream of versions 5 to 7: server-sent events for browsers."""

DATA_STREAM: Final = ResponseReaderSpec(
    partial(AISDKStream, dialect=Dialect(errors_are_text=True, goes_on=True)),
    lambda kind, _chunk: (
        MatchConfidence.SURE if kind in CHUNKS or kind in _CODES_WITHOUT_CHUNKS else MatchConfidence.POSSIBLE
    ),
    DELTAS,
    item_of_tags=no_item,
)
"""The data stream of version 4."""

PROVIDER_STREAM: Final = ResponseReaderSpec(
    partial(AISDKStream, dialect=Dialect(runs_tools=False)),
    lambda kind, chunk: _claim(kind, chunk, _PROVIDER_STREAM, _NOT_PROVIDER_STREAM),
    DELTAS,
    item_of_tags=no_item,
)
"""What a provider streams to the SDK (LanguageModelV2, V3 and V4), and the AI Gateway to its clients."""
