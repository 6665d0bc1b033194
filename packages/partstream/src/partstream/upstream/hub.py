"""The side of a person who joins a hub: links and addresses, the exchange of a join code, what is left of a budget.

Nothing here knows a command or an editor; `partstream add hub` and the extension both build on it.

A hub gives the standing of the person who asks at `GET /hub/v1/me`, with money in whole nanodollars and tokens in whole
numbers. A hub is another machine: a budget that cannot be read is left out and named, because what is wrong in one must
not hide the others. What is left is rounded down, so that a person reads of no money that is not there.

Requests go over the connections of an ordinary upstream. A link comes from a mail or a chat, so nothing in it is
trusted: it names an address, which a person confirms, and a code, which is sent once and to that address alone. No log
and no error holds the code, which follows `#`, so that no browser sends it to a server.
"""

from __future__ import annotations
import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeGuard
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from partstream.codec.checks import LAST_TIME, as_amount, dataclass
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.redaction import Redactor
from partstream.errors import UpstreamError, UpstreamProtocolError
from partstream.settings.kinds import ConfigurationError, is_http_url
from partstream.settings.row import hidden_url
from partstream.tokens.amounts import BudgetUnit
from partstream.upstream.endpoint import USUAL_VERSION, Secret, is_hub_key, is_loopback, with_scheme
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.http_errors import content_type_error, http_error, redacted_error

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration

_logger = logging.getLogger("partstream.upstreams")

# ---- The standing of a person ----

ME_PATH: Final = "/hub/v1/me"
_MOST_BUDGETS: Final = 20
_MOST_TEXT: Final = 200
_MOST_AMOUNT: Final = 2**62
"""Of nanodollars or tokens: what the BIGINT of a database holds."""


@dataclass(frozen=True, slots=True)
class HubBudget:
    """What is left of one budget."""

    unit: BudgetUnit
    period: str  # `day`, `week`, `month` or `total`; another word of a newer hub is kept as it is
    limit: int
    remaining: int  # the limit less what is spent and what answers that run have reserved; from 0
    resets_at: float | None = None  # when the next period begins, in seconds since 1970; None for one that never does
    owner: str = ""  # such as `person ada` or `team engines`

    @property
    def share_left(self) -> float:
        """The share of the limit that is left, from 0 to 1."""
        return min(1.0, self.remaining / self.limit) if self.limit > 0 else 0.0


@dataclass(frozen=True, slots=True)
class HubStanding:
    """The standing of a person at a hub."""

    person: str
    budgets: tuple[HubBudget, ...]  # that hold, the one with the smallest share left first


def read_standing(document: Any) -> HubStanding:
    """Reads the standing of a person; what cannot be read of a budget is logged.

    Raises:
        UpstreamProtocolError: It is no object with the name of a person and a list of budgets.
    """
    if not isinstance(document, dict):
        raise _wrong(ME_PATH, None, f"{document!r:.80}", "an object")
    person, budgets = document.get("person"), document.get("budgets", [])
    if not person or not _is_text(person, _MOST_NAME):
        raise _wrong(ME_PATH, "person", f"{person!r:.80}", f"a name of at most {_MOST_NAME} characters")
    if not isinstance(budgets, list):
        raise _wrong(ME_PATH, "budgets", f"{budgets!r:.80}", "a list")
    if len(budgets) > _MOST_BUDGETS:
        _logger.warning("%s: got %d budgets, expected at most %d", ME_PATH, len(budgets), _MOST_BUDGETS)
    read: list[HubBudget] = []
    for number, budget in enumerate(budgets[:_MOST_BUDGETS]):
        values = budget if isinstance(budget, dict) else {}
        fields: dict[str, Any] = {}
        try:
            for name, (read_field, _) in _BUDGET_FIELDS.items():
                fields[name] = read_field(values.get(name))
            read.append(HubBudget(**fields))
        except (TypeError, ValueError):
            got, expected = values.get(name), _BUDGET_FIELDS[name][1]
            _logger.warning("%s: budgets[%d].%s: got %.80r, expected %s", ME_PATH, number, name, got, expected)
    return HubStanding(person, tuple(sorted(read, key=lambda one: (one.share_left, one.remaining))))


def _is_text(value: object, most: int) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def _word(value: object) -> str:
    if value is not None and not _is_text(value, _MOST_TEXT):
        raise ValueError
    return value or ""


def _amount(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MOST_AMOUNT:
        raise ValueError
    return value


def _moment(value: Any) -> float | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(value)
    # Without an offset it is unknown which time it is.
    if moment.tzinfo is None or (seconds := as_amount(moment.timestamp(), LAST_TIME)) is None:
        raise ValueError
    return seconds


_BUDGET_FIELDS: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "unit": (BudgetUnit, f"one of {', '.join(BudgetUnit)}"),
    **dict.fromkeys(("period", "owner"), (_word, f"at most {_MOST_TEXT} printable characters")),
    **dict.fromkeys(("limit", "remaining"), (_amount, "a whole number from 0")),
    "resets_at": (_moment, "a time with its offset, such as 2026-11-24T00:00:00+01:00"),
}
"""The fields of a budget: what reads each, or raises a ValueError, and what it has to be in the words of an error."""

# ---- What is left, in words ----

_WINDOWS: Final = {"day": " today", "week": " this week", "month": " this month", "total": ""}
_OWNERS: Final = {"team": " for the team", "key": " for this key"}


def left_text(budget: HubBudget) -> str:
    """What is left of a budget: `$3.20 of $5.00 left today`, `1.2M of 2M tokens left this week for the team`."""
    window = _WINDOWS.get(budget.period, f" ({budget.period})" if budget.period else "")
    shown, unit = (_dollars, "") if budget.unit is BudgetUnit.MONEY else (_tokens, " tokens")
    amounts = f"{shown(budget.remaining)} of {shown(budget.limit)}{unit}"
    return f"{amounts} left{window}{_OWNERS.get(budget.owner.partition(' ')[0], '')}"


def _dollars(nanodollars: int) -> str:
    """Whole cents, rounded down; of less than ten cents, where two digits say too little, four digits."""
    cents = nanodollars // 10**7
    return f"${cents // 100:,}.{cents % 100:02}" if not nanodollars or cents >= 10 else f"$0.{nanodollars // 10**5:04}"


def _tokens(count: int) -> str:
    """950, 42.1K, 1.2M; rounded down."""
    for size, letter in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if count >= size:
            tenths = count * 10 // size
            return f"{tenths // 10:,}" + (f".{tenths % 10}" if tenths % 10 else "") + letter
    return str(count)


# ---- Asking a hub ----

JOIN_PATH: Final = "/hub/v1/join"
ASKING_SECONDS: Final = 20.0
"""The most seconds for an answer: a person waits for it."""
_MOST_NAME: Final = 80
_GONE: Final = frozenset({400, 401, 403, 404, 409, 410})
"""What a hub answers to a code that it does not take."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """What a hub gives for a code."""

    key: Secret
    person: str


async def join(configuration: GatewayConfiguration, code: Secret) -> JoinResult:
    """Gives a join code for a key; asks the hub as an upstream without a key, see :func:`base_url_of`.

    Raises:
        UpstreamHTTPError: The hub does not take the code.
        UpstreamProtocolError: What answers is no hub, or gives no key; it names no value, which may be one.
        LanguageModelError: The hub cannot be reached. No error holds the code.
    """
    failure: UpstreamError
    try:
        document = await _document_of(configuration, JOIN_PATH, {"code": code.reveal()})
    except UpstreamError as error:
        # Raised below, where no traceback shows variables that hold the code.
        failure = redacted_error(error, Redactor([code.reveal()]))
        if getattr(error, "http_status", None) in _GONE:
            failure.advise("ask the person who runs the hub for a new link; each works once and expires soon")
    else:
        given = document if isinstance(document, dict) else {}
        key, person = given.get("key"), given.get("person")
        if isinstance(key, str) and is_hub_key(Secret(key)):
            return JoinResult(Secret(key), person if _is_text(person, _MOST_NAME) else "")
        failure = _wrong(JOIN_PATH, "key", "no key of a hub", "a text that begins with psk_")
    raise failure


async def is_of_hub(configuration: GatewayConfiguration) -> bool:
    """Whether the key of an upstream is one that a hub gave; asks only the place of the key.

    Raises:
        CredentialError: The key cannot be had.
    """
    if configuration.credentials is None:
        return is_hub_key(configuration.api_key)
    return is_hub_key(await configuration.credentials.get())


async def fetch_standing(configuration: GatewayConfiguration) -> HubStanding:
    """Fetches the standing of the person whose key the configuration holds.

    Raises:
        UpstreamProtocolError: What answers is no hub.
        LanguageModelError: The hub refuses the key, or cannot be reached.
    """
    return read_standing(await _document_of(configuration, ME_PATH))


async def _document_of(configuration: GatewayConfiguration, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """What a hub answers at a path below its address, within the time that a person waits."""
    try:
        async with aclosing(UpstreamHTTP(configuration)) as http, asyncio.timeout(ASKING_SECONDS):
            path = http.base_path.removesuffix(USUAL_VERSION) + path
            response = await http.fetch(path, {}, None if body is None else dumps(body))
    except TimeoutError as error:
        raise UpstreamError(f"the hub did not answer within {ASKING_SECONDS:g} s") from error
    if response.status >= 300:
        raise http_error(response.status, response.headers, response.body, datetime.now(UTC))
    with suppress(JSONDecodeError):
        return loads(response.body)
    if response.body.lstrip().startswith(b"<"):  # a login, a proxy: the title of the page says which
        raise content_type_error(response.headers, response.body, wanted="document of a hub", expected="JSON")
    # Not quoted: half of a document may hold a key.
    raise _wrong(path, None, "no JSON", "the document of a hub")


def _wrong(path: str, field: str | None, got: str, expected: str) -> UpstreamProtocolError:
    return UpstreamProtocolError(event_type=path, field=field, got=got, expected=expected)


# ---- Addresses and links ----

EDITOR_AUTHORITY: Final = "partstream.partstream"
"""The extension in a link to VS Code: its publisher and its name."""
JOIN_PAGE: Final = "/hub/join"
"""The page of a hub that a join link opens in a browser."""
_PARTS: Final = (JOIN_PAGE, "/hub", USUAL_VERSION)
"""What a person may copy along with the address, with or without a slash after it."""
_EDITOR_SCHEMES: Final = frozenset({"vscode", "vscode-insiders", "vscodium", "code-oss", "cursor", "windsurf"})
_LONGEST: Final = 300
_EXPECTED: Final = "the address of a hub, such as https://hub.example.com"
_ACTS: Final = re.compile(r"[\\;&|$`'\"()<>{}*!^]")
"""Signs in no address of a hub: it becomes part of commands that people copy."""
_SECURE: Final = "an address that begins with https://; http:// is for a hub on this machine"


@dataclass(frozen=True, slots=True)
class JoinLink:
    """What a link says: the address of the hub, without a slash at its end, and the join code; None for an address
    alone."""

    hub: str
    code: Secret | None = None


def hub_address(text: str, where: str = "the address of the hub", *, allow_insecure_http: bool = False) -> str:
    """The address of a hub, without the paths below it and without a slash at its end, in what a person wrote: with or
    without a scheme, also the base URL or the page that a link opens.

    Raises:
        ConfigurationError: It is none, or is not encrypted and on another machine.
    """
    url, usable = with_scheme(text.strip()), False
    with suppress(ValueError):
        address = urlsplit(url)
        usable = is_http_url(url)
    if any(map(str.isspace, url)) or not url.isprintable() or len(url) > _LONGEST:
        raise ConfigurationError(where, "a text that is long or has blanks in it", _EXPECTED)
    if not usable:
        raise ConfigurationError(where, repr(hidden_url(url)), _EXPECTED)
    if _ACTS.search(url):
        raise ConfigurationError(where, "an address with signs that a shell acts on", _EXPECTED)
    if "@" in address.netloc or address.query or address.fragment:
        raise ConfigurationError(where, "an address with a user name or password, or with ? or # in it", _EXPECTED)
    if address.scheme == "http" and not allow_insecure_http and not is_loopback(address.hostname or ""):
        raise ConfigurationError(where, f"plain http to {address.netloc}", _SECURE)
    netloc, path = address.netloc.lower(), address.path.rstrip("/")
    if not netloc.isascii():  # letters of another script look like those of a hub that a person knows
        import idna  # noqa: PLC0415 - nearly all are ASCII

        netloc = idna.encode(address.hostname or "", uts46=True).decode() + netloc[len(address.hostname or "") :]
    # The path below which the hub is mounted: mostly none.
    path = next((path.removesuffix(part) for part in _PARTS if path.endswith(part)), path)
    return urlunsplit((address.scheme, netloc, path, "", ""))


def base_url_of(hub: str) -> str:
    """The base URL of a hub for programs that ask its models."""
    return hub + USUAL_VERSION


def join_code(text: str, where: str = "the join code") -> Secret:
    """A join code.

    Raises:
        ConfigurationError: It has a form that no code has; the message shows nothing of it.
    """
    code = text.strip()
    if not re.fullmatch(r"[A-Za-z0-9_-]{8,200}", code):
        raise ConfigurationError(where, "a text of another form", "letters, digits, - and _, as the link has them")
    return Secret(code)


def is_join_link(text: str) -> bool:
    """Whether a text is a link with a code, and no address alone."""
    scheme, separator, rest = text.strip().partition("://")
    return bool(separator) and (scheme.lower() in _EDITOR_SCHEMES or "#" in rest)


def join_link(text: str, where: str = "the join link", *, allow_insecure_http: bool = False) -> JoinLink:
    """Reads a link: `https://hub.example.com/hub/join#CODE`, or `vscode://…/join?hub=https://hub.example.com#CODE`.

    Raises:
        ConfigurationError: It is no such link; the message shows nothing of its code.
    """
    try:
        address = urlsplit(text.strip())
    except ValueError:  # brackets that are not closed
        raise ConfigurationError(where, "no URL", _EXPECTED) from None
    hub = urlunsplit(address._replace(fragment=""))
    if address.scheme in _EDITOR_SCHEMES:
        hubs = [value for name, value in parse_qsl(address.query) if name == "hub"]
        if len(hubs) != 1 or address.path.strip("/") != "join":
            raise ConfigurationError(where, "a link to VS Code that names no hub", "a join link")
        hub = hubs[0]
    code = join_code(address.fragment, where) if address.fragment else None
    return JoinLink(hub_address(hub, where, allow_insecure_http=allow_insecure_http), code)


def page_link(hub: str, code: str) -> str:
    """The link that a person is sent: it opens the hub's page, whose server never sees the code."""
    return f"{hub}{JOIN_PAGE}#{code}"


def editor_link(hub: str, code: str) -> str:
    """The link that opens VS Code, where the extension asks before it sends anything."""
    return f"vscode://{EDITOR_AUTHORITY}/join?hub={quote(hub, safe='')}#{code}"
