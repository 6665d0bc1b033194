"""Which protocols the replay upstream serves, and a scenario as the events of one; knows no socket."""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import dumps
from partstream.outputs import Reply
from partstream.protocols.ai_gateway.serve import PROTOCOL as AI_GATEWAY
from partstream.protocols.ai_gateway.serve import config, model_entry
from partstream.protocols.openresponses.serve import PROTOCOL as OPENRESPONSES
from partstream.testing.scenarios import find_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.protocols.serving import ServedProtocol

__all__ = ["BASE_PATHS", "DEFAULT_PATH", "MODEL_LISTS", "SERVED_PROTOCOLS", "reply_identity", "scenario_events"]

DEFAULT_PATH: Final = "/v1/responses"

# The version of the specification that the published client of each major speaks at each path.
_GATEWAY_PATHS: Final = {"/v1/ai": "2", "/v3/ai": "3", "/v4/ai": "4"}

SERVED_PROTOCOLS: Final[dict[str, ServedProtocol]] = {
    DEFAULT_PATH: OPENRESPONSES,
    **{f"{path}/language-model": AI_GATEWAY for path in _GATEWAY_PATHS},
}
"""The protocol that is spoken at each path; a further one is a further row."""

BASE_PATHS: Final[dict[str, str]] = {"openresponses": "/v1", "ai-gateway": "/v3/ai"}
"""The path of the base URL that a client of each protocol is given, by the protocol's name."""


def _model_list(names: Iterable[str]) -> dict[str, Any]:
    """OpenAI's list; each model with what the AI Gateway's list of the same form says beside."""
    head = {"object": "model", "created": 0, "owned_by": "partstream"}
    return {"object": "list", "data": [{"id": name, **head, **model_entry(name)} for name in names]}


def _config(version: str) -> Callable[[Iterable[str]], dict[str, Any]]:
    return lambda names: config(names, version)


MODEL_LISTS: Final[dict[str, Callable[[Iterable[str]], dict[str, Any]]]] = {
    "/v1/models": _model_list,
    **{f"{path}/config": _config(version) for path, version in _GATEWAY_PATHS.items()},
}
"""What each path says of the models, given their names."""


def scenario_events(
    name: str,
    body: Mapping[str, Any],
    value: str = "",
    path: str = DEFAULT_PATH,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, Any]]:
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
    protocol = SERVED_PROTOCOLS[path]
    request = protocol.read_request(body, headers)
    answer = find_scenario(name)(request, value)
    return protocol.write_events(request, answer, Reply(reply_identity(body, 0), created_at=0))


def reply_identity(body: Mapping[str, Any], number: int) -> str:
    """What the identifiers of a reply are derived from: the request, and which of its server's requests it is."""
    return f"{number}-{hashlib.sha256(dumps(body)).hexdigest()}"
