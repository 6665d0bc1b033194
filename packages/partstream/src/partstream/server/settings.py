"""What the owner of a server decides and learns: settings, overrides, admission, observations, lifetimes and routes.

A server without an :class:`Admission` answers every caller who has its key. With one, requests over HTTP, turns of a
WebSocket and requests for a count of tokens all ask it. It decides before a provider is asked, may look at each part,
and learns exactly once how every response that it has admitted ended.

Exactly one :class:`AnswerObservation` is made for each response that is over, none for an event of it. It holds names,
numbers and times; no word of a person or a model, and no key.
"""

from __future__ import annotations
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from partstream.codec.checks import BOOLEAN, Expectation, check_fields, dataclass, field, fields, instance_of, optional
from partstream.codec.json_codec import dumps
from partstream.server.clients import Authenticator, Caller, RequestClient, local_program
from partstream.server.origins import is_allowable
from partstream.upstream.endpoint import Secret

if TYPE_CHECKING:
    from asyncio import Future

    from partstream.lm.messages import ChatMessage
    from partstream.lm.outputs import InboundRequest, Outcome, Reply
    from partstream.lm.parts import FinishReason, ResponsePart, Usage
    from partstream.protocols.serve import WireRequest
    from partstream.server.models import CataloguedModel
    from partstream.server.requests import Endpoint, RequestHead
    from partstream.server.stored_answers import SQLiteAnswers
    from partstream.tokens.records import UsageRow

_logger = logging.getLogger("partstream.serving")

_KIBIBYTE: Final = 1024
_MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServingNumber:
    """A number among settings, with its bounds; `unit` is `seconds`, `bytes`, or things such as `answers`."""

    name: str
    default: float
    least: float
    most: float
    unit: str
    says: str

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are valid."""
        return self.unit != "seconds"

    @property
    def expectation(self) -> Expectation:
        """The values that are valid."""
        kinds = int if self.is_whole else int | float
        what = "a whole number" if self.is_whole else "a number"
        return Expectation(
            f"{what} of {self.unit} from {self.least:,} to {self.most:,}",
            lambda value: isinstance(value, kinds) and not isinstance(value, bool) and self.least <= value <= self.most,
        )


_NUMBER: Final = "partstream.number"


def number(default: float, least: float, most: float, unit: str, says: str) -> Any:
    """A field of settings that holds a :class:`ServingNumber`."""
    return field(default=default, metadata={_NUMBER: (default, least, most, unit, says)})


def numbers_of(settings: type) -> tuple[ServingNumber, ...]:
    """The numbers among the fields of settings, of which the command line and the documentation are made."""
    known = [one for one in fields(settings) if _NUMBER in one.metadata]
    return tuple(ServingNumber(one.name, *one.metadata[_NUMBER]) for one in known)


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """The settings of a server.

    Attributes:
        token: The key that requests must carry, as `Authorization: Bearer`, as `x-api-key` or in the header that their
            wire has for it; None for a server that needs no key.
        authenticate: Finds the caller, in place of `token`: for several keys, or keys that are kept elsewhere.
        raw_reasoning: Whether thinking goes on the channel of raw reasoning (`response.reasoning.delta` of
            OpenResponses), on a wire that has one beside the summary, which every known client reads.
        strict: Whether a request with fields that reach no model is refused with 400; otherwise they are named in the
            reply, the log and the metrics (:mod:`partstream.server.requests`).
        allow_origins: The origins of pages that may read replies in a browser (:mod:`partstream.server.origins`); none
            by default.
        store: Keeps the responses that clients ask to store; None for a server that stores none.
        state_folder: The folder of what the server keeps; None for one that keeps nothing on disk.

    Raises:
        InvalidArgumentError: A value has another type, or a number is out of its bounds.
    """

    token: Secret | None = None
    authenticate: Authenticator | None = None
    admission: Admission | None = None
    # fmt: off
    drain_seconds: float = number(30.0, 0, 3600, "seconds", "How long answers may go on when the server is stopped")
    body_bytes: int = number(32 * _MEBIBYTE, _KIBIBYTE, 1024 * _MEBIBYTE, "bytes", "The largest body of a request")
    body_seconds: float = number(60.0, 0.01, 3600, "seconds",
        "How long a client may take to send the body of a request")
    concurrent_answers: int = number(1000, 1, 1_000_000, "answers", "How many answers may run at once")
    concurrent_requests: int = number(4000, 1, 1_000_000, "requests",
        "How many requests may be read or answered at once")
    head_seconds: float = number(5.0, 0, 60, "seconds",
        "How long the status waits for the first part of an answer: until then a failure still is an HTTP status")
    keep_alive_seconds: float = number(15.0, 0.01, 3600, "seconds",
        "How long a stream is silent before a comment is sent")
    idle_event_seconds: float = number(60.0, 0.01, 3600, "seconds",
        "How long a stream has no event before the wire's own event for a model that works is sent, if it has one")
    answer_seconds: float = number(3600.0, 0.01, 86_400, "seconds", "How long one answer may take")
    socket_seconds: float = number(3600.0, 0.01, 86_400, "seconds",
        "How long a WebSocket may be open between answers")
    caller_sockets: int = number(1000, 1, 1_000_000, "WebSockets",
        "How many WebSockets of one caller may be open at once, and at most half of the connections")
    stop_seconds: float = number(5.0, 0, 600, "seconds",
        "How long a provider may take to stop when its answer is cancelled")
    buffer_bytes: int = number(64 * _KIBIBYTE, _KIBIBYTE, 64 * _MEBIBYTE, "bytes",
        "How much of an answer waits for a slow client before the provider waits too")
    backlog_bytes: int = number(16 * _MEBIBYTE, _KIBIBYTE, 1024 * _MEBIBYTE, "bytes",
        "How much of an answer waits for a slow client at most, if the provider does not wait")
    thinking_bytes: int = number(32 * _MEBIBYTE, 0, 1024 * _MEBIBYTE, "bytes",
        "How much state of thinking is remembered for clients of wires that cannot give it back; 0 remembers none")
    models_seconds: float = number(300.0, 0, 86_400, "seconds", "How long the list of a provider's models is kept")
    # fmt: on
    raw_reasoning: bool = False
    strict: bool = False
    allow_origins: tuple[str, ...] = ()
    store: SQLiteAnswers | None = None
    state_folder: Path | None = None

    @property
    def is_shared(self) -> bool:
        """Whether several callers may ask with one key of an upstream; the programs of one machine are one caller."""
        return getattr(self.authenticate, "func", self.authenticate) not in (None, local_program)

    def __post_init__(self) -> None:
        check_fields(self, _EXPECTED)


SERVING_NUMBERS: Final = numbers_of(ServingSettings)
_EXPECTED: Final = {
    "token": optional(instance_of(Secret, "a Secret")),
    "authenticate": optional(Expectation("a function of the headers", callable)),
    **{one.name: one.expectation for one in SERVING_NUMBERS},
    "raw_reasoning": BOOLEAN,
    "strict": BOOLEAN,
    "allow_origins": Expectation(
        "a tuple of origins such as https://app.example, http://localhost:*, app://*, local or *",
        lambda value: isinstance(value, tuple) and all(isinstance(one, str) and is_allowable(one) for one in value),
    ),
    "state_folder": optional(instance_of(Path, "a pathlib.Path")),
}


@dataclass(frozen=True, slots=True)
class ServerOverrides:
    """How a server that imitates another one differs: how strict it is, and how it names its replies.

    Attributes:
        admit: Called before a provider; to refuse, it raises what :func:`partstream.server.requests.failure_of` knows.
        identify: Makes what identifies the reply to a request; None for the id of the request and the time.
        remembers: Whether requests may refer to earlier responses. Otherwise the ids in them are ignored.
        corrects_paths: Whether the server corrects a path that has `/v1` once too often or not at all.
    """

    admit: Callable[[Endpoint, WireRequest, InboundRequest], object] | None = None
    identify: Callable[[WireRequest], Reply] | None = None
    remembers: bool = True
    corrects_paths: bool = True


# ---- What a provider may know of its caller ----

UPSTREAM_HEADER: Final = "x-partstream-upstream"
"""The header of a reply that names the upstream, where the provider has named it."""


@dataclass(slots=True)
class CurrentAnswer:
    """One response while it is made; `upstream` is the one that the provider asked last, "" where it names none, and
    `report_dropped` takes the paths of the fields of the request that it has no place for.

    The interface of a provider is VS Code's and has no place for the caller.
    """

    caller: Caller
    client: RequestClient
    upstream: str = ""
    report_dropped: Callable[[Iterable[str]], object] | None = None


CURRENT_ANSWER: Final[ContextVar[CurrentAnswer | None]] = ContextVar("partstream_answer", default=None)
"""The response that is being made here, in the task that asks the provider; None where no server asks."""


# ---- Admission ----


@dataclass(slots=True)  # not frozen, see `RawRequest`
class AnswerRequest:
    """A request that waits for admission.

    Attributes:
        model: The model that the request names; one of those that :meth:`Admission.models_of` lets the caller use.
        client: The client, as its headers name it; good for showing and adding up, never for access.
        request_id: The id of the request. It belongs to this request alone; no client can choose it.
        headers: The headers as they came, names in lower case, with the key in them.
        is_count: Whether only the tokens of the request are to be counted, and nothing is generated.
        size: The bytes of its body, which may go on to an upstream as it came.
        answers: How many answers it asks for at once: an upstream of the same wire may give several.
        entry: What :meth:`Admission.enter` gave; the permit ends it.
        prepare: Makes what the provider gets, while an admission waits to hear that a request is admitted. It may be
            called, in the event loop, and nothing comes of its errors; None for a large request.
    """

    caller: Caller
    model: CataloguedModel
    asked: InboundRequest
    wire: str
    client: RequestClient
    request_id: str
    headers: Mapping[str, str] = field(repr=False)
    is_count: bool = False
    size: int = 0
    answers: int = 1
    entry: Entry | None = None
    prepare: Callable[[Admitted], object] | None = None


class HeldText(NamedTuple):
    """Some characters of a response that have come and are no part yet: of the arguments of a call, of a signature, of
    an event that is not known."""

    characters: int


@dataclass(slots=True)  # not frozen, see `RawRequest`
class EndedAnswer:
    """A response that was admitted, once it is over.

    Attributes:
        observation: Its observation; the usage is None where the client left or the response was cut.
        was_asked: Whether a provider was asked; otherwise the response took no tokens.
        usage: The tokens that the provider reported, also of a response that was cut; None where it reported none.
        kept: What the upstreams that the provider asked have entered into the ledger.
        answer: Makes the message of the parts that were reported; of a long response its beginning.
        length: The ratio of the length of all parts to that of `answer`.
        held: How many characters came before they were a part, or never became one.
    """

    observation: AnswerObservation
    asked: InboundRequest
    was_asked: bool
    usage: Usage | None
    kept: tuple[UsageRow, ...]
    answer: Callable[[], ChatMessage]
    length: float
    held: int = 0


Reported: TypeAlias = "Callable[[ResponsePart | HeldText], str | Future[bool] | None]"
"""Looks at a part that was written to the client, and at what came before it was one. A text ends the response after
it, for its client as one that has reached its longest length: a word for programs, such as `budget_spent`. Called for
each in the event loop, so it has to be quick and must not raise. Where it cannot be decided yet, the provider waits for
a future, and no characters (`HeldText(0)`) are looked at then."""


class Entry(Protocol):
    """The share of one request in the rates of its caller, from before it is read until it is over."""

    def end(self, tokens: int, /) -> None:
        """The request is over and took these tokens; later calls do nothing."""


class Permit(Protocol):
    """The leave for one answer."""

    @property
    def reported(self) -> Reported | None:
        """Looks at each part; None costs nothing. Read once, before the first part."""

    def settle(self, ended: EndedAnswer, /) -> None:
        """Takes the end; called exactly once, in the event loop, in every case: the response is whole, failed, was cut,
        was cancelled, or no provider was asked after all."""


@dataclass(slots=True)  # not frozen, see `RawRequest`
class Admitted:
    """A request that was admitted, as the model gets it."""

    asked: InboundRequest
    model: CataloguedModel
    permit: Permit


class Admission(Protocol):
    """Decides who may have which answer, see :class:`partstream.server.settings.ServingSettings`."""

    @property
    def is_ready(self) -> bool:
        """Whether it can decide; until then the status of `/readyz` is 503."""

    def models_of(self, caller: Caller, models: Mapping[str, CataloguedModel], /) -> Mapping[str, CataloguedModel]:
        """Those of some models, by id, that a caller may use; every other one is unknown to him.

        Raises:
            RequestFailedError: The caller may ask nothing any more.
        """

    def enter(self, caller: Caller, /) -> Entry | None:
        """Lets a caller send a request, or a message of a socket, by his rates; called before it is read. None is an
        entry that needs no end.

        Raises:
            RequestFailedError: He may not now.
        """

    async def afford(
        self, caller: Caller, models: Mapping[str, CataloguedModel], request_id: str, size: int, /
    ) -> None:
        """Looks whether the budgets of a caller may cover a large request of so many bytes to one of the models that he
        may use, before it is read.

        Raises:
            RequestFailedError: They cannot.
        """

    async def admit(self, request: AnswerRequest, /) -> Admitted:
        """Admits a request.

        Raises:
            RequestFailedError: It is refused.
        """


# ---- Observations ----


@dataclass(slots=True)  # not frozen, see `RawRequest`
class AnswerObservation:
    """A response that is over.

    Attributes:
        time: When the request was read, in seconds since 1970.
        provider: The name of the provider that answered, or "" where none was asked.
        status: The HTTP status of the reply; of a frame of a socket, the status that it has there.
        duration: The seconds from the request until its last byte was sent.
        outcome: How the response ended, or None if it did not: the client left, or no provider was asked.
        cost: The cost in US dollars, as the upstreams that the provider asked reported or list it.
        is_usage_kept: Whether an upstream that the provider asked has entered its tokens into the ledger itself.
        is_usage_counted: Whether the tokens were counted here because the provider reported none.
        first_part_after: The seconds from the request until the first part.
        events: The events that were sent; 0 of a document.
        is_cancelled: Whether the client left before the end.
        error: The class of the error that ended the response, such as `UpstreamFailureError`; of a refused request, its
            kind of failure, such as `unauthenticated`.
        dropped: The names of the fields of the request that reached no model, such as `tools[].web_search`.
        unsaid: The names of the fields of the answer that the client did not get, such as `choices[].logprobs`.
    """

    time: float
    wire: str
    model: str
    provider: str
    status: int
    duration: float
    request_id: str
    client: RequestClient = field(default_factory=RequestClient)
    caller: str = ""
    is_stream: bool = True
    outcome: Outcome | None = None
    reason: FinishReason | None = None
    usage: Usage | None = None
    cost: float | None = None
    is_usage_kept: bool = False
    is_usage_counted: bool = False
    first_part_after: float | None = None
    bytes: int = 0
    events: int = 0
    is_cancelled: bool = False
    error: str | None = None
    response_id: str | None = None
    dropped: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()


# ---- Lifetimes ----


class Lifetime(Protocol):
    """Something that runs as long as the application."""

    async def start(self) -> None:
        """Begins, before the first request. An error ends the start of the server."""

    async def stop(self) -> None:
        """Ends, after the last answer."""


# ---- The owner's routes ----

MOST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class OwnerReply:
    """A reply to a request at a path of the owner's."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def json(cls, value: Any, status: int = 200, *headers: tuple[str, str]) -> OwnerReply:
        """A JSON document."""
        return cls(dumps(value), status=status, headers=headers)


OwnerHandler: TypeAlias = "Callable[[RequestHead, bytes, Caller], Awaitable[OwnerReply]]"
"""Answers a request with its body of a caller; to refuse it, it raises what ends a request
(:class:`partstream.server.requests.RequestFailedError`)."""


@dataclass(frozen=True, slots=True)
class OwnerRoute:
    """The route of one method at a path of the owner's: its handler, whether it needs no key (the caller is
    :data:`~partstream.server.clients.NOBODY` then), the largest body that it takes (a larger one is refused with 413),
    and the words of the link to it on the page at the address of the server, "" for no link."""

    handler: OwnerHandler
    is_open: bool = False
    most_bytes: int = MOST_BYTES
    title: str = ""
