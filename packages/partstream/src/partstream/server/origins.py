"""Which pages of browsers may ask a server without a key, and which may read the replies of any: none unless the owner
names origins.

A browser sends the requests of any page to any server, and gives the page no reply unless the server allows its origin
(Fetch, section 3.2, "CORS protocol"). For requests that a form could not send, it first asks with OPTIONS.

CORS grants no right to ask: a page needs the key like every client. So the key, and not the origin, guards what is
asked. There are no cookies, so no reply allows credentials. The owner's own routes, such as the pages of a hub and
`/metrics`, are for no page of others.

Where no key is asked for, :func:`page_refusal` is the guard, over HTTP and for WebSockets: any site can send requests
to loopback, and a site whose name leads to 127.0.0.1 can read the responses too. :data:`PAGE_HEADERS` show that.

An allowed origin is one of these:

- `https://app.example`, `http://localhost:3000`: this origin;
- `http://localhost:*`: every port of the host;
- `app://*`: every origin of a scheme that browsers give to programs of the machine, and to no page of the network;
- `local`: what Ollama's server allows by itself (docs/wires/ollama.md#pages-of-browsers);
- `*`: every page.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Final

from partstream.codec.text import late_pattern
from partstream.upstream.endpoint import is_on_loopback

LOCAL: Final = "local"
EVERY: Final = "*"

_LOCAL_PATTERNS: Final = (
    *(f"{scheme}://{host}:*" for scheme in ("http", "https") for host in ("localhost", "127.0.0.1", "0.0.0.0")),  # noqa: S104 - of an origin
    *(f"{scheme}://*" for scheme in ("app", "file", "tauri", "vscode-webview", "vscode-file")),
)
_OF_THE_NETWORK: Final = frozenset({"http", "https"})
"""The schemes of pages that come over a network; every other one is of programs of the machine."""
_OF_THE_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "[::1]"})  # noqa: S104 - of an origin
_ORIGIN: Final = late_pattern(
    r"(?P<scheme>[a-z][a-z0-9+.-]{0,30})://(?P<host>[a-z0-9._-]{0,200}|\[[0-9a-f:.]{2,60}\]|\*)(?::(?P<port>\d{1,5}|\*))?"
)
"""An origin, or a pattern of origins."""

_SECONDS: Final = 3600
"""How long a browser may remember what it was allowed; some allow less."""
_METHODS: Final = "GET, HEAD, POST, DELETE"
_HEADER: Final = late_pattern(r"[a-z0-9!#$%&'*+.^_`|~-]{1,64}", re.IGNORECASE)
_MOST_HEADERS: Final = 64
"""The most headers that a page may ask for; official packages send about fifteen of their own."""
_MOST_ASKED: Final = 4096


def is_allowable(pattern: str) -> bool:
    """Whether an owner may allow it: one of the forms above. `null` is none: the pages of any site can have it."""
    if pattern in {LOCAL, EVERY}:
        return True
    found = _ORIGIN.fullmatch(pattern)
    if found is None:
        return False
    return found["host"] not in {"*", ""} or (found["scheme"] not in _OF_THE_NETWORK and found["port"] is None)


# ---- Who may ask without a key ----

PAGE_HEADERS: Final = ("host", "origin", "sec-fetch-site")
"""The headers of a browser about the page that asks, which no page can change."""
_OF_ANOTHER_PAGE: Final = frozenset({"cross-site", "same-site"})
"""What a browser says in `Sec-Fetch-Site` of pictures and links of a page, which have no origin (Fetch Metadata)."""
_AUTHORITY: Final = late_pattern(r"(?P<host>\[[0-9a-f:.]{2,60}\]|[a-z0-9._-]{1,255})(?::\d{1,5})?", re.IGNORECASE)


def page_refusal(
    headers: Mapping[str, str],
    allow: Callable[[str], bool] = lambda _origin: False,
    is_here: Callable[[str], bool] = lambda host: is_on_loopback(f"//{host}"),
) -> str | None:
    """Why a server without a key refuses a request, in words: a page of some site has sent it, or a name leads here
    that is not this server's. None for a request of a program, or of a page of this machine.

    `allow` says whether the owner allows the pages of a further origin, and `is_here` whether a value of `Host` is this
    server; by default, whether it is this machine.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_here(host):
        return f"got the host {host[:80]!r}, expected 127.0.0.1 or localhost, or a name that the server answers to"
    if origin is not None and not (is_on_loopback(origin) or allow(origin)):
        return f"got a request of the page {origin[:80]!r}, expected one of a program or of a page that is allowed"
    if origin is None and headers.get("sec-fetch-site", "").lower() in _OF_ANOTHER_PAGE and not allow("null"):
        return "got a request of a page that does not say which it is, expected one of a program"
    return None


# ---- Who may read replies ----


class AllowedOrigins:
    """The origins whose pages may read replies, by patterns that :func:`is_allowable` takes."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        given = frozenset(patterns)
        self._is_every = EVERY in given
        named = (given - {LOCAL, EVERY}).union(_LOCAL_PATTERNS if LOCAL in given else ())
        self._allowed = {found.group("scheme", "host", "port") for one in named if (found := _ORIGIN.fullmatch(one))}

    @property
    def are_local(self) -> bool:
        """Whether all are of pages and programs of one machine, as far as their names say."""
        hosts = {host for scheme, host, _ in self._allowed if scheme in _OF_THE_NETWORK}
        return not self._is_every and hosts <= _OF_THE_MACHINE

    def allow(self, origin: str) -> bool:
        """Whether the pages of an origin may read replies."""
        if self._is_every:
            return True
        found = _ORIGIN.fullmatch(origin)
        if found is None or "*" in origin:
            return False
        scheme, host, port = found.group("scheme", "host", "port")
        return not self._allowed.isdisjoint({(scheme, host, port), (scheme, host, "*"), (scheme, "*", None)})

    def refusal(self, *values: str | None) -> str | None:
        """Why an application without a key refuses a request with these values of :data:`PAGE_HEADERS`; see
        :func:`page_refusal`.

        It does not know its own names: those of the allowed origins are, and what no site can have. A page of its own
        is one whose origin has the name in `Host`.
        """
        asked = {name: value for name, value in zip(PAGE_HEADERS, values, strict=True) if value is not None}
        own = {host for _, host, _ in self._allowed}
        of_its_own = {f"{scheme}://{asked.get('host', '').lower()}" for scheme in _OF_THE_NETWORK}

        def is_here(host: str) -> bool:
            found = _AUTHORITY.fullmatch(host)
            if self._is_every or found is None:
                return self._is_every or not host  # a browser always sends one
            name = found["host"].lower()
            if "." not in name or name.endswith(".localhost") or name in own:
                return True  # no site can have a name without a dot for its own, nor an address
            try:
                return bool(ip_address(name.strip("[]")))
            except ValueError:
                return False

        return page_refusal(asked, lambda origin: self.allow(origin) or origin.lower() in of_its_own, is_here)

    def headers(self, asked: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """The headers of the reply to a request with these headers, names in lower case."""
        if self._is_every:
            return (("access-control-allow-origin", "*"), _EXPOSED)
        origin = asked.get("origin", "")
        allowed = (("access-control-allow-origin", origin), _EXPOSED) if self.allow(origin) else ()
        return (*allowed, ("vary", "origin"))

    def preflight(self, method: str, asked: Mapping[str, str]) -> tuple[tuple[str, str], ...] | None:
        """The further headers of the reply to a browser that asks what a page may send; None for another request."""
        if method != "OPTIONS" or "access-control-request-method" not in asked:
            return None
        if not self.allow(asked.get("origin", "")):
            return None
        names = asked.get("access-control-request-headers", "")[:_MOST_ASKED].split(",")[:_MOST_HEADERS]
        headers = ", ".join(name for one in names if _HEADER.fullmatch(name := one.strip()))
        return (
            ("access-control-allow-methods", _METHODS),
            *((("access-control-allow-headers", headers),) if headers else ()),
            ("access-control-max-age", str(_SECONDS)),
        )


_EXPOSED: Final = ("access-control-expose-headers", "*")
"""A page without credentials may read every header: the id of its request, when to ask again, what was left out."""
