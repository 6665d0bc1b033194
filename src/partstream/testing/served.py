"""Which protocols the replay upstream serves at which paths, and a scenario as the events of one; knows no socket.

Served is every protocol that can be asked and can answer, also one of an installed package: nothing but the table of
its paths knows it by name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import dumps
from partstream.outputs import Finish, Reply, Unmapped
from partstream.protocols.protocol import KeyKind, WireRequest
from partstream.protocols.registry import DEFAULT_PROTOCOL, loadable_protocols
from partstream.testing.directives import Choice
from partstream.testing.model_lists import gateway_config, model_list
from partstream.testing.scripted import identifier, play
from partstream.testing.steps import END_OF_STREAM, UNNAMED, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from partstream.outputs import Asked, StreamOutput
    from partstream.protocols.protocol import Protocol, ReadRequest, WireEvent, WriteRequest, WriteResponse

__all__ = [
    "ARGUMENT_SIZE",
    "BASE_PATHS",
    "DEFAULT_PATH",
    "ENDPOINTS",
    "MODEL_LISTS",
    "Endpoint",
    "endpoints_of",
    "reply_identity",
    "scenario_events",
]

ARGUMENT_SIZE: Final = 7
"""Characters of a call's arguments in one event: no call is whole before its last."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path at which a protocol is spoken.

    Attributes:
        protocol: What is spoken.
        base_path: The path of the base URL that a client is given.
        asks: The corner that asks: the path below that, and the header of the key.
        reads: The corner that is asked.
        writes: The corner that answers.
    """

    protocol: Protocol
    base_path: str
    asks: WriteRequest
    reads: ReadRequest
    writes: WriteResponse

    @property
    def path(self) -> str:
        """The whole path."""
        return self.base_path + self.asks.path

    def key_headers(self, key: str) -> dict[str, str]:
        """The headers that carry a key in this protocol."""
        headers = self.asks.authorize(key, KeyKind.API_KEY)
        return {name: value for name, value in headers.items() if key in value}

    def read(self, body: Mapping[str, Any], headers: Mapping[str, str], query: str = "") -> Asked:
        """What a request asks.

        Raises:
            InvalidRequestError: It is not what the protocol asks for.
        """
        return self.reads.read(WireRequest(self.asks.path, body, headers, query))

    def error(self, status: int, message: str) -> WireEvent:
        """The JSON object of an HTTP error."""
        said = self.writes.error(status, message)
        return said | _BESIDE_ERRORS.get(self.protocol.name, _nothing)(f"{status}/{message}")

    def events(self, asked: Asked, outputs: Iterable[StreamOutput], reply: Reply) -> Iterator[WireEvent]:
        """The events of an answer, as they are made."""
        writer = self.writes.open(asked, reply)
        return (event for output in outputs for event in writer.write(output))

    def sends(self, asked: Asked, outputs: Iterable[StreamOutput], reply: Reply) -> Iterator[Send]:
        """The same as the bytes that are sent; the first event of each part begins a piece of the answer."""
        writer = self.writes.open(asked, reply)
        for output in outputs:
            is_piece = not isinstance(output, Finish | Unmapped)
            for event in writer.write(output):
                yield Send(self.writes.frame(event), self.protocol.kind(event) or UNNAMED, is_piece)
                is_piece = False
        if self.writes.end_of_stream:
            yield Send(self.writes.end_of_stream, END_OF_STREAM)


def _nothing(_what: str) -> dict[str, Any]:
    return {}


_BESIDE_ERRORS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    # By which the people behind the gateway find a request: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146.
    "ai-gateway": lambda what: {"generationId": identifier("gen", what)},
}
"""What servers of a protocol say beside an error."""

_USUAL_BASE_PATHS: Final = ("/v1",)

# The version of the specification that the published client of each major speaks at each path.
_GATEWAY_PATHS: Final = {"/v3/ai": "3", "/v1/ai": "2", "/v4/ai": "4"}

_BASE_PATHS: Final[Mapping[str, tuple[str, ...]]] = {"ai-gateway": tuple(_GATEWAY_PATHS)}
"""The paths of the base URLs of protocols that do not stand below the usual one; the first is given to clients."""


def endpoints_of(protocols: Iterable[Protocol]) -> dict[str, Endpoint]:
    """What is spoken at each path, for those of the protocols that can be asked and can answer.

    Of two that stand at one path the first is served.
    """
    endpoints: dict[str, Endpoint] = {}
    for protocol in protocols:
        asks, reads, writes = protocol.write_request, protocol.read_request, protocol.write_response
        if asks is not None and reads is not None and writes is not None:
            for base_path in _BASE_PATHS.get(protocol.name, _USUAL_BASE_PATHS):
                endpoint = Endpoint(protocol, base_path, asks(), reads(), writes())
                endpoints.setdefault(endpoint.path, endpoint)
    return endpoints


ENDPOINTS: Final[Mapping[str, Endpoint]] = endpoints_of(loadable_protocols()[0].values())
"""What is spoken at each path."""

DEFAULT_PATH: Final = next(path for path, one in ENDPOINTS.items() if one.protocol.name == DEFAULT_PROTOCOL)

BASE_PATHS: Final[Mapping[str, str]] = {one.protocol.name: one.base_path for one in reversed(list(ENDPOINTS.values()))}
"""The path of the base URL that a client of each protocol is given, by the protocol's name."""

MODEL_LISTS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "/v1/models": model_list,
    **{f"{path}/config": partial(gateway_config, version) for path, version in _GATEWAY_PATHS.items()},
}
"""What each path says of the models."""


def scenario_events(
    name: str,
    body: Mapping[str, Any],
    value: str = "",
    path: str = DEFAULT_PATH,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> list[WireEvent]:
    """The whole stream that a scenario answers to a request, without a server.

    Args:
        name: A name out of :data:`partstream.testing.scenarios.SCENARIOS`.
        body: The request's JSON object.
        value: What would stand after the name, as in `scenario:long=500`.
        path: The path whose protocol the body and the events are in.
        headers: Those of the request, names in lower case.

    Raises:
        UnknownScenarioError: There is no such scenario.
        InvalidRequestError: The body is not a request.
    """
    endpoint = ENDPOINTS[path]
    asked = endpoint.read(body, headers)
    reply = Reply(reply_identity(body, 0), 0, ARGUMENT_SIZE)
    return list(endpoint.events(asked, play(Choice(name, value), asked, reply.identity), reply))


def reply_identity(body: Mapping[str, Any], number: int) -> str:
    """What the identifiers of a reply are derived from: the request, and which of its server's requests it is."""
    return f"{number}-{hashlib.sha256(dumps(body)).hexdigest()}"
