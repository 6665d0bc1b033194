"""Which protocols the replay upstream serves, and a scenario as the events of one; knows no socket."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import dumps
from partstream.protocols.openresponses.serve import PROTOCOL as OPENRESPONSES
from partstream.protocols.serving import Reply
from partstream.testing.scenarios import find_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serving import ServedProtocol

__all__ = ["DEFAULT_PATH", "SERVED_PROTOCOLS", "reply_identity", "scenario_events"]

SERVED_PROTOCOLS: Final[dict[str, ServedProtocol]] = {"/v1/responses": OPENRESPONSES}
"""The protocol that is spoken at each path; a further one is a further row."""

DEFAULT_PATH: Final = "/v1/responses"


def scenario_events(
    name: str, body: Mapping[str, Any], value: str = "", path: str = DEFAULT_PATH
) -> list[dict[str, Any]]:
    """The whole stream that a scenario answers to a request, without a server.

    Args:
        name: A name out of :data:`partstream.testing.scenarios.SCENARIOS`.
        body: The request's JSON object.
        value: What would stand after the name, as in `scenario:long=500`.
        path: The path whose protocol the body and the events are in.

    Raises:
        UnknownScenarioError: There is no such scenario.
        InvalidRequestError: The body is not a request.
    """
    protocol = SERVED_PROTOCOLS[path]
    request = protocol.read_request(body, {})
    answer = find_scenario(name)(request, value)
    return protocol.write_events(request, answer, Reply(reply_identity(body, 0), created_at=0))


def reply_identity(body: Mapping[str, Any], number: int) -> str:
    """What the identifiers of a reply are derived from: the request, and which of its server's requests it is."""
    return f"{number}-{hashlib.sha256(dumps(body)).hexdigest()}"
