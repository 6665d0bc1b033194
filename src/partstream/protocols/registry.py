"""The protocols that there are, one row each: the only place outside their folders that names them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.carried import Carried
from partstream.conversation.settings import PROTOCOL_SETTINGS
from partstream.protocols.reader import StreamReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.conversation.settings import RequestSettings
    from partstream.errors import UpstreamError
    from partstream.outputs import ResponseStream, StreamOptions
    from partstream.protocols.claims import Claim
    from partstream.protocols.key_kind import KeyKind
    from partstream.sse import EventDecoder

__all__ = [
    "CHUNK_PROTOCOLS",
    "DEFAULT_PROTOCOL",
    "FRAMINGS",
    "PROTOCOLS",
    "UPSTREAM_PROTOCOLS",
    "Protocol",
    "Upstream",
    "make_decoder",
]


@dataclass(frozen=True, slots=True)
class Upstream:
    """How a server is asked that answers in a protocol. Functions are named as `module:attribute` and loaded when first
    needed.

    Attributes:
        request: Where the function is that writes a :class:`partstream.conversation.chat_request.ChatRequest` down.
        path: The path of its endpoint below the base URL.
        headers: Where the function is that gives the headers of a request beside those of every request, or None.
        document_headers: The same for requests that ask no model, such as for a list of models.
        model_lists: Where the function is that says where models are listed, or None for `/models` behind the base URL.
        settings: Where the function is that completes the settings of requests by what the base URL says, or None.
        own_settings: Which of :data:`partstream.conversation.settings.PROTOCOL_SETTINGS` it has a place for.
        continues: Whether a request can go on from a stored response.
        refuses_response_id: Where the function is that tells whether an error of the upstream says that it does not
            know the response to go on from; None where nothing of the kind is ever sent.
        refuses_reasoning: The same for reasoning that it does not take back.
    """

    request: str
    path: str
    headers: str | None = None
    document_headers: str | None = None
    model_lists: str | None = None
    settings: str | None = None
    own_settings: frozenset[str] = frozenset()
    continues: bool = False
    refuses_response_id: str | None = None
    refuses_reasoning: str | None = None

    def build_request(self, request: ChatRequest) -> dict[str, Any]:
        """The JSON body of a request.

        Raises:
            RequestNotExpressibleError: Something in it has no form in this protocol.
        """
        body: dict[str, Any] = _load(self.request)(request)
        return body

    def build_headers(self, request: ChatRequest, key_kind: KeyKind | None) -> Mapping[str, str]:
        """The headers that the protocol has for a request; what the configuration says wins over them.

        Args:
            request: What is asked.
            key_kind: What kind of key goes with it, or None for none.

        Raises:
            RequestNotExpressibleError: No header can hold what has to be in one.
        """
        if self.headers is None:
            return MappingProxyType({})
        headers: Mapping[str, str] = _load(self.headers)(request, key_kind)
        return headers

    def build_document_headers(self, key_kind: KeyKind | None) -> Mapping[str, str]:
        """The headers that the protocol has for a request that asks no model."""
        if self.document_headers is None:
            return MappingProxyType({})
        headers: Mapping[str, str] = _load(self.document_headers)(key_kind)
        return headers

    def find_model_lists(self, base_path: str) -> tuple[str, tuple[str, ...]]:
        """The path that `/models` stands below, and the paths of further lists, by the path of the base URL."""
        if self.model_lists is None:
            return base_path, ()
        lists: tuple[str, tuple[str, ...]] = _load(self.model_lists)(base_path)
        return lists

    def complete_settings(self, settings: RequestSettings, base_url: str) -> RequestSettings:
        """The settings of a request, with what the base URL says where they say nothing."""
        if self.settings is None:
            return settings
        completed: RequestSettings = _load(self.settings)(settings, base_url)
        return completed

    @property
    def carries(self) -> Carried:
        """Which state of earlier answers its requests can carry."""
        return Carried.EVERYTHING if self.continues else Carried.REASONING

    def refused(self, error: UpstreamError) -> Carried:
        """Which carried state an error refuses; nothing where it is about something else."""
        questions = ((self.refuses_response_id, Carried.RESPONSE), (self.refuses_reasoning, Carried.REASONING))
        refused = Carried.NOTHING
        for question, carried in questions:
            if question is not None and _load(question)(error):
                refused |= carried
        return refused


@dataclass(frozen=True, slots=True)
class Protocol:
    """A wire protocol that can be read.

    Attributes:
        name: What configuration and command line call it.
        stream: Where its adapter is, as `module:attribute`; loaded when first needed.
        frequent: Where the table of frequent event types is, see
            :class:`partstream.protocols.reader.StreamReader`.
        claims: Where the function is that tells from the type of an event, or None, and the event whether it is one of
            its own, as a :class:`partstream.protocols.claims.Claim`; tells what a recording holds.
        framings: Names of :data:`FRAMINGS` that its events come in, that of the wire first.
        upstream: How a server is asked that speaks it, or None for what can only be read.
        has_chunks: Whether its events are the chunks of a stream that programs hold as objects.
        terminator: The event that `[DONE]` stands for where that may be all that is said of the end, or None.
    """

    name: str
    stream: str
    frequent: str
    claims: str
    framings: tuple[str, ...] = ("sse", "jsonl")
    upstream: Upstream | None = None
    has_chunks: bool = False
    terminator: Mapping[str, str] | None = None

    def claim(self, kind: str | None, event: dict[str, Any]) -> Claim:
        """How sure it is that an event is one of its own."""
        claim: Claim = _load(self.claims)(kind, event)
        return claim

    def make_stream(self, options: StreamOptions) -> ResponseStream:
        """A new adapter for one response."""
        adapter: ResponseStream = _load(self.stream)(options)
        return adapter

    def make_reader(self, options: StreamOptions, decoder: EventDecoder | None = None) -> StreamReader:
        """A new reader of one response, from its bytes to the adapter's outputs.

        Args:
            options: How the adapter renders what it reads.
            decoder: Tells the events apart; None for the framing of the wire.
        """
        return StreamReader(
            decoder or make_decoder(self.framings[0]),
            self.make_stream(options),
            _load(self.frequent),
            self.terminator,
        )


PROTOCOLS: Final[Mapping[str, Protocol]] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="openresponses",
            stream="partstream.protocols.openresponses.stream:OpenResponsesStream",
            frequent="partstream.protocols.openresponses.stream:FREQUENT",
            claims="partstream.protocols.openresponses.stream:claims",
            upstream=Upstream(
                request="partstream.protocols.openresponses.request:build_request",
                path="/responses",
                continues=True,
                own_settings=frozenset({"truncation", "compact_at"}),
                refuses_response_id="partstream.protocols.openresponses.request:refuses_response_id",
                refuses_reasoning="partstream.protocols.openresponses.request:refuses_reasoning",
            ),
        ),
        Protocol(
            name="ai-sdk",
            stream="partstream.protocols.ai_sdk.dialects:full_stream",
            frequent="partstream.protocols.ai_sdk.stream:FREQUENT",
            has_chunks=True,
            claims="partstream.protocols.ai_sdk.dialects:claims_full_stream",
            framings=("jsonl", "sse"),
        ),
        Protocol(
            name="ai-sdk-ui",
            stream="partstream.protocols.ai_sdk.dialects:ui_stream",
            frequent="partstream.protocols.ai_sdk.stream:FREQUENT",
            has_chunks=True,
            terminator=MappingProxyType({"type": "finish"}),  # an application's own stream need not say more
            claims="partstream.protocols.ai_sdk.dialects:claims_ui_stream",
        ),
        Protocol(
            name="ai-sdk-data",
            stream="partstream.protocols.ai_sdk.dialects:data_stream",
            frequent="partstream.protocols.ai_sdk.stream:FREQUENT",
            has_chunks=True,
            claims="partstream.protocols.ai_sdk.dialects:claims_data_stream",
            framings=("data",),
        ),
        Protocol(
            name="ai-gateway",
            stream="partstream.protocols.ai_sdk.dialects:provider_stream",
            frequent="partstream.protocols.ai_sdk.stream:FREQUENT",
            has_chunks=True,
            claims="partstream.protocols.ai_sdk.dialects:claims_provider_stream",
            upstream=Upstream(
                request="partstream.protocols.ai_gateway.request:build_request",
                path="/language-model",
                headers="partstream.protocols.ai_gateway.headers:build_headers",
                document_headers="partstream.protocols.ai_gateway.headers:document_headers",
                model_lists="partstream.protocols.ai_gateway.model_lists:model_lists",
                settings="partstream.protocols.ai_gateway.specification:complete_settings",
                own_settings=PROTOCOL_SETTINGS - {"truncation", "compact_at"},
                refuses_reasoning="partstream.protocols.ai_gateway.refusals:refuses_reasoning",
            ),
        ),
    )
}

UPSTREAM_PROTOCOLS: Final[Mapping[str, Upstream]] = {
    protocol.name: protocol.upstream for protocol in PROTOCOLS.values() if protocol.upstream is not None
}
"""Those that a server can be asked in: what the setting `protocol` may say."""

CHUNK_PROTOCOLS: Final[Mapping[str, Protocol]] = {
    protocol.name: protocol for protocol in PROTOCOLS.values() if protocol.has_chunks
}
"""Those whose events a program may have as objects, without a wire: the first is the one that it most likely has."""

DEFAULT_PROTOCOL: Final = "openresponses"

FRAMINGS: Final[Mapping[str, str]] = {
    "sse": "partstream.sse:SSEDecoder",
    "jsonl": "partstream.sse:JSONLinesDecoder",
    "data": "partstream.protocols.ai_sdk.data_stream:DataStreamDecoder",
}
"""How the events of a stream are told apart, by the ending of a recording; and where the decoder is."""


def make_decoder(framing: str) -> EventDecoder:
    """A new decoder for one stream.

    Args:
        framing: A name of :data:`FRAMINGS`.
    """
    decoder: EventDecoder = _load(FRAMINGS[framing])()
    return decoder


def _load(place: str) -> Any:
    module, attribute = place.split(":")
    return getattr(import_module(module), attribute)
