"""The endpoint of an upstream: its key, its address, and the presets that a person can choose by name.

A `Secret` shows its key only on an explicit call. A `CredentialSource` is asked for the key before each request, and
once more after a refusal; no class here knows a place where keys are kept. A hub is recognised by the form of the keys
that it gives, wherever it is. The functions on addresses resolve no name; they know which base URLs a person may mean.

The presets are made of two tables: the servers (:mod:`partstream.settings.known_servers`) and the rows in the folder
of each protocol (:attr:`partstream.protocols.protocol.Protocol.spoken_at`).
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from ipaddress import ip_address
from itertools import chain
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from partstream.codec.checks import dataclass, fields, replace
from partstream.codec.redaction import NotPickled, Redactor, names_a_secret, secrets_in_header
from partstream.codec.text import late_pattern
from partstream.errors import CallerError, LanguageModelError, LanguageModelErrorCode
from partstream.protocols.protocol import KeyKind, ServerProtocol, spoken_at
from partstream.protocols.serve import MODEL
from partstream.settings.kinds import closest_name, shown_name
from partstream.settings.known_servers import KNOWN_SERVERS, KnownServer, Region
from partstream.settings.row import SHORTEST_KEY

_JWT: Final = late_pattern(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
"""RFC 7519: its head is a JSON object, which begins with `{"` and so with `eyJ` in base64url."""
_PLAIN_HEADERS: Final = frozenset({"accept", "content-type", "if-none-match", "user-agent"})


class Secret(NotPickled):
    """Holds a key; its `repr` and `str` never show it, so that no log and no error can.

    Where no `kind` of key is said, a JSON Web Token is of OIDC.

    Example:
        >>> from partstream import Secret
        >>> key = Secret("sk-1")
        >>> "sk-1" in f"{key} {key!r}"
        False
        >>> key.reveal()
        'sk-1'
    """

    __slots__ = ("_value", "kind")

    def __init__(self, value: str, kind: KeyKind | None = None) -> None:
        self._value = value
        self.kind = kind or (KeyKind.OIDC if _JWT.fullmatch(value) else KeyKind.API_KEY)

    def reveal(self) -> str:
        """The key itself, for the one header that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def secrets_in_url(url: str) -> Iterator[str]:
    """The user name and password of a URL, and the values in its query under names of secrets."""
    address = urlsplit(url)
    known = address.netloc.rpartition("@")[0]
    query = [pair.partition("=") for pair in address.query.split("&")]
    for text in (known, *known.split(":", 1), *(value for name, _, value in query if names_a_secret(name))):
        yield text
        yield unquote(text)


def redactor_of(headers: Mapping[str, str], secrets: Iterable[str] = ()) -> Redactor:
    """Removes secrets that an upstream was sent from its texts: some servers repeat the key that they refuse.

    Errors are logged and shown, lists of models are kept on disk. Further `secrets` were sent in the body or the URL.
    """
    sent = [value for name, value in headers.items() if name not in _PLAIN_HEADERS]
    found = (*chain.from_iterable(map(secrets_in_header, sent)), *secrets)
    return Redactor(secret for secret in found if len(secret) >= SHORTEST_KEY)


class CredentialError(LanguageModelError):
    """The key could not be read from its place, `source`; the message holds nothing of the place's content. `expected`
    is the remedy."""

    def __init__(self, source: str, got: str, expected: str) -> None:
        super().__init__(f"no key from {source}: got {got}, expected {expected}", LanguageModelErrorCode.NO_PERMISSIONS)
        self.source = source
        self.expected = expected


class CredentialSource(Protocol):
    """A source of an upstream's key; serves any number of requests at once."""

    async def get(self) -> Secret | None:
        """The key to send now; None for a server that needs none.

        Raises:
            CredentialError: It cannot be had.
        """

    async def refresh(self, refused: Secret) -> Secret | None:
        """Another key after `refused` got a 401; None if there is no other.

        Raises:
            CredentialError: It cannot be had.
        """


class FixedKey:
    """A fixed key, or none."""

    def __init__(self, key: Secret | None) -> None:
        self._key = key

    async def get(self) -> Secret | None:
        """The key."""
        return self._key

    async def refresh(self, refused: Secret) -> Secret | None:
        """There is no other."""
        return None


MOST_KEY: Final = 200
SESSION_HEADER: Final = "x-session-id"
"""The header with which programs name their conversation to a hub, so that it can add up the usage of each."""
_KEY: Final = late_pattern(r"psk_[A-Za-z0-9-]{1,60}_[A-Za-z0-9_-]{16,}", re.ASCII)
"""`psk_`, the id of the key, its secret."""


def is_hub_key(key: Secret | None) -> bool:
    """Whether a key is one that a hub gave to a person."""
    text = "" if key is None else key.reveal()
    return len(text) <= MOST_KEY and _KEY.fullmatch(text) is not None


# ---- Addresses ----

_HOST: Final = late_pattern(
    r"(?:localhost|\[[0-9a-fA-F:.]+\]|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d{1,5})?(?:/[\w./-]*)?", re.ASCII
)
"""A host with a dot or a port, and a path."""
_ORIGIN: Final = late_pattern(
    r"(?:https?:)?//(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?", re.ASCII | re.IGNORECASE
)


def is_loopback(host: str) -> bool:
    """Tells whether the host of a URL is certainly this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def is_on_loopback(url: str) -> bool:
    """Tells whether a URL of a host alone, such as an origin, or `//` and a header `host`, is certainly this machine.

    Anything after the host and its port is wrong there: where one program ends a host, another may go on.
    """
    found = _ORIGIN.fullmatch(url)
    return found is not None and is_loopback(found["host"].strip("[]").lower())


def url_meant_by(text: str) -> str | None:
    """The URL that an address without a scheme means, see :func:`likely_scheme`; None for what may be a key."""
    if _HOST.fullmatch(text) is None or shown_name(text) != text:
        return None
    try:
        return f"{likely_scheme(text)}://{text}"
    except ValueError:  # brackets around what is no IPv6 address
        return None


def likely_scheme(address: str) -> str:
    """The scheme of an address that has none: http on this machine and at an IP address, https elsewhere.

    Few IP addresses have a certificate. Plain http to another machine needs a permission of its own.

    Raises:
        ValueError: It is no address.
    """
    host = urlsplit(f"//{address}").hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return "http" if is_loopback(host) else "https"
    return "http"


def with_scheme(text: str) -> str:
    """The text with the scheme that it lacks; the text as it is where it has one, or where it may be a key."""
    return text if "://" in text else url_meant_by(text.strip()) or text


def url_on_host(base_url: str, path: str, query: str = "") -> str:
    """The URL of a path on the host of the base URL, with the query of the base URL before the other one."""
    address = urlsplit(base_url)
    queries = "&".join(filter(None, (address.query, query)))
    return urlunsplit((address.scheme, address.netloc, path, queries, ""))


def without_query(url: str) -> str:
    """The URL as a message may show it: without its query, which may hold a key."""
    address = urlsplit(url)
    return f"{address.scheme}://{address.netloc}{address.path}"


# ---- The base URLs that a person may mean ----

MODELS_PATH: Final = "/models"
"""Where nearly every server lists its models, below the path of the base URL."""
USUAL_VERSION: Final = "/v1"
_MOST_MEANT: Final = 3


def base_urls(url: str, endpoints: Iterable[str]) -> tuple[str, ...]:
    """The base URLs that may be meant, the likeliest first, at most three of them; all are on the host of the URL.

    People copy the URL of an endpoint (`…/v1/chat/completions`), leave `/v1` out, or name the server's own API
    (`…/api`). A path with a version is taken as it is: `/openai/v1` and `/api/paas/v4` are base URLs.
    """
    given = path_of(url)
    within = without_ending(given, (*endpoints, MODELS_PATH))
    paths = [within]
    if not re.search(r"/v\d+(beta\d*|alpha\d*)?(/|$)", within):
        # The URL of an endpoint that worked elsewhere says itself that there is no version in it.
        paths.insert(1 if within != given else 0, within + USUAL_VERSION)
    if within != given and given.endswith(MODELS_PATH):
        paths.append(given)  # Azure's model inference API answers at /models/chat/completions
    paths.append(USUAL_VERSION)
    return tuple(url_on_host(url, path) for path in dict.fromkeys(paths))[:_MOST_MEANT]


def own_base_url(url: str, own_base_path: str, endpoints: Iterable[str]) -> str:
    """The base URL of a wire that has a base path of its own, on the host that a URL means.

    In place of the base path of another wire: `…/v1` and `…/api/chat` both mean `…/api`.
    """
    path = without_ending(path_of(url), (*endpoints, MODELS_PATH))
    before = re.sub(r"(?:/(?:v\d+(?:beta\d*|alpha\d*)?|api))+$", "", path)
    return url_on_host(url, before + own_base_path)


def path_of(url: str) -> str:
    """The path of a URL without doubled slashes and without one at its end."""
    return re.sub("/{2,}", "/", urlsplit(url).path).rstrip("/")


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


# ---- Presets ----


class UnknownPresetError(CallerError):
    """No preset has this name; `closest` is the name that may be meant, or None."""

    def __init__(self, name: str, closest: str | None) -> None:
        hint = f"; did you mean {closest}?" if closest else ""
        super().__init__(f"there is no preset {shown_name(name)!r}{hint}")
        self.name = name
        self.closest = closest


@dataclass(frozen=True)
class Preset(KnownServer):
    """A server that a person can choose by name, and the best protocol there; None where nothing is known."""

    spoken: ServerProtocol | None = None

    @property
    def base_url(self) -> str:
        """Its base URL; empty where each of its users has another address."""
        return "" if self.spoken is None or self.address_example else self.spoken.base_url

    @property
    def asks_address(self) -> bool:
        """Whether a person has to say where it is."""
        return not self.base_url

    @property
    def regions(self) -> tuple[Region, ...]:
        """Its regions, with the base URL in each."""
        if (spoken := self.spoken) is None:
            return ()
        return tuple(replace(one, base_url=spoken.at(f"https://{one.host}")) for one in super().regions)


ANOTHER_ADDRESS: Final = Preset("address", "Another server, by its address", address_example="https://host.example/v1")


@cache
def presets() -> tuple[Preset, ...]:
    """All presets in the order in which they are offered: those of this machine first; the last is any address."""
    made = []
    for server in KNOWN_SERVERS:
        if server.is_offered and (spoken := spoken_at(server.name)):
            known = {one.name: getattr(server, one.name) for one in fields(server)}
            made.append(Preset(**known, spoken=spoken[0][1]))
    return (*sorted(made, key=lambda preset: not preset.is_local), ANOTHER_ADDRESS)


def preset_named(name: str) -> Preset:
    """The preset that a name or a title means; case, blanks and punctuation do not matter.

    Raises:
        UnknownPresetError: None does.
    """
    wanted = _letters(name)
    named = [one for one in presets() if _letters(one.name) == wanted]
    titled = [one for one in presets() if wanted and wanted in _letters(one.title)]
    for found in (named, titled):
        if len(found) == 1:
            return found[0]
    raise UnknownPresetError(name, closest_name(name.lower(), [one.name for one in presets()]))


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
