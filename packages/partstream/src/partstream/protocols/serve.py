"""What a protocol offers to a server: readers of requests, writers of responses, and what belongs to them.

A server names no wire. It takes a :class:`WireRequest` at one of the paths of a protocol, reads it,
and writes each output of the provider with the writer of :class:`ResponseWriter`, whose :class:`StreamForm` says
how events become bytes. Beside responses, a wire may have

- documents of its own (:class:`ServedDocument`): the list of models, one of them, the count of a request;
- stored answers (:class:`ServedState`): the protocol says which earlier answers a request refers to, how they are
  joined to it, and which routes read what is kept; the server finds the answers of this caller, and keeps new ones;
- a WebSocket (:class:`SocketConversation`) on which a client sends several requests: the protocol reads the messages
  and says which requests wait, one after another. The responses are those of HTTP, the same reader, writer and frames;
  the protocol turns their bytes into messages.

All of it is without I/O. A path pattern is a path below the base URL that holds :data:`MODEL` once, such as
`/models/{model}:streamGenerateContent`, or :data:`ID` once, such as `/responses/{id}`, or neither: one pattern writes
paths and finds the name in them again.
"""

from __future__ import annotations
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import dumps
from partstream.errors import AdapterUsageError
from partstream.lm.outputs import SERVICE_TIER, AllBut, Finish, InboundRequest, Outcome, Reply, StreamOutput, facts_of
from partstream.lm.parts import DataPart, RawCallPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.failures import FailedReply, RefusedRequestError, ServedFailure, plain_reply


@dataclass(frozen=True, slots=True)
class ForwardingRules:
    """What of a request goes on to an upstream of the same wire, beside its body.

    Never among them are what names the caller or belongs to one connection: authorization, cookies, and the headers of
    a single hop (RFC 9110 section 7.6.1).

    Attributes:
        headers: The headers, names in lower case.
        query: The names of the fields of the query.
        output_limits: The places of the limit of the answer in the body, each a path of names.
        new_limit: The place of a limit that the request does not have; None where servers differ in it.
        model_prefix: What may be before the name of a model, in the body and in the path.
        tells_usage: Whether an event of a stream, in its frame, holds usage and nothing else, which clients ask for.
            Where the server has asked in its place (:meth:`partstream.protocols.protocol.RequestWriter.usage_fields`),
            the client does not get the event.
        is_for_us: Whether a body asks for what a server of ours does itself.
        names_kept: Whether a body names something by its id alone that the upstream has kept of an earlier answer.
        answers: The place in the body of the number of answers that it asks for.
    """

    headers: frozenset[str] = frozenset()
    query: frozenset[str] = frozenset()
    output_limits: tuple[tuple[str, ...], ...] = ()
    new_limit: tuple[str, ...] | None = None
    model_prefix: str = ""
    tells_usage: Callable[[bytes], bool] | None = None
    is_for_us: Callable[[Mapping[str, Any]], bool] = lambda _body: False
    names_kept: Callable[[Mapping[str, Any]], bool] = lambda _body: False
    answers: tuple[str, ...] = ()


class RequestReader(ABC):
    """Reads the requests of clients of one protocol. It has no state.

    Attributes:
        socket: The WebSocket at the same paths; None for a wire without one.
        forwarding: What of a request goes on to an upstream of the same wire; None where requests are translated. The
            response writer has :meth:`ResponseWriter.adopt` then.
    """

    socket: type[SocketConversation] | None = None
    forwarding: ForwardingRules | None = None

    @abstractmethod
    def read(self, request: WireRequest) -> InboundRequest:
        """Reads a request, whose path is the one that was asked, with the model in it.

        Raises:
            InvalidRequestError: The request cannot be understood.
        """


_EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
_COMMENT: Final = b": keep-alive\n\n"
"""A comment of server-sent events, which every reader skips (docs/wires/serving.md#keep-alive)."""


@dataclass(slots=True)  # not frozen, see `RawRequest`
class StreamForm:
    """How the events of a response become the bytes of its stream."""

    frame: Callable[[WireEvent], bytes]
    start: bytes = b""
    separator: bytes = b""
    end: bytes = b""
    content_type: str = _EVENT_STREAM
    keep_alive: bytes = b""  # between two events, says nothing but that the connection lives; empty for none


class ResponseWriter(ABC):
    """Writes one response of a server: takes the outputs of an answer one by one, returns events. What the class says,
    holds for all responses of its protocol.

    Attributes:
        documents: What a server has beside its answers, such as the list of models.
        stopped: The outcome with which an answer ends that the server stops, as when it is shut down.
        drops_thinking_state: Whether the official clients of this wire have no field for the opaque state of thinking,
            or the wire has none: a server remembers it for them.
        state: What a server remembers of its answers; None for a wire whose requests say everything themselves.
        further: Further endpoints where a model answers.
        adopts_the_first: Whether :meth:`adopt` needs only the first event of another server.
        says: What it has a place for beside texts, thinking and calls, see :func:`partstream.lm.outputs.facts_of`;
            everything by default, so that a writer of an installed package names no losses that it does not have.
        tiers: Its words for the service tier that answered, but for the usual one.
        dropped: The names of what the outputs so far said and the wire has no place for.
    """

    adopts_the_first: bool = False
    content_type: str = _EVENT_STREAM
    end_of_stream: bytes = b""
    documents: tuple[ServedDocument, ...] = ()
    stopped: Outcome = Outcome.FAILED
    drops_thinking_state: bool = False
    state: ServedState | None = None
    further: tuple[FurtherEndpoint, ...] = ()
    says: Container[str] = AllBut()
    tiers: frozenset[str] = frozenset()

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self.dropped: dict[str, None] = {}
        self._asked = asked
        self._reply = reply
        self._is_begun = False
        self._is_finished = False
        self._kept: list[WireEvent] = []
        self._head: dict[str, Any] = {}  # the fields that each event of the wire repeats

    def write(self, output: StreamOutput) -> list[WireEvent]:
        """Takes the next output and returns its events, possibly none.

        A :class:`partstream.lm.outputs.Finish` is the last output and closes the response, also a failed one. An output
        that the protocol cannot represent becomes no event: :attr:`dropped` names it.

        Raises:
            AdapterUsageError: The Finish has already been written.
        """
        if self._is_finished:
            raise AdapterUsageError("written to after the Finish")
        self._is_finished = isinstance(output, Finish)
        begun = () if self._is_begun else self._begin(output) or ()
        self._is_begun = True
        said: Events = None
        if not isinstance(output, TextPart):
            self.dropped |= dict.fromkeys(name for name in facts_of(output) if name not in self.says)
        match output:
            case TextPart():
                said = self._text(output)
            case ThinkingPart():
                said = self._thinking(output)
            case ToolCallPart():
                said = self._call(output)
            case DataPart():
                said = self._data(output)
            case Finish():
                said = self._finish(output)
            case _:  # what no part represents has no event on another wire either
                pass
        return [*begun, *self._take(), *(said or ())]

    def adopt(self, event: WireEvent) -> None:
        """Takes the next event of a response that another server of this wire has sent, so that the Finish follows on
        it; nothing else may be written then.
        """
        self._is_begun = True
        self._adopt(event)

    def _tier(self, finish: Finish, name: str = "service_tier") -> dict[str, str]:
        """The field for the service tier that answered; none for the usual one, and for one without a word."""
        word = str(finish.fact(SERVICE_TIER)).lower()
        if word == "standard" or word in self.tiers:
            self.dropped.pop(SERVICE_TIER, None)
        return {name: word} if word in self.tiers else {}

    # What a protocol adds. A method returns the events of its output, or keeps them for `_take`.

    def _begin(self, _output: StreamOutput) -> Events:
        """The events before those of the first output."""
        return None

    def _take(self) -> Sequence[WireEvent]:
        """The events that were kept since the last time, by default those of `_kept`."""
        kept, self._kept = self._kept, []
        return kept

    def _adopt(self, event: WireEvent) -> None:
        """Reads what the end needs of an event of another server, which may have any form; by default `_head`."""
        self._head |= {name: event[name] for name in self._head if name in event}

    @abstractmethod
    def _text(self, part: TextPart) -> Events: ...

    @abstractmethod
    def _thinking(self, part: ThinkingPart) -> Events: ...

    @abstractmethod
    def _call(self, part: ToolCallPart) -> Events: ...

    def _data(self, _part: DataPart) -> Events:
        """Nothing, on a wire that has no place for files and sources."""
        return None

    @abstractmethod
    def _finish(self, finish: Finish) -> Events: ...

    @staticmethod
    @abstractmethod
    def document(events: Sequence[WireEvent], /) -> tuple[int, WireEvent]:
        """The events of a whole response as what a client gets that wants no stream: HTTP status and JSON."""

    @staticmethod
    @abstractmethod
    def error(status: int, message: str, /) -> WireEvent:
        """The JSON object of an HTTP error."""

    @staticmethod
    def frame(event: WireEvent) -> bytes:
        """The bytes of one event; by default, the data of a server-sent event without a name."""
        return b"data: " + dumps(event) + b"\n\n"

    @classmethod
    def failed(cls, failure: ServedFailure) -> FailedReply:
        """A failure in the wire's own statuses, headers and words."""
        return plain_reply(cls.error, failure)

    @classmethod
    def stream_form(cls, _asked: InboundRequest) -> StreamForm:
        """The form of the stream that a request wants."""
        keep_alive = _COMMENT if cls.content_type == _EVENT_STREAM else b""
        return StreamForm(cls.frame, end=cls.end_of_stream, content_type=cls.content_type, keep_alive=keep_alive)


Events: TypeAlias = "Sequence[WireEvent] | None"
"""What a method of a :class:`ResponseWriter` returns; None for none."""


@dataclass(frozen=True, slots=True)
class FurtherEndpoint:
    """An endpoint of a protocol's server where a model answers another kind of request, such as one for a summary.

    Documents, routes and further endpoints of its writer do not count.
    """

    path: str
    reads: RequestReader
    writes: type[ResponseWriter]


# ---- Requests and their paths ----

WireEvent: TypeAlias = dict[str, Any]


@dataclass(slots=True)  # not frozen, see `RawRequest`
class WireRequest:
    """A request on the wire, without the key.

    Attributes:
        path: The path of the endpoint below the base URL, such as `/responses`.
        headers: The headers that the protocol itself has, names in lower case.
        query: The query of the URL, without its question mark.
        base_path: The path of the base URL at which a server got it; empty before that.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    query: str = ""
    method: str = "POST"
    base_path: str = ""


MODEL: Final = "{model}"
ID: Final = "{id}"
"""The place of the id of a thing in a pattern; the id is one segment of the path."""


def path_for_model(pattern: str, model_id: str) -> str:
    """The path of a pattern for one model, which is percent-encoded as one segment (RFC 3986 section 2.1)."""
    return pattern.replace(MODEL, quote(model_id, safe="")) if MODEL in pattern else pattern


def model_in_path(pattern: str, path: str) -> str | None:
    """The model that a path names: empty for a pattern without a model, None for a path that does not fit the pattern.

    The path may hold slashes of a model as they are: some clients do not encode them.
    """
    before, place, after = pattern.partition(MODEL)
    if not place:
        return "" if path == pattern else None
    named = _between(path, before, after)
    return None if named is None else unquote(named)


def id_in_path(pattern: str, path: str) -> str | None:
    """The id that a path names; None for a path that does not fit the pattern, and for a pattern without an id."""
    before, place, after = pattern.partition(ID)
    named = _between(path, before, after) if place else None
    return None if named is None or "/" in named else unquote(named)


def _between(path: str, before: str, after: str) -> str | None:
    fits = path.startswith(before) and path.endswith(after) and len(path) > len(before) + len(after)
    return path[len(before) : len(path) - len(after)] if fits else None


def fits_path(pattern: str, path: str) -> bool:
    """Tells whether a path fits a pattern."""
    return (id_in_path if ID in pattern else model_in_path)(pattern, path) is not None


def names_something(pattern: str) -> bool:
    """Tells whether the paths of a pattern name a model or an answer; else it is a path itself."""
    return MODEL in pattern or ID in pattern


def literal_size(pattern: str) -> int:
    """The number of literal characters of a pattern: of two patterns that fit, the larger one says more."""
    return len(pattern.replace(MODEL, "").replace(ID, ""))


def pieces_of_arguments(call: ToolCallPart, size: int | None) -> list[str]:
    """The arguments of a call as text, see :func:`pieces_of`."""
    return pieces_of(call.arguments if isinstance(call, RawCallPart) else dumps(dict(call.input)).decode(), size)


def pieces_of(text: str, size: int | None) -> list[str]:
    """The text that a call says, in pieces of at most `size` characters; None for one piece."""
    step = size or max(1, len(text))
    return [text[start : start + step] for start in range(0, len(text), step)]


# ---- Moments ----


def rfc3339(seconds: int) -> str:
    """The moment in UTC, such as `2026-08-21T20:22:19Z`, of seconds since 1970; without a clock."""
    days, rest = divmod(seconds, 86_400)
    # Days since 1 March of the year 0, in eras of 400 years, after which the calendar repeats itself.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = era * 400 + year_of_era + (month <= 2)
    hours, minutes = divmod(rest // 60, 60)
    return f"{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{rest % 60:02}Z"


# ---- Documents ----


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of a server, as far as documents tell of it: requests call it by its id, people by its name.

    A price is in US dollars per token, as text; None for a model without one.
    """

    id: str
    name: str
    max_input_tokens: int
    max_output_tokens: int
    image_input: bool
    tool_calling: bool
    thinking: bool
    input_price: str | None
    output_price: str | None


DocumentAnswer: TypeAlias = "Callable[[WireRequest, Sequence[ServedModel], int], tuple[int, Mapping[str, Any]]]"
"""Answers a request for a document: HTTP status and JSON. The number is the count of the tokens, where it counts."""


def _everybody(_headers: Mapping[str, str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ServedDocument:
    """A document at a path of its own.

    Attributes:
        answer: Answers a request, given the models of the server, the usual one first, and the tokens of the request
            that `counts` gives, or 0. It may raise what reading a request raises, and
            :class:`partstream.protocols.failures.RefusedRequestError`.
        is_meant: Whether the headers of a request, names in lower case, ask for this document, where another protocol
            has one at the same path. One that is meant by its headers comes before those that everybody may mean.
        counts: The request whose tokens the document tells; the server counts them as its model does. It may raise what
            `answer` may. None for a document that tells none.
    """

    method: str
    path: str
    answer: DocumentAnswer
    is_meant: Callable[[Mapping[str, str]], bool] = _everybody
    counts: Callable[[WireRequest], InboundRequest] | None = None

    @property
    def is_for_everybody(self) -> bool:
        """Whether no header is needed to mean it."""
        return self.is_meant is _everybody


# ---- Stored answers ----


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that is kept, with the JSON objects of its request and response."""

    id: str
    previous_id: str | None  # of the answer that its request continued
    request: Mapping[str, Any] = field(repr=False)  # without what the request took from earlier answers
    response: Mapping[str, Any] = field(repr=False)
    frames: tuple[bytes, ...] | None = field(default=None, repr=False)  # of its stream, an event each; None if not kept


@dataclass(frozen=True, slots=True)
class RequestReferences:
    """What of earlier answers a request refers to: the answer that it continues, and single items."""

    answer_id: str | None = None
    item_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedReferences:
    """What was found of that: the answers that the request continues, the oldest first, and items by their ids."""

    chain: tuple[StoredAnswer, ...] = ()
    items: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request with what it refers to."""

    asks: WireRequest  # for the model: it follows the answers that it continues
    own: WireRequest  # the same without those answers, as it is kept beside its own answer


class Effect(StrEnum):
    """What a route of stored answers does."""

    READ = "read"
    DELETE = "delete"
    CANCEL = "cancel"
    """Stops the answer if it is under way."""


@dataclass(frozen=True, slots=True)
class StoredRoute:
    """A route that reads or changes an answer that is kept; its path has :data:`ID` for the id of the answer.

    Attributes:
        document: The reply, given the request and the chain of answers that ends with the one that the path names. It
            may raise what reading a request raises, and :class:`partstream.protocols.failures.RefusedRequestError`.
        effect: What it does, before `document` is asked.
        resumes: The number of the first frame that a request wants of the stream of the answer, or None where it wants
            the document; None for a route that sends no stream. It may raise what `document` may.
    """

    method: str
    path: str
    document: Callable[[WireRequest, Sequence[StoredAnswer]], Mapping[str, Any]]
    effect: Effect = Effect.READ
    resumes: Callable[[WireRequest], int | None] | None = None


class AnswerRecord(ABC):
    """Reads one answer as it is sent, and tells what is to be kept of it."""

    @property
    @abstractmethod
    def answer_id(self) -> str | None:
        """The id of the answer; None while no event has said it."""

    @property
    @abstractmethod
    def frames(self) -> Sequence[bytes] | None:
        """The frames so far, in a list that grows; None once they are more than the limit."""

    @property
    @abstractmethod
    def response(self) -> Mapping[str, Any] | None:
        """The answer as it is now; None while no event has said anything."""

    @abstractmethod
    def add(self, data: bytes) -> bool:
        """Takes the next bytes of the stream, whole frames; says whether the end of the answer is in them."""

    @abstractmethod
    def take_document(self, document: Mapping[str, Any]) -> None:
        """Takes the document that is sent in place of a stream."""

    @abstractmethod
    def cancel(self) -> None:
        """Records that the answer was stopped because its client left, or asked for that."""

    @abstractmethod
    def unkept(self, data: bytes) -> bytes:
        """The last bytes of the answer, or its document, for an answer that could not be kept although it says so."""

    @abstractmethod
    def stored(self, request: WireRequest) -> StoredAnswer | None:
        """What is to be kept, given :attr:`ResolvedRequest.own`; None if nothing was said."""


class ServedState(ABC):
    """What the server of a protocol remembers.

    Attributes:
        routes: The routes of stored answers.
        fields: The fields of a request that are understood here, so that no reader has to have a place for them.
        of_upstream: The fields that refer to what an upstream of the same wire may keep, although nothing here does.
            An answer to such a request is kept there too, and the routes ask that upstream for it.
        query: The fields of the query that go on then.
    """

    routes: tuple[StoredRoute, ...] = ()
    fields: frozenset[str] = frozenset()
    of_upstream: frozenset[str] = frozenset()
    query: frozenset[str] = frozenset()

    @abstractmethod
    def refuse(self, request: WireRequest) -> None:
        """Refuses a request for something that no server of ours has.

        Raises:
            UnsupportedParameterError: It asks for that; the error names the field.
        """

    @abstractmethod
    def wanted(self, request: WireRequest) -> RequestReferences:
        """What of earlier answers a request refers to.

        Raises:
            InvalidRequestError: A field has the wrong type.
        """

    @abstractmethod
    def join(self, request: WireRequest, earlier: ResolvedReferences, secret: bytes) -> ResolvedRequest:
        """A request with everything that it refers to, given what was found and the secret of its owner.

        Raises:
            RefusedRequestError: Something was not found, or this installation has not signed a sealed text.
        """

    @abstractmethod
    def keeps(self, request: WireRequest) -> bool:
        """Whether a request wants its answer to be kept."""

    @abstractmethod
    def unkept(self, request: WireRequest) -> WireRequest:
        """The request as it is answered where nothing is kept, so that the answer does not say otherwise."""

    def changed(self, _request: WireRequest, _joined: WireRequest, *, is_kept: bool) -> Mapping[str, Any]:
        """The fields of the body in which a request differs from what came where it goes on to an upstream of the same
        wire; None for a field that does not go on.

        Args:
            _joined: The same with everything that it refers to.
            is_kept: Whether its response will be kept here, so that a later request can continue it.
        """
        return {}

    @abstractmethod
    def record(self, limit: int) -> AnswerRecord:
        """Makes the record of one answer, given the most bytes of frames that it may hold."""

    @abstractmethod
    def items(self, answer: StoredAnswer) -> Mapping[str, Mapping[str, Any]]:
        """The items of an answer that requests may refer to, by their ids."""

    @abstractmethod
    def whole(self, chain: Sequence[StoredAnswer], answer: StoredAnswer) -> StoredAnswer:
        """An answer with the answers before it as part of its own request, for one whose chain is not kept."""

    @abstractmethod
    def unknown(self, answer_id: str) -> RefusedRequestError:
        """The error for an id that is not known, or not known to the caller."""

    @abstractmethod
    def unstreamed(self, answer_id: str) -> RefusedRequestError:
        """The error for a stream that was not kept."""


# ---- Sockets ----


@dataclass(frozen=True, slots=True)
class SocketTurn:
    """A request that came over a socket, as it would have come over HTTP."""

    request: WireRequest
    generates: bool = True  # otherwise no model answers: the client only announces its conversation
    size: int = field(default=0, compare=False)  # of its message, in bytes


class SocketConversation(ABC):
    """What is said on one socket.

    Attributes:
        remembered_bytes: About how many bytes of JSON the socket remembers.
    """

    remembered_bytes: int

    @abstractmethod
    def __init__(self, handshake: WireRequest) -> None:
        """Begins with the request of the handshake, which has no body."""

    @abstractmethod
    def receive(self, message: bytes, *, is_large: bool = False) -> Sequence[str]:
        """Takes a message of the client; returns what is answered to it at once. A request waits for its turn, and a
        large message is only read then, with :meth:`opened`."""

    @abstractmethod
    def next_turn(self) -> SocketTurn | bytes | None:
        """The next request, or large message, unless one is being answered or none waits; it is being answered from
        now on."""

    @abstractmethod
    def opened(self, document: Mapping[str, Any]) -> SocketTurn:
        """The request of a large message.

        Raises:
            PartstreamError: It is none, or none that is taken here.
        """

    @abstractmethod
    def forget(self) -> None:
        """Remembers nothing any more."""

    @abstractmethod
    def recall(self, wanted: RequestReferences) -> ResolvedReferences:
        """What the socket itself remembers of what a request refers to."""

    @abstractmethod
    def messages(self, data: bytes) -> Sequence[str]:
        """The messages for the next bytes of the answer's stream, which are whole frames."""

    @abstractmethod
    def refused(self, status: int, document: Mapping[str, Any]) -> Sequence[str]:
        """The messages for a request that was refused before its answer began; the turn is over then."""

    @abstractmethod
    def refused_at_once(self, status: int, document: Mapping[str, Any]) -> Sequence[str]:
        """The messages for one that is not taken, while another one may be answered."""

    @abstractmethod
    def ended(self, earlier: ResolvedReferences, stored: StoredAnswer | None) -> Sequence[str]:
        """Ends the turn, given what was found for its request, and the answer, if it has one; returns what is still to
        be said of it."""

    @abstractmethod
    def too_old(self) -> Sequence[str]:
        """The messages for a socket that is closed because it has been open for too long."""
