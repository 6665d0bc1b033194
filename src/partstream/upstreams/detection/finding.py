"""Finds out what a base URL speaks, and what helps where a protocol that was set is not spoken; keeps nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from partstream.protocols.known_servers import server_at
from partstream.upstream.detection_rules import (
    Presence,
    base_urls,
    decide,
    decide_by_host,
    is_last,
    joined,
    known_wires,
    own_base_url,
    path_of,
    probed_elsewhere,
    probed_wires,
    server_of,
    wires_at_path,
    without_ending,
)
from partstream.upstreams.detection.asking import ask_round

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import CandidateProtocol, Detected, Round
    from partstream.upstream.http import Connections

__all__ = ["advice_on_protocol", "detect"]

_SECONDS: Final = 5.0
"""For all requests together: somebody waits for an answer, or for an error, behind them."""


async def detect(configuration: GatewayConfiguration, connections: Connections) -> Detected:
    """Finds out what a base URL speaks; asks nobody where its host tells.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """
    wires = known_wires()
    by_host = decide_by_host(configuration.base_url, wires)
    if by_host is not None:
        return by_host
    meant = _meant(configuration, wires)
    rounds = await _ask(configuration, connections, meant, wires)
    return decide(configuration.base_url, meant, rounds, wires)


async def advice_on_protocol(configuration: GatewayConfiguration, connections: Connections) -> str:
    """What helps where a server has not the endpoint of the protocol that was set; empty where nothing is known.

    Asked after a request has failed only: the setting itself is never doubted.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """
    url = configuration.base_url
    wires = known_wires()
    own = [wire for wire in wires if wire.name == configuration.protocol]
    found = decide_by_host(url, own) or decide_by_host(url, wires)
    if found is None:
        meant = _meant(configuration, wires)
        rounds = await _ask(configuration, connections, meant, wires)
        found = decide(url, meant, rounds, own)
        if not found.is_certain:
            found = decide(url, meant, rounds, wires)
    if not found.is_certain:
        return found.advice
    if found.protocol != configuration.protocol:
        return (
            f"the server speaks {found.title} at {found.shown_url}, and no {own[0].title}: leave `protocol` out, "
            f"or set it to {found.protocol}"
        )
    return f"did you mean {found.shown_url}?" if found.base_url.rstrip("/") != url.rstrip("/") else ""


def _meant(configuration: GatewayConfiguration, wires: Sequence[CandidateProtocol]) -> tuple[str, ...]:
    return base_urls(configuration.base_url, [wire.path for wire in wires])


async def _ask(
    configuration: GatewayConfiguration,
    connections: Connections,
    meant: Sequence[str],
    wires: Sequence[CandidateProtocol],
) -> list[Round]:
    """Asks below the base URLs that may be meant, until one says something.

    A path that belongs to a protocol that is not asked for is taken as it is. A protocol with a base path of its own is
    asked for at once where the address or the list of models tells a server that speaks it, and everywhere else last.
    """
    url = configuration.base_url
    probed, own = probed_wires(wires), probed_elsewhere(wires)
    if any(wire not in (*probed, *own) for wire in wires_at_path(path_of(url), wires)):
        meant = meant[:1]
    places = {wire.name: own_base_url(url, wire.own_base_path, [one.path for one in wires]) for wire in own}
    deadline = asyncio.get_running_loop().time() + _SECONDS

    async def ask(base_url: str, asked: Sequence[CandidateProtocol]) -> Round:
        elsewhere = {wire.name: places[wire.name] for wire in asked if wire.name in places}
        return await ask_round(configuration, connections, base_url, asked, deadline, elsewhere)

    first = [wire for wire in own if _is_expected(wire, url)]
    rounds: list[Round] = []
    for base_url in meant:
        rounds.append(await ask(base_url, [*probed, *([] if rounds else first)]))
        told, _ = server_of(rounds[-1])
        if told is not None and (more := [one for one in _unasked(own, rounds) if one.row_at(told.name)]):
            rounds[-1] = joined(rounds[-1], await ask(base_url, more))
        if is_last(rounds[-1]):
            return rounds
    late = _unasked(own, rounds)
    if late and not any(one.names(Presence.NO_API) for one in rounds):
        answered = joined(rounds[0], await ask(meant[0], late))
        rounds = [*rounds[1:], answered] if answered.names(Presence.THERE) else [answered, *rounds[1:]]
    return rounds


def _is_expected(wire: CandidateProtocol, url: str) -> bool:
    """Whether the address is that of a server that speaks a protocol with a base path of its own, or has that path."""
    server = server_at(url)
    is_there = server is not None and wire.row_at(server.name) is not None
    return is_there or without_ending(path_of(url), [wire.path]).endswith(wire.own_base_path)


def _unasked(wires: Sequence[CandidateProtocol], rounds: Sequence[Round]) -> list[CandidateProtocol]:
    return [wire for wire in wires if not any(wire.name in one.signs for one in rounds)]
