"""The local server of the inspector's page: it shows a view, and while answers are running each change of it.

    GET  /        the page, without any data
    GET  view     {"number": of the newest change, "view": the view}
    GET  events   the changes as server-sent events, from the one that `Last-Event-ID` names
    GET  bytes    a range of an answer's bytes, `?answer=ID` with a `Range`: what is too large for the view
    POST stop     ends the server

All paths are relative in the page, so that it works at any port and below any prefix of an editor that forwards it.

**The gate** decides who may ask, before anything is read. The server listens on loopback, and still any web page can
send requests there: other local servers had holes of this kind (docs/wires/practice.md#requests-to-a-local-server). So
the `Host` of a request must name this machine (which keeps out names that DNS led here), `Origin` and `Sec-Fetch-Site`
must name the page itself, and a header must carry the token from the fragment of the URL: no other page can send that
header without permission by CORS, which no response gives. There is no cookie, and nothing is fetched from elsewhere.

**A change** is JSON, made of two views, so that a page that follows a long answer is sent its new end alone::

    {"set": {field of the view: value}, "without": [field of the view], "order": [id of each answer], "answers": [{"id":
    id, "set": {field: value}, "without": [field], "tails": {field: [kept, what follows]}}]}

A tail keeps the first items of a list, or the first characters of a text, and appends others: events, parts and bytes
grow so. `inspector/page/live.js` carries changes out. The feed keeps the last changes by number, so that a page that
lost its connection goes on where it was; of changes that are too many or too old, the page reads the whole view again.

**Live answers** are read again whenever more of one has come. The view of an answer that goes on leaves out what only
its end could tell.
"""

from __future__ import annotations
import asyncio
import hmac
import re
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.errors import CallerError
from partstream.lm.contract import Level
from partstream.pages.document import FRAMED, HEADERS, HTML
from partstream.protocols.reader import END_OF_BYTES
from partstream.server.loopback import Host, LoopbackLimits
from partstream.server.requests import Receive, Scope, Send, encoded_headers, headers_of
from partstream_devtools.inspector.view import ViewedFile, comparisons, view_of

if TYPE_CHECKING:
    from partstream_devtools.capturing.capture_socket import FollowedAnswer
    from partstream_devtools.inspector.shapes import AnswerView, View

# ---- The gate ----

TOKEN_HEADER: Final = "partstream-token"  # noqa: S105 - the name of a header
PAGE: Final = "/"
"""The path of the page: a frame without any data, which therefore needs no token."""

_THIS_MACHINE: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)
_HOST: Final = "expected a Host of this machine: 127.0.0.1, localhost or [::1]"
_ORIGIN: Final = "expected an Origin that is this server's, or none"
_TOKEN: Final = f"expected this server's token in the header {TOKEN_HEADER}: open the URL as it was printed"
_OWN_FETCHES: Final = frozenset({"same-origin", "none"})


class GateRefusal(NamedTuple):
    """Why a request gets no answer: the status, what came and what was expected, without anything of the token, and for
    status 405 the methods that the path has."""

    status: int
    message: str
    allow: tuple[str, ...] = ()


def refusal_of(
    method: str, path: str, headers: Mapping[str, str], token: str, paths: Mapping[str, Collection[str]]
) -> GateRefusal | None:
    """Why a request is refused, or None.

    Args:
        method: Its HTTP method.
        path: Its path as it came, with its escapes: a path is one of the table or none.
        headers: Its headers by name in lower case; several of one name are joined.
        token: That of this server.
        paths: The methods of each path.
    """
    is_page = path == PAGE
    host, origin = headers.get("host", ""), headers.get("origin")
    methods = sorted(paths.get(path, ()))
    content_type = headers.get("content-type", "").partition(";")[0].strip()
    has_token = hmac.compare_digest(headers.get(TOKEN_HEADER, "").encode(), token.encode())
    # A link from anywhere may lead to the page, which holds nothing; what it reads is for itself alone.
    is_own = is_page or headers.get("sec-fetch-site", "none") in _OWN_FETCHES
    rules = (
        # Any port: an editor may forward the port to another number (docs/wires/practice.md#forwarded-ports).
        (_THIS_MACHINE.fullmatch(host) is not None, 421, _HOST),
        (origin in {None, f"http://{host}", f"https://{host}"}, 403, _ORIGIN),
        (is_own, 403, "expected a request of this server's own page"),
        (is_page or has_token, 403, _TOKEN),
        (bool(methods), 404, "no such path"),
        (method in methods, 405, f"expected {' or '.join(methods)}"),
        (method != "POST" or content_type == "application/json", 415, "expected a body of application/json"),
    )
    status, message = next(((status, message) for is_kept, status, message in rules if not is_kept), (0, ""))
    return GateRefusal(status, message, tuple(methods) if status == 405 else ()) if status else None


# ---- Byte ranges (RFC 9110 section 14.2) ----

MOST_BYTES: Final = 1024 * 1024
"""The most bytes of one reply."""

_RANGE: Final = re.compile(r"bytes=(\d{1,15})-(\d{1,15})", re.ASCII)


class UnusableRangeError(CallerError):
    """A request asks for no range, for one that is not there, or for too much."""


def range_asked(header: str | None, size: int) -> range:
    """The range of a `Range` header, cut at the end of a body of `size` bytes.

    Raises:
        UnusableRangeError: It is not one range with a first and a last byte, begins after the body, or is too long.
    """
    match = _RANGE.fullmatch(header or "")
    if match is None:
        raise UnusableRangeError("expected the header Range with one range, such as bytes=0-4095")
    first, last = int(match[1]), int(match[2])
    if not first <= last or first >= size:
        raise UnusableRangeError(f"got bytes {first}-{last}, expected a range within {size:,} bytes")
    if last - first >= MOST_BYTES:
        raise UnusableRangeError(f"got a range of {last - first + 1:,} bytes, expected at most {MOST_BYTES:,}")
    return range(first, min(last + 1, size))


# ---- Changes ----

Change = dict[str, Any]
"""A change as JSON."""


def change_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change | None:
    """The change that makes the one view of the other; None where both are equal."""
    known = {answer["id"]: answer for answer in before["answers"]}
    order = [answer["id"] for answer in after["answers"]]
    answers = [_answer_change(known.get(answer["id"], {}), answer) for answer in after["answers"]]
    change: Change = {
        "set": {name: value for name, value in after.items() if name != "answers" and _differs(before, name, value)},
        "without": [name for name in before if name not in after],
        "order": order,
        "answers": [answer for answer in answers if answer is not None],
    }
    is_empty = not (change["set"] or change["without"] or change["answers"]) and list(known) == order
    return None if is_empty else change


def _answer_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change | None:
    if before is after:
        return None
    replaced: dict[str, Any] = {}
    tails: dict[str, list[Any]] = {}
    for name, value in after.items():
        if not _differs(before, name, value):
            continue
        kept = _kept(before.get(name), value)
        if kept:
            tails[name] = [kept, value[kept:]]
        else:
            replaced[name] = value
    without = [name for name in before if name not in after]
    if not (replaced or tails or without):
        return None
    return {"id": after["id"], "set": replaced, "without": without, "tails": tails}


def _differs(before: Mapping[str, Any], name: str, value: Any) -> bool:
    return name not in before or before[name] != value


def _kept(before: Any, after: Any) -> int:
    """How much of the beginning of a list or of a text stays; 0 where nothing does, or where it is neither."""
    if isinstance(before, list) and isinstance(after, list):
        pairs = enumerate(zip(before, after, strict=False))
        return next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))
    if isinstance(before, str) and isinstance(after, str):
        # Texts may be megabytes: by halves, so that C compares them.
        low, high = 0, min(len(before), len(after))
        while low < high:
            middle = (low + high + 1) // 2
            if before[low:middle] == after[low:middle]:
                low = middle
            else:
                high = middle - 1
        return low
    return 0


# ---- The feed ----

_KEPT_BYTES: Final = 8 * 1024 * 1024


class NumberedChange(NamedTuple):
    """A change as JSON, and its number: one more than that of the change before."""

    number: int
    json: bytes


class ViewFeed:
    """A view that its source changes and that any number of pages read.

    Args:
        kept_bytes: The most bytes of changes that are kept for pages that come back.

    Attributes:
        view: The newest view; None before the first.
        number: The number of the newest change; 0 for a view that never changed.
        has_ended: Whether nothing will change any more.
    """

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self.view: Mapping[str, Any] | None = None
        self.number = 0
        self.has_ended = False
        self._kept: deque[NumberedChange] = deque()
        self._kept_bytes = kept_bytes
        self._size = 0
        self._moved = asyncio.Event()

    def show(self, view: Mapping[str, Any]) -> None:
        """Takes the newest view."""
        before, self.view = self.view, view
        if before is not None:
            change = change_between(before, view)
            if change is None:
                return
            self.number += 1
            numbered = NumberedChange(self.number, dumps(change))
            self._kept.append(numbered)
            self._size += len(numbered.json)
            while self._size > self._kept_bytes:
                self._size -= len(self._kept.popleft().json)
        self._move()

    def end(self) -> None:
        """Says that nothing will change any more."""
        self.has_ended = True
        self._move()

    def after(self, number: int) -> list[NumberedChange] | None:
        """The changes after that number; None where they are not all kept, or the number is none of this feed."""
        oldest = self._kept[0].number if self._kept else self.number + 1
        if not oldest - 1 <= number <= self.number:
            return None
        return [change for change in self._kept if change.number > number]

    async def moved(self, number: int) -> None:
        """Waits until there is a view, and more than the change of that number, or until nothing will come."""
        while not self.has_ended and (self.view is None or self.number <= number):
            await self._moved.wait()

    def _move(self) -> None:
        # The next wait gets a new event: all who waited for this one see it.
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


# ---- The server ----

IDLE_SECONDS: Final = 30 * 60.0
_PULSE_SECONDS: Final = 15.0
_FAREWELL_SECONDS: Final = 1.0
_MOST_CONNECTIONS: Final = 32
_LIMITS: Final = LoopbackLimits(header_bytes=16 * 1024, body_bytes=64 * 1024, request_seconds=30.0)


class ViewSource(Protocol):
    """What is shown."""

    def views(self) -> AsyncIterator[Mapping[str, Any]]:
        """The view now, and a newer one whenever something changed; ends when nothing will."""
        ...

    def bytes_of(self, answer: str) -> bytes | None:
        """The body of the answer with that id, if its bytes are not in the view; None if there is no such answer."""
        ...


class Ending(Enum):
    """Why a server ended."""

    IDLE = "idle"
    STOPPED = "stopped"


class ViewServer(Host):
    """Serves the page of one source on 127.0.0.1 inside its `async with` block.

    Args:
        source: What is shown.
        page: The page as HTML, given the nonce of its script and its style; without any data.
        idle_seconds: How long without a request before the server ends; an open stream of changes counts as one.
    """

    def __init__(self, source: ViewSource, page: Callable[[str], str], *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._source = source
        self._page = page
        self._idle_seconds = idle_seconds
        self._token = secrets.token_urlsafe(32)
        self._feed = ViewFeed()
        super().__init__(self._answer, _refusal_body, 0, _LIMITS, _MOST_CONNECTIONS)
        self._stopped = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._source_failure: Exception | None = None
        self._streams: set[asyncio.Task[None]] = set()
        self._last_asked = 0.0

    @property
    def url(self) -> str:
        """The URL to open, with the token in its fragment, which no browser sends anywhere."""
        return f"http://127.0.0.1:{self.port}/#{self._token}"

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._last_asked = asyncio.get_running_loop().time()
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._streams:
            # The pages learn that nothing more will come, before their connections are closed.
            await asyncio.wait(self._streams, timeout=_FAREWELL_SECONDS)
        await super().__aexit__(*error)

    async def ended(self) -> Ending:
        """Waits until a person stops the server in the page, or no request came for long enough.

        Raises:
            Exception: What the source raised.
        """
        loop = asyncio.get_running_loop()
        while True:
            left = self._idle_seconds - (0 if self._streams else loop.time() - self._last_asked)
            if left <= 0:
                return Ending.IDLE
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), left)
                if self._source_failure is not None:
                    raise self._source_failure
                return Ending.STOPPED

    async def _follow(self) -> None:
        try:
            async for view in self._source.views():
                self._feed.show(view)
        except Exception as error:
            self._source_failure = error
            self._stopped.set()
        finally:
            self._feed.end()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"].decode("latin-1")
        refusal = refusal_of(scope["method"], path, headers_of(scope), self._token, _METHODS)
        with suppress(OSError):  # the client has left
            if refusal is not None:
                await _refuse(send, refusal)
                return
            if path != PAGE:
                self._last_asked = asyncio.get_running_loop().time()
            await _TABLE[path][1](self, scope, receive, send)

    async def _send_page(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        page = self._page(secrets.token_urlsafe(16))
        await _reply(send, 200, HTML.encode(), page.encode())

    async def _send_view(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self._feed.moved(-1)
        await _reply(send, 200, b"application/json", dumps({"number": self._feed.number, "view": self._feed.view}))

    async def _send_changes(self, scope: Scope, receive: Receive, send: Send) -> None:
        last = headers_of(scope).get("last-event-id", "")
        number = int(last) if last.isdecimal() and len(last) <= _MOST_DIGITS else -1
        leaving = asyncio.create_task(_left(receive))
        stream = asyncio.create_task(self._stream_changes(number, leaving, send))
        self._streams.add(stream)
        try:
            await stream
        finally:
            self._streams.discard(stream)
            self._last_asked = asyncio.get_running_loop().time()
            leaving.cancel()
            stream.cancel()
            await asyncio.gather(leaving, stream, return_exceptions=True)

    async def _stream_changes(self, number: int, leaving: asyncio.Task[None], send: Send) -> None:
        await _start(send, 200, b"text/event-stream")
        while not leaving.done():
            changes = self._feed.after(number)
            if changes is None:
                # The changes since then are not kept: the page reads the whole view, which says its number.
                await _send_event(send, "reset", b"{}")
                break
            for change in changes:
                await _send_event(send, "change", change.json, change.number)
                number = change.number
            if self._feed.has_ended:
                await _send_event(send, "end", b"{}", number)
                break
            moved = asyncio.create_task(self._feed.moved(number))
            try:
                first = asyncio.FIRST_COMPLETED
                done, _ = await asyncio.wait({moved, leaving}, timeout=_PULSE_SECONDS, return_when=first)
                if not done:
                    await send({"type": "http.response.body", "body": b": waiting\n\n", "more_body": True})
            finally:
                moved.cancel()
                await asyncio.gather(moved, return_exceptions=True)
        await send({"type": "http.response.body"})

    async def _send_bytes(self, scope: Scope, _receive: Receive, send: Send) -> None:
        query = scope["query_string"].decode("latin-1")
        body = self._source.bytes_of(query.removeprefix("answer="))
        if body is None:
            await _refuse(send, GateRefusal(404, "no such answer"))
            return
        try:
            asked = range_asked(headers_of(scope).get("range"), len(body))
        except UnusableRangeError as error:
            await _refuse(send, GateRefusal(416, str(error)))
            return
        headers = [(b"content-range", f"bytes {asked.start}-{asked.stop - 1}/{len(body)}".encode())]
        await _reply(send, 206, b"application/octet-stream", body[asked.start : asked.stop], headers)

    async def _stop(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await _reply(send, 200, b"application/json", b"{}")
        self._stopped.set()


_MOST_DIGITS: Final = 15
_Answering: TypeAlias = "Callable[[ViewServer, Scope, Receive, Send], Awaitable[None]]"
_TABLE: Final[Mapping[str, tuple[str, _Answering]]] = {
    PAGE: ("GET", ViewServer._send_page),  # noqa: SLF001 - the table of this class
    "/view": ("GET", ViewServer._send_view),  # noqa: SLF001
    "/events": ("GET", ViewServer._send_changes),  # noqa: SLF001
    "/bytes": ("GET", ViewServer._send_bytes),  # noqa: SLF001
    "/stop": ("POST", ViewServer._stop),  # noqa: SLF001
}
_METHODS: Final = {path: (method,) for path, (method, _) in _TABLE.items()}


def _refusal_body(_status: int, message: str) -> bytes:
    return dumps({"error": message})


async def _refuse(send: Send, refusal: GateRefusal) -> None:
    allow = [(b"allow", ", ".join(refusal.allow).encode())] if refusal.allow else []
    await _reply(send, refusal.status, b"application/json", _refusal_body(refusal.status, refusal.message), allow)


async def _reply(
    send: Send, status: int, content_type: bytes, body: bytes, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    await _start(send, status, content_type, [(b"content-length", str(len(body)).encode()), *(more or [])])
    await send({"type": "http.response.body", "body": body})


async def _start(send: Send, status: int, content_type: bytes, more: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [(b"content-type", content_type), *encoded_headers((*HEADERS, FRAMED)), *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _send_event(send: Send, kind: str, data: bytes, number: int | None = None) -> None:
    line = b"" if number is None else b"id: %d\n" % number
    body = line + b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# ---- Live answers ----

RUNNING: Final = "running"
"""The outcome of an answer that goes on."""


def as_running(answer: AnswerView) -> AnswerView:
    """The view of an answer as if its bytes ended now, without what their end tells: they have not ended."""
    events = [event for event in answer["events"] if event["type"] != END_OF_BYTES]
    kept = [place for place, one in enumerate(answer["violations"]) if one["part"] is not None]
    violations = [answer["violations"][place] for place in kept]
    places = {place: number for number, place in enumerate(kept)}
    broken = {one["rule"] for one in violations if one["level"] == Level.MUST.value}
    warned = {one["rule"] for one in violations} - broken
    return {
        **answer,
        "outcome": RUNNING,
        "ending": None,
        "error": None,
        "wrong": next((one["event"] for one in violations if one["level"] == Level.MUST.value), None),
        "blame": {"who": "nobody", "sentence": "The answer goes on."},
        "events": [
            {**event, "violations": [places[place] for place in event["violations"] if place in places]}
            if event["violations"]
            else event
            for event in events
        ],
        "violations": violations,
        "verdict": {**answer["verdict"], "kept": 0, "broken": len(broken), "warnings": len(warned)},
    }


_MOST_ANSWERS: Final = 20


class LiveSource:
    """The source of a page that follows answers; the newest 20 of them.

    Args:
        answers: Yields an answer whenever more of it has come (`capture_socket.follow`); its end is that of the views.
        title: What the page is called.
    """

    def __init__(self, answers: AsyncIterator[FollowedAnswer], title: str) -> None:
        self._answers = answers
        self._title = title
        self._shown: dict[str, _Shown] = {}
        self._began: datetime | None = None
        self._count = 0

    async def views(self) -> AsyncIterator[Mapping[str, Any]]:
        """The view without any answer, then one whenever more has come."""
        view = view_of([], is_live=True)
        yield self._joined(view)
        async for answer in self._answers:
            shown = self._shown_of(answer.key)
            known = answer.bundle.answers[0] if answer.bundle.answers else None
            said = (known.host, known.model) if known is not None else ()
            name = ", ".join([f"#{shown.number}", *filter(None, said)])
            # In a thread: the page is served meanwhile.
            view = await asyncio.to_thread(view_of, [ViewedFile(name, "live", answer.bundle)], is_live=True)
            offset = self._offset(answer.started_at)
            shown.is_over = answer.is_over
            shown.answers = [
                _renamed(one if answer.is_over else as_running(one), shown.number, name, offset)
                for one in view["answers"]
            ]
            yield self._joined(view)

    def bytes_of(self, _answer: str) -> bytes | None:
        """None: all bytes are in the view."""
        return None

    def _shown_of(self, key: str) -> _Shown:
        if key not in self._shown:
            self._count += 1
            self._shown[key] = _Shown(self._count)
            while len(self._shown) > _MOST_ANSWERS:
                oldest = next((key for key, one in self._shown.items() if one.is_over), next(iter(self._shown)))
                del self._shown[oldest]
        return self._shown[key]

    def _offset(self, started_at: str) -> float:
        """Milliseconds from the first answer of this page."""
        try:
            began = datetime.fromisoformat(started_at)
        except ValueError:
            return 0.0
        self._began = self._began or began
        return (began - self._began).total_seconds() * 1000

    def _joined(self, newest: View) -> View:
        answers = [answer for one in self._shown.values() for answer in one.answers]
        return {
            **newest,
            "title": self._title,
            "source": {**newest["source"], "name": self._title, "hasClock": True},
            "answers": answers,
            "comparisons": comparisons(answers),
        }


class _Shown:
    """The views of one answer, under its number on the page."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_over = False
        self.answers: list[AnswerView] = []


def _renamed(answer: AnswerView, number: int, name: str, offset: float) -> AnswerView:
    """The answer under an id and a title that no other answer of the page has, at its place on the axis."""
    title = answer["title"] if answer["title"].startswith(name) else f"{name}: {answer['title']}"
    return {**answer, "id": f"{number}-{answer['id']}", "title": title, "offset": answer["offset"] + offset}
