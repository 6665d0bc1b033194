"""The object that each protocol's folder offers: a typed :class:`Protocol` with up to four sans-IO readers and writers.

::

    read_response    bytes of a response  ──► parts, Unmapped, one Finish      as a client of a server
    write_request    ChatRequest          ──► WireRequest                      as a client of a server
    read_request     WireRequest          ──► InboundRequest                   as a server
    write_response   parts and a Finish   ──► events, or one document          as a server

A function imports the module of each one and returns the typed object in it, see :func:`loaded`: a program that only
reads responses loads no writer. docs/maintainers/adding-a-protocol.md adds a protocol, step by step.

:data:`PROTOCOLS` has all protocols by name. Its table is the only place outside their folders that names them; an
installed package adds its own with an entry point of the group `partstream.protocols`, whose name is the protocol's and
whose object is a :class:`Protocol`. Entry points are read only where a name is not in the table, or where all names are
listed.
"""

from __future__ import annotations
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from partstream._moved import renamed
from partstream.codec.checks import dataclass, field, replace
from partstream.codec.sse import BareJSONDecoder, EventDecoder, JSONLinesDecoder, SSEDecoder
from partstream.conversation.preparation import ANY_CONVERSATION, ChatRequest, ConversationRules, Fact, RequestSettings
from partstream.conversation.provider_state import Carried
from partstream.errors import CallerError, PartstreamError
from partstream.plugins import Addition, added
from partstream.protocols.errors import COMMON_ERRORS, Errors
from partstream.protocols.serve import (  # names that installed protocols import from here
    RequestReader,
    ResponseWriter,
    WireEvent,
    WireRequest,
)

if TYPE_CHECKING:
    from partstream.conversation.turns import Note
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.protocols.read_response import ResponseReader
    from partstream.settings.known_servers import KnownServer
    from partstream.settings.row import Setting


@dataclass(frozen=True, slots=True)
class Framing:
    """One way in which a stream separates its events.

    Attributes:
        name: What it is called; the ending of a recording's file name.
        make_decoder: Makes the decoder of one stream.
        media_type: What HTTP calls it.
        looks: Matches the first bytes of a stream of this form, or None where every form may begin like it.
        begins: The beginnings of a stream that ends inside its first event.
        event_ends: The bytes after a whole event.
    """

    name: str
    make_decoder: Callable[[], EventDecoder]
    media_type: str
    looks: re.Pattern[bytes] | None
    begins: tuple[bytes, ...]
    event_ends: tuple[bytes, ...]


SSE: Final = Framing(
    name="sse",
    make_decoder=SSEDecoder,
    media_type="text/event-stream",
    looks=None,
    begins=(b"event:", b"data:", b"id:", b"retry:", b":"),
    event_ends=(b"\n\n", b"\r\r", b"\r\n\r\n"),
)

LENIENT_SSE: Final = replace(SSE, make_decoder=BareJSONDecoder)
"""The same, of servers that also send JSON without a field's name."""

JSON_LINES: Final = Framing(
    name="jsonl",
    make_decoder=JSONLinesDecoder,
    media_type="application/x-ndjson",
    looks=re.compile(rb"\{"),
    begins=(b'{"',),
    event_ends=(b"\n",),
)

# ---- Readers and writers ----

NO_FIELDS: Final[Mapping[str, Any]] = MappingProxyType({})
"""The empty JSON object: the request that lacks everything, see :attr:`RequestWriter.empty_request`."""


class KeyKind(StrEnum):
    """The issuer of a key; some protocols state it in a header of their own."""

    API_KEY = "api-key"
    """The upstream issued it to a person or a program."""
    OIDC = "oidc"
    """An identity provider issued it: a token of OpenID Connect, which expires by itself."""


@dataclass(frozen=True, slots=True)
class EndMark:
    """What a mark that is not an event says about the end of a response.

    Attributes:
        closes: Whether nothing after it is read: the response ends at once. Otherwise the end is near, and the owner of
            the socket waits only briefly for what still comes.
        completes: Whether the response is whole then, even if no event has said so.
    """

    closes: bool = False
    completes: bool = False


@dataclass(frozen=True, slots=True)
class Terminators:
    """The marks, beside its own events, by which a wire ends a response.

    Attributes:
        data: The data of a frame that is no JSON, such as `[DONE]`, and what it means.
    """

    data: Mapping[bytes, EndMark] = field(default_factory=lambda: MappingProxyType({b"[DONE]": EndMark()}))


ENDED_BY_DONE: Final = Terminators(data={b"[DONE]": EndMark(closes=True, completes=True)})
"""The marks of a wire on which `[DONE]` ends the response, as proxies keep the connection open after it."""


def loaded(module: str, name: str) -> Callable[[], Any]:
    """A function that imports a module when it is called, and returns the object that has the name in it.

    Which class the object is of, mypy cannot know; a test checks it for every protocol of this project.
    """
    return cache(lambda: getattr(import_module(module), name))  # each answer calls some


Authorizer: TypeAlias = "Callable[[str, KeyKind], Mapping[str, str]]"
"""Makes the headers that carry a key, given the key and its kind."""


def bearer(key: str, _kind: KeyKind) -> Mapping[str, str]:
    """The header that carries a key as a bearer token (RFC 6750 section 2.1)."""
    return {"authorization": f"Bearer {key}"}


def key_in_header(name: str) -> Authorizer:
    """A function for :attr:`RequestWriter.authorize` that puts the key into a header, such as `x-api-key`."""
    return lambda key, _kind: {name: key}


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The settings of requests that only this protocol has a place for.

    Attributes:
        kind: The frozen dataclass that holds them; made without arguments, it holds the defaults.
        rows: One row for each of its fields, see :mod:`partstream.settings.row`.
        request_fields: The fields of a body that hold the request itself: no setting replaces them.
    """

    kind: type[Any]
    rows: tuple[Setting, ...]
    request_fields: frozenset[str] = frozenset({"model", "messages", "stream"})


@dataclass(frozen=True, slots=True)
class CountEndpoint:
    """An endpoint that counts the tokens of a request before it is sent.

    Attributes:
        question: Makes the request that asks for the count, given the request that is counted as it would be sent.
        answer_field: The field of its answer that holds the number of tokens.
    """

    question: Callable[[WireRequest], WireRequest]
    answer_field: str = "input_tokens"


def count_of_fields(path: str, fields: frozenset[str]) -> Callable[[WireRequest], WireRequest]:
    """A function for :attr:`CountEndpoint.question`: the same body at another path, without what is refused there.

    Args:
        path: The path below the base URL.
        fields: The fields of a request's body that the endpoint takes; it refuses others.
    """
    return lambda request: replace(
        request, path=path, body={name: value for name, value in request.body.items() if name in fields}
    )


class RequestWriter(ABC):
    """Writes requests to the servers of one protocol, and knows how they are asked. It has no state.

    Attributes:
        path: The path of the endpoint below the base URL, for messages and for finding the endpoint; a path that names
            the model holds `{model}` in its place, see :mod:`partstream.protocols.serve`.
        document_headers: The headers of requests without a model, such as the one for the list of models.
        continues: Whether a request can continue a stored response.
        pauses: Whether its servers pause a response, which :meth:`resume` continues.
        count: Where its servers count a request, or None.
        empty_request: A body that lacks the model and the question: a server of this protocol refuses it, or says next
            to nothing, and shows thereby that the endpoint is there. None where servers are not probed in this way.
        own_base_path: The base path of the wire below a host, such as `/api`; empty for a wire beside the others.
        models_path: The path of the list of models, below the path that :meth:`find_model_lists` gives.
        lists_models: Whether its servers list their models; one that does not is asked only where no model is named.
        sets_window: Whether requests set the context window of the model, see :meth:`choose_window`.
        identify: Gives a request an identity of letters and digits that no other has, where each has one; else None.
        loads_models: Whether its servers load a model before they say anything, which takes minutes: the default limit
            of time to the first event does not count then.
    """

    path: str
    errors: Errors = COMMON_ERRORS
    document_headers: Mapping[str, str] = MappingProxyType({})
    continues: bool = False
    pauses: bool = False
    count: CountEndpoint | None = None
    empty_request: Mapping[str, Any] | None = None
    own_base_path: str = ""
    models_path: str = "/models"
    lists_models: bool = True
    sets_window: bool = False
    identify: Callable[[WireRequest, str], WireRequest] | None = None
    loads_models: bool = False

    @abstractmethod
    def write(self, request: ChatRequest) -> WireRequest:
        """Writes a request down.

        Raises:
            RequestNotExpressibleError: The wire has no form for something in it.
        """

    def notes(self, _request: ChatRequest, /) -> tuple[Note, ...]:
        """Notes for the owner of a request about what it holds and the wire has no place for, such as options."""
        return ()

    def conversation_rules(self, _settings: RequestSettings, _model_id: str) -> ConversationRules:
        """What the server of a model accepts in a conversation, given the completed settings."""
        return ANY_CONVERSATION

    def complete_settings(
        self,
        settings: RequestSettings,
        _base_url: str,
        _model: LanguageModelChatInformation,
        _server: KnownServer | None,
    ) -> RequestSettings:
        """Completes the settings of a request with the facts of the base URL, the model and the known server, or None.

        :attr:`partstream.conversation.preparation.RequestSettings.capabilities` has the facts of the list of models
        already.
        """
        return settings

    def authorize(self, key: str, kind: KeyKind) -> Mapping[str, str]:
        """The headers that carry a key."""
        return bearer(key, kind)

    def authorizer(self, _settings: RequestSettings, _server: KnownServer | None) -> Authorizer:
        """The function that makes these headers as a person has set it, or as a known server wants it."""
        return self.authorize

    def find_model_lists(self, base_path: str) -> tuple[str, tuple[str, ...]]:
        """By the path of the base URL, the path above `/models` and the paths of further lists."""
        return base_path, ()

    def leave_out(self, request: WireRequest, _names: Collection[str], /) -> WireRequest:
        """Takes optional fields out of a request that servers refuse, or puts their twins into their place.

        Args:
            _names: The names of :attr:`partstream.protocols.errors.Errors.refused_fields`.
        """
        return request

    def usage_fields(self, _body: Mapping[str, Any], _settings: RequestSettings, _model_id: str) -> Mapping[str, Any]:
        """The fields of the body with which the stream of a client's own request reports its usage; empty where it does
        so by itself, and where the client has asked for it.
        """
        return NO_FIELDS

    def resume(self, request: WireRequest, _paused: Mapping[str, Any]) -> WireRequest:
        """The request that continues a paused response."""
        return request

    def choose_window(self, settings: RequestSettings) -> Fact[int]:
        """The context window that requests to a model set, which is advertised, and why: a person says so, it is the
        one with which the server loads the model, or nothing is known; only where `sets_window` is true."""
        raise NotImplementedError

    @property
    def carries(self) -> Carried:
        """Which state of earlier answers its requests can carry."""
        return Carried.EVERYTHING if self.continues else Carried.ALL_REASONING


@dataclass(frozen=True, slots=True)
class ServerProtocol:
    """A known server that speaks a protocol.

    Attributes:
        server: Its :attr:`partstream.settings.known_servers.KnownServer.name`.
        base_url: The base URL at the server's first host, or where it listens by default; an example for a server with
            another address at each place.
        is_complete: Whether answers, thinking, calls and usage come whole in this protocol there, and provider state
            can go back.
        reason: What is missing, as a clause; empty where it is complete.
        source: The source of this row.
        rank: How much is missing, compared with other protocols that are not complete there: the lower, the less.
    """

    server: str
    base_url: str
    is_complete: bool = True
    reason: str = ""
    source: str = ""
    rank: int = 1

    @property
    def order(self) -> tuple[bool, int]:
        """What a list of the protocols of one server is sorted by, the better one first."""
        return not self.is_complete, self.rank

    def at(self, url: str) -> str:
        """The base URL of this protocol at the host of another URL, such as that of a region or a port of one's own."""
        address = urlsplit(url)
        return urlunsplit((address.scheme, address.netloc, urlsplit(self.base_url).path, "", ""))


@dataclass(frozen=True, slots=True)
class Protocol:
    """One wire protocol.

    Attributes:
        name: What configuration and command line call it.
        read_response: Loads the reader of responses.
        write_request: Loads the writer of requests, or None for a stream without requests.
        read_request: Loads the reader of requests, or None.
        write_response: Loads the writer of responses, or None.
        own_settings: Loads the settings of requests that only it has a place for, or None where it has none.
        framings: The forms that its events come in, that of the wire first.
        tag: The field of an event that says its kind; None where events have no such field.
        ends: How it says that a response is over, beside its own events.
        has_chunks: Whether programs hold its events as objects, without a wire.
        text_event: Makes the event of a chunk that is a text; None where such a chunk is the JSON text of an event.
        title: What a person reads who chooses a protocol; empty for its name.
        says: Which servers speak it, as a phrase.
        spoken_at: Loads the known servers that speak it; None where none is known.
        paths: The patterns of the paths below the base path where a server of ours is asked, each with `{model}` where
            the path names the model; without any, :attr:`RequestWriter.path`, which has to be loaded for that.
        base_paths: The paths of the base URLs of clients, the usual one first.
        request_id_header: The response header in which clients look for the id of their request.
        aliases: Prefixes with which clients may name every model, such as `maker/`.
        greeting: What servers say at their address, which clients look for; "" for nothing.
    """

    name: str
    read_response: Callable[[], type[ResponseReader]]
    write_request: Callable[[], RequestWriter] | None = None
    read_request: Callable[[], RequestReader] | None = None
    write_response: Callable[[], type[ResponseWriter]] | None = None
    own_settings: Callable[[], OwnSettings] | None = None
    framings: tuple[Framing, ...] = (SSE, JSON_LINES)
    tag: str | None = "type"
    ends: Terminators = field(default_factory=Terminators)
    has_chunks: bool = False
    text_event: Callable[[str], WireEvent] | None = None
    title: str = ""
    says: str = ""
    spoken_at: Callable[[], tuple[ServerProtocol, ...]] | None = None
    paths: tuple[str, ...] = ()
    base_paths: tuple[str, ...] = ("/v1",)
    request_id_header: str = "x-request-id"
    aliases: tuple[str, ...] = ()
    greeting: str = ""

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of the paths where a server is asked; none for a stream without requests."""
        return self.paths or (() if self.write_request is None else (self.write_request().path,))

    @property
    def shown_title(self) -> str:
        """The name of the protocol for people."""
        return self.title or self.name

    @property
    def accept(self) -> str:
        """The media type that a request asks for."""
        return self.framings[0].media_type

    def kind(self, event: WireEvent) -> str | None:
        """The kind of an event: None if the event states none, the empty string if the wire has only one kind."""
        if self.tag is None:
            return ""
        kind = event.get(self.tag)
        return kind if isinstance(kind, str) else None


# ---- Registry ----

AUTO: Final = "auto"
"""The value of the setting `protocol` that detects the protocol of an upstream; the name of no protocol."""
DEFAULT_PROTOCOL: Final = "openresponses"
"""The protocol of a stream where nothing names one."""
DEFAULT_CHUNK_PROTOCOL: Final = "ai-sdk"
"""The protocol of the events that a program most likely holds as objects."""
PLAIN_MESSAGES: Final = "chat-completions"
"""The protocol whose form of a message programs know: a dict of role and content."""

ENTRY_POINT_GROUP: Final = "partstream.protocols"

_MODULES: Final[Mapping[str, str]] = {
    "openresponses": "partstream.protocols.openresponses",
    "chat-completions": "partstream.protocols.chat_completions",
    "anthropic-messages": "partstream.protocols.anthropic_messages",
    "gemini": "partstream.protocols.gemini",
    "gemini-interactions": "partstream.protocols.gemini_interactions",
    "ollama": "partstream.protocols.ollama",
    "ai-sdk": "partstream.protocols.ai_sdk:FULL_STREAM",
    "ai-sdk-ui": "partstream.protocols.ai_sdk:UI_STREAM",
    "ai-sdk-data": "partstream.protocols.ai_sdk:DATA_STREAM",
    "ai-sdk-text": "partstream.protocols.ai_sdk:TEXT_STREAM",
    "ai-gateway": "partstream.protocols.ai_gateway",
    "ag-ui": "partstream.protocols.ag_ui",
}
"""The module of each of ours, and its name there where that is not `PROTOCOL`."""

_OF_COMPLETIONS: Final[Mapping[str, str]] = {
    f"completions-{name}": f"partstream.protocols.completions:{name.replace('-', '_').upper()}"
    for name in ("suffix", "prefix", "template", "infill", "mistral", "ollama", "ollama-template")
}
"""The same of the endpoints that complete text: they carry no conversation, so no list has them."""

BUILT_IN_PROTOCOLS: Final = tuple(_MODULES)

_OTHER_NAMES: Final[Mapping[str, str]] = {
    other: name
    for name, others in (
        ("openresponses", ("responses", "openai-responses")),
        ("chat-completions", ("openai", "chat", "completions", "openai-chat")),
        ("anthropic-messages", ("anthropic", "claude", "messages")),
        ("gemini", ("google",)),
        ("gemini-interactions", ("interactions",)),
        ("ai-sdk", ("vercel",)),
        ("ai-sdk-text", ("text",)),
        ("ag-ui", ("agui",)),
    )
    for other in others
}
"""What people call protocols, such as the servers that speak them."""

ProtocolName: TypeAlias = Literal[
    "auto",
    "openresponses", "responses", "openai-responses",
    "chat-completions", "openai", "chat", "completions", "openai-chat",
    "anthropic-messages", "anthropic", "claude", "messages",
    "gemini", "google", "gemini-interactions", "interactions", "ollama",
    "ai-sdk", "vercel", "ai-sdk-ui", "ai-sdk-data", "ai-sdk-text", "text", "ai-gateway", "ag-ui", "agui",
]  # fmt: skip
"""What a protocol is called: its name, one of its other names, or `auto` for the one that the bytes show. The protocol
of an installed package is given as :data:`PROTOCOLS` has it, `PROTOCOLS["its-name"]`."""


class ProtocolLoadError(PartstreamError):
    """The protocol of an installed package cannot be loaded."""

    def __init__(self, name: str, package: str, reason: str) -> None:
        super().__init__(f"cannot load the protocol {name!r} of the package {package}: {reason}")
        self.name = name
        self.package = package
        self.reason = reason


class UnknownProtocolError(CallerError, KeyError):
    """No protocol has this name.

    Attributes:
        meant: The known name that comes closest; None where none does.
    """

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.known = known
        from difflib import get_close_matches  # noqa: PLC0415 - for an error alone

        wanted = "-".join(name.lower().replace("_", " ").replace(".", " ").split())
        found = get_close_matches(wanted, (*known, *_OTHER_NAMES), n=1)
        self.meant = _OTHER_NAMES.get(found[0], found[0]) if found else None

    def __str__(self) -> str:
        hint = "" if self.meant is None else f"; did you mean {self.meant!r}?"
        return f"protocol: got {self.name!r}, expected one of {', '.join(self.known)}{hint}"


class Protocols(Mapping[str, Protocol]):
    """All protocols by name. Each is loaded on first use; the package's own names win over those of other packages.

    A protocol is also found by its other names, such as `openai`; the names of installed packages win over these.
    """

    def __getitem__(self, name: str) -> Protocol:
        """The protocol with this name.

        Raises:
            UnknownProtocolError: There is none; a `KeyError` too.
            ProtocolLoadError: A package promises it, and it cannot be loaded.
        """
        return _loaded(name)

    def __contains__(self, name: object) -> bool:
        """Tells whether a protocol has this name; loads nothing."""
        return name in _MODULES or name in _OTHER_NAMES or name in _entry_points()

    def __iter__(self) -> Iterator[str]:
        """The names; those of this package come first."""
        yield from _MODULES
        yield from (name for name in _entry_points() if name not in _MODULES)

    def __len__(self) -> int:
        return len(list(iter(self)))


PROTOCOLS: Final = Protocols()
"""All protocols by name: those of this package, then those that installed packages add."""


@cache
def _entry_points() -> Mapping[str, Addition]:
    """The entry points of installed packages; the first of two with one name."""
    return {name: point for name, point in added(ENTRY_POINT_GROUP).items() if name != AUTO}


@cache
def _loaded(name: str) -> Protocol:
    if (place := _MODULES.get(name) or _OF_COMPLETIONS.get(name)) is not None:
        module, _, attribute = place.partition(":")
        protocol: Protocol = getattr(import_module(module), attribute or "PROTOCOL")
        return protocol
    point = _entry_points().get(name)
    if point is None and name in _OTHER_NAMES:
        return PROTOCOLS[_OTHER_NAMES[name]]
    if point is None:
        raise UnknownProtocolError(name, tuple(PROTOCOLS))
    package = point.package
    try:
        added: Any = point.load()
    except Exception as error:
        raise ProtocolLoadError(name, package, f"{type(error).__name__}: {error}") from error
    if not isinstance(added, Protocol):
        raise ProtocolLoadError(
            name, point.package, f"got {type(added).__name__} from {point.value}, expected a Protocol"
        )
    if added.name != name:
        raise ProtocolLoadError(name, package, f"got a Protocol named {added.name!r}, expected {name!r}")
    return added


def loadable_protocols() -> tuple[dict[str, Protocol], tuple[ProtocolLoadError, ...]]:
    """All protocols that can be loaded, and the errors of the others: one broken package hides no other protocol."""
    loaded: dict[str, Protocol] = {}
    failures: list[ProtocolLoadError] = []
    for name in PROTOCOLS:
        try:
            loaded[name] = PROTOCOLS[name]
        except ProtocolLoadError as error:
            failures.append(error)
    return loaded, tuple(failures)


def asked_protocols() -> tuple[str, ...]:
    """The names of the protocols that write requests: the values of the setting `protocol`."""
    return tuple(name for name, one in loadable_protocols()[0].items() if one.write_request is not None)


def asking(name: str) -> RequestWriter:
    """The writer of a protocol's requests.

    Raises:
        KeyError: There is no such protocol, or it writes no requests.
        ProtocolLoadError: A package promises it, and it cannot be loaded.
    """
    load = PROTOCOLS[name].write_request
    if load is None:
        raise KeyError(name)
    return load()


def chunk_protocols() -> tuple[str, ...]:
    """The names of the protocols whose events programs hold as objects, the most likely one first."""
    names = [name for name, one in loadable_protocols()[0].items() if one.has_chunks]
    return tuple(sorted(names, key=DEFAULT_CHUNK_PROTOCOL.__ne__))


def known_framings() -> dict[str, Framing]:
    """The framings of all protocols, by their names; the first of several with one name."""
    known: dict[str, Framing] = {}
    for one in loadable_protocols()[0].values():
        for framing in one.framings:
            known.setdefault(framing.name, framing)
    return known


def spoken_at(server: str) -> tuple[tuple[str, ServerProtocol], ...]:
    """The protocols that a known server speaks, by name, each with its row; the better one first.

    A protocol that is complete there is better than one that is not, and of two that are not the one that lacks less;
    among equals the order of the names decides.

    Args:
        server: The :attr:`partstream.settings.known_servers.KnownServer.name`.
    """
    rows = [
        (name, row)
        for name, one in loadable_protocols()[0].items()
        if one.spoken_at is not None
        for row in one.spoken_at()
        if row.server == server
    ]
    return tuple(sorted(rows, key=lambda found: found[1].order))


def __getattr__(name: str) -> Any:
    return renamed(__name__, name)
