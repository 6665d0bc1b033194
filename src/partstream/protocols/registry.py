"""The protocols that there are, one row each: the only place outside their folders that names them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.carried import Carried
from partstream.protocols.reader import StreamReader
from partstream.sse import JSONLinesDecoder, SSEDecoder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.errors import UpstreamError
    from partstream.sse import EventDecoder
    from partstream.streams import ResponseStream, StreamOptions

__all__ = ["DEFAULT_PROTOCOL", "PROTOCOLS", "Protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A wire protocol.

    Attributes:
        name: What configuration and command line call it.
        stream: Where its adapter is, as `module:attribute`; loaded when first needed.
        frequent: Where the table of frequent event types is, see
            :class:`partstream.protocols.reader.StreamReader`.
        request: Where the function is that writes a :class:`partstream.conversation.chat_request.ChatRequest` down, as
            `module:attribute`.
        refuses_response_id: Where the function is that tells whether an error of the upstream says that it does not
            know the response to go on from.
        refuses_reasoning: The same for encrypted reasoning that it does not take back.
        path: The path of its endpoint below the base URL.
        event_types: How the `type` of its events begins; tells what a recording holds.
    """

    name: str
    stream: str
    frequent: str
    request: str
    refuses_response_id: str
    refuses_reasoning: str
    path: str
    event_types: tuple[str, ...]

    def make_stream(self, options: StreamOptions) -> ResponseStream:
        """A new adapter for one response."""
        adapter: ResponseStream = _load(self.stream)(options)
        return adapter

    def make_reader(self, options: StreamOptions, decoder: EventDecoder) -> StreamReader:
        """A new reader of one response, from its bytes to the adapter's outputs."""
        return StreamReader(decoder, self.make_stream(options), _load(self.frequent))

    def build_request(self, request: ChatRequest) -> dict[str, Any]:
        """The JSON body of a request.

        Raises:
            RequestNotExpressibleError: Something in it has no form in this protocol.
        """
        body: dict[str, Any] = _load(self.request)(request)
        return body

    def refused(self, error: UpstreamError) -> Carried:
        """Which carried state an error refuses; nothing where it is about something else."""
        response = Carried.RESPONSE if _load(self.refuses_response_id)(error) else Carried.NOTHING
        return response | (Carried.REASONING if _load(self.refuses_reasoning)(error) else Carried.NOTHING)


PROTOCOLS: Final[Mapping[str, Protocol]] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="openresponses",
            stream="partstream.protocols.openresponses.stream:OpenResponsesStream",
            frequent="partstream.protocols.openresponses.stream:FREQUENT",
            request="partstream.protocols.openresponses.request:build_request",
            refuses_response_id="partstream.protocols.openresponses.request:refuses_response_id",
            refuses_reasoning="partstream.protocols.openresponses.request:refuses_reasoning",
            path="/responses",
            event_types=("response.", "error"),
        ),
    )
}

DEFAULT_PROTOCOL: Final = "openresponses"

FRAMINGS: Final[Mapping[str, Callable[[], EventDecoder]]] = {"sse": SSEDecoder, "jsonl": JSONLinesDecoder}
"""How the events of a recording are told apart, by the ending of its file."""


def _load(place: str) -> Any:
    module, attribute = place.split(":")
    return getattr(import_module(module), attribute)
