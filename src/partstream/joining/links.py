"""The addresses of a hub, and the links by which a person joins it; without I/O.

A link comes from a mail or a chat, so nothing in it is trusted: it names an address, which a person confirms, and a
code, which is sent to that address alone. The code stands behind `#`, which no browser sends to a server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from partstream.settings.errors import ConfigurationError
from partstream.settings.secrecy import hidden_url
from partstream.upstreams.addresses import is_loopback, with_scheme
from partstream.upstreams.secret import Secret

if TYPE_CHECKING:
    from urllib.parse import SplitResult

__all__ = [
    "EDITOR_AUTHORITY",
    "JOIN_PAGE",
    "JoinLink",
    "base_url_of",
    "editor_link",
    "hub_address",
    "is_join_link",
    "join_code",
    "join_link",
    "page_link",
]

EDITOR_AUTHORITY: Final = "partstream.partstream"
"""The extension in a link to VS Code: its publisher and its name."""

JOIN_PAGE: Final = "/hub/join"
"""The page of a hub that a join link opens in a browser."""

_VERSION: Final = "/v1"
_PARTS: Final = (JOIN_PAGE, "/hub", _VERSION)
"""What a person may copy along with the address, with or without a slash behind it."""
_CODE: Final = re.compile(r"[A-Za-z0-9_-]{8,200}", re.ASCII)
_EDITOR_SCHEMES: Final = frozenset({"vscode", "vscode-insiders", "vscodium", "code-oss", "cursor", "windsurf"})
_EXPECTED: Final = "the address of a hub, such as https://hub.example.com"
_SECURE: Final = "an address that begins with https://; http:// is for a hub on this machine"


@dataclass(frozen=True, slots=True)
class JoinLink:
    """What a link says.

    Attributes:
        hub: The address of the hub, without a slash at its end.
        code: The join code, or None for an address alone.
    """

    hub: str
    code: Secret | None = None


def hub_address(text: str, where: str = "the address of the hub", *, allow_insecure_http: bool = False) -> str:
    """The address of a hub: without the paths below it, without a slash at its end.

    Args:
        text: What a person wrote: with or without a scheme, also the base URL or the page that a link opens.
        where: What an error calls it.
        allow_insecure_http: Whether it may be plain http to another machine.

    Raises:
        ConfigurationError: It is none, or is not encrypted and on another machine.
    """
    given = text.strip()
    address = _split(with_scheme(given), where)
    if address.query or address.fragment:
        raise ConfigurationError(where, "an address with ? or # in it", _EXPECTED)
    if address.scheme == "http" and not allow_insecure_http and not is_loopback(address.hostname or ""):
        raise ConfigurationError(where, f"plain http to {address.netloc}", _SECURE)
    return urlunsplit((address.scheme, address.netloc.lower(), _root(address.path), "", ""))


def base_url_of(hub: str) -> str:
    """The base URL of a hub for programs that ask its models."""
    return hub + _VERSION


def join_code(text: str, where: str = "the join code") -> Secret:
    """A join code.

    Raises:
        ConfigurationError: It has a form that no code has; the message shows nothing of it.
    """
    code = text.strip()
    if not _CODE.fullmatch(code):
        raise ConfigurationError(where, "a text of another form", "letters, digits, - and _, as the link has them")
    return Secret(code)


def is_join_link(text: str) -> bool:
    """Whether a text is a link with a code, and no address alone."""
    scheme, separator, rest = text.strip().partition("://")
    return bool(separator) and (scheme.lower() in _EDITOR_SCHEMES or "#" in rest)


def join_link(text: str, where: str = "the join link", *, allow_insecure_http: bool = False) -> JoinLink:
    """Reads a link: `https://hub.example.com/hub/join#CODE`, or `vscode://…/join?hub=https://hub.example.com#CODE`.

    Args:
        text: The link.
        where: What an error calls it.
        allow_insecure_http: Whether the hub may be at plain http on another machine.

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


def _split(url: str, where: str) -> SplitResult:
    if any(map(str.isspace, url)) or not url.isprintable():
        raise ConfigurationError(where, "a text with blanks in it", _EXPECTED)
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        usable = False
    if not usable:
        raise ConfigurationError(where, repr(hidden_url(url)), _EXPECTED)
    if "@" in address.netloc:
        raise ConfigurationError(where, "an address with a user name or password in it", _EXPECTED)
    return address


def _root(path: str) -> str:
    """The path below which a hub is mounted: mostly none."""
    kept = path.rstrip("/")
    for part in _PARTS:
        if kept.endswith(part):
            return kept.removesuffix(part)
    return kept
