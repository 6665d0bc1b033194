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

Source: recordings of `ai` 4.3.19, 5.0.277 and 6.0.50, and the types of 7.0.173; docs/wires/ai-sdk.md#chunks-by-version.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

from partstream.codec.checks import as_count, places
from partstream.errors import LanguageModelError, TruncatedStreamError, UpstreamProtocolError
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.protocols.ai_sdk.blocks import Blocks, Sources, data_part, file_part
from partstream.protocols.ai_sdk.errors import (
    ARGUMENTS_DELTA,
    ERROR,
    METADATA,
    TEXT,
    TOTAL_USAGE,
    Chunk,
    aborted,
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
from partstream.protocols.ai_sdk.provider_state import GATEWAY, PROVIDER, CarriedItems
from partstream.protocols.ai_sdk.tool_calls import ToolCalls
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.read_response import (
    KINDS,
    Deltas,
    EventReader,
    Handler,
    LifecycleEvent,
    LifecycleState,
    MatchConfidence,
    RecentText,
    Row,
    applied_edits,
    nothing,
    of_part,
    rows,
    rows_by_state,
    text,
    total_of,
    without_type,
)

# ---- The end of a response: usage and finish reason ----

INTERRUPTED: Final = "interrupted"
"""The finish reason of a stream of a provider that broke off."""

_OUTCOMES: Final = {
    UnifiedFinishReason.LENGTH: Outcome.INCOMPLETE,
    UnifiedFinishReason.CONTENT_FILTER: Outcome.INCOMPLETE,
    UnifiedFinishReason.ERROR: Outcome.FAILED,
}


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


_COUNTS: Final = {
    "input_tokens": "inputTokens inputTokens.total promptTokens",
    "output_tokens": "outputTokens outputTokens.total completionTokens",
    "total_tokens": "totalTokens",
    "cached_tokens": "inputTokenDetails.cacheReadTokens inputTokens.cacheRead cachedInputTokens",
    "reasoning_tokens": "outputTokenDetails.reasoningTokens outputTokens.reasoning reasoningTokens",
    "cache_write_tokens": "inputTokenDetails.cacheWriteTokens inputTokens.cacheWrite",
}


def _usage(raw: Chunk, reason: FinishReason | None) -> Usage | None:
    """The tokens of a usage object in any version's form; None if it states none."""
    counts: dict[str, int | None] = {}
    for name, known in _COUNTS.items():
        split = (place.rpartition(".") for place in known.split())
        found = (as_count(field(mapping(raw, (inside,)) if inside else raw, (last,))) for inside, _, last in split)
        counts[name] = next((count for count in found if count is not None), None)
    given, made = counts["input_tokens"], counts["output_tokens"]
    if given is None and made is None:
        return None
    # Version 4 reports zeros for a stream that broke off (docs/wires/ai-sdk.md#sdk-usage).
    if not given and not made and reason is not None and reason.raw in {"unknown", "other"}:
        return None
    counts["total_tokens"] = total_of(counts["total_tokens"], given, made)
    return Usage(**counts, raw=raw)


def _sum(steps: list[Usage]) -> Usage | None:
    """The sum over all steps; a number that one step does not state is unknown."""
    if len(steps) <= 1:
        return steps[0] if steps else None
    listed = {name: [getattr(step, name) for step in steps] for name in _COUNTS}
    sums = {name: None if None in counts else sum(counts) for name, counts in listed.items()}
    return Usage(**sums, raw={"steps": [dict(step.raw) for step in steps]})


# ---- The response ----

Outputs: TypeAlias = list[StreamOutput]

THROWN: Final = "$thrown_by_iterator"
"""The only field of a line of JSON that holds what the stream's iterator threw."""


class AISDKReader(EventReader):
    """One response; a subclass for each stream, which differ in little beside framing and field names.

    Attributes:
        runs_tools: Whether the SDK is between the model and this stream, runs tools and reports their outcome.
        errors_are_text: Whether an error is only the text of its message.
        goes_on: Whether more may follow the end of an answer.
        needs_no_end: Whether the end of the stream is the end of a whole answer.
        sure: What shows that a chunk is one of this stream, by its type.
        never: What shows that it is none.
    """

    reads = places(  # it counts what it does not know, so only what is of another class than it should be is named
        {
            "": "id toolName title url filename mediaType errorText messageId finishReason rawFinishReason reason delta"
            " argsTextDelta inputTextDelta modelId totalUsage usage response source file messageMetadata"
            " providerMetadata experimental_providerMetadata=providerMetadata *",
            "totalUsage usage messageMetadata providerMetadata": "*",
            "response": "id modelId *",
            "source": "id url title *",
            "file": "mediaType *",
        }
    )
    kinds = KINDS | {"finishReason": (str, dict)}
    deltas = Deltas(
        {
            **dict.fromkeys(("text-delta", "text", "reasoning-delta", "reasoning"), tuple((name,) for name in TEXT)),
            **dict.fromkeys(("tool-input-delta", "tool-call-delta"), tuple((name,) for name in ARGUMENTS_DELTA)),
        }
    )
    runs_tools: ClassVar[bool] = True
    errors_are_text: ClassVar[bool] = False
    goes_on: ClassVar[bool] = False
    needs_no_end: ClassVar[bool] = False
    sure: ClassVar[_Signs] = {}
    never: ClassVar[_Signs] = {}
    errors = COMMON_ERRORS

    @classmethod
    def claim(cls, kind: str | None, event: Chunk) -> MatchConfidence:  # noqa: D102
        if kind is not None and _shows(kind, event, cls.sure):
            return MatchConfidence.SURE
        return MatchConfidence(kind in CHUNKS and not _shows(kind, event, cls.never))

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__(options)
        self._files = options.files
        said = RecentText()
        self._carried = CarriedItems(options.thinking)
        self._blocks = Blocks(options, self._carried, said)
        waits = self.runs_tools and options.waits_for_outcomes
        self._calls = ToolCalls(options.call_id_prefix, wait=waits, carried=self._carried)
        self._sources = Sources(options, said)
        self._reason: FinishReason | None = None
        self._metadata: dict[str, Any] = {}  # of the whole response, by provider
        self._steps: list[Usage] = []
        self._totals: list[Usage] = []
        self._message_usage: Usage | None = None
        self._model: str | None = None
        self._response_id: str | None = None
        self._message_id: str | None = None
        self._untyped: LanguageModelError | None = None  # of a chunk without a type
        self._carried_before_step = 0
        self._calls_before_step = 0
        self._is_chunk_waiting = False

    @property
    def failing(self) -> bool:  # noqa: D102
        return self._error is not None and not self.finished

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported so far, or None."""
        return _sum(self._totals) or _sum(self._steps) or self._message_usage

    def feed_into(self, event: Mapping[str, Any], outputs: Outputs) -> None:  # noqa: D102
        chunk: Chunk = event  # type: ignore[assignment]
        if METADATA[0] in chunk and text(chunk, "type") in self._rows:
            # The gateway names the generation on the first chunk that has content, so that it is known if it is cut.
            said = mapping(metadata(chunk), (GATEWAY,))
            if said:
                merge(self._metadata, GATEWAY, said)
        if self._calls.line and (row := IN_PLACE.get(text(chunk, "type"))) is not None:
            self.emit_more = None
            self._wait(row.handler, chunk, outputs)
        else:
            EventReader.feed_into(self, chunk, outputs)  # faster than super()

    def fail(self, error: LanguageModelError) -> Outputs:  # noqa: D102
        outputs: Outputs = []
        if self.finished:
            return outputs
        is_cut = isinstance(error, TruncatedStreamError)
        if is_cut and self._state is LifecycleState.IDLE:
            # Only in a stream of which nothing was understood is a chunk without a type what went wrong.
            error = self._untyped or error
        try:
            # A stream that breaks off may have brought whole calls before: those that said that they are whole.
            self._flush(outputs, usable=False, cut=is_cut)
        except UpstreamProtocolError as earlier:  # of a chunk that waited
            error = earlier
        outcome = Outcome.TRUNCATED if isinstance(error, TruncatedStreamError) else Outcome.FAILED
        self._emit_finish(outcome, self._reason, outputs, error)
        return outputs

    @property
    def _word(self) -> str | None:
        return None if self._reason is None else self._reason.raw

    @property
    def _stated_outcome(self) -> Outcome:
        """How a response ends that states its end; anything but COMPLETED is a sign that something was cut."""
        if self._reason is None:
            return Outcome.COMPLETED
        is_cut = self._reason.raw == INTERRUPTED
        return Outcome.TRUNCATED if is_cut else _OUTCOMES.get(self._reason.unified, Outcome.COMPLETED)

    def _is_whole(self, *, told: bool) -> bool:
        """An application's own stream needs no end chunk."""
        return told or self.needs_no_end or self._state is LifecycleState.ANSWERED

    def _complete(self, outputs: Outputs) -> None:
        try:
            self._flush(outputs, usable=self._usable)
        except UpstreamProtocolError as earlier:  # of a chunk that waited
            outputs += self.fail(earlier)
            return
        # The error for a broken call, unless the SDK has reported it to the model
        error = self._error or (None if self.runs_tools or not self._usable else self._calls.broken)
        outcome = Outcome.FAILED if error is not None else self._stated_outcome
        if error is None and outcome is Outcome.FAILED:
            error = failure(None)
        elif outcome is Outcome.TRUNCATED:
            error = TruncatedStreamError("INTERRUPTED")
        else:
            outputs += self._sources.at_end() if error is None else []
        self._emit_finish(outcome, self._reason, outputs, error)

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        if outcome is Outcome.FAILED and (reason is None or reason.unified is not UnifiedFinishReason.ERROR):
            reason = FinishReason(UnifiedFinishReason.ERROR, self._word)
        # The response's own id, else the message's.
        identity, edits = self._response_id or self._message_id, applied_edits(self._metadata)
        return Finish(outcome, reason, self.usage, identity, self._model, error, self._metadata, edits)

    def _wait(self, handler: Handler, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.add_behind(lambda later: handler(self, chunk, later) and None, outputs)
        self._is_chunk_waiting = bool(self._calls.line)

    def _flush(self, outputs: Outputs, *, usable: bool, cut: bool = False) -> None:
        self._emit_waiting(partial(self._calls.flush, usable=usable, cut=cut), outputs)

    def _emit_waiting(self, what_waits: Callable[[Outputs], None], outputs: Outputs) -> None:
        """Emits what waits and closes the open blocks: before the calls, unless the ends of the blocks may wait."""
        if not self._is_chunk_waiting:
            self._blocks.end_all(outputs)
        self._is_chunk_waiting = False
        try:
            what_waits(outputs)
        finally:
            self._blocks.end_all(outputs)

    def _read_unknown(self, kind: object, event: Mapping[str, Any], outputs: Outputs) -> None:
        chunk: Chunk = event  # type: ignore[assignment]
        if THROWN in chunk:
            outputs += self.fail(thrown(chunk[THROWN]))
        elif isinstance(kind, str) and kind.startswith("data-"):
            self._wait(lambda stream, chunk, outputs: stream._show(data_part(chunk), outputs), chunk, outputs)
        elif (isinstance(kind, str) and kind) or self.errors.failure_in_unknown(chunk) is not None:
            super()._read_unknown(kind, chunk, outputs)
        elif (said := field(chunk, ERROR)) is not None:
            outputs += self.fail(failure(said))
        else:
            outputs.append(Unmapped("a chunk without a type", chunk))
            self._untyped = without_type(kind)

    def _show(self, output: StreamOutput, outputs: Outputs) -> None:
        self._blocks.end_unnamed(outputs)
        self._blocks.shown = self._blocks.shown or not isinstance(output, Unmapped)
        outputs.append(output)

    # Facts about the response

    def _identify(self, chunk: Chunk, outputs: Outputs) -> None:
        self._message_id = self._message_id or identifier(chunk, ("messageId",))
        self._message_metadata(chunk, outputs)

    def _respond(self, response: Chunk, _outputs: Outputs) -> None:
        self._response_id = identifier(response, ("id",)) or self._response_id
        self._model = identifier(response, ("modelId",)) or self._model

    def _message_metadata(self, chunk: Chunk, _outputs: Outputs) -> None:
        """Takes the application's metadata of its message: the only place of the UI stream for usage."""
        if said := mapping(chunk, ("messageMetadata",)):
            merge(self._metadata, "messageMetadata", said)
            self._message_usage = _usage(mapping(said, TOTAL_USAGE), self._reason) or self._message_usage

    def _read_end(self, chunk: Chunk, outputs: Outputs, *, is_last: bool = False) -> None:
        """Takes the end of a step, or of an answer: an application may stream several answers as one."""
        self._reason = _reason(chunk) or self._reason
        usage = _usage(mapping(chunk, TOTAL_USAGE if is_last else ("usage",)), self._reason)
        if usage is not None:
            (self._totals if is_last else self._steps).append(usage)
        self._respond(mapping(chunk, ("response",)), outputs)
        for provider, said in metadata(chunk).items():
            merge(self._metadata, provider, said)

    # Steps

    def _start_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._identify(chunk, outputs)
        self._blocks.shown = False
        self._carried_before_step = self._carried.length
        self._calls_before_step = self._calls.emitted
        if sequence(chunk, ("warnings",)):
            outputs.append(Unmapped(f"{chunk['type']} (warnings)", chunk))

    def _finish_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._read_end(chunk, outputs)
        # The UI stream says only at the very end why the model stopped.
        if field(chunk, ("finishReason",)) is not None:
            self._flush(outputs, usable=self._usable)
        else:
            self._emit_waiting(partial(self._calls.advance, release=True), outputs)
        if chunk.get("isContinued") is not True:  # version 4 goes on in the middle of a sentence
            self._blocks.end_step()

    def _reset_step(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.drop()
        self._blocks.end_all(outputs)
        self._carried.shorten(self._carried_before_step)
        if self._blocks.shown or self._calls.emitted > self._calls_before_step:
            outputs.append(Unmapped("reset-step (of what was shown)", chunk))

    def _finish(self, chunk: Chunk, outputs: Outputs) -> None:
        self._read_end(chunk, outputs, is_last=True)
        self._message_metadata(chunk, outputs)
        if self._error is None and (said := field(chunk, ERROR)):
            self._error = failure(said)
        if self.goes_on:
            self._flush(outputs, usable=self._usable)
            self._blocks.end_step()
        else:
            self._complete(outputs)

    @property
    def _usable(self) -> bool:
        """Whether streamed input counts as whole."""
        return self._error is None and self._stated_outcome is Outcome.COMPLETED

    # Content

    def _text_end(self, chunk: Chunk, outputs: Outputs) -> None:
        self._blocks.end_text(chunk, outputs)
        outputs += self._sources.of_text(chunk)

    def _source(self, chunk: Chunk, outputs: Outputs) -> None:
        for output in self._sources.source(chunk):
            self._show(output, outputs)

    # Tools

    def _tool_call(self, chunk: Chunk, outputs: Outputs) -> None:
        self._calls.add_behind(self._blocks.end_unnamed, outputs)
        self._calls.complete(chunk, outputs)

    # Errors

    def _report(self, chunk: Chunk, outputs: Outputs) -> None:
        value = field(chunk, ERROR)
        if value is None:  # a gateway's, with its fields beside the type
            value = {name: said for name, said in chunk.items() if name != "type"}
        tool = tool_failure(value, from_text=self.errors_are_text)
        if tool is not None:
            outputs.append(Unmapped(f"error of the tool {tool[0] or 'without a name'}", chunk))
            self._calls.failed(*tool, outputs)
            return
        if self._error is None:
            self._error = failure(value)
        generation = generation_id(value)
        if generation is not None:
            merge(self._metadata, GATEWAY, {"generationId": generation})

    def _abort(self, chunk: Chunk, outputs: Outputs) -> None:
        outputs += self.fail(self._error or aborted(field(chunk, ("reason",))))


_Stream = AISDKReader


def _count(_stream: AISDKReader, chunk: Chunk, outputs: Outputs) -> None:
    outputs.append(Unmapped(chunk["type"], chunk))


_content: Final = partial(rows, LifecycleEvent.CONTENT)

IN_PLACE: Final[dict[str, Row]] = {
    # Text: its name since 5, and that of the pre-releases.
    **_content(of_part("_blocks", Blocks.start_text), "text-start"),
    **_content(of_part("_blocks", Blocks.push_text), "text-delta text"),
    **_content(_Stream._text_end, "text-end"),
    # Reasoning: 5 and later; 4 and the pre-releases of 5; 4 alone.
    **_content(of_part("_blocks", Blocks.start_reasoning), "reasoning-start"),
    **_content(of_part("_blocks", Blocks.push_reasoning), "reasoning-delta reasoning"),
    **_content(of_part("_blocks", Blocks.end_reasoning), "reasoning-end reasoning-part-finish"),
    **_content(of_part("_blocks", Blocks.sign), "reasoning-signature"),
    **_content(of_part("_blocks", Blocks.redact), "redacted-reasoning"),
    # Files and sources.
    **_content(lambda stream, chunk, outputs: stream._show(file_part(chunk, stream._files), outputs), "file"),
    **_content(_Stream._source, "source source-url source-document"),
}
"""The chunk types that wait for a waiting tool call: parts keep the order of their chunks."""

CHUNKS: Final[dict[str, Row]] = {
    # Framing.
    "start": Row(LifecycleEvent.LIFECYCLE, _Stream._identify),
    **rows(LifecycleEvent.LIFECYCLE, _Stream._start_step, "stream-start start-step step-start"),
    **rows(LifecycleEvent.REPORT, _Stream._finish_step, "finish-step step-finish"),
    **_content(_Stream._reset_step, "reset-step"),
    "finish": Row(LifecycleEvent.TERMINAL, _Stream._finish),
    "response-metadata": Row(LifecycleEvent.REPORT, _Stream._respond),
    "message-metadata": Row(LifecycleEvent.REPORT, _Stream._message_metadata),
    "ping": Row(LifecycleEvent.SILENT, nothing),
    **IN_PLACE,
    # Tools: 5 and later; 4; the UI stream.
    **_content(of_part("_calls", ToolCalls.start), "tool-input-start tool-call-streaming-start"),
    **_content(of_part("_calls", ToolCalls.push), "tool-input-delta tool-call-delta"),
    **_content(of_part("_calls", ToolCalls.end_input), "tool-input-end"),
    **_content(_Stream._tool_call, "tool-call tool-input-available"),
    **_content(of_part("_calls", ToolCalls.invalid), "tool-input-error"),
    **_content(
        of_part("_calls", ToolCalls.over),
        "tool-result tool-error tool-output-available tool-output-error tool-output-denied",
    ),
    **_content(of_part("_calls", ToolCalls.asked), "tool-approval-request"),
    **_content(of_part("_calls", ToolCalls.answered), "tool-approval-response"),
    # Beside the answer: reasoning-file is a by-product of thinking, raw is what the provider sent.
    **_content(_count, "reasoning-file custom steering-message raw"),
    # A report and no end: text may follow (recording provider_executed_tool of 5.0.277), and the finish does.
    "error": Row(LifecycleEvent.REPORT, _Stream._report),
    "abort": Row(LifecycleEvent.TERMINAL, _Stream._abort),
}
"""Every chunk type that is understood, but `data-*`. All others come out as :class:`Unmapped`."""

AISDKReader.rows = rows_by_state(CHUNKS)
_ROWS_OF_ANSWERS: Final = rows_by_state(CHUNKS | {"finish": Row(LifecycleEvent.ANSWER_END, _Stream._finish)})
"""Of a stream that goes on after an answer: that of an application may bring another one."""

# ---- The streams, and the chunks by which a recording of one is recognized ----

_Sign: TypeAlias = "str | Callable[[Chunk], bool]"
"""What proves it of a chunk: one of these fields, any chunk where there are none; or a check."""
_Signs: TypeAlias = Mapping[str, _Sign]


def _shows(kind: str, chunk: Chunk, signs: _Signs) -> bool:
    sign = signs.get(kind)
    if sign is None or callable(sign):
        return sign is not None and sign(chunk)
    return not sign or any(name in chunk for name in sign.split())


def _any_of(kinds: str, **others: _Sign) -> dict[str, _Sign]:
    """The signs of chunks by their types: those of which any chunk is one, and others, with `_` in place of `-`."""
    return dict.fromkeys(kinds.split(), "") | {kind.replace("_", "-"): sign for kind, sign in others.items()}


def _of_the_sdk(chunk: Chunk) -> bool:
    """Whether an error is an Error of JavaScript, as the tagged form and plain JSON write it."""
    error: Any = chunk.get("error")
    return isinstance(error, dict) and ("$error" in error or str(error.get("name", "")).startswith("AI_"))


def _of_a_provider(chunk: Chunk) -> bool:
    """Whether an end is a provider's: its tokens are under `usage`, and it ends no step."""
    usage = chunk.get("usage")
    return isinstance(chunk.get("finishReason"), dict) or (isinstance(usage, dict) and "promptTokens" not in usage)


_OF_UI: Final = (
    "tool-input-available tool-input-error tool-output-available tool-output-error source-url source-document"
    " message-metadata"
)


class FullStreamReader(AISDKReader):
    """`fullStream` of `streamText`: chunks as objects, in recordings as lines of JSON."""

    sure = _any_of(
        "step-start step-finish reasoning-signature redacted-reasoning tool-call-streaming-start tool-call-delta"
        " tool-error",
        start_step="request warnings",
        finish_step="usage response",
        text_delta="text textDelta",
        text="text",
        reasoning_delta="text",
        reasoning="textDelta",
        tool_call=lambda chunk: "args" in chunk or ("input" in chunk and not isinstance(chunk["input"], str)),
        tool_result="output args",
        file="file",
        finish=lambda chunk: "totalUsage" in chunk or ("usage" in chunk and not _of_a_provider(chunk)),
        error=_of_the_sdk,
        steering_message="message",
    )
    never = _any_of(
        f"{_OF_UI} stream-start response-metadata",
        start="messageId messageMetadata",
        text_delta="delta",
        reasoning_delta="delta",
        tool_input_start="toolCallId",
        error="errorText",
    )

    @classmethod
    def claim(cls, kind: str | None, event: Chunk) -> MatchConfidence:  # noqa: D102
        return MatchConfidence.SURE if THROWN in event else super().claim(kind, event)


class UIStreamReader(AISDKReader):
    """The UI message stream of versions 5 to 7: server-sent events for browsers."""

    goes_on = True
    rows = _ROWS_OF_ANSWERS
    sure = _any_of(
        f"{_OF_UI} reset-step",
        start="messageId messageMetadata",
        tool_input_start="toolCallId",
        tool_input_delta="inputTextDelta",
        tool_approval_request=lambda chunk: "toolCallId" in chunk and "approvalDescriptor" in chunk,
        file="url",
        reasoning_file="url",
        steering_message="parts",
        finish="messageMetadata",
        error="errorText",
    )
    never = _any_of(
        "tool-call tool-result tool-error source raw stream-start response-metadata",
        start_step="request warnings",
        finish_step="usage finishReason",
        text_delta="text textDelta",
        reasoning_delta="text",
        finish="usage totalUsage",
        error=lambda chunk: "errorText" not in chunk,
    )

    @classmethod
    def claim(cls, kind: str | None, event: Chunk) -> MatchConfidence:  # noqa: D102
        return MatchConfidence.SURE if (kind or "").startswith("data-") else super().claim(kind, event)


class DataStreamReader(AISDKReader):
    """The data stream of version 4."""

    errors_are_text = True
    goes_on = True
    rows = _ROWS_OF_ANSWERS

    @classmethod
    def claim(cls, kind: str | None, _event: Chunk) -> MatchConfidence:
        """How sure it is that a chunk is one of this stream: only its lines are framed as they are."""
        return MatchConfidence.SURE if kind in CHUNKS or kind in _CODES_WITHOUT_CHUNKS else MatchConfidence.POSSIBLE


_CODES_WITHOUT_CHUNKS: Final = frozenset({"data-data", "message-annotations"})


class TextStreamReader(AISDKReader):
    """Plain text, whose pieces are chunks of :func:`partstream.protocols.ai_sdk.text_chunk`."""

    needs_no_end = True

    @classmethod
    def claim(cls, _kind: str | None, event: Chunk) -> MatchConfidence:
        """How sure it is that a chunk is a piece of its text."""
        return MatchConfidence.POSSIBLE if event.keys() == {"type", "delta"} else MatchConfidence.NO


class ProviderStreamReader(AISDKReader):
    """What a provider streams to the SDK, and the AI Gateway to its clients; or a document in place of the stream.

    Source: `LanguageModelV2`, V3 and V4; a document is the result of their `doGenerate`.
    """

    has_documents = True
    runs_tools = False
    sure = _any_of(
        "stream-start response-metadata",
        tool_call=lambda chunk: isinstance(chunk.get("input"), str),
        tool_result=lambda chunk: "result" in chunk and "args" not in chunk,
        finish=_of_a_provider,
    )
    never = _any_of(
        "start start-step finish-step step-start step-finish tool-error abort",
        text_delta="text textDelta",
        reasoning_delta="text",
        tool_input_start="toolCallId",
        error="errorText",
    )

    @classmethod
    def events_of(cls, document: Chunk) -> list[Chunk]:
        """The chunks of a document.

        What is neither an answer nor an error comes out as it is, for the adapter to refuse.
        """
        if identifier(document, ("type",)) is not None or not isinstance(document.get("content"), list):
            failed: list[Chunk] = [{"type": "error", "error": document}, {"type": "finish", "finishReason": "error"}]
            return failed if document.get("error") and "type" not in document else [document]
        chunks: list[Chunk] = [{"type": "stream-start", "warnings": sequence(document, ("warnings",))}]
        for place, part in enumerate(sequence(document, ("content",))):
            if not isinstance(part, dict):
                part = {"type": "content", "value": part}  # noqa: PLW2901 - counted as what it is
            chunks += _block(part, str(place)) if text(part, "type") in {"text", "reasoning"} else [part]
        chunks.append({**mapping(document, ("response",)), "type": "response-metadata"})
        end = {name: document[name] for name in ("finishReason", "usage", "providerMetadata") if name in document}
        return [*chunks, {"type": "finish", **end}]


def _block(part: Chunk, block_id: str) -> list[Chunk]:
    kind, said = part["type"], dict(mapping(part, ("providerMetadata",)))
    own = mapping(said, (PROVIDER,))
    if (thought_id := identifier(own, ("id",))) is not None:
        said[PROVIDER] = {name: value for name, value in own.items() if name != "id"}
    metadata = {name: value for name, value in said.items() if value}
    name = thought_id or block_id
    return [
        {"type": f"{kind}-start", "id": name, **({"providerMetadata": metadata} if metadata else {})},
        {"type": f"{kind}-delta", "id": name, "delta": part.get("text")},
        {"type": f"{kind}-end", "id": name, **{one: part[one] for one in ("citations",) if one in part}},
    ]
