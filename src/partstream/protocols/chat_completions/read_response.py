"""Chat Completions: chunks in, VS Code's parts out.

Rule 1: how far a response has come is one table, :mod:`partstream.protocols.read_response`; a handler never looks at the state.
Rule 2: `message.DELTA` says what is read of a delta, in this order. Its fields are independent: none hides another
(docs/wires/chat-completions.md#deltas). What a chunk says about its end counts after its delta.
Rule 3: nothing is checked against a schema. What is missing, null or of another type says nothing; what is not known is
counted as :class:`Unmapped`.
Rule 4: the end is only ever inferred. A finish reason and the end of the bytes, or `[DONE]`, is a whole answer; calls
are handed out then.

Source: docs/wires/chat-completions.md. No specification says what servers send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.errors import AdapterUsageError, LanguageModelError, ToolArgumentsError
from partstream.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.parts import tool_call_part
from partstream.protocols.chat_completions.envelope import Envelope
from partstream.protocols.chat_completions.errors import ERRORS
from partstream.protocols.chat_completions.finish import FinishWords
from partstream.protocols.chat_completions.message import Message
from partstream.protocols.chat_completions.short_way import FREQUENT, ChunkFastPath
from partstream.protocols.chat_completions.stream_errors import failure_of_word, overflow
from partstream.protocols.chat_completions.usage import ReportedUsage
from partstream.protocols.protocol import MatchConfidence, ResponseReaderSpec
from partstream.protocols.read_response import (
    TRANSITIONS,
    Action,
    Adapter,
    LifecycleEvent,
    LifecycleState,
    Wire,
    index,
    mapping,
    objects,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.usage import FinishReason, Usage

__all__ = ["READ_RESPONSE", "ChatCompletionsStream", "claims", "events_of"]

_Outputs: TypeAlias = list[StreamOutput]


class ChatCompletionsStream(Adapter):
    """One answer of a Chat Completions server; see :class:`partstream.outputs.ResponseStream`.

    Attributes:
        sink: The short way, or None.
        ending: Whether a finish reason came, and nothing of the answer behind it: only the usage may still follow.
    """

    def __init__(self, options: StreamOptions = StreamOptions()) -> None:  # noqa: B008 - immutable
        super().__init__()
        self.ending = False
        self._prefix = options.call_id_prefix
        self._envelope = Envelope()
        self._message = Message(options)
        self._short_way = ChunkFastPath(options, self._envelope, self._message)
        self._usage = ReportedUsage()
        self._finish = FinishWords()
        self._is_document = False  # whether a whole message came: it is complete whatever else is missing
        self._whole_beside: Wire = {}
        self._ends_with_usage = False  # whether the last chunk brought the first usage, and nothing else

    @property
    def usage(self) -> Usage | None:
        """The tokens that the server has reported so far."""
        return self._usage.value

    def feed_into(self, event: Mapping[str, Any], outputs: _Outputs) -> None:
        """Takes the next chunk and appends what it means."""
        self.sink = None
        chunk: Wire = event if isinstance(event, dict) else dict(event)
        error = ERRORS.failure_in(chunk)
        kind = _kind(chunk) if error is None else LifecycleEvent.ERROR
        if kind is None:
            self._unknown(chunk, outputs)
            return
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is Action.IGNORE:
            return
        self._state = next_state
        self._error = self._error or error
        if self._error is None:
            reports = self._usage.reports
            self._read_about(chunk)
            self._read_choices(chunk, outputs)
            self.ending = self._finish.is_said and not any(map(_says_anything, objects(chunk, "choices")))
            self._ends_with_usage = self._usage.reports == 1 != reports and self._closes(chunk)
            self.sink = None if self._ends_with_usage else self._short_way.after(chunk.get("choices"))
        else:  # what follows an error adds to it, and no more
            self._read_about(chunk)

    @property
    def _word(self) -> str | None:
        return self._finish.raw

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is LifecycleState.OPEN and (told or self._seems_whole)

    def _settle(self, outputs: _Outputs) -> None:
        self._message.settle(outputs)

    @property
    def _seems_whole(self) -> bool:
        """Whether nothing but `[DONE]` is missing. Servers that forget the finish reason still end with the usage:
        recordings pai-snowflake-snowflake-thinking-streaming and llm-tools-streaming-variant-b, where lines of JSON
        have no place for `[DONE]`. A usage beside a piece of the message is no end: servers report one with each."""
        return self._finish.is_said or self._is_document or self._ends_with_usage

    def _closes(self, chunk: Wire) -> bool:
        """Whether a chunk with usage is the last one. OpenRouter says the cost only there, even of an empty answer:
        recording req-openrouter-minimax-minimax-m1-object-streaming."""
        is_begun = not self._message.is_empty or "cost" in mapping(chunk, "usage")
        return is_begun and not any(_says_anything(choice) for choice in objects(chunk, "choices"))

    def _complete(self, outputs: _Outputs) -> None:
        """Ends a whole answer."""
        word = self._finish.failure
        if word is not None:
            outputs += self.fail(failure_of_word(word, self._finish.native))
            return
        message = self._message
        if message.is_empty:  # Perplexity repeats the message beside each delta: of use only where no delta says it
            message.whole(self._whole_beside, outputs)
        if (word := self._finish.overflow) is not None and message.is_empty:
            outputs += self.fail(overflow(word))
            return
        try:
            calls = message.complete(self._envelope.response_id, outputs, is_cut=self._finish.is_cut)
        except ToolArgumentsError as error:
            self._emit_finish(Outcome.FAILED, self._finish.reason(has_calls=False), outputs, error)
            return
        outputs += (tool_call_part(self._prefix + one.call_id, one.name, one.input) for one in calls)
        outcome = Outcome.INCOMPLETE if self._finish.is_cut else Outcome.COMPLETED
        self._emit_finish(outcome, self._finish.reason(has_calls=bool(calls)), outputs)

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: _Outputs,
        error: LanguageModelError | None = None,
    ) -> None:
        about = self._envelope
        metadata = about.metadata(self._finish.native, self._usage.cost)
        outputs.append(Finish(outcome, reason, self._usage.value, about.response_id, about.model, error, metadata))
        self._state = LifecycleState.FINISHED

    def _unknown(self, chunk: Wire, outputs: _Outputs) -> None:
        """Counts an event that is none of this protocol, such as one that an agent mixes in."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        if chunk and self._state is not LifecycleState.FINISHED:
            kind = chunk.get("type")
            outputs.append(Unmapped(kind if isinstance(kind, str) and kind else "a chunk without choices", chunk))

    # A chunk

    def _read_about(self, chunk: Wire) -> None:
        self._envelope.read(chunk)
        self._usage.say(mapping(chunk, "x_groq").get("usage"))
        self._usage.say(chunk.get("usage"))
        self._message.sources.chunk(chunk)

    def _read_choices(self, chunk: Wire, outputs: _Outputs) -> None:
        for choice in objects(chunk, "choices"):
            place = index(choice, "index") or 0
            if place == 0 or _holds_only_calls(choice):
                self._read_choice(choice, outputs)
            else:
                self._message.count(f"choices[{place}]", choice, outputs)

    def _read_choice(self, choice: Wire, outputs: _Outputs) -> None:
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._message.delta(delta, outputs)
            if isinstance(message, dict):
                self._whole_beside = message
        elif isinstance(message, dict):
            self._is_document = True
            self._message.whole(message, outputs)
        elif isinstance(choice.get("text"), str):  # the older API of the same servers
            self._message.delta({"content": choice["text"]}, outputs)
        self._usage.say(choice.get("usage"))
        native = choice.get("native_finish_reason")
        self._finish.say(choice.get("finish_reason"), native if isinstance(native, str) else None)


_CHUNKS: Final = "chat.completion"


def _kind(chunk: Wire) -> LifecycleEvent | None:
    """What a chunk without an error is for the life of the response; None for an event of something else."""
    if isinstance(chunk.get("choices"), list) and chunk["choices"]:
        return LifecycleEvent.CONTENT
    if chunk.keys() & _REPORTS or ("id" in chunk and "type" not in chunk):
        return LifecycleEvent.REPORT
    return None


_REPORTS: Final = frozenset({"choices", "usage", "object", "x_groq"})
"""The fields of chunks without a choice: usage, filters, moderation, what an agent adds."""


def _says_anything(choice: Wire) -> bool:
    """Whether a choice holds a piece of the message, or a whole one."""
    return bool(choice.get("message")) or any(
        value for name, value in mapping(choice, "delta").items() if name != "role"
    )


def _holds_only_calls(choice: Wire) -> bool:
    """Whether a choice goes on with the first: GitHub Copilot puts text and calls of one answer into several."""
    said = {name for name, value in mapping(choice, "delta").items() if value}
    return "tool_calls" in said and said <= {"tool_calls", "role"}


def claims(_kind: str | None, event: Wire) -> MatchConfidence:
    """Tells whether an event of a recording belongs to this protocol."""
    if isinstance(event.get("choices"), list):
        return MatchConfidence.SURE
    if str(event.get("object")).startswith(_CHUNKS):
        return MatchConfidence.SURE
    return MatchConfidence.POSSIBLE if event.get("error") and "type" not in event else MatchConfidence.NO


def events_of(document: Wire) -> Sequence[Wire]:
    """The chunks that a document stands for: it is one, whose choice has a message in place of a delta."""
    return (document,)


READ_RESPONSE: Final = ResponseReaderSpec(
    open=ChatCompletionsStream, claim=claims, frequent=FREQUENT, events_of=events_of
)
