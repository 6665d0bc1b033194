"""Checks what a server speaks: sends an empty request to the endpoint of each protocol, which costs nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.configuration.findings import Finding, Verdict
from partstream.upstreams.detection.asking import ask_round
from partstream.upstreams.detection.finding import advice_on_protocol
from partstream.upstreams.detection.signs import Presence
from partstream.upstreams.detection.wires import known_wires
from partstream.upstreams.http_errors import WEB_PAGE_ADVICE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.upstreams.configuration import GatewayConfiguration
    from partstream.upstreams.connections import Connections
    from partstream.upstreams.detection.signs import Sign
    from partstream.upstreams.detection.wires import Wire

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
    deadline = asyncio.get_running_loop().time() + _SECONDS
    signs = (await ask_round(gateway, connections, gateway.base_url, wires, deadline)).signs
    sign = signs[own.name]
    says = _says(own, [wire for wire in wires if wire is not own], signs)
    if sign.presence is Presence.THERE:
        return Endpoints((Finding("endpoint", Verdict.FINE, says),), True)
    if sign.presence is Presence.SILENT:
        advice = sign.advice or "the finding about its models may say why"
        return Endpoints((Finding("endpoint", Verdict.WARNING, says, advice),), None)
    advice = sign.advice or (WEB_PAGE_ADVICE if sign.presence is Presence.NO_API else "")
    spoken = next((wire for wire in wires if signs[wire.name].presence is Presence.THERE), None)
    if spoken is not None:
        advice = f"leave `protocol` out, or set it to {spoken.name}"
    elif is_set:
        advice = await advice_on_protocol(gateway, connections) or advice
    return Endpoints((Finding("endpoint", Verdict.PROBLEM, says, advice),), False)


def _says(own: Wire, others: Sequence[Wire], signs: Mapping[str, Sign]) -> str:
    """What the server speaks and what not, each with the answer that says so."""
    there = [wire for wire in others if signs[wire.name].presence is Presence.THERE]
    missing = [wire for wire in others if signs[wire.name].presence is Presence.MISSING]
    sentence = f"it {_VERBS[signs[own.name].presence]} {_shown(own, signs)}"
    if there:
        sentence += (
            f", and {'speaks ' if signs[own.name].presence is not Presence.THERE else ''}{_listed(there, signs)}"
        )
    return sentence + (f"; it does not speak {_listed(missing, signs)}" if missing else "")


_VERBS: Final = {
    Presence.THERE: "speaks",
    Presence.MISSING: "does not speak",
    Presence.SILENT: "does not say whether it speaks",
    Presence.NO_API: "answers as no model server does when it is asked for",
}


def _listed(wires: Sequence[Wire], signs: Mapping[str, Sign]) -> str:
    return " and ".join(_shown(wire, signs) for wire in wires)


def _shown(wire: Wire, signs: Mapping[str, Sign]) -> str:
    return f"{wire.title} ({wire.path}: {signs[wire.name].says})"
