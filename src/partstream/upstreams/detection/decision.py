"""Decides what a base URL speaks, by its host and by what was answered below it; pure.

The better wire wins: one that is complete at the server over one that is not, then the order of the registry. Which
wires are complete where is in the rows of the protocols' own folders.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.protocols.known_servers import KnownServer, known_server, server_at
from partstream.upstream.http_errors import GENERAL_ADVICE
from partstream.upstreams.detection.base_urls import MODELS, path_of, with_path, without_ending
from partstream.upstreams.detection.detected import Detected
from partstream.upstreams.detection.signs import Presence, Sign, is_list, server_of_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.upstream.discovery import FetchResponse
    from partstream.upstreams.detection.wires import CandidateProtocol

__all__ = ["NOWHERE_ELSE", "Round", "decide", "decide_by_host", "is_last", "joined", "server_of", "wires_at_path"]

NOWHERE_ELSE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Round:
    """What was answered below one base URL.

    Attributes:
        base_url: The base URL.
        signs: What the endpoints answered, by the names of their protocols.
        listing: The answer to the question for models, or None if there was none.
        elsewhere: The base URLs of the protocols that were looked for below another one, by name.
    """

    base_url: str
    signs: Mapping[str, Sign]
    listing: FetchResponse | None = None
    elsewhere: Mapping[str, str] = field(default_factory=lambda: NOWHERE_ELSE)

    def base_url_of(self, wire: CandidateProtocol) -> str:
        """Where a protocol was looked for."""
        return self.elsewhere.get(wire.name, self.base_url)

    def path_of(self, wire: CandidateProtocol) -> str:
        """The path at which a protocol was looked for."""
        return path_of(self.base_url_of(wire)) + wire.path

    def names(self, presence: Presence) -> list[str]:
        """The protocols whose endpoints have answered like this."""
        return [name for name, sign in self.signs.items() if sign.presence is presence]

    @property
    def has_list(self) -> bool:
        """Whether models are listed here."""
        return self.listing is not None and is_list(self.listing)


def is_last(asked: Round) -> bool:
    """Whether no other base URL has to be tried: something is here, or nobody says what is."""
    return bool(asked.names(Presence.THERE) or asked.names(Presence.SILENT))


def joined(asked: Round, more: Round) -> Round:
    """What was answered below one base URL, and to further questions elsewhere on the same host."""
    return replace(asked, signs={**asked.signs, **more.signs}, elsewhere={**asked.elsewhere, **more.elsewhere})


def decide_by_host(url: str, wires: Sequence[CandidateProtocol]) -> Detected | None:
    """What a known host speaks; None where the host is unknown, or the path another than that of a base URL there."""
    server = server_at(url)
    if server is None or not server.has_host(_host(url)):
        return None
    path = without_ending(path_of(url), (*(wire.path for wire in wires), MODELS))
    known = [(wire, row) for wire in wires for row in wire.rows if row.server == server.name]
    exact = [(wire, row) for wire, row in known if path_of(row.base_url) == path]
    # A person may leave out the end of the path, or all of it.
    fitting = exact or [(wire, row) for wire, row in known if path_of(row.base_url).startswith(f"{path}/")]
    if not fitting:
        return None
    wire, row = min(fitting, key=lambda one: one[1].order)
    reason = _because([f"{_host(url)} is {server.title}"], [one for one, _ in fitting], wire, server, server.title)
    return Detected(wire.name, with_path(url, path_of(row.base_url)), reason, server=server.name)


def decide(url: str, base_urls: Sequence[str], rounds: Sequence[Round], wires: Sequence[CandidateProtocol]) -> Detected:
    """What a base URL speaks, by the answers below it; a guess where they do not say it.

    Args:
        url: What was given.
        base_urls: The base URLs that may be meant, the likeliest first.
        rounds: What was answered below those that were asked, in their order.
        wires: The protocols to choose from, the better one first; one at least.
    """
    asked = rounds[-1] if rounds else Round(base_urls[0], {})
    server, at = server_of(asked)
    there = [wire for wire in wires if wire.name in asked.names(Presence.THERE)]
    if there:
        return _found(asked, there, wires, server, at)
    silent = [wire for wire in wires if wire.name in asked.names(Presence.SILENT)]
    if silent or not rounds:
        return _untold(asked, silent or list(wires), server, at)
    return _nothing_there(url, rounds, wires)


def _found(
    asked: Round,
    there: Sequence[CandidateProtocol],
    wires: Sequence[CandidateProtocol],
    server: KnownServer | None,
    at: str,
) -> Detected:
    chosen = _best(there, server)
    facts = [f"{asked.path_of(chosen)} answers an empty request ({asked.signs[chosen.name].says})"]
    facts += [
        f"{asked.path_of(wire)} is missing ({asked.signs[wire.name].says})"
        for wire in wires
        if wire.name in asked.names(Presence.MISSING)
    ]
    reason = _because(facts, there, chosen, server, at)
    return Detected(chosen.name, asked.base_url_of(chosen), reason, server=_name(server))


def _untold(asked: Round, silent: Sequence[CandidateProtocol], server: KnownServer | None, at: str) -> Detected:
    """A guess where the server says nothing of its paths: what is known of such servers, else the better wire."""
    known = [wire for wire in silent if server is not None and wire.row_at(server.name) is not None]
    chosen = _best(known or silent, server)
    said = ", ".join(dict.fromkeys(sign.says for sign in asked.signs.values())) or "nothing"
    facts = [f"a guess, as the server does not tell ({said})"]
    reason = _because(facts, known, chosen, server, at)
    return Detected(chosen.name, asked.base_url_of(chosen), reason, is_certain=False, server=_name(server))


def _nothing_there(url: str, rounds: Sequence[Round], wires: Sequence[CandidateProtocol]) -> Detected:
    """What is left where no endpoint is there: a protocol that was not asked for, by its host or path; else a guess."""
    where = next((one for one in rounds if one.has_list), rounds[0])
    server, host, path = server_at(url), _host(url), path_of(url)
    unasked = [wire for wire in wires if not any(wire.name in one.signs for one in rounds)]
    at_host = [] if server is None or not server.has_host(host) else [one for one in unasked if one.row_at(server.name)]
    at_path = wires_at_path(path, unasked)
    given = with_path(url, path)
    if at_host and server is not None:
        return Detected(_best(at_host, server).name, given, f"{host} is {server.title}", server=server.name)
    if len(at_path) == 1:
        return Detected(at_path[0].name, given, f"{path} is its usual path, and no other endpoint is there")
    tried = ", ".join(where.path_of(wire) for wire in wires if wire.name in where.signs)
    no_api = next((sign for one in rounds for sign in one.signs.values() if sign.presence is Presence.NO_API), None)
    reason = f"none of {tried} is there" if no_api is None else f"the server answered {no_api.says}"
    if no_api is not None:
        advice = no_api.advice
    elif where.has_list:
        advice = f"it lists models and has none of {tried}: it speaks something else"
    else:
        advice = f"it has none of {tried}; {GENERAL_ADVICE}"
    base_url = where.base_url if where.has_list else given
    return Detected(_best(wires, server).name, base_url, f"a guess, as {reason}", is_certain=False, advice=advice)


def wires_at_path(path: str, wires: Sequence[CandidateProtocol]) -> list[CandidateProtocol]:
    """The protocols of which a known server has its base URL at this path, which is not the root of the host."""
    return [wire for wire in wires if path and any(path_of(row.base_url) == path for row in wire.rows)]


def _best(wires: Sequence[CandidateProtocol], server: KnownServer | None) -> CandidateProtocol:
    """The first wire that is complete at the server, as far as anybody knows; else the one that lacks least."""
    rows = {wire.name: None if server is None else wire.row_at(server.name) for wire in wires}
    return min(wires, key=lambda wire: (False, 0) if (row := rows[wire.name]) is None else row.order)


def _because(
    facts: Sequence[str],
    considered: Sequence[CandidateProtocol],
    chosen: CandidateProtocol,
    server: KnownServer | None,
    at: str,
) -> str:
    """The facts, and why a wire that usually is the better one was not chosen.

    Args:
        facts: What was found.
        considered: The wires that could have been chosen, the one that usually is better first.
        chosen: The wire that was.
        server: The known server, or None.
        at: What to call it.
    """
    better = considered[: [wire.name for wire in considered].index(chosen.name)] if considered else ()
    rows = [(wire, None if server is None else wire.row_at(server.name)) for wire in better]
    passed = [f"{wire.title} is not complete at {at} ({row.reason})" for wire, row in rows if row is not None]
    return "; ".join((*facts, *passed))


def server_of(asked: Round) -> tuple[KnownServer | None, str]:
    """The server below a base URL, by its host for certain, else by its answers, else by its port; and its name."""
    by_address = server_at(asked.base_url)
    if by_address is not None and by_address.has_host(_host(asked.base_url)):
        return by_address, by_address.title
    told = None if asked.listing is None else server_of_list(asked.listing)
    told = told or next((sign.server for sign in asked.signs.values() if sign.server is not None), None)
    if told is not None:
        return known_server(told), known_server(told).title
    return by_address, "" if by_address is None else f"{by_address.title}, whose usual port this is"


def _name(server: KnownServer | None) -> str:
    return "" if server is None else server.name


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".")
