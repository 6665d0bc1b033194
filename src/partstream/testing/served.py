"""The paths of the replay upstream, each with its protocol, and a scenario as events of a protocol; knows no socket.

The upstream serves every protocol that reads requests and writes responses, including those of installed packages.
"""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.lm.outputs import Reply
from partstream.protocols.protocol import DEFAULT_PROTOCOL, loadable_protocols
from partstream.protocols.serve import fits_path, literal_size
from partstream.server.requests import Endpoint, endpoints_of
from partstream.testing.directives import NamedValue
from partstream.testing.scripted import play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import WireEvent

__all__ = [
    "ARGUMENT_SIZE",
    "BASE_PATHS",
    "DEFAULT_PATH",
    "ENDPOINTS",
    "endpoint_at",
    "reply_identity",
    "scenario_events",
]

ARGUMENT_SIZE: Final = 7
"""The most characters of a call's arguments in one event, so that most calls take several events."""


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
    writer = endpoint.writes.open(asked, reply)
    outputs = play(NamedValue(name, value), asked, reply.identity)
    return [event for output in outputs for event in writer.write(output)]


def reply_identity(body: Mapping[str, Any], number: int) -> str:
    """The text from which all identifiers of a reply derive: the request's digest and number."""
    return f"{number}-{hashlib.sha256(dumps(body)).hexdigest()}"
