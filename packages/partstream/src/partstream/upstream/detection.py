"""Finds out what a base URL speaks: by its host, else by a list of models and an empty request to each endpoint.

First, the base URLs that a person may mean. A known host decides at once. Else all endpoints below one base URL are
asked at the same time, then those below the next, until one answers. Each answer to an empty request is a sign: an
endpoint that is there refuses it with 400 or 422, and one that is not answers 404 or 405. Servers deviate: LM Studio
reports a missing path with status 200, Gemini and LiteLLM refuse the key with 400 before they look at the path,
llama.cpp answers 500 to a body without a required field, Go's and nginx's servers answer plain http with 400.

Of several endpoints that are there, the better wire wins: one that is complete at the server over one that is not, then
the order of the registry. Where the answers do not decide, the decision is a guess with advice. Up to the decision, all
is pure: the same answers decide the same.

`Detector` is what a provider asks. It finds the protocol out when the upstream is first asked, once for all callers
that wait, and again when a request failed with a missing path. What was found for certain is kept in a file between
starts; a guess serves for seconds only. The key goes to the configured host alone, and no redirect is followed.
"""

from __future__ import annotations
import asyncio
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from partstream._version import __version__
from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import dumps
from partstream.errors import LanguageModelError, UpstreamConnectionError, UpstreamError
from partstream.protocols.protocol import PROTOCOLS, ServerProtocol, asked_protocols, asking
from partstream.protocols.serve import path_for_model
from partstream.settings.known_servers import KNOWN_SERVERS, KnownServer, known_server, server_at
from partstream.settings.row import hidden_url
from partstream.upstream import endpoint, http_errors
from partstream.upstream.context import shared_task
from partstream.upstream.discovery import FetchResponse, KeptFile, ModelList, document_in, entries_of
from partstream.upstream.http import Connections, UpstreamHTTP

if TYPE_CHECKING:
    from partstream.protocols.errors import Errors
    from partstream.upstream.configuration import GatewayConfiguration

_logger = logging.getLogger("partstream.upstreams")

# ---- The protocols to choose from ----

_MOST_PROBED: Final = 3
"""With the list of models, four requests below each base URL."""
_MOST_ELSEWHERE: Final = 2
_NO_MODEL: Final = "partstream"
"""The model in a path that names one: no server has it, so none generates an answer."""


@dataclass(frozen=True, slots=True)
class CandidateProtocol:
    """A protocol that a server may be asked in.

    Attributes:
        path: The path of its endpoint below a base URL, with `{model}` where it names the model.
        empty_request: The body that shows at no cost whether the endpoint is there; None for no such body.
        rows: What is known of it at known servers.
        own_base_path: Its base path below a host; empty for one beside the others.
        at: The base URL below which it is looked for; empty for the one that is asked.
    """

    name: str
    title: str
    path: str
    empty_request: Mapping[str, Any] | None
    rows: tuple[ServerProtocol, ...]
    errors: Errors
    own_base_path: str = ""
    at: str = ""

    def row_at(self, server: KnownServer | None) -> ServerProtocol | None:
        """What is known of it at a server; None where nothing is known."""
        return next((row for row in self.rows if server is not None and row.server == server.name), None)


def known_wires(url: str = "") -> tuple[CandidateProtocol, ...]:
    """All protocols in which a server can be asked, the better one first; those with a base path of their own are
    looked for on the host that a URL means."""
    wires = []
    paths = [asking(name).path for name in asked_protocols()]
    for name in asked_protocols():
        protocol, writer = PROTOCOLS[name], asking(name)
        own, rows = writer.own_base_path, () if protocol.spoken_at is None else protocol.spoken_at()
        at = endpoint.own_base_url(url, own, paths) if own and url else ""
        wires.append(
            CandidateProtocol(
                name, protocol.shown_title, writer.path, writer.empty_request, rows, writer.errors, own, at
            )
        )
    return tuple(wires)


def probed_wires(wires: Sequence[CandidateProtocol], *, elsewhere: bool = False) -> tuple[CandidateProtocol, ...]:
    """The protocols whose endpoints are asked for where the address alone does not decide: those beside the others, or
    those `elsewhere`, whose base path is their own."""
    probed = (one for one in wires if one.empty_request is not None and bool(one.own_base_path) is elsewhere)
    return tuple(probed)[: _MOST_ELSEWHERE if elsewhere else _MOST_PROBED]


# ---- The signs in answers ----


class Presence(Enum):
    """Whether an endpoint is there."""

    THERE = auto()
    MISSING = auto()
    SILENT = auto()
    """The answer says nothing of the path: the key was refused, the server is busy, or there was no answer."""
    NO_API = auto()
    """What answered is no API: a web page, a redirect, a port that wants https."""


@dataclass(frozen=True, slots=True)
class Sign:
    """The meaning of one answer: `says` has it in a few words, such as `HTTP 400`, `advice` a remedy where one is
    known, and `server` the name of the known server, according to its headers, or None."""

    presence: Presence
    says: str
    advice: str = ""
    server: str | None = None


_NO_SUCH_PATH: Final = (
    r"(?i)unexpected endpoint"  # LM Studio, with status 200: lmstudio-bug-tracker#618, #2085
    r"|(?:unknown|invalid|unsupported|no such) (?:endpoint|route|path|url)\b"
    r"|(?:endpoint|route|path) (?:is )?not (?:found|supported)"
    r"|cannot (?:post|get) /"  # Express
)
_WANTS_HTTPS: Final = r"(?i)HTTP request (?:was sent )?to (?:an )?HTTPS (?:server|port)"
"""The message of Go's and nginx's servers, with status 400, to plain http."""
_NOTHING_SAID: Final = frozenset({401, 402, 403, 407, 408, 425, 429, 502, 503, 504, 529})
"""Servers may answer these before they look at the path."""
_MISSING: Final = frozenset({404, 405, 410, 501})


def sign_of(answer: FetchResponse, errors: Errors, base_url: str, path: str) -> Sign:
    """The sign in the answer to an empty request at a path below a base URL."""
    text = answer.body.decode(errors="replace")
    status = answer.status
    sign = Sign(Presence.NO_API, f"HTTP {status}", server=_server_of_headers(answer.headers))
    if re.search(_WANTS_HTTPS, text):
        encrypted = base_url.replace("http://", "https://", 1)
        return replace(sign, advice=f"this port wants https: use {encrypted}")
    if 300 <= status < 400:
        advice = _advice_on_redirect(answer.headers.get("location", ""), base_url, path)
        return replace(sign, says=f"{sign.says}, a redirect", advice=advice)
    is_page = text.lstrip().startswith("<")
    if is_page and status not in _MISSING:
        return replace(sign, says=f"{sign.says}, a web page")
    return replace(sign, presence=Presence.MISSING if is_page else _presence(answer, text, errors))


def _presence(answer: FetchResponse, text: str, errors: Errors) -> Presence:
    status = answer.status
    # The wait that an answer asks for does not count here.
    error = http_errors.http_error(status, answer.headers, answer.body, datetime(2026, 1, 1, tzinfo=UTC), errors)
    # Gemini and LiteLLM refuse the key with 400, before a look at the path.
    if status in _NOTHING_SAID or http_errors.is_about_the_key(error):
        return Presence.SILENT
    # A 404 may be about a model.
    lacks_path = status in _MISSING and (status != 404 or http_errors.says_path_is_missing(error))
    if lacks_path or re.search(_NO_SUCH_PATH, error.provider_message or ""):
        return Presence.MISSING
    # An error with a status of success, or an answer to nothing. llama.cpp answered 500 to what is missing in a body.
    if status in _MISSING or document_in(answer.body) is not None:
        return Presence.THERE
    if status < 300:
        return Presence.THERE if text.startswith(("data:", "event:")) else Presence.NO_API
    return Presence.SILENT if status >= 500 else Presence.THERE


def _advice_on_redirect(location: str, base_url: str, path: str) -> str:
    """The base URL that a redirect means which only begins to encrypt; empty for a redirect to anywhere else."""
    try:
        target, asked = urlsplit(location), urlsplit(base_url)
        if target.hostname != asked.hostname or (asked.scheme, target.scheme) != ("http", "https"):
            return ""
    except ValueError:
        return ""
    return f"use {urlunsplit((target.scheme, target.netloc, target.path.rstrip('/').removesuffix(path), '', ''))}"


_HEADERS: Final = (
    ("server", "llama.cpp", "llama.cpp"),  # tools/server of llama.cpp sets it
    # LiteLLM's proxy 1.106 sets them on what an endpoint answers, and none on its list of models.
    ("x-litellm-version", "", "litellm"),
    ("x-litellm-call-id", "", "litellm"),
)
"""A header, how its value begins, and the server that sends it."""
_OWNERS: Final = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama.cpp",
    "organization_owner": "lm-studio",
    "library": "ollama",
}
"""The servers, by the owner that they state for the models that they list."""


def server_of_list(answer: FetchResponse) -> str | None:
    """The name of the known server that a list of models tells by its headers and entries; None for any other."""
    if answer.status != 200:
        return None
    owners = [one.get("owned_by") for one in _entries_in(answer) or () if isinstance(one, dict)]
    by_owner = (server for owner, server in _OWNERS.items() if owner in owners)
    return _server_of_headers(answer.headers) or next(by_owner, None)


def _server_of_headers(headers: Mapping[str, str]) -> str | None:
    told = (server for name, starts, server in _HEADERS if name in headers and headers[name].startswith(starts))
    return next(told, None)


def _entries_in(answer: FetchResponse) -> list[Any] | None:
    """The entries of a list of models; None where an answer is none."""
    listed = entries_of(document_in(answer.body))
    return None if listed is None else listed[0]


# ---- The decision ----


@dataclass(frozen=True, slots=True)
class Detected:
    """What a base URL speaks.

    Attributes:
        base_url: The base of its paths: the given URL, or the one that was meant by it; its query may hold a key.
        reason: Why, as a clause without secrets.
        is_certain: Whether the server's address or its answers say so. A guess is not kept: the next request finds out
            anew.
        advice: A remedy where a request fails all the same; empty where none is known.
        server: The name of the known server that it is by its host, its list of models or its port; empty for none.
    """

    protocol: str
    base_url: str = field(repr=False)
    reason: str
    is_certain: bool = True
    advice: str = ""
    server: str = ""

    @property
    def title(self) -> str:
        """The name of the protocol for people."""
        return PROTOCOLS[self.protocol].shown_title

    @property
    def shown_url(self) -> str:
        """The base URL without its possible secrets."""
        return hidden_url(self.base_url)

    @property
    def says(self) -> str:
        """Protocol and reason as a sentence without a full stop."""
        verb = "Speaks" if self.is_certain else "Asked in"
        return f"{verb} {self.title}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Round:
    """The answers below one base URL: the signs of the endpoints, by the names of their protocols."""

    base_url: str
    signs: Mapping[str, Sign]
    listing: FetchResponse | None = None

    def path_of(self, wire: CandidateProtocol) -> str:
        """The path at which a protocol was looked for."""
        return endpoint.path_of(wire.at or self.base_url) + wire.path

    def names(self, presence: Presence) -> list[str]:
        """The protocols whose endpoints have answered like this."""
        return [name for name, sign in self.signs.items() if sign.presence is presence]

    @property
    def has_list(self) -> bool:
        """Whether models are listed here."""
        return self.listing is not None and self.listing.status == 200 and _entries_in(self.listing) is not None


def is_last(asked: Round) -> bool:
    """Whether no other base URL has to be tried: an endpoint is here, or the server does not say."""
    return bool(asked.names(Presence.THERE) or asked.names(Presence.SILENT))


def joined(asked: Round, more: Round) -> Round:
    """What was answered below one base URL, and to further questions on the same host."""
    return replace(asked, signs={**asked.signs, **more.signs})


def decide_by_host(url: str, wires: Sequence[CandidateProtocol]) -> Detected | None:
    """The protocol of a known host; None where the host is unknown, or the path is not that of a base URL there."""
    server = server_at(url)
    if server is None or not server.has_paths_at(_host(url)):
        return None
    path = endpoint.without_ending(endpoint.path_of(url), (*(wire.path for wire in wires), endpoint.MODELS_PATH))
    known = [(wire, row) for wire in wires for row in wire.rows if row.server == server.name]
    exact = [(wire, row) for wire, row in known if endpoint.path_of(row.base_url) == path]
    # A person may leave out the end of the path, or all of it.
    fitting = exact or [(wire, row) for wire, row in known if endpoint.path_of(row.base_url).startswith(f"{path}/")]
    if not fitting:
        return None
    wire, row = min(fitting, key=lambda one: one[1].order)
    reason = _because([f"{_host(url)} is {server.title}"], [one for one, _ in fitting], wire, server, server.title)
    return Detected(wire.name, endpoint.url_on_host(url, endpoint.path_of(row.base_url)), reason, server=server.name)


def decide(url: str, rounds: Sequence[Round], wires: Sequence[CandidateProtocol]) -> Detected:
    """What a base URL speaks, by the answers below those that were asked, in their order; a guess where they do not say
    it. The better one of the wires comes first."""
    asked = rounds[-1]
    server, at = server_of(asked)
    by_presence = {presence: [wire for wire in wires if wire.name in asked.names(presence)] for presence in Presence}
    there, silent = by_presence[Presence.THERE], by_presence[Presence.SILENT]
    if not there and not silent:
        return _nothing_there(url, rounds, wires)
    if there:
        considered, chosen = there, _best(there, server)
        facts = [f"{asked.path_of(chosen)} answers an empty request ({asked.signs[chosen.name].says})"]
        missing = by_presence[Presence.MISSING]
        facts += [f"{asked.path_of(wire)} is missing ({asked.signs[wire.name].says})" for wire in missing]
    else:  # a guess: what is known of such servers, else the better wire
        considered = [wire for wire in silent if wire.row_at(server) is not None]
        chosen = _best(considered or silent, server)
        said = ", ".join(dict.fromkeys(sign.says for sign in asked.signs.values())) or "nothing"
        facts = [f"a guess, as the server does not tell ({said})"]
    return Detected(
        chosen.name,
        chosen.at or asked.base_url,
        _because(facts, considered, chosen, server, at),
        is_certain=bool(there),
        server="" if server is None else server.name,
    )


def _nothing_there(url: str, rounds: Sequence[Round], wires: Sequence[CandidateProtocol]) -> Detected:
    """What is left where no endpoint is there: a protocol that was not asked for, by its host or path; else a guess."""
    where = next((one for one in rounds if one.has_list), rounds[0])
    server, host, path = server_at(url), _host(url), endpoint.path_of(url)
    given = endpoint.url_on_host(url, path)
    unasked = _unasked(wires, rounds)
    if server is not None and server.has_host(host) and (known := [one for one in unasked if one.row_at(server)]):
        return Detected(_best(known, server).name, given, f"{host} is {server.title}", server=server.name)
    if len(at_path := wires_at_path(path, unasked)) == 1:
        return Detected(at_path[0].name, given, f"{path} is its usual path, and no other endpoint is there")
    tried = ", ".join(where.path_of(wire) for wire in wires if wire.name in where.signs)
    no_api = next((sign for one in rounds for sign in one.signs.values() if sign.presence is Presence.NO_API), None)
    reason = f"none of {tried} is there" if no_api is None else f"the server answered {no_api.says}"
    if no_api is not None:
        advice = no_api.advice
    elif where.has_list:
        advice = f"it lists models and has none of {tried}: it speaks something else"
    else:
        advice = f"it has none of {tried}; {http_errors.GENERAL_ADVICE}"
    base_url = where.base_url if where.has_list else given
    return Detected(_best(wires, server).name, base_url, f"a guess, as {reason}", is_certain=False, advice=advice)


def wires_at_path(path: str, wires: Sequence[CandidateProtocol]) -> list[CandidateProtocol]:
    """The protocols of which a known server has its base URL at this path, which is not the root of the host."""
    return [wire for wire in wires if path and any(endpoint.path_of(row.base_url) == path for row in wire.rows)]


def _best(wires: Sequence[CandidateProtocol], server: KnownServer | None) -> CandidateProtocol:
    """The first wire that is not known to be incomplete at the server; else the one that lacks least."""
    return min(wires, key=lambda wire: (False, 0) if (row := wire.row_at(server)) is None else row.order)


def _because(
    facts: Sequence[str],
    considered: Sequence[CandidateProtocol],
    chosen: CandidateProtocol,
    server: KnownServer | None,
    at: str,
) -> str:
    """The findings, and why a wire that usually is the better one, and comes first among those considered, was not
    chosen; `at` is the server's name for people."""
    better = considered[: considered.index(chosen)] if considered else ()
    passed = [f"{wire.title} is not complete at {at} ({row.reason})" for wire in better if (row := wire.row_at(server))]
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


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".")


# ---- Asking ----

_SECONDS: Final = 5.0
"""For all requests together: a person waits meanwhile for an answer, or for an error."""


async def detect(configuration: GatewayConfiguration, connections: Connections) -> Detected:
    """Finds out what a base URL speaks; sends no request if its host is known.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
    """
    url = configuration.base_url
    wires = known_wires(url)
    return decide_by_host(url, wires) or decide(url, await _ask(configuration, connections, wires), wires)


async def advice_on_protocol(configuration: GatewayConfiguration, connections: Connections, if_right: str = "") -> str:
    """Advice where a server lacks the endpoint of the protocol that was set, or its list of models; empty where nothing
    is known, and `if_right` where the endpoint is there.

    Asked after a request has failed only: the setting itself is never doubted.
    """
    url = configuration.base_url
    wires = known_wires(url)
    own = [wire for wire in wires if wire.name == configuration.protocol]
    found = decide_by_host(url, own) or decide_by_host(url, wires)
    # Alone first: llama.cpp has two of its protocols below the host too, and the third below /v1 only.
    found = found or decide(url, await _ask(configuration, connections, own), own)
    if not found.is_certain:
        found = decide(url, await _ask(configuration, connections, wires), wires)
    if not found.is_certain:
        return found.advice
    if found.protocol != configuration.protocol:
        return (
            f"the server speaks {found.title} at {found.shown_url}, and no {own[0].title}: leave `protocol` out, "
            f"or set it to {found.protocol}"
        )
    return f"did you mean {found.shown_url}?" if found.base_url.rstrip("/") != url.rstrip("/") else if_right


async def _ask(
    configuration: GatewayConfiguration, connections: Connections, wires: Sequence[CandidateProtocol]
) -> list[Round]:
    """Asks below the base URLs that may be meant, until one says something.

    A path that belongs to a protocol that is not asked for is taken as it is. A protocol with a base path of its own is
    asked for at once where the address or the list of models tells a server that speaks it, and everywhere else last.
    """
    url = configuration.base_url
    probed, own = probed_wires(wires), probed_wires(wires, elsewhere=True)
    meant = endpoint.base_urls(url, [wire.path for wire in wires])
    if any(wire not in (*probed, *own) for wire in wires_at_path(endpoint.path_of(url), wires)):
        meant = meant[:1]
    ask = partial(ask_round, configuration, connections, deadline=asyncio.get_running_loop().time() + _SECONDS)
    # The address is that of a server that speaks a protocol with a base path of its own, or has that path.
    first = [
        wire
        for wire in own
        if wire.row_at(server_at(url)) is not None
        or endpoint.without_ending(endpoint.path_of(url), [wire.path]).endswith(wire.own_base_path)
    ]
    rounds: list[Round] = []
    for base_url in meant:
        rounds.append(await ask(base_url, [*probed, *([] if rounds else first)]))
        told, _ = server_of(rounds[-1])
        if more := [one for one in _unasked(own, rounds) if one.row_at(told)]:
            rounds[-1] = joined(rounds[-1], await ask(base_url, more))
        if is_last(rounds[-1]):
            return rounds
    late = _unasked(own, rounds)
    if late and not any(one.names(Presence.NO_API) for one in rounds):
        answered = joined(rounds[0], await ask(meant[0], late))
        rounds = [*rounds[1:], answered] if answered.names(Presence.THERE) else [answered, *rounds[1:]]
    return rounds


def _unasked(wires: Sequence[CandidateProtocol], rounds: Sequence[Round]) -> list[CandidateProtocol]:
    return [wire for wire in wires if not any(wire.name in one.signs for one in rounds)]


async def ask_round(
    configuration: GatewayConfiguration,
    connections: Connections,
    base_url: str,
    wires: Sequence[CandidateProtocol],
    *,
    deadline: float,
) -> Round:
    """Sends a request to each endpoint, and one for the list where an endpoint is below this base URL, at the same
    time; waits until the deadline, by the clock of the event loop."""

    async def ask(wire: CandidateProtocol, path: str, body: Mapping[str, Any] | None) -> FetchResponse | str:
        known = configuration.spoken(wire.name, wire.at or base_url)
        return await ask_once(UpstreamHTTP(known, connections), path, body, deadline)

    paths = [path_for_model(wire.path, _NO_MODEL) for wire in wires]
    questions = [ask(wire, endpoint.MODELS_PATH, None) for wire in [one for one in wires if not one.at][:1]]
    questions += [ask(wire, path, wire.empty_request) for wire, path in zip(wires, paths, strict=True)]
    answers: list[FetchResponse | str] = []
    # All answers, once none is on its way any more; the first failure of this machine in their place.
    for answer in await asyncio.gather(*questions, return_exceptions=True):
        if isinstance(answer, BaseException):
            raise answer
        answers.append(answer)
    listing = answers.pop(0) if len(answers) > len(wires) else None
    listed = listing if isinstance(listing, FetchResponse) else None
    signs: dict[str, Sign] = {}
    for wire, path, got in zip(wires, paths, answers, strict=True):
        if isinstance(got, str):
            signs[wire.name] = Sign(Presence.SILENT, got)
        elif listed is not None and got.status == listed.status >= 500:  # it fails at whatever it is asked
            signs[wire.name] = Sign(Presence.SILENT, f"HTTP {got.status}")
        else:
            signs[wire.name] = sign_of(got, wire.errors, endpoint.without_query(wire.at or base_url), path)
    return Round(base_url, signs, listed)


async def ask_once(
    http: UpstreamHTTP, path: str, document: Mapping[str, Any] | None, deadline: float
) -> FetchResponse | str:
    """The answer to a question at a path below the base URL, a document for one with a body; or why there is none."""
    try:
        async with asyncio.timeout_at(deadline):
            body = None if document is None else dumps(document)
            return await http.fetch(http.base_path + path, {}, body, renews_key=False)
    except TimeoutError:
        return "no answer in time"
    except UpstreamError as error:
        return error.reason if isinstance(error, UpstreamConnectionError) else error.statement


# ---- What one upstream speaks ----

_GUESS_SECONDS: Final = 2.0
"""How long a guess serves at least: one answer asks several times."""
_GUESS_FACTOR: Final = 12.0
"""How much longer it serves than it took to make, so that not every request waits for a silent server."""
_LONGEST_GUESS: Final = 120.0
_PAUSE_SECONDS: Final = 30.0
"""How long the server is not asked again after the same was found out twice."""
_MAX_REASON: Final = 500
_FRESH_SECONDS: Final = 24 * 3600.0
"""How long it is remembered between starts: a server that is renewed may speak a better protocol than before."""


class Detector:
    """What one upstream speaks; serves any number of callers on one event loop. Its own protocol does not count.

    Between starts, a file has what was found out for certain. It holds a path, and never a host: a program that can
    write into the folder cannot lead a key elsewhere. Its name is a digest of the URL as it was given.
    """

    def __init__(
        self, configuration: GatewayConfiguration, connections: Connections, clock: Callable[[], float] = time.time
    ) -> None:
        self._configuration = configuration
        self._connections = connections
        self._clock = clock
        folder = configuration.protocol_folder or configuration.cache_folder
        self._file: KeptFile | None = None
        if folder is not None:
            name = f"protocol-{hashlib.sha256(configuration.base_url.encode()).hexdigest()[:16]}.json"
            self._file = KeptFile(folder / name, "what the server speaks", 16 * 1024)
        self.known: Detected | None = None  # what was found out for certain
        self._guess: Detected | None = None
        self._guess_ends = 0.0
        self._confirmed_at = -_PAUSE_SECONDS
        self._running: asyncio.Task[Detected] | None = None

    async def detected(self) -> Detected:
        """What the upstream speaks; a guess where it does not tell, or where it cannot be asked."""
        if self.known is None and self._guess is not None and 0 < self._guess_ends - self._clock() <= _LONGEST_GUESS:
            return self._guess
        return self.known or await self._one_for_all(self._file)

    async def detected_again(self, wrong: Detected) -> Detected:
        """What the upstream speaks after a request failed in what was found out before."""
        if self.known is not None and self.known != wrong:
            return self.known  # another request has met it before
        if 0 <= self._clock() - self._confirmed_at < _PAUSE_SECONDS:
            return wrong
        again = await self._one_for_all(None)
        is_same = (again.protocol, again.base_url) == (wrong.protocol, wrong.base_url)
        self._confirmed_at = self._clock() if is_same else -_PAUSE_SECONDS
        return again

    async def aclose(self) -> None:
        """Stops asking; the object may be used again."""
        task, self._running = self._running, None
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _one_for_all(self, remembering: KeptFile | None) -> Detected:
        self._running = shared_task(self._running, self._find, remembering)
        return await asyncio.shield(self._running)

    async def _find(self, remembering: KeptFile | None) -> Detected:
        """What was remembered, else what the upstream answers."""
        self.known, before, began = None, self._guess, self._clock()
        kept = None if remembering is None else await asyncio.to_thread(remembering.read)
        remembered = self._remembered(kept, began)
        found = remembered or await detect(self._configuration, self._connections)
        now = self._clock()
        if found.is_certain:
            self.known = found
        else:
            serves = max(_GUESS_SECONDS, (now - began) * _GUESS_FACTOR)
            self._guess, self._guess_ends = found, now + min(serves, _LONGEST_GUESS)
        if self._file is not None and found.is_certain and remembered is None:
            path, known = endpoint.path_of(found.base_url), {"reason": found.reason, "server": found.server}
            document = {"version": __version__, "protocol": found.protocol, "path": path, "at": now, **known}
            await asyncio.to_thread(self._file.write, document)
        elif self._file is not None and not found.is_certain:
            await asyncio.to_thread(self._file.remove)
        if found.is_certain or found != before:
            _logger.info("%s: %s", found.shown_url, found.says)
        return found

    def _remembered(self, kept: Any, now: float) -> Detected | None:
        match kept:
            case {
                "version": str(version),
                "protocol": str(protocol),
                "path": str(path),
                "reason": str(reason),
                "at": int() | float() as at,
                **others,
            } if (
                version == __version__
                and protocol in asked_protocols()
                and path[:1] in {"", "/"}
                and 0 <= now - at <= _FRESH_SECONDS
            ):
                server = next((one.name for one in KNOWN_SERVERS if one.name == others.get("server")), "")
                url = endpoint.url_on_host(self._configuration.base_url, path)
                return Detected(protocol, url, reason[:_MAX_REASON], server=server)
        return None


@dataclass(frozen=True, slots=True)
class OpenUpstream:
    """An upstream whose protocol is known, the models that it lists, and how its protocol was found out; None where it
    is set."""

    configuration: GatewayConfiguration
    http: UpstreamHTTP
    connections: Connections
    models: ModelList
    detected: Detected | None


@asynccontextmanager
async def open_upstream(configuration: GatewayConfiguration) -> AsyncIterator[OpenUpstream]:
    """Finds out what an upstream speaks, unless it is set, and keeps its connections for the block.

    For those who send it no request of a chat: lists, examinations. An error of the upstream in the block gets the
    advice that belongs to a guess; the error of a missing list of models gets the advice for one.

    Raises:
        LanguageModelError: As :func:`detect`.
        ConfigurationError: A setting is not usable in the protocol that was found out.
    """
    async with aclosing(Connections(configuration)) as connections:
        detected = await detect(configuration, connections) if configuration.is_detected else None
        known = configuration if detected is None else configuration.spoken(detected.protocol, detected.base_url)
        http = UpstreamHTTP(known, connections)
        try:
            async with aclosing(ModelList(known, http.fetch)) as models:
                yield OpenUpstream(known, http, connections, models, detected)
        except UpstreamError as error:
            if detected is not None and not detected.is_certain:
                error.advise(detected.advice)
            elif http_errors.says_path_is_missing(error):
                helps = http_errors.NO_LIST_ADVICE
                with suppress(LanguageModelError):  # the key is gone meanwhile
                    error.advise(helps if detected else await advice_on_protocol(known, connections, helps))
            raise
