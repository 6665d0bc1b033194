"""Decides what a base URL speaks, by its host and by the answers below it; pure, so the same answers decide the same.

First, the base URLs that a person may mean: people copy the URL of an endpoint, leave `/v1` out, or name the server's
own API. A known host decides at once. Else each answer to an empty request is a sign: an endpoint that is there refuses
it with 400 or 422, and one that is not answers 404 or 405. Servers deviate: LM Studio reports a missing path with
status 200, Gemini and LiteLLM refuse the key with 400 before they look at the path, llama.cpp answers 500 to a body
without a required field, Go's and nginx's servers answer plain http with 400.

Of several endpoints that are there, the better wire wins: one that is complete at the server over one that is not, then
the order of the registry. The rows in the protocols' own folders say which wires are complete at which servers. Where
the answers do not decide, the decision is a guess with advice.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.protocols.protocol import PROTOCOLS, ServerProtocol, asked_protocols
from partstream.protocols.serve import MODEL, path_for_model
from partstream.settings.known_servers import KnownServer, known_server, server_at
from partstream.settings.row import hidden_url
from partstream.upstream.http_errors import GENERAL_ADVICE, http_error, is_about_the_key, says_path_is_missing

if TYPE_CHECKING:
    from partstream.errors import UpstreamHTTPError
    from partstream.protocols.errors import Errors
    from partstream.upstream.discovery import FetchResponse

# ---- The base URLs that a person may mean ----

MODELS: Final = "/models"
"""The path of the list of models below a base URL."""

_VERSION: Final = "/v1"
_VERSIONED: Final = re.compile(r"/v\d+(beta\d*|alpha\d*)?(/|$)")
_SLASHES: Final = re.compile(r"/{2,}")
_BASE_PATH: Final = re.compile(r"/(?:v\d+(?:beta\d*|alpha\d*)?|api)$")
_MOST: Final = 3


def base_urls(url: str, endpoints: Iterable[str]) -> tuple[str, ...]:
    """The base URLs that may be meant, the likeliest first, at most three of them; all are on the host of the URL.

    People copy the URL of an endpoint (`…/v1/chat/completions`), leave `/v1` out, or name the server's own API
    (`…/api`). A path with a version is taken as it is: `/openai/v1` and `/api/paas/v4` are base URLs.

    Args:
        url: What was given.
        endpoints: The paths of endpoints below a base URL.
    """
    given = path_of(url)
    within = without_ending(given, (*endpoints, MODELS))
    paths = [within]
    if not _VERSIONED.search(within):
        # The URL of an endpoint that worked elsewhere says itself that there is no version in it.
        paths.insert(1 if within != given else 0, within + _VERSION)
    if within != given and given.endswith(MODELS):
        paths.append(given)  # Azure's model inference API answers at /models/chat/completions
    paths.append(_VERSION)
    return tuple(with_path(url, path) for path in dict.fromkeys(paths))[:_MOST]


def own_base_url(url: str, own_base_path: str, endpoints: Iterable[str]) -> str:
    """The base URL of a wire that has a base path of its own, on the host that a URL means.

    In place of the base path of another wire: `…/v1` and `…/api/chat` both mean `…/api`.

    Args:
        url: What was given.
        own_base_path: The base path of the wire, such as `/api`.
        endpoints: The paths of endpoints below a base URL.
    """
    path = without_ending(path_of(url), (*endpoints, MODELS))
    while (shorter := _BASE_PATH.sub("", path)) != path:
        path = shorter
    return with_path(url, path + own_base_path)


def path_of(url: str) -> str:
    """The path of a URL without doubled slashes and without one at its end."""
    return _SLASHES.sub("/", urlsplit(url).path).rstrip("/")


def without_ending(path: str, endings: Iterable[str]) -> str:
    """The path without the longest of some endings that it has; an ending may hold `{model}`."""
    shortest = path
    for ending in endings:
        before, has_model, after = ending.partition(MODEL)
        rest = path.removesuffix(ending)
        if has_model:
            # Another method may follow the model: `…/models/m:generateContent`.
            base, found, name = path.rpartition(before)
            rest = base if found and "/" not in name and after[:1] in name else path
        shortest = min(shortest, rest, key=len)
    return shortest


def with_path(url: str, path: str) -> str:
    """The URL with another path; its query stays, because it may hold a version or a key."""
    address = urlsplit(url)
    return urlunsplit((address.scheme, address.netloc, path, address.query, ""))


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
        errors: How its servers report errors.
        own_base_path: Its base path below a host; empty for one beside the others.
    """

    name: str
    title: str
    path: str
    empty_request: Mapping[str, Any] | None
    rows: tuple[ServerProtocol, ...]
    errors: Errors
    own_base_path: str = ""

    @property
    def probed_path(self) -> str:
        """The path that is asked with an empty request."""
        return path_for_model(self.path, _NO_MODEL)

    def row_at(self, server: str) -> ServerProtocol | None:
        """What is known of it at a server, by the server's name."""
        return next((row for row in self.rows if row.server == server), None)


def known_wires() -> tuple[CandidateProtocol, ...]:
    """All protocols in which a server can be asked, the better one first."""
    wires = []
    for name in asked_protocols():
        protocol = PROTOCOLS[name]
        assert protocol.write_request is not None  # noqa: S101 - for the type checker: it is one that is asked
        writer = protocol.write_request()
        rows = () if protocol.spoken_at is None else protocol.spoken_at()
        wires.append(
            CandidateProtocol(
                name, protocol.shown_title, writer.path, writer.empty_request, rows, writer.errors, writer.own_base_path
            )
        )
    return tuple(wires)


def probed_wires(wires: Sequence[CandidateProtocol]) -> tuple[CandidateProtocol, ...]:
    """The protocols whose endpoints are asked for where the address alone does not decide."""
    return tuple(one for one in wires if one.empty_request is not None and not one.own_base_path)[:_MOST_PROBED]


def probed_elsewhere(wires: Sequence[CandidateProtocol]) -> tuple[CandidateProtocol, ...]:
    """The protocols with an empty request whose base path is their own."""
    return tuple(one for one in wires if one.empty_request is not None and one.own_base_path)[:_MOST_ELSEWHERE]


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
    """The meaning of one answer.

    Attributes:
        says: The answer in a few words, such as `HTTP 400`.
        advice: A remedy; empty where none is known.
        server: The name of the known server, according to its headers, or None.
    """

    presence: Presence
    says: str
    advice: str = ""
    server: str | None = None


_ANY_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The wait that an answer asks for does not count here."""

_NO_SUCH_PATH: Final = re.compile(
    r"unexpected endpoint"  # LM Studio, with status 200: lmstudio-bug-tracker#618, #2085
    r"|(?:unknown|invalid|unsupported|no such) (?:endpoint|route|path|url)\b"
    r"|(?:endpoint|route|path) (?:is )?not (?:found|supported)"
    r"|cannot (?:post|get) /",  # Express
    re.IGNORECASE,
)
_WANTS_HTTPS: Final = re.compile(r"HTTP request (?:was sent )?to (?:an )?HTTPS (?:server|port)", re.IGNORECASE)
"""The message of Go's and nginx's servers, with status 400, to plain http."""

_NOTHING_SAID: Final = frozenset({401, 402, 403, 407, 408, 425, 429, 502, 503, 504, 529})
"""Servers may answer these before they look at the path."""
_MISSING: Final = frozenset({404, 405, 410, 501})


def sign_of(answer: FetchResponse, errors: Errors, base_url: str, path: str) -> Sign:
    """The sign in the answer to an empty request.

    Args:
        answer: The answer; of a long body the start.
        errors: How the protocol's servers report errors.
        base_url: Where the endpoint was looked for, without secrets.
        path: Its path below that.
    """
    text = answer.body.decode(errors="replace")
    status = answer.status
    said, server = f"HTTP {status}", _server_of_headers(answer.headers)
    if _WANTS_HTTPS.search(text):
        encrypted = base_url.replace("http://", "https://", 1)
        return Sign(Presence.NO_API, said, f"this port wants https: use {encrypted}", server)
    if 300 <= status < 400:
        advice = _advice_on_redirect(answer.headers.get("location", ""), base_url, path)
        return Sign(Presence.NO_API, f"{said}, a redirect", advice, server)
    if text.lstrip().startswith("<"):
        missing = status in _MISSING
        says = said if missing else f"{said}, a web page"
        return Sign(Presence.MISSING if missing else Presence.NO_API, says, server=server)
    if status in _NOTHING_SAID:
        return Sign(Presence.SILENT, said, server=server)
    error = http_error(status, answer.headers, answer.body, _ANY_MOMENT, errors)
    if is_about_the_key(error):  # with 400, as Gemini and LiteLLM do: before a look at the path
        return Sign(Presence.SILENT, said, server=server)
    return Sign(_presence(answer, error, text), said, server=server)


def tells_nothing(answer: FetchResponse, listing: FetchResponse | None) -> bool:
    """Whether a server fails at whatever it is asked: at an endpoint as at its list of models."""
    return listing is not None and answer.status == listing.status >= 500


def _presence(answer: FetchResponse, error: UpstreamHTTPError, text: str) -> Presence:
    if _NO_SUCH_PATH.search(error.provider_message or ""):
        return Presence.MISSING
    if answer.status in _MISSING:
        is_missing = answer.status != 404 or says_path_is_missing(error)  # a model that is not there is asked for there
        return Presence.MISSING if is_missing else Presence.THERE
    is_json = _document(answer.body) is not None
    if answer.status < 300:  # an error with a status of success, or an answer to nothing
        return Presence.THERE if is_json or text.startswith(("data:", "event:")) else Presence.NO_API
    if answer.status >= 500:  # llama.cpp answered 500 to what is missing in a body
        return Presence.THERE if is_json else Presence.SILENT
    return Presence.THERE


def _advice_on_redirect(location: str, base_url: str, path: str) -> str:
    """The base URL that a redirect means which only begins to encrypt; empty for a redirect to anywhere else."""
    try:
        target, asked = urlsplit(location), urlsplit(base_url)
        same_host = target.hostname == asked.hostname
    except ValueError:
        return ""
    if not same_host or (asked.scheme, target.scheme) != ("http", "https"):
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


def is_list(answer: FetchResponse) -> bool:
    """Whether an answer is a list of models in a known form."""
    return answer.status == 200 and _entries(answer) is not None


def server_of_list(answer: FetchResponse) -> str | None:
    """The name of the known server that a list of models tells by its headers and entries; None for any other."""
    if answer.status != 200:
        return None
    entries = _entries(answer) or []
    owners = [one.get("owned_by") for one in entries if isinstance(one, dict)]
    by_owner = (server for owner, server in _OWNERS.items() if owner in owners)
    return _server_of_headers(answer.headers) or next(by_owner, None)


def _server_of_headers(headers: Mapping[str, str]) -> str | None:
    told = (server for name, starts, server in _HEADERS if name in headers and headers[name].startswith(starts))
    return next(told, None)


def _entries(answer: FetchResponse) -> list[Any] | None:
    """The entries of a list of models; None where an answer is none."""
    document = _document(answer.body)
    if isinstance(document, dict):
        document = next((document[name] for name in ("data", "models") if isinstance(document.get(name), list)), None)
    return document if isinstance(document, list) else None


def _document(body: bytes) -> Any:
    try:
        return loads(body)
    except JSONDecodeError:
        return None


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


NOWHERE_ELSE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Round:
    """The answers below one base URL.

    Attributes:
        signs: The signs of the endpoints, by the names of their protocols.
        listing: The answer to the request for models, or None if there was none.
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
    """Whether no other base URL has to be tried: an endpoint is here, or the server does not say."""
    return bool(asked.names(Presence.THERE) or asked.names(Presence.SILENT))


def joined(asked: Round, more: Round) -> Round:
    """What was answered below one base URL, and to further questions elsewhere on the same host."""
    return replace(asked, signs={**asked.signs, **more.signs}, elsewhere={**asked.elsewhere, **more.elsewhere})


def decide_by_host(url: str, wires: Sequence[CandidateProtocol]) -> Detected | None:
    """The protocol of a known host; None where the host is unknown, or the path is not that of a base URL there."""
    server = server_at(url)
    if server is None or not server.has_paths_at(_host(url)):
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
    return Detected(chosen.name, asked.base_url_of(chosen), reason, server="" if server is None else server.name)


def _untold(asked: Round, silent: Sequence[CandidateProtocol], server: KnownServer | None, at: str) -> Detected:
    """A guess where the server says nothing of its paths: what is known of such servers, else the better wire."""
    known = [wire for wire in silent if server is not None and wire.row_at(server.name) is not None]
    chosen = _best(known or silent, server)
    said = ", ".join(dict.fromkeys(sign.says for sign in asked.signs.values())) or "nothing"
    facts = [f"a guess, as the server does not tell ({said})"]
    reason = _because(facts, known, chosen, server, at)
    return Detected(
        chosen.name, asked.base_url_of(chosen), reason, is_certain=False, server="" if server is None else server.name
    )


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
    """The first wire that is not known to be incomplete at the server; else the one that lacks least."""
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
        facts: The findings.
        considered: The wires that could have been chosen, the one that usually is better first.
        chosen: The wire that was.
        server: The known server, or None.
        at: Its name for people.
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


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".")
