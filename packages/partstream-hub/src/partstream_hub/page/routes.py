"""Serves the page of the hub: two frames without any data, and the content for a reader with a key.

    GET  /hub           the frame of the page
    GET  /hub/join      the page that a link to join opens
    GET  /hub/v1/page   the content, with the key in a header: `?days=30&zone=Europe/Berlin`

A frame holds nothing of the hub, so it needs no key. There is no cookie and no CORS: a page of another site cannot
send the key, because it does not have it, and cannot read an answer. The database is read in a thread of its own over a
connection of its own, so that no page makes a worker wait that reserves or settles.

The page that a link to join opens is the same for every person, and holds neither a code nor a name: its script takes
the code, which follows `#` in its URL, and gives the hub nothing until the person wants it. A link that opens the page
of the hub holds such a code too, for which the page gets a key of its own: it shows the page and asks no model, is
accepted for hours, and is one of the person's keys (`partstream hub key list` shows it, `revoke` ends it).
"""

from __future__ import annotations
import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl

from partstream.codec.checks import dataclass
from partstream.codec.system import SharedRoom
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.pages.document import ContentPolicy, Nonces, document, resource
from partstream.server.requests import RequestFailedError
from partstream.server.settings import OwnerHandler, OwnerReply, OwnerRequest
from partstream_hub.budgets import answered
from partstream_hub.directory import ZONE, Directory, known_zone
from partstream_hub.hub import unreachable
from partstream_hub.page.document import PERIODS, content_html, frame_html
from partstream_hub.store.values import StoreError, StoreUnreachableError
from partstream_hub.usage import overview, reader_of

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from partstream.server.application import ServingApp
    from partstream.server.clients import Caller
    from partstream_hub.administration import Administration
    from partstream_hub.store.store import HubStore

# ---- The page to join ----

_PACKAGE: Final = "partstream_hub.page"


def join_html(policy: ContentPolicy) -> str:
    """The page to join; the policy must let its script connect to its own server."""
    styles = resource("partstream.server.pages", "theme.css") + resource(_PACKAGE, "hub.css")
    body, scripts = resource(_PACKAGE, "join.html"), (resource(_PACKAGE, "join.js"),)
    return document("Join the hub - Partstream", body, policy, styles=(styles,), scripts=scripts)


# ---- Routes ----

Result = TypeVar("Result")
PAGE: Final = "/hub"
JOIN: Final = "/hub/join"
CONTENT: Final = "/hub/v1/page"
_logger = logging.getLogger("partstream.hub")
_HTML: Final = "text/html; charset=utf-8"
_HEADERS: Final = (
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
)
_FRAMED: Final = ("content-security-policy", "frame-ancestors 'none'")
"""The rest of the policy of a page is in the page itself."""
_NOTHING_RUNS: Final = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
"""For the content: a reader who opens it by itself sees a document in which nothing runs."""
_RETRY_SECONDS: Final = 2.0
_MOST_KEPT: Final = 32
_DAYS: Final = 30
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", re.ASCII)


@dataclass(eq=False)
class HubPage:
    """The page of one worker, which opens a connection to the database for this page alone."""

    open_store: Callable[[], HubStore]
    read_seconds: float = 10.0  # the most that a page waits for the database
    most_waiting: int = 8  # pages that are read or wait for it, one after the other; a quarter of them for one reader
    slow_seconds: float = 1.0  # what took longer to read is kept for a while,
    rest: float = 5.0  # for as many times as long: most of the time the database is left alone, however many look

    def __post_init__(self) -> None:
        self._store: HubStore | None = None
        self._directory: Directory | None = None
        self._thread = ThreadPoolExecutor(1, "hub-page")
        self._waiting: list[str] = []  # by whom
        self._kept: SharedRoom[tuple[float, str]] = SharedRoom(_MOST_KEPT)

    def add_to(self, app: ServingApp) -> None:
        """Puts the page up, and closes its connection when the application ends."""
        app.add_route("GET", PAGE, _frame(frame_html), is_open=True, title="The page of the hub")
        app.add_route("GET", JOIN, _frame(join_html), is_open=True)
        app.add_route("GET", CONTENT, self._content)
        app.add_lifetime(self)

    async def start(self) -> None:
        """Opens nothing: most workers show no page."""

    async def stop(self) -> None:
        """Closes the connection to the database."""
        if self._store is not None:
            closing = asyncio.get_running_loop().run_in_executor(self._thread, self._store.close)
            with suppress(StoreUnreachableError):
                await answered(closing, self.read_seconds)
        self._thread.shutdown(wait=False, cancel_futures=True)  # a thread whose database is silent never ends

    async def _content(self, request: OwnerRequest, caller: Caller) -> OwnerReply:
        days, zone = _asked(request.query)
        share = max(1, self.most_waiting // 4)
        if len(self._waiting) >= self.most_waiting or self._waiting.count(caller.name) >= share:
            said = "too many people have the page open now; try again"
            raise RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))
        self._waiting.append(caller.name)
        try:
            loop = asyncio.get_running_loop()
            reading = loop.run_in_executor(self._thread, self._read, caller.name, days, zone)
            html = await answered(reading, self.read_seconds)
        except StoreUnreachableError as error:
            raise unreachable(error) from error
        except StoreError as error:
            _logger.exception("the page of the hub cannot be read")
            said = "the hub's database cannot be read; the server's log says why"
            raise RequestFailedError(ServedFailure(FailureKind.INTERNAL, said)) from error
        finally:
            self._waiting.remove(caller.name)
        if html is None:
            raise RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, "the page is for people of this hub"))
        return OwnerReply(html.encode(), _HTML, headers=(*_HEADERS, _NOTHING_RUNS))

    def _read(self, person: str, days: int, zone: ZoneInfo) -> str | None:
        """The content for a person; None if there is no such person. Runs in the thread."""
        if self._store is None:
            self._store = self.open_store()
        known = self._directory
        directory = self._directory = self._store.directory(known.version if known else None) or known or Directory()
        if (reader := reader_of(directory, person)) is None:
            return None
        until, html = self._kept.find(reader, (days, zone.key)) or (0.0, "")
        begins = time.monotonic()
        if begins < until:
            return html
        html = content_html(overview(self._store, directory, reader, days, zone, zone.key), zone, is_live=True)
        ends = time.monotonic()
        if ends - begins >= self.slow_seconds:
            self._kept.keep(reader, (days, zone.key), (ends + self.rest * (ends - begins), html))
        return html


def _frame(make: Callable[[Nonces], str]) -> OwnerHandler:
    """Answers with a frame, whose script and style have a nonce of their own each time."""

    async def show(_request: OwnerRequest, _caller: Caller) -> OwnerReply:
        page = make(Nonces(secrets.token_urlsafe(16), connect="'self'"))
        return OwnerReply(page.encode(), _HTML, headers=(*_HEADERS, _FRAMED))

    return show


def _asked(query: str) -> tuple[int, ZoneInfo]:
    """The days and the time zone that a query names, as far as there are such."""
    try:
        given = dict(parse_qsl(query, max_num_fields=8))
    except ValueError:
        raise _wrong("query", "more than 8 fields, expected days and zone") from None
    days, name = given.get("days", str(_DAYS)), given.get("zone", "UTC")
    if days not in map(str, PERIODS):
        raise _wrong("days", f"something else, expected one of {', '.join(map(str, PERIODS))}")
    zone = known_zone(name) if _ZONE.fullmatch(name) else None
    if zone is None:
        raise _wrong("zone", f"something else, expected {ZONE.description}")
    return int(days), zone


def _wrong(name: str, got: str) -> RequestFailedError:
    return RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, f"{name}: got {got}", param=name))


# ---- Links ----

LINK_SECONDS: Final = 10 * 60.0  # how long a link is good
KEY_SECONDS: Final = 12 * 3600.0  # how long a page that was opened by a link is shown
_LABEL: Final = "page of the hub"


def one_time_link(hub: Administration, person: str, address: str) -> str:
    """A link for a person to the page of a hub, at an address without a slash at its end."""
    now = hub.store.time()
    ends, key_ends = now + LINK_SECONDS, now + KEY_SECONDS
    code = hub.invite(person, ends, _LABEL, key_expires_at=key_ends, key_models=())
    return f"{address}/hub#{code.reveal()}"
