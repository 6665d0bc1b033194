"""The local server of the inspector's page: what it shows, and, while answers are running, what comes in addition.

    GET  /        the page, without any data
    GET  view     {"number": of the newest change, "view": the view}
    GET  events   the changes as server-sent events, from the one that `Last-Event-ID` names
    GET  bytes    a range of an answer's bytes, `?answer=ID` with a `Range`: what is too large for the view
    POST stop     ends the server

All paths are relative in the page, so that it works at any port and behind any prefix of an editor that forwards it.
:mod:`partstream.inspector.gate` says who may ask. There is no cookie, no CORS, and nothing is fetched from elsewhere.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.inspector.byte_ranges import UnusableRangeError, range_asked
from partstream.inspector.feed import ViewFeed
from partstream.inspector.gate import PAGE, GateRefusal, InspectorRequest, refusal_of
from partstream.server.loopback import Host, LoopbackLimits
from partstream.server.requests import headers_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from types import TracebackType

    from partstream.server.requests import Receive, Scope, Send

__all__ = ["Ending", "ViewServer", "ViewSource", "serve_view"]

IDLE_SECONDS: Final = 30 * 60.0
_PULSE_SECONDS: Final = 15.0
_FAREWELL_SECONDS: Final = 1.0
_MOST_CONNECTIONS: Final = 32
_LIMITS: Final = LoopbackLimits(header_bytes=16 * 1024, body_bytes=64 * 1024, request_seconds=30.0)
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"frame-ancestors 'none'"),  # the page itself has the rest, which a file needs too
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


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


class ViewServer:
    """Serves the page of one source on 127.0.0.1 inside its `async with` block.

    Args:
        source: What is shown.
        page: The page as HTML, given the nonce of its script and its style; without any data.
        port: The port to listen on; 0 for any free port.
        idle_seconds: How long nobody has to ask before the server ends; an open stream of changes counts as asking.
    """

    def __init__(
        self, source: ViewSource, page: Callable[[str], str], *, port: int = 0, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._source = source
        self._page = page
        self._idle_seconds = idle_seconds
        self._token = secrets.token_urlsafe(32)
        self._feed = ViewFeed()
        self._host = Host(self._answer, _refusal_body, port, _LIMITS, _MOST_CONNECTIONS)
        self._stopped = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._streams: set[asyncio.Task[None]] = set()
        self._last_asked = 0.0

    @property
    def url(self) -> str:
        """The URL to open, with the token in its fragment, which no browser sends anywhere."""
        return f"http://127.0.0.1:{self._host.port}/#{self._token}"

    async def __aenter__(self) -> ViewServer:
        await self._host.__aenter__()
        self._last_asked = asyncio.get_running_loop().time()
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._streams:
            # The pages are told that nothing more will come, before their connections are closed.
            await asyncio.wait(self._streams, timeout=_FAREWELL_SECONDS)
        await self._host.__aexit__(kind, error, traceback)

    async def ended(self) -> Ending:
        """Waits until a person stops the server in the page, or nobody has asked for long enough.

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
                if self._failure is not None:
                    raise self._failure
                return Ending.STOPPED

    async def _follow(self) -> None:
        try:
            async for view in self._source.views():
                self._feed.show(view)
        except Exception as error:
            self._failure = error
            self._stopped.set()
        finally:
            self._feed.end()

    # ---- requests ----

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"].decode("latin-1")
        asking = InspectorRequest(scope["method"], path, headers_of(scope))
        refusal = refusal_of(asking, self._token, _METHODS)
        with suppress(OSError):  # the client has left
            if refusal is not None:
                await _refuse(send, refusal)
                return
            if path != PAGE:
                self._last_asked = asyncio.get_running_loop().time()
            await _ANSWERS[path](self, scope, receive, send)

    async def _send_page(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        page = self._page(secrets.token_urlsafe(16))
        await _reply(send, 200, b"text/html; charset=utf-8", page.encode())

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
                # The changes since then are not kept: the page reads the whole view, which says where it stands.
                await _send_event(send, "reset", b"{}")
                break
            for change in changes:
                await _send_event(send, "change", change.json, change.number)
                number = change.number
            if self._feed.has_ended:
                await _send_event(send, "end", b"{}", number)
                break
            await self._next_change(number, leaving, send)
        await send({"type": "http.response.body"})

    async def _next_change(self, number: int, leaving: asyncio.Task[None], send: Send) -> None:
        moved = asyncio.create_task(self._feed.moved(number))
        try:
            done, _ = await asyncio.wait({moved, leaving}, timeout=_PULSE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                await send({"type": "http.response.body", "body": b": waiting\n\n", "more_body": True})
        finally:
            moved.cancel()
            await asyncio.gather(moved, return_exceptions=True)

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


async def serve_view(
    source: ViewSource,
    page: Callable[[str], str],
    on_ready: Callable[[str], object],
    *,
    port: int = 0,
    idle_seconds: float = IDLE_SECONDS,
) -> Ending:
    """Serves the page of a source until a person ends it there, or nobody has asked for long enough.

    Args:
        source: What is shown.
        page: The page as HTML, given the nonce of its script and its style; without any data.
        on_ready: Called once with the URL to open, as soon as the server listens.
        port: The port to listen on; 0 for any free port.
        idle_seconds: How long nobody has to ask.

    Raises:
        OSError: The port is taken.
        Exception: What the source raised.
    """
    async with ViewServer(source, page, port=port, idle_seconds=idle_seconds) as server:
        on_ready(server.url)
        return await server.ended()


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
_ANSWERS: Final = {path: answer for path, (_, answer) in _TABLE.items()}


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
    headers = [(b"content-type", content_type), *_HEADERS, *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _send_event(send: Send, kind: str, data: bytes, number: int | None = None) -> None:
    line = b"" if number is None else b"id: %d\n" % number
    body = line + b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
