"""The paths of the replay upstream, each with its protocol, and a scenario as events of a protocol; knows no socket.

The upstream serves every protocol that reads requests and writes responses, including those of installed packages.
Only tables here name a protocol.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import dumps
from partstream.outputs import Finish, Reply, Unmapped
from partstream.protocols.model_paths import fits_path, literal_size
from partstream.protocols.registry import DEFAULT_PROTOCOL, loadable_protocols
from partstream.serving.endpoints import Endpoint as ServingEndpoint
from partstream.serving.endpoints import endpoints_of as endpoints_in
from partstream.testing.directives import NamedValue
from partstream.testing.refusals import check_request, check_signed_state
from partstream.testing.scripted import identifier, play
from partstream.testing.steps import END_OF_STREAM, START_OF_STREAM, UNNAMED, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from partstream.outputs import Asked, StreamOutput
    from partstream.protocols.protocol import Protocol, WireEvent, WireRequest

__all__ = [
    "ARGUMENT_SIZE",
    "BASE_PATHS",
    "DEFAULT_PATH",
    "ENDPOINTS",
    "Endpoint",
    "endpoint_at",
    "endpoints_of",
    "reply_identity",
    "scenario_events",
]

ARGUMENT_SIZE: Final = 7
"""The most characters of a call's arguments in one event, so that most calls take several events."""


@dataclass(frozen=True, slots=True)
class Endpoint(ServingEndpoint):
    """A path that speaks a protocol, as a server of that protocol does: with its refusals and its errors."""

    def check(self, request: WireRequest, asked: Asked) -> None:
        """Refuses a request as a real server of this protocol does.

        Raises:
            RefusedRequestError: It is refused, in that server's words.
            InvalidRequestError: A call has no result, a result has no call, or a signature does not fit.
        """
        if self.reads.refuse is not None:
            self.reads.refuse(request)
        if self.reads.signed_state is not None:
            check_signed_state(self.reads.signed_state(request), asked.model)
        check_request(asked)

    def error(self, status: int, message: str) -> WireEvent:
        """The JSON object of an HTTP error."""
        said = self.writes.error(status, message)
        return said | _BESIDE_ERRORS.get(self.protocol.name, _nothing)(f"{status}/{message}")

    def events(self, asked: Asked, outputs: Iterable[StreamOutput], reply: Reply) -> Iterator[WireEvent]:
        """The events of an answer, each made on demand."""
        writer = self.writes.open(asked, reply)
        return (event for output in outputs for event in writer.write(output))

    def sends(self, asked: Asked, outputs: Iterable[StreamOutput], reply: Reply) -> Iterator[Send]:
        """The events of an answer as bytes; the first event of each part begins a piece of the answer."""
        writer = self.writes.open(asked, reply)
        form = self.writes.stream_form(asked)
        if form.start:
            yield Send(form.start, START_OF_STREAM)
        before = b""
        for output in outputs:
            is_piece = not isinstance(output, Finish | Unmapped)
            for event in writer.write(output):
                data = form.frame(event)
                yield Send(before + data, self.protocol.kind(event) or UNNAMED, is_piece, form.separator + data)
                before, is_piece = form.separator, False
        if form.end:
            yield Send(form.end, END_OF_STREAM)


def _nothing(_what: str) -> dict[str, Any]:
    return {}


_BESIDE_ERRORS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    # Identifies the request for support: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146.
    "ai-gateway": lambda what: {"generationId": identifier("gen", what)},
}
"""Additional fields of an HTTP error, by protocol."""


def endpoints_of(protocols: Iterable[Protocol]) -> dict[str, Endpoint]:
    """The endpoints by path, of the protocols that read requests and write responses."""
    return endpoints_in(protocols, Endpoint)


ENDPOINTS: Final[Mapping[str, Endpoint]] = endpoints_of(loadable_protocols()[0].values())
"""All endpoints, by the patterns of their paths."""

DEFAULT_PATH: Final = next(path for path, one in ENDPOINTS.items() if one.protocol.name == DEFAULT_PROTOCOL)

BASE_PATHS: Final[Mapping[str, str]] = {
    name: next(one.base_path for one in ENDPOINTS.values() if one.protocol.name == name)
    for name in dict.fromkeys(one.protocol.name for one in ENDPOINTS.values())
}
"""The path of the base URL for clients, by the protocol's name."""


def endpoint_at(path: str) -> Endpoint:
    """The endpoint at the path of a request.

    Raises:
        KeyError: None is there.
    """
    fitting = [pattern for pattern in ENDPOINTS if fits_path(pattern, path)]
    if not fitting:
        raise KeyError(path)
    return ENDPOINTS[max(fitting, key=literal_size)]


def scenario_events(
    name: str,
    body: Mapping[str, Any],
    value: str = "",
    path: str = DEFAULT_PATH,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> list[WireEvent]:
    """All events of a scenario's answer to a request, without a server.

    Args:
        name: A name in :data:`partstream.testing.scenarios.SCENARIOS`.
        body: The JSON object of the request.
        value: The value of the scenario, such as `500` in `scenario:long=500`.
        path: The path of a request whose protocol the body and the events are in.
        headers: The headers of the request, names in lower case.

    Raises:
        UnknownScenarioError: The scenario or its value is unknown.
        InvalidRequestError: The body is not a valid request.
    """
    endpoint = endpoint_at(path)
    asked = endpoint.reads.read(endpoint.request(path, body, headers))
    reply = Reply(reply_identity(body, 0), 0, ARGUMENT_SIZE)
    return list(endpoint.events(asked, play(NamedValue(name, value), asked, reply.identity), reply))


def reply_identity(body: Mapping[str, Any], number: int) -> str:
    """The text from which all identifiers of a reply derive: the request's digest and number."""
    return f"{number}-{hashlib.sha256(dumps(body)).hexdigest()}"
