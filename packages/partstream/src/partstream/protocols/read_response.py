"""What the response readers of all wires share: the lifecycle of a response, a base class, and how to read fields.

A protocol classifies each of its events as a :class:`LifecycleEvent`; :data:`TRANSITIONS` alone says what an event does
in which state, for the readers and the writers of every wire. A lenient row is one that real servers need and that no
specification allows: a reader takes it, a writer never uses it.

A :class:`ResponseReader` holds how far a response has come, and ends it once. A wire's subclass adds
:meth:`ResponseReader.feed_into`, when a response is whole, and what its Finish holds. Where each event has a type, the
subclass is an :class:`EventReader` and adds a table of types: :func:`rows_by_state` combines it with
:data:`TRANSITIONS` once, so that an event costs one look-up. Where chunks have none, it is a :class:`ChunkReader`.

Nothing is swallowed: each wire has a table of the fields that it reads (:func:`partstream.codec.checks.places`), and
the Finish names every other one that says something (:attr:`partstream.lm.outputs.Finish.dropped`). Events of the fast
path equal one that was looked at, so they cost nothing.

A :class:`Glance` reads most answers whose bytes go on as they come, in a quarter of the time.

Below them are the tools of several wires: fields that may be missing, null or of another type; arguments of tool calls;
:class:`EmittedPrefix`, which recognizes a snapshot of a text that was emitted.
"""

from __future__ import annotations
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, IntEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias
from zlib import crc32

from partstream.codec import json_codec
from partstream.codec.checks import Places, find_unread, replace
from partstream.codec.limits import LARGE_BYTES, MOST_CALLS, loads_in_pieces
from partstream.conversation.thinking import FIRST_CHARACTERS
from partstream.errors import (
    AdapterUsageError,
    AnswerTooLargeError,
    LanguageModelError,
    TruncatedStreamError,
    UpstreamProtocolError,
)
from partstream.lm.outputs import SERVICE_TIER, EmitText, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import FinishReason, UnifiedFinishReason, text_part
from partstream.protocols.serve import WireEvent

if TYPE_CHECKING:
    from partstream.lm.parts import Usage
    from partstream.protocols.errors import Errors

# ---- Lifecycle ----


class LifecycleState(Enum):
    """How far a response has come."""

    # A member is one object. `Enum` hashes its name, in Python, and each event looks two of them up.
    __hash__ = object.__hash__

    IDLE = auto()
    """No event came."""
    OPEN = auto()
    FAILING = auto()
    """The upstream reported an error, and may still say more about it."""
    ANSWERED = auto()
    """The answer is whole, and another one may follow: only the end of the stream is the end."""
    FINISHED = auto()
    """The :class:`partstream.lm.outputs.Finish` is out."""
    ENDED = auto()
    """The events were ended: nothing more may be fed."""


class LifecycleEvent(Enum):
    """What an event means for the life of a response."""

    __hash__ = object.__hash__

    LIFECYCLE = auto()
    """It opens the response, or says that the response continues."""
    CONTENT = auto()
    REPORT = auto()
    """It reports on the response, or on a part of it that is over: usage, the model; also after an error."""
    ERROR = auto()
    """The upstream reports an error, and its end follows."""
    ANSWER_END = auto()
    """The answer is whole; the stream continues."""
    TERMINAL = auto()
    SILENT = auto()
    """It is known to mean nothing."""


class Action(Enum):
    """What happens to an event."""

    HANDLE = auto()
    IGNORE = auto()
    COUNT = auto()
    """It comes out as :class:`partstream.lm.outputs.Unmapped`."""


class Transition(NamedTuple):
    """The effect of a kind of event in a state; a lenient one is for servers that break the rules."""

    next_state: LifecycleState
    action: Action
    lenient: bool = False


def _handled(state: LifecycleState, *, lenient: bool = False) -> Transition:
    return Transition(state, Action.HANDLE, lenient)


TRANSITIONS: Final[dict[LifecycleState, dict[LifecycleEvent, Transition]]] = {
    LifecycleState.IDLE: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.OPEN),
        # Servers leave the opening event out, or everything up to the closing events: llama.cpp, gemini-web2api.
        LifecycleEvent.CONTENT: _handled(LifecycleState.OPEN, lenient=True),
        LifecycleEvent.REPORT: _handled(LifecycleState.OPEN, lenient=True),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.ANSWERED, lenient=True),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED, lenient=True),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING),
        LifecycleEvent.SILENT: Transition(LifecycleState.IDLE, Action.IGNORE),
    },
    LifecycleState.OPEN: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.OPEN),
        LifecycleEvent.CONTENT: _handled(LifecycleState.OPEN),
        LifecycleEvent.REPORT: _handled(LifecycleState.OPEN),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.ANSWERED),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING),
        LifecycleEvent.SILENT: Transition(LifecycleState.OPEN, Action.IGNORE),
    },
    LifecycleState.FAILING: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.FAILING, lenient=True),
        LifecycleEvent.CONTENT: Transition(LifecycleState.FAILING, Action.COUNT, lenient=True),
        LifecycleEvent.REPORT: _handled(LifecycleState.FAILING),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.FINISHED),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING, lenient=True),
        LifecycleEvent.SILENT: Transition(LifecycleState.FAILING, Action.IGNORE),
    },
    LifecycleState.ANSWERED: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.OPEN),
        # Only a beginning begins another answer: applications append words of their own to a whole one.
        LifecycleEvent.CONTENT: _handled(LifecycleState.ANSWERED, lenient=True),
        LifecycleEvent.REPORT: _handled(LifecycleState.ANSWERED),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.ANSWERED, lenient=True),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING),
        LifecycleEvent.SILENT: Transition(LifecycleState.ANSWERED, Action.IGNORE),
    },
    # Nothing that comes after the end can change the response.
    LifecycleState.FINISHED: {
        kind: Transition(LifecycleState.FINISHED, Action.IGNORE, lenient=True) for kind in LifecycleEvent
    },
    LifecycleState.ENDED: {},
}


# ---- The base class of all readers ----


class MatchConfidence(IntEnum):
    """A protocol's verdict on one event of a recording."""

    NO = 0
    POSSIBLE = 1
    SURE = 2
    """No other protocol has an event like it."""


class Deltas(NamedTuple):
    """The events that come by the thousand, because each adds one text: what the reader's fast path knows of a wire
    (docs/decisions/0006-the-fast-path.md).

    Attributes:
        places: By the kind of an event, the places where it may hold its text: keys and indexes, from the outside in.
            On a wire without kinds, the kind is the empty string.
        varying: The fields, at any depth, whose numbers and short strings mean nothing in such an event, or only in the
            first one.
        counts: The fields, at any depth, whose numbers count tokens: of such events, the last one counts.
    """

    places: Mapping[str, tuple[tuple[str | int, ...], ...]] = MappingProxyType({})
    varying: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()


# ---- What is not read ----

_MOST_NAMES: Final = 100
_LONGEST_NAME: Final = 200  # characters
_MOST_COUNTED: Final = 4_096
"""The most names that are remembered, so that each is counted once; of more, each event is counted."""
_NOTHING: Final[tuple[Any, ...]] = (None, False, "", "auto", "default", "standard", "not_available")
"""Values that say nothing; 0 equals False."""


def _says_something(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_says_something, value.values() if isinstance(value, dict) else value))
    return value not in _NOTHING


def _kinds(kinds: tuple[type, ...], names: str) -> dict[str, tuple[type, ...]]:
    return dict.fromkeys(names.split(), kinds)


KINDS: Final[dict[str, tuple[type, ...]]] = {
    **_kinds(
        (str,),
        "text thinking signature thoughtSignature thought_signature encrypted_content encryptedValue refusal transcript"
        " summary stringValue token id item_id call_id messageId parentMessageId runId threadId toolCallId model"
        " modelId modelVersion responseId createTime provider service_tier name toolName toolCallName finish_reason"
        " native_finish_reason stop_reason done_reason finishReason rawFinishReason finishMessage reason errorText"
        " title url uri filename mimeType mime_type mediaType cited_text jsonPath type status message",
    ),
    **_kinds((str, dict, list), "delta arguments partial_json content argsTextDelta inputTextDelta"),
    **_kinds((int,), "index output_index content_index summary_index"),
    **_kinds((int, float), "start_index end_index logprob"),
    **_kinds((bool,), "thought willContinue isCut"),
}
"""By its name, the classes of the values of a field on every wire that reads it: of another class, it is not read, and
the Finish names it. What is an object in the table of a wire has no row here."""


class ResponseReader(ABC):
    """Reads one response: takes its events, returns outputs; see :class:`partstream.lm.outputs.ResponseStream`.

    A protocol's class is a subclass of this one. Thinking as text is not its business: it is asked for thinking parts
    then, see :mod:`partstream.conversation.thinking`.

    Attributes:
        deltas: The events that come by the thousand.
        reads: What is read of the events; without a place where nothing is named.
        kinds: Of which classes the values of the fields are that are read.
        has_documents: Whether a server may send a document in place of a stream.
        glance: Makes a :class:`Glance` at one answer; None for a wire without.
        emit_more: The fast path, or None.
        is_untagged: Whether the response has shown that its text holds no thinking in tags: thinking came in a field of
            its own, which may be hidden.
    """

    deltas: Deltas = Deltas()
    reads: Places = MappingProxyType({})
    kinds: Mapping[str, tuple[type, ...]] = KINDS
    has_documents: bool = False
    glance: ClassVar[Callable[[], Glance] | None] = None

    @classmethod
    @abstractmethod
    def claim(cls, kind: str | None, event: WireEvent) -> MatchConfidence:
        """How sure the protocol is that an event, with its kind or None, is one of its own."""

    @classmethod
    def events_of(cls, document: WireEvent) -> Sequence[WireEvent]:
        """The events of a document that a server sends instead of a stream."""
        return (document,)

    @classmethod
    def item_of_tags(cls, _raw: str) -> Mapping[str, Any] | None:
        """The item that takes thinking in tags back to the server, given that text with its tags; None where nothing
        goes back. See :class:`partstream.conversation.thinking.TaggedThinking`."""
        return None

    def __init__(self, _options: StreamOptions) -> None:
        self.emit_more: EmitText | None = None
        self.is_untagged = False
        self._state = LifecycleState.IDLE
        self._error: LanguageModelError | None = None  # what the upstream has reported, and may say more about
        self._counted_once: set[str] = set()
        self._unread: dict[str, None] = {}
        self._logprobs: list[JSONObject] = []
        self._logprobs_taken = 0

    @property
    def finished(self) -> bool:
        """Whether the :class:`partstream.lm.outputs.Finish` is out."""
        return self._state in _OVER

    @property
    def failing(self) -> bool:
        """Whether an error came that details may follow, such as the usage."""
        return self._state is LifecycleState.FAILING

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next event and returns what it means, in order."""
        outputs: list[StreamOutput] = []
        self.feed_into(event, outputs)
        return outputs

    @abstractmethod
    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next event and appends what it means."""

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Ends the events."""
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("the stream was ended before")
        outputs: list[StreamOutput] = []
        if not self.finished:
            if self._is_whole(told=whole):
                self._complete(outputs)
            else:
                outputs = self.fail(self._error or TruncatedStreamError(self._state.name))
        self._enter(LifecycleState.ENDED)
        return outputs

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the response with an error; nothing if it has finished already."""
        outputs: list[StreamOutput] = []
        if not self.finished:
            self._settle(outputs)
            is_cut = isinstance(error, TruncatedStreamError)
            reason = None if is_cut else FinishReason(UnifiedFinishReason.ERROR, self._word)
            self._emit_finish(Outcome.TRUNCATED if is_cut else Outcome.FAILED, reason, outputs, error)
        return outputs

    # What a protocol adds

    @property
    def _word(self) -> str | None:
        """The provider's own word for why the model stopped, as far as it came."""
        return None

    def _is_whole(self, *, told: bool) -> bool:
        """Whether the answer is whole if nothing follows; never on a wire that ends with an event of its own.

        Args:
            told: Whether the mark of the end said so.
        """
        return False

    def _complete(self, outputs: list[StreamOutput]) -> None:  # noqa: B027 - where an answer may be whole without an end
        """Ends a whole answer."""

    def _settle(self, outputs: list[StreamOutput]) -> None:  # noqa: B027 - most wires hold back nothing
        """Appends what is held back of an answer that fails."""

    def _make_finish(self, outcome: Outcome, reason: FinishReason | None, error: LanguageModelError | None) -> Finish:
        """The last output of the response; a wire adds what it knows, such as usage and model."""
        return Finish(outcome, reason, error=error)

    # What a protocol uses

    def _emit_finish(
        self,
        outcome: Outcome,
        reason: FinishReason | None,
        outputs: list[StreamOutput],
        error: LanguageModelError | None = None,
    ) -> None:
        """Appends the Finish; the response is finished then."""
        finish = self._make_finish(outcome, reason, error)
        if finish.provider_metadata and not json_codec.is_json(finish.provider_metadata):
            finish = replace(finish, provider_metadata=self._json_facts(finish.provider_metadata))
        if self._unread or self._logprobs:
            finish = replace(finish, dropped=tuple(self._unread), logprobs=tuple(self._logprobs))
        outputs.append(finish)
        self._enter(LifecycleState.FINISHED)

    def _json_facts(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """The provider's facts without those that JSON cannot represent, such as NaN: wires write them as they are."""
        kept: dict[str, Any] = {}
        for provider, facts in about.items():
            named = facts if isinstance(facts, Mapping) else {}
            kept[provider] = {name: fact for name, fact in named.items() if json_codec.is_json(fact)}
            for name in named.keys() - kept[provider].keys():
                self._leave_unread(f"{provider}.{name}")
        return kept

    def _enter(self, state: LifecycleState) -> None:
        self._state = state

    def _take_logprobs(self, entries: Iterable[JSONObject]) -> None:
        """Takes the log probabilities of the next tokens of the text, see :attr:`Finish.logprobs`."""
        for one in map(_logprob, entries):
            self._logprobs_taken += 1 + len(one.get("top_logprobs", ()))
            if self._logprobs_taken > MOST_LOGPROBS:
                self._leave_unread(f"logprobs (beyond {MOST_LOGPROBS:,})")
                break
            if one["logprob"] is None:
                self._leave_unread("logprobs[].logprob")
            self._logprobs.append(one)

    def _leave_unread(self, path: str) -> None:
        if len(self._unread) < _MOST_NAMES:
            self._unread[path[:_LONGEST_NAME]] = None

    def _count_once(self, name: str, data: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Counts data that no part can represent, once for each name."""
        if name not in self._counted_once:
            if len(self._counted_once) < _MOST_COUNTED and len(name) <= _LONGEST_NAME:
                self._counted_once.add(name)
            outputs.append(Unmapped(name, data))


_OVER: Final = (LifecycleState.FINISHED, LifecycleState.ENDED)

# ---- The base class of the readers whose events have types ----

Handler: TypeAlias = Callable[[Any, Any, list[StreamOutput]], EmitText | None]
"""It takes the reader, the event and the outputs, and returns the fast path for more events like this one."""


class Row(NamedTuple):
    """The meaning of an event type for the life of a response, and its handler."""

    kind: LifecycleEvent
    handler: Handler


def rows(kind: LifecycleEvent, handler: Handler, names: str, prefix: str = "") -> dict[str, Row]:
    """The same row for several types, whose names are separated by blanks, and begin with the prefix."""
    return dict.fromkeys((prefix + name for name in names.split()), Row(kind, handler))


Rows: TypeAlias = dict[LifecycleState, dict[str, tuple[LifecycleState, Handler]]]


def nothing(*_: object) -> None:
    """The handler of what has no effect."""


def of_part(part: str, handler: Handler) -> Handler:
    """The handler that is a method of a part of the reader, which is the reader's attribute of this name."""
    return lambda reader, event, outputs: handler(getattr(reader, part), event, outputs)


class EventReader(ResponseReader):
    """A reader of events that have types.

    Attributes:
        errors: How the wire states failures.
        rows: By the state of the response, the next state and the handler for each type that is understood.
        type_field: The field with the type.
    """

    errors: ClassVar[Errors]
    rows: ClassVar[Rows]
    type_field: ClassVar[str] = "type"

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self._rows = self.rows[self._state]
        self._type_field = self.type_field  # faster than the class's own, for each event

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:  # noqa: D102
        self.emit_more = None
        state = self._state
        try:
            next_state, handler = self._rows[event[self._type_field]]
        except (KeyError, TypeError):
            self._unknown(event, outputs)
            return
        if self.reads:
            find_unread(event, self.reads, self._leave_unread, _says_something, kinds=self.kinds)
        try:
            self.emit_more = handler(self, event, outputs)
        except UpstreamProtocolError as error:
            outputs += self.fail(error)
            return
        if next_state is not state and self._state is state:  # unless the handler has ended the response
            self._enter(next_state)

    def _enter(self, state: LifecycleState) -> None:
        self._state = state
        self._rows = self.rows[state]

    def _unknown(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        kind = event.get(self.type_field)
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError(f"fed {kind!r} after the stream was ended")
        if self._state is not LifecycleState.FINISHED:
            self._read_unknown(kind, event, outputs)

    def _read_unknown(self, kind: object, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Counts an event of a type that was added later, unless it reports a failure. What has no type is no event."""
        if (failure := self.errors.failure_in_unknown(event)) is not None:
            outputs += self.fail(failure)
        elif isinstance(kind, str) and kind:
            outputs.append(Unmapped(kind, event))
        else:
            outputs += self.fail(without_type(kind))


def rows_by_state(events: Mapping[str, Row]) -> Rows:
    """The rows of an :class:`EventReader`. There are none after the end: no event is even examined."""
    rows: Rows = {state: {} for state in LifecycleState}
    for state, steps in TRANSITIONS.items():
        for name, row in events.items():
            if state is not LifecycleState.FINISHED and (step := steps.get(row.kind)) is not None:
                handlers: dict[Action, Handler] = {
                    Action.HANDLE: row.handler,
                    Action.IGNORE: nothing,
                    Action.COUNT: lambda reader, it, outputs: outputs.append(Unmapped(it[reader.type_field], it)),
                }
                rows[state][name] = step.next_state, handlers[step.action]
    return rows


def without_type(kind: object) -> UpstreamProtocolError:
    """The error for what has no type, or none that is a string."""
    got = "no type" if kind is None else f"type {shown(kind)}"
    return UpstreamProtocolError(event_type=None, field="type", got=got, expected="a string")


# ---- Plain answers ----

_MOST_GLANCED: Final = 16 * 1024
"""Bytes. Of a longer answer, most events take the fast path of the reader."""
_decode_text: Final = json_codec.make_text_decoder()
_NOT_PLAIN: Final[tuple[type[Exception], ...]] = (*json_codec.DECODE_ERRORS, LookupError, AttributeError)


class Glance(ABC):
    """Reads an answer as long as it is plain: one text, its end and its usage, and no field besides.

    Most answers are no more than that, and are read so in a quarter of the time. The outputs are those of the reader.
    Of what is not certain, nothing is read: then the reader reads the answer, from its first byte on.

    Attributes:
        joins_texts: Whether texts that came at once are one part: who only looks on needs no more parts than reads.
        seen: The bytes that were read.
        ending: Whether the end is near: what still comes, comes at once.
        finish: The end of the answer; None before it.
        text_field: The name of the field with a piece of text, as nearly all servers write it.
        usage_event: The event, with its frame, that holds usage and nothing else; None before it.
    """

    decode = staticmethod(json_codec.make_decoder())
    reads: ClassVar[Places]
    text_field: ClassVar[bytes]
    joins_texts, failing, finished = True, False, False

    def __init__(self) -> None:
        self.seen = b""
        self._around = b"", b""  # the bytes around the text of the event before
        self.ending = False
        self.finish: Finish | None = None
        self.usage_event: bytes | None = None
        self._is_text = False  # whether no tag of thinking can follow
        self._unread: dict[str, None] = {}

    def read(self, data: bytes) -> list[StreamOutput] | None:
        """Takes bytes, and returns their outputs; None where they are not whole, plain events."""
        if not data.endswith(b"\n\n") or data.find(b"\r") >= 0 or len(self.seen) + len(data) > _MOST_GLANCED:
            return None
        pieces: list[str] = []
        try:
            for frame in data[:-2].split(b"\n\n"):
                before, after = self._around
                if before and frame.startswith(before) and frame.endswith(after):
                    pieces.append(_decode_text(frame[len(before) : len(frame) - len(after)]))
                    continue
                piece = None if self.finish is not None else self._piece(frame)
                if piece is None:
                    return None
                pieces.append(piece)
                # An event with the same bytes around its text is the same but for it.
                self._around = b"", b""
                if piece and frame.count(field := self.text_field + json_codec.dumps_text(piece)) == 1:
                    begin, _, end = frame.partition(field)
                    self._around = begin and begin + self.text_field, end
        except _NOT_PLAIN:
            return None
        said = "".join(pieces)
        if not self._is_text and (letters := said.lstrip()):
            if letters[0] in FIRST_CHARACTERS:
                return None
            self._is_text = True
        self.seen += data
        outputs: list[StreamOutput] = [*map(text_part, filter(None, [said] if self.joins_texts else pieces))]
        return outputs if self.finish is None else [*outputs, self.finish]

    @abstractmethod
    def _piece(self, frame: bytes) -> str | None:
        """Takes an event, and returns its piece of the text; None for one that is not plain."""

    def _note_unread(self, event: JSONObject) -> None:
        find_unread(event, self.reads, self._unread.setdefault, _says_something)

    def _end(
        self, unified: UnifiedFinishReason, word: str, usage: Usage | None, response_id: str | None, model: str | None
    ) -> str:
        outcome = Outcome.INCOMPLETE if unified is UnifiedFinishReason.LENGTH else Outcome.COMPLETED
        reason, dropped = FinishReason(unified, word), tuple(self._unread)
        self.finish, self.finished = Finish(outcome, reason, usage, response_id, model, dropped=dropped), True
        return ""


# ---- Fields ----
# Real servers deviate: a field that is missing, null or of another type reads as None or empty.

JSONObject: TypeAlias = dict[str, Any]
"""A JSON object as it came. Real servers deviate, so nothing about it is certain."""


def text(source: Any, name: str) -> str:
    """The string in a field of an object; empty if there is none."""
    value = source.get(name) if isinstance(source, dict) else None
    return value if isinstance(value, str) else ""


def identifier(source: Any, name: str) -> str | None:
    """The non-empty string in a field, or None: many servers send `""` for what they do not know."""
    return text(source, name) or None


def index(source: JSONObject, name: str) -> int | None:
    """The integer in a field, or None."""
    value = source.get(name)
    return value if type(value) is int else None


def mapping(source: Any, name: str) -> JSONObject:
    """The object in a field; empty if there is none."""
    if source.__class__ is dict and name not in source:
        return {}
    value = source.get(name) if isinstance(source, dict) else None
    return value if isinstance(value, dict) else {}


def objects(source: Any, name: str) -> list[JSONObject]:
    """The objects in a list field; empty if there are none."""
    value = source.get(name) if isinstance(source, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def total_of(stated: int | None, given: int | None, made: int | None) -> int | None:
    """The tokens of a call together: as they are stated, else the sum of prompt and answer where both are known."""
    return given + made if stated is None and given is not None and made is not None else stated


MOST_LOGPROBS: Final = 50_000
"""The log probabilities of one answer that are kept, those of the most probable tokens included."""
LOGPROB: Final = "token logprob bytes"
"""What is read of one, beside the most probable tokens at its place."""


def _logprob(entry: JSONObject) -> JSONObject:
    """A log probability; the bytes of a token are those of its text where nothing says others."""
    token, value = text(entry, "token"), entry.get("logprob")
    said = entry.get("bytes")
    is_known = isinstance(said, list) and all(type(one) is int for one in said)
    raw = said if is_known else list(token.encode("utf-8", "surrogatepass"))
    top = (
        {"top_logprobs": [*map(_logprob, objects(entry, "top_logprobs")[:_MOST_TOP])]}
        if "top_logprobs" in entry
        else {}
    )
    # Beyond the limit are NaN and infinity, which JSON cannot represent.
    is_usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST_LOGPROB
    return {"token": token, "logprob": value if is_usable else None, "bytes": raw, **top}


_MOST_LOGPROB: Final = 1e6


_MOST_TOP: Final = 20
_LENGTH: Final = 60  # characters


def shown(value: object) -> str:
    """The beginning of what Python writes for a value; only the class for one that nests too deeply to be written."""
    try:
        return repr(value)[:_LENGTH]
    except (RecursionError, ValueError):  # ValueError: an integer of more digits than Python writes
        return f"a {type(value).__name__} that cannot be shown"


def read_arguments(arguments: object) -> dict[str, Any] | None:
    """The JSON object that arguments are, or None where they are none.

    Args:
        arguments: An object, or the JSON text of one; an empty text is an empty object.
    """
    value = arguments
    if isinstance(arguments, str):
        if len(arguments) > LARGE_BYTES:
            try:
                value = loads_in_pieces(arguments.encode())
            except ValueError:
                return None
            return value if isinstance(value, dict) else None
        value = json_codec.loads_or_none(arguments) if arguments.strip() else {}
    return value if isinstance(value, dict) and json_codec.is_json(value) else None


# ---- Emitted text ----
# Output cannot be taken back. Where an upstream repeats a text, only the missing suffix is emitted; a length and a
# checksum show that suffix, so memory does not grow with the response.


_RECENT: Final = 4096
FOLD_AT: Final = 64
"""How many pieces of a text are kept before they are folded."""


class RecentText:
    """The last few thousand characters of a text that arrives in pieces.

    Attributes:
        pieces: What came since the last fold; code that appends to it without :meth:`add` calls :meth:`fold` at times.
    """

    __slots__ = ("_recent", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._recent = ""

    def add(self, piece: str) -> None:
        """Adds the next piece."""
        self.pieces.append(piece)
        if len(self.pieces) >= FOLD_AT:
            self.fold()

    def fold(self) -> None:
        """Forgets the oldest text beyond the limit."""
        self._recent = (self._recent + "".join(self.pieces))[-_RECENT:]
        self.pieces.clear()

    def recently_said(self, words: str) -> bool:
        """Whether the last few thousand characters hold `words`."""
        self.fold()
        return words in self._recent


class EmittedPrefix(RecentText):
    """The part of one text that was emitted."""

    __slots__ = ("_checksum", "_length")

    def __init__(self) -> None:
        super().__init__()
        self._length = 0
        self._checksum = 0

    def begins(self, whole: str) -> bool:
        """Whether all that was emitted is the beginning of `whole`."""
        self.fold()
        return len(whole) >= self._length and checksum(whole[: self._length]) == self._checksum

    @property
    def summary(self) -> tuple[int, int]:
        """The length and the checksum of all that was emitted."""
        self.fold()
        return self._length, self._checksum

    @property
    def length(self) -> int:
        """How many characters were emitted."""
        self.fold()
        return self._length

    @property
    def is_empty(self) -> bool:
        """Whether nothing was emitted."""
        return not (self._length or self.pieces)

    def fold(self) -> None:
        """Adds the pieces to length and checksum."""
        text = "".join(self.pieces)
        self._length += len(text)
        self._checksum = checksum(text, self._checksum)
        super().fold()


def emit_into(said: RecentText, make: Callable[[str], StreamOutput] | None) -> EmitText:
    """The fast path that adds a text to another one, and makes a part of it; None for `make` makes no part."""
    pieces, add, fold, fold_at = said.pieces, said.pieces.append, said.fold, FOLD_AT

    def emit(piece: str, outputs: list[StreamOutput]) -> None:
        add(piece)
        if len(pieces) >= fold_at:
            fold()
        if make is not None:
            outputs.append(make(piece))

    return emit


def checksum(text: str, before: int = 0) -> int:
    """The checksum of a text, given that of the text before it."""
    # Lone surrogates are real: servers cut UTF-16 text between two deltas.
    return crc32(text.encode("utf-8", "surrogatepass"), before)


# ---- Texts at the same time ----


class OpenTexts:
    """The texts of one answer that are open: of several at the same time, each waits for the end of those before.

    Attributes:
        waiting: The open texts by their ids, in order; of all but the first, what waits.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, list[str]] = {}
        self._ended: set[str] = set()

    def open(self, text_id: str) -> None:
        """Opens a text.

        Raises:
            AnswerTooLargeError: As many are open as an answer may have calls.
        """
        self.waiting.setdefault(text_id, [])
        if len(self.waiting) > MOST_CALLS:
            raise AnswerTooLargeError("texts at the same time in one answer", MOST_CALLS)
        self._ended.discard(text_id)

    def holds(self, text_id: str, piece: str) -> bool:
        """Holds a piece back if its text waits; tells whether it does. Opens a text that is not open."""
        pieces = self.waiting.get(text_id)
        if pieces is None:
            self.open(text_id)
            pieces = self.waiting[text_id]
        if text_id == next(iter(self.waiting)):
            return False
        pieces.append(piece)
        return True

    def end(self, text_id: str | None = None) -> list[str]:
        """Ends a text, or all; returns the beginnings of the texts that waited for that."""
        if text_id in self.waiting:
            self._ended.add(text_id)
        begun = []
        while self.waiting and (text_id is None or next(iter(self.waiting)) in self._ended):
            ended = next(iter(self.waiting))
            del self.waiting[ended]
            self._ended.discard(ended)
            if waited := next(iter(self.waiting.values()), []):
                begun.append("".join(waited))
                waited.clear()
        return begun


STOP_SEQUENCE: Final = "stopSequence"
"""The field of :attr:`partstream.lm.outputs.Finish.provider_metadata` for the text at which the model stopped."""


def tier(said: JSONObject) -> dict[str, str]:
    """The fact of the service tier that answered, as an object names it; empty for the usual one."""
    word = identifier(said, "service_tier")
    return {} if word is None or word in _NOTHING else {SERVICE_TIER: word}


def applied_edits(provider_metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """What providers took out of a conversation by themselves: a phrase for each edit, such as `2 tool calls`.

    Source: `providerMetadata.anthropic.contextManagement.appliedEdits` of `@ai-sdk/anthropic` 4.0.105.

    Args:
        provider_metadata: As in :attr:`partstream.lm.outputs.Finish.provider_metadata`.
    """
    phrases = []
    for about in provider_metadata.values():
        management = about.get("contextManagement") if isinstance(about, Mapping) else None
        edits = management.get("appliedEdits") if isinstance(management, Mapping) else None
        for edit in edits if isinstance(edits, list | tuple) else ():
            if not isinstance(edit, Mapping):
                continue
            counts = [
                f"{edit[field]:,} {noun if edit[field] == 1 else noun + 's'}"
                for field, noun in _COUNTED.items()
                if type(edit.get(field)) is int
            ]
            kind = str(edit.get("type") or "an edit")
            if kind.startswith("compact"):
                counts.insert(0, "the conversation was summarised")
            phrases.append(", ".join(counts) or kind)  # the type alone where nothing here knows it
    return tuple(phrases)


_COUNTED: Final = {
    "clearedToolUses": "tool call",
    "clearedThinkingTurns": "thinking turn",
    "clearedInputTokens": "token",
}

# ---- Choices ----

# Chat Completions' `choices`, Gemini's `candidates`. No request of ours asks for more than one, so several are one
# answer as a rule: GitHub Copilot puts the text into one choice and the calls into the next; LiteLLM's bridge to
# OpenResponses gives each message a choice. Others compete, because a program asked for them (`n`): their texts come in
# turns, or two of them bring a call at the same index. Of those the first counts; the others are dropped and named.

NO_CALLS: Final[frozenset[int]] = frozenset()


class Said(NamedTuple):
    """What a piece of a choice brings.

    Attributes:
        speaks: Whether it has text, thinking or a file.
        calls: The indexes of its calls.
        ends: Whether it says why the choice ends.
    """

    speaks: bool
    calls: frozenset[int]
    ends: bool


_MOST_CHOICES: Final = 256
"""Twice as many as OpenAI's `n` may ask for: each piece of one is held against all others."""
SPEAKS: Final = Said(speaks=True, calls=NO_CALLS, ends=False)
"""Text and no more, as nearly all pieces are."""


class Choices:
    """The choices of one answer.

    It decides by what each piece of a choice brings, a :class:`Said`. The first choice is read at once. A piece of
    another one waits until the first choice has ended, at the latest until the end of the answer, because it may
    compete with what still comes. Two choices compete where one of them goes on after the other has begun:

    - A choice brings more, and another one has spoken since, or a later one before it.
    - A choice ended after another one had spoken, and that one says more, or ends by itself.
    - Both bring a call at the same index, and one of them is the first choice. Two others may bring a call each.

    Attributes:
        is_alone: Whether every piece was of the first choice.
        lost: The choices that were found to compete since the last look, each with its place and its first piece.
    """

    def __init__(self, said: Callable[[JSONObject], Said]) -> None:
        self.lost: list[tuple[int, JSONObject]] = []
        self._losers: set[int] = set()
        self._places = {0}
        self._said = said
        self._steps = 0
        self._spoke: dict[int, int] = {}  # by place, the step at which it spoke last
        self._callers: dict[int, set[int]] = {}  # by the index of a call, the choices that have one there
        self._first_ended = False
        self.is_alone = True
        self._ended_late: dict[int, set[int]] = {}  # by place, the choices that ended after it had spoken
        self._waiting: dict[int, list[JSONObject]] = {}

    def take(self, listed: list[JSONObject], *, whole: bool) -> list[tuple[int, JSONObject]]:
        """The pieces to read now, each with its place.

        Args:
            whole: Whether they are whole choices of a document, where some servers repeat an index.

        Raises:
            AnswerTooLargeError: There are too many choices.
        """
        if len(listed) == 1 and self.is_alone and not index(listed[0], "index"):
            self._watch(0, self._said(listed[0]))
            return [(0, listed[0])]
        now: list[tuple[int, JSONObject]] = []
        given = [index(piece, "index") for piece in listed]
        places = [max(number or 0, 0) for number in given]
        if len(places) > 1 and (whole or None in given) and len(set(places)) < len(places):
            places = [*range(len(places))]
        self._places.update(places)
        if len(self._places) > _MOST_CHOICES:
            raise AnswerTooLargeError("choices of one answer", _MOST_CHOICES)
        for place, piece in zip(places, listed, strict=True):
            if place in self._losers:
                continue
            if place == 0:
                now.append((0, piece))
            else:
                self.is_alone = False
                self._waiting.setdefault(place, []).append(piece)
            self._watch(place, self._said(piece))
            if self._first_ended and next(iter(self._waiting), None) == place and place not in self._ended_late:
                now += ((place, one) for one in self._waiting.pop(place))
        return now

    def rest(self) -> list[tuple[int, JSONObject]]:
        """The pieces that waited for the end of the answer, choice by choice."""
        waiting, self._waiting = self._waiting, {}
        return [(place, piece) for place in sorted(waiting) for piece in waiting[place]]

    def _watch(self, place: int, said: Said) -> None:
        """Notes what a piece brings, and which choices compete by it."""
        before = self._spoke.get(place)
        since: list[int] = []
        if before is not None and before != self._steps:
            since = [one for one, step in self._spoke.items() if step > before]
        elif before is None and place == 0 and said.speaks:
            since = [*self._spoke]
        if said.speaks or said.calls:
            self._compete(place, since)
        for number in said.calls:
            callers = self._callers.setdefault(number, set())
            self._compete(place, callers - {0} if place == 0 else callers & {0})
            callers.add(place)
        if said.speaks or said.ends:
            self._compete(place, self._ended_late.get(place, ()))
        if said.speaks:
            self._steps += 1
            self._spoke[place] = self._steps
        elif said.ends:
            for other in since:
                self._ended_late.setdefault(other, set()).add(place)
        self._first_ended |= said.ends and place == 0

    def _compete(self, place: int, others: Iterable[int]) -> None:
        for other in others:
            loser = max(place, other)
            if loser not in self._losers:
                self._losers.add(loser)
                self._spoke.pop(loser, None)
                self.lost.append((loser, self._waiting.pop(loser, [{"index": loser}])[0]))


# ---- The base classes of the readers whose chunks have no types ----


class ChunkReader(ResponseReader):
    """A reader of chunks that have no types: their fields say what they mean.

    Attributes:
        nameless: The name of a chunk of something else, such as one that an agent mixes in, if it has no type either.
    """

    nameless: ClassVar[str]

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:  # noqa: D102
        self.emit_more = None
        if self._state is LifecycleState.ENDED:
            raise AdapterUsageError("fed a chunk after the stream was ended")
        chunk: JSONObject = event if isinstance(event, dict) else dict(event)
        error = self._error_in(chunk)
        kind = self._kind(chunk) if error is None else LifecycleEvent.ERROR
        if kind is None:
            if chunk and not self.finished:
                self._read_unknown(chunk, outputs)
            return
        next_state, action, _ = TRANSITIONS[self._state][kind]
        if action is Action.IGNORE:
            return
        is_last = next_state is LifecycleState.FINISHED
        self._state = self._state if is_last else next_state
        self._error = self._error or error
        if self.reads:
            find_unread(chunk, self.reads, self._leave_unread, _says_something, kinds=self.kinds)
        self._read_chunk(chunk, outputs)
        if is_last and not self.finished:
            self._complete(outputs)

    @abstractmethod
    def _kind(self, chunk: JSONObject) -> LifecycleEvent | None:
        """The meaning of a chunk without an error for the lifecycle; None for a chunk of something else."""

    def _error_in(self, chunk: JSONObject) -> LanguageModelError | None:
        """The error that a chunk reports, whose end follows."""
        return None

    @abstractmethod
    def _read_chunk(self, chunk: JSONObject, outputs: list[StreamOutput]) -> None:
        """Reads a chunk; one after an error only adds facts about the response."""

    def _read_unknown(self, chunk: JSONObject, outputs: list[StreamOutput]) -> None:
        outputs.append(Unmapped(identifier(chunk, "type") or self.nameless, chunk))


class ChoicesReader(ChunkReader):
    """A reader of chunks with choices, see :class:`Choices`.

    Attributes:
        field: The field of a chunk with its choices.
    """

    field: ClassVar[str]

    def __init__(self, options: StreamOptions, said: Callable[[JSONObject], Said]) -> None:
        super().__init__(options)
        self._choices = Choices(said)
        self._response_id: str | None = None
        self._model: str | None = None

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Ends the chunks; other choices than the first may have waited for it."""
        outputs: list[StreamOutput] = []
        if not self.finished:
            self._settle(outputs)
        return outputs + super().end(whole=whole)

    def _settle(self, outputs: list[StreamOutput]) -> None:
        self._read_choices(self._choices.rest(), outputs)

    def _is_whole(self, *, told: bool) -> bool:
        return self._state is LifecycleState.OPEN and (told or self._word is not None)

    def _read_choices(self, choices: list[tuple[int, JSONObject]], outputs: list[StreamOutput]) -> None:
        for place, choice in choices:
            self._read_choice(place, choice, outputs)
        for place, choice in self._choices.lost:
            self._count_once(f"{self.field}[{place}]", choice, outputs)
        self._choices.lost.clear()

    @abstractmethod
    def _read_choice(self, place: int, choice: JSONObject, outputs: list[StreamOutput]) -> None:
        """Reads the next piece of a choice, given with its place."""
