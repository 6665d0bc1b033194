"""Checks what a server speaks: sends an empty request to the endpoint of each protocol, which costs nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.configuration.findings import CheckStatus, Finding
from partstream.protocols.known_servers import server_at
from partstream.settings.row import hidden_url
from partstream.upstream.detection import advice_on_protocol, ask_round
from partstream.upstream.detection_rules import Presence, known_wires, own_base_url
from partstream.upstream.http_errors import WEB_PAGE_ADVICE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import CandidateProtocol, Round
    from partstream.upstream.http import Connections

__all__ = ["Endpoints", "examine_endpoints"]

_SECONDS: Final = 8.0
"""For the requests to all endpoints, which are sent at the same time."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What was found out about the endpoints.

    Attributes:
        findings: The findings; none where the protocol has no request that costs nothing.
        is_there: Whether the endpoint of the protocol in force is there; None where that is not known.
    """

    findings: tuple[Finding, ...]
    is_there: bool | None


async def examine_endpoints(gateway: GatewayConfiguration, connections: Connections, *, is_set: bool) -> Endpoints:
    """Sends an empty request to each endpoint below the base URL.

    Args:
        gateway: The upstream in the protocol in force.
        connections: The connections to it.
        is_set: Whether somebody set the protocol, and it was not found out.

    Raises:
        LanguageModelError: The server cannot be asked at all.
    """
    wires = [wire for wire in known_wires() if wire.empty_request is not None]
    own = next((wire for wire in wires if wire.name == gateway.protocol), None)
    if own is None:
        return Endpoints((), None)
    elsewhere = _elsewhere(gateway.base_url, own, wires)
    wires = [wire for wire in wires if wire is own or not wire.own_base_path or wire.name in elsewhere]
    deadline = asyncio.get_running_loop().time() + _SECONDS
    asked = await ask_round(gateway, connections, gateway.base_url, wires, deadline, elsewhere)
    signs, sign = asked.signs, asked.signs[own.name]
    says = _says(own, [wire for wire in wires if wire is not own], asked)
    if sign.presence is Presence.THERE:
        return Endpoints((Finding("endpoint", CheckStatus.FINE, says),), True)
    if sign.presence is Presence.SILENT:
        advice = sign.advice or "the finding about its models may say why"
        return Endpoints((Finding("endpoint", CheckStatus.WARNING, says, advice),), None)
    advice = sign.advice or (WEB_PAGE_ADVICE if sign.presence is Presence.NO_API else "")
    spoken = next((wire for wire in wires if signs[wire.name].presence is Presence.THERE), None)
    if spoken is not None:
        advice = f"leave `protocol` out, or set it to {spoken.name}{_and_base_url(spoken, elsewhere)}"
    elif is_set:
        advice = await advice_on_protocol(gateway, connections) or advice
    return Endpoints((Finding("endpoint", CheckStatus.PROBLEM, says, advice),), False)


def _elsewhere(url: str, own: CandidateProtocol, wires: Sequence[CandidateProtocol]) -> dict[str, str]:
    """The base URLs of the other protocols that stand below another one on the same host, by name.

    A protocol with a base path of its own is asked for only at a server that is known to speak it.
    """
    server, paths = server_at(url), [wire.path for wire in wires]
    places = {}
    for wire in wires:
        if wire is not own and wire.own_base_path and server is not None and wire.row_at(server.name) is not None:
            places[wire.name] = own_base_url(url, wire.own_base_path, paths)
        elif own.own_base_path and wire is not own and not wire.own_base_path:
            places[wire.name] = own_base_url(url, _USUAL_BASE_PATH, paths)
    return places


_USUAL_BASE_PATH: Final = "/v1"


def _and_base_url(wire: CandidateProtocol, elsewhere: Mapping[str, str]) -> str:
    return f", and `baseUrl` to {hidden_url(elsewhere[wire.name])}" if wire.name in elsewhere else ""


def _says(own: CandidateProtocol, others: Sequence[CandidateProtocol], asked: Round) -> str:
    """What the server speaks and what not, each with the answer that says so."""
    signs = asked.signs
    there = [wire for wire in others if signs[wire.name].presence is Presence.THERE]
    missing = [wire for wire in others if signs[wire.name].presence is Presence.MISSING]
    sentence = f"it {_VERBS[signs[own.name].presence]} {_shown(own, asked)}"
    if there:
        sentence += (
            f", and {'speaks ' if signs[own.name].presence is not Presence.THERE else ''}{_listed(there, asked)}"
        )
    return sentence + (f"; it does not speak {_listed(missing, asked, 'or')}" if missing else "")


_VERBS: Final = {
    Presence.THERE: "speaks",
    Presence.MISSING: "does not speak",
    Presence.SILENT: "does not say whether it speaks",
    Presence.NO_API: "answers as no model server does when it is asked for",
}


def _listed(wires: Sequence[CandidateProtocol], asked: Round, joint: str = "and") -> str:
    shown = [_shown(wire, asked) for wire in wires]
    return f" {joint} ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


def _shown(wire: CandidateProtocol, asked: Round) -> str:
    path = asked.path_of(wire) if wire.name in asked.elsewhere else wire.path
    return f"{wire.title} ({path}: {asked.signs[wire.name].says})"
