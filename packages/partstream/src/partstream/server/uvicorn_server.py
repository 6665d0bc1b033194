"""Runs an application under uvicorn in this process, and ends it without cutting a response. Needs the extra `serve`.

:class:`HttpServer` handles signals itself: uvicorn would close every WebSocket at once, in the middle of a response,
and its hook for the end comes only after all streams have ended, too late to end them. The first call of
:meth:`HttpServer.stop` lets responses end within their time, the second one closes all connections.

:class:`BoundedConnection` is uvicorn's HTTP connection with the limits that uvicorn does not have: the number of
connections, size and time of heads, time of bodies. uvicorn's tick ends what has not arrived in time. :class:`InTurns`
keeps what one client sends in small pieces from holding up all others.
"""

from __future__ import annotations
import asyncio
import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from partstream.codec.limits import TURN_SECONDS
from partstream.server.listening import ConnectionLimits
from partstream.server.requests import DIRECT_EXTENSION, DirectReply

if TYPE_CHECKING:
    import socket

    from uvicorn._types import ASGI3Application

    from partstream.server.application import ServingApp

_CANCELLING_SECONDS: Final = 1.0
"""How long responses have to notice that their clients are gone when the process ends at once."""


class StoppedAtOnceError(Exception):
    """A second signal ended the process before all answers had ended."""


class HttpServer(uvicorn.Server):
    """Serves one application on open sockets until :meth:`stop` is called.

    Attributes:
        state: uvicorn's own record of connections and tasks, for tests and measurements.

    Args:
        sockets: What :func:`partstream.server.listening.listening_sockets` opened; closed with the server.
        drain_seconds: How long open responses may go on after :meth:`stop`.
        on_drain: Called with the number of responses that still run, if any.
    """

    def __init__(
        self,
        application: ServingApp,
        sockets: Sequence[socket.socket],
        *,
        limits: ConnectionLimits | None = None,
        drain_seconds: float = 30.0,
        largest_message: int = 32 * 1024 * 1024,
        on_drain: Callable[[int], None] = lambda answers: None,
    ) -> None:
        self._application = application
        self._sockets = list(sockets)
        self._drain_seconds = drain_seconds
        self._on_drain = on_drain
        self._is_listening = asyncio.Event()
        self._is_stopping = asyncio.Event()
        self._is_given_up = asyncio.Event()
        limits = limits or ConnectionLimits()
        super().__init__(
            uvicorn.Config(
                application,
                interface="asgi3",
                http=partial(BoundedConnection, limits=limits),  # type: ignore[arg-type] # only ever called
                ws=lambda **options: _socket_class()(**options),  # type: ignore[arg-type] # noqa: PLW0108 - later
                ws_max_size=largest_message,
                ws_per_message_deflate=False,  # it would cost time for every event and memory for every socket
                lifespan="on",
                log_config=None,
                log_level="error",  # the log has no place for what strangers send
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=limits.idle_seconds,  # type: ignore[arg-type] # only ever added to a time
                timeout_graceful_shutdown=limits.closing_seconds,
            )
        )
        self.state = self.server_state

    def stop(self) -> None:
        """Ends the server: the first call lets responses end, the second does not."""
        if self._is_stopping.is_set():
            self._is_given_up.set()
        self._is_stopping.set()

    async def on_tick(self, counter: int) -> bool:
        """Refuses requests that are late; uvicorn calls it every tenth of a second from the moment when it listens."""
        self._is_listening.set()
        now = asyncio.get_running_loop().time()
        for connection in tuple(self.state.connections):
            if isinstance(connection, BoundedConnection):
                connection.check_time(now)
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the program."""
        yield

    async def serve(self, on_listening: Callable[[], None] = lambda: None) -> None:  # type: ignore[override]
        """Serves until :meth:`stop` was called and all answers have ended; says when connections are accepted.

        Raises:
            StoppedAtOnceError: :meth:`stop` was called a second time while answers were open.
        """
        # What the start has made stays: no later collection looks at it. A program that has frozen what it keeps
        # decides that itself, and gets nothing of it back.
        freezes = gc.get_freeze_count() == 0
        running = asyncio.create_task(super().serve(self._sockets))
        try:
            await _first(running, self._is_listening.wait())
            if not running.done():
                if freezes:
                    gc.freeze()
                on_listening()
                await _first(running, self._is_stopping.wait())
                await self._drain()
                self.should_exit = True
            await _first(running, self._is_given_up.wait())
            if not running.done():
                self.force_exit = self.should_exit = True
                for connection in tuple(self.state.connections):
                    connection.transport.abort()  # which cancels its response
                if self.state.tasks:
                    await asyncio.wait(self.state.tasks, timeout=_CANCELLING_SECONDS)
        finally:
            if freezes:
                gc.unfreeze()
            self.should_exit = True
            await running
            if self.force_exit:
                await self.lifespan.shutdown()  # uvicorn leaves it out then
        if self._is_given_up.is_set():
            raise StoppedAtOnceError

    async def _drain(self) -> None:
        self._application.is_draining = True
        if self._application.open_answers:
            self._on_drain(self._application.open_answers)
        draining = asyncio.create_task(self._application.drain(self._drain_seconds))
        await _first(draining, self._is_given_up.wait())
        draining.cancel()  # unless it is done
        with suppress(asyncio.CancelledError):
            await draining


@cache
def _socket_class() -> type[asyncio.Protocol]:  # noqa: C901 - the methods of one class
    """The class of a WebSocket's connection, imported with the first one, because that takes a tenth of the start."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol  # noqa: PLC0415

    class BoundedSocket(WebSocketsSansIOProtocol):
        """Answers no ping while the client does not read: the answers would fill the memory; and forgets each frame,
        which the parser keeps until the next one, when it has handed its data on. Empty fragments are not kept, and
        many small ones are joined."""

        _turns: InTurns | None = None
        _joined = 0

        def data_received(self, data: bytes) -> None:
            if self._turns is None:
                self._turns = InTurns(self.loop, self, super().data_received)
            self._turns.take(data)

        @property
        def may_read(self) -> bool:
            return not self.read_paused

        def handle_text(self, event: Any) -> None:
            self._joined = 0
            super().handle_text(event)
            event.data = b""

        def handle_bytes(self, event: Any) -> None:
            self._joined = 0
            super().handle_bytes(event)
            event.data = b""

        def handle_cont(self, event: Any) -> None:
            if event.data or event.fin:
                super().handle_cont(event)
            event.data = b""
            if len(self.frames) - self._joined > _MOST_FRAGMENTS:
                self.frames[self._joined :] = [b"".join(self.frames[self._joined :])]
                self._joined += 1

        def send_receive_event_to_app(self) -> None:
            """Gives a message on; one that is no UTF-8 closes the socket, without a line of what a stranger sent."""
            if self.curr_msg_data_type == "text":
                try:
                    self.frames = [data := b"".join(self.frames)]
                    data.decode()
                except UnicodeDecodeError:
                    self.frames = []
                    self.conn.send_close(1007)  # RFC 6455 section 8.1
                    self.handle_parser_exception()
                    return
            super().send_receive_event_to_app()

        async def send(self, message: Any) -> None:
            await super().send(message)
            if message["type"] == "websocket.http.response.body":
                self.handshake_complete = True  # refused: uvicorn would log each as a fault of the application

        def handle_ping(self) -> None:
            if self.writable.is_set():
                super().handle_ping()
            else:
                self.conn.data_to_send()

    return BoundedSocket


_MOST_FRAGMENTS: Final = 4096


async def _first(task: asyncio.Task[None], other: Any) -> None:
    """Waits until the task or the other one ends; the other one is cancelled then."""
    waiting = asyncio.ensure_future(other)
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


# ---- Connections ----


class InTurns:
    """Reads what has come at once slice by slice, until a turn of the event loop has taken long enough; the rest waits
    for the next turn, and nothing else is read meanwhile. One read may hold forty thousand chunks or frames of a byte,
    and the parser of frames moves all that is left of a read with each of them. The owner, a connection, has a
    transport and says whether it `may_read`: nothing else has paused the reading."""

    def __init__(self, loop: asyncio.AbstractEventLoop, owner: Any, feed: Callable[[bytes], object]) -> None:
        self._loop = loop
        self._owner = owner
        self._feed = feed
        self._rest = bytearray()

    @property
    def waits(self) -> bool:
        """Whether bytes wait."""
        return bool(self._rest)

    def take(self, data: bytes) -> None:
        """Takes what has come."""
        if self._rest:
            self._rest += data
            self._owner.transport.pause_reading()
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        owner, ends = self._owner, self._loop.time() + TURN_SECONDS
        for place in range(0, len(data), _SLICE):
            if owner.transport.is_closing():
                return
            if place and self._loop.time() > ends:
                self._rest += data[place:]
                owner.transport.pause_reading()
                self._loop.call_soon(self._go_on)
                return
            self._feed(data[place : place + _SLICE])

    def _go_on(self) -> None:
        rest = bytes(self._rest)
        self._rest.clear()
        self._read(rest)
        if not self._rest and not self._owner.transport.is_closing() and self._owner.may_read:
            self._owner.transport.resume_reading()


_SLICE: Final = 4 * 1024
_MOST_SOCKET_FIELDS: Final = 120
_LONGEST_SOCKET_FIELD: Final = 8000
"""What the package `websockets` takes of a head: 128 fields, and 8,192 bytes of a line."""
_SENTENCES: Final = {
    HTTPStatus.BAD_REQUEST: "The request is not valid HTTP/1.1.",
    HTTPStatus.REQUEST_TIMEOUT: "The request took too long to arrive.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The head of the request is too large.",
    HTTPStatus.NOT_IMPLEMENTED: "The transfer coding is unknown: expected chunked.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The server has as many connections as it takes.",
}
"""The reply to a client whose request never reaches the application, by status."""


class _RefusedHeadError(Exception):
    """Ends the parsing of a head."""


def _without_chunks(cycle: RequestResponseCycle, app: ASGI3Application) -> ASGI3Application:
    """The application for a client of HTTP/1.0: what has no length ends with the connection (RFC 9112 section 6.3).

    uvicorn would send chunks, and `100 Continue`, which such a client does not know. nginx asks in HTTP/1.0 by default.
    """
    cycle.keep_alive = cycle.waiting_for_100_continue = False

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        has_length = True

        async def send_on(message: Any) -> None:
            nonlocal has_length
            if message["type"] == "http.response.start":
                has_length = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
                cycle.chunked_encoding = None if has_length else False
            elif not has_length:
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await app(scope, receive, send_on)

    return answer


class BoundedConnection(HttpToolsProtocol):
    """One connection; the options are those that uvicorn gives every connection."""

    def __init__(self, *, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._deadline = math.inf  # of the head, or of the body, that has not arrived yet
        self._body_since = 0.0
        self._is_in_head = True
        self._head_bytes = 0
        self._body_bytes = 0
        self._unparsed = 0
        self._refused = HTTPStatus.BAD_REQUEST
        self._answered: RequestResponseCycle | None = None
        self._turns = InTurns(self.loop, self, self._read_slice)

    @property
    def may_read(self) -> bool:
        """Whether nothing else has paused the reading."""
        return not self.flow.read_paused

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the connection, or refuses it where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._deadline = self.loop.time() + self._limits.request_head_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends everything that waits for the client."""
        super().connection_lost(exc)
        if self._answered is not None:  # uvicorn notifies the request that came last, which may still wait
            self._answered.disconnected = True
            self._answered.message_event.set()
            for notice in self._notices(self._answered):
                notice()

    def data_received(self, data: bytes) -> None:
        """Reads bytes of heads and bodies."""
        if len(data) > _SLICE or self._turns.waits:
            self._turns.take(data)
        else:
            self._read(data)

    def _read_slice(self, data: bytes) -> None:
        protocol: Any = self.transport.get_protocol()  # an upgrade gives it to another one
        (self._read if protocol is self else protocol.data_received)(data)

    def _read(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_in_head:
            self._head_bytes += len(data)
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self._refuse(self._refused)
        # A head is counted by its parts when it is whole; before, what is unfinished is in no part.
        if self._is_in_head and self._head_bytes > self._limits.request_head_bytes and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _parse(self, data: bytes) -> None:
        """Ignores an upgrade to anything but a socket, as a server may (RFC 9110 section 7.8): Java's client offers h2c
        with each request. The parser leaves out the body of such a request, whose length says what is of it."""
        while data:
            if self._unparsed:
                body, data = data[: self._unparsed], data[self._unparsed :]
                self._unparsed -= len(body)
                self.on_body(body)
                if not self._unparsed:
                    self.on_message_complete()
                continue
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                    return
                data = data[upgrade.args[0] :]
            else:
                return

    def handle_websocket_upgrade(self) -> None:
        """Hands the connection to the WebSocket protocol, which waits without an end for what it cannot read."""
        is_answering = self._answered is not None and not self._answered.response_complete  # its bytes would mix
        if self.scope["method"] != "GET" or self.parser.get_http_version() != "1.1" or is_answering:
            self._refuse(HTTPStatus.BAD_REQUEST)  # RFC 6455 section 4.1
        elif len(self.headers) > _MOST_SOCKET_FIELDS or any(
            len(name) + len(value) > _LONGEST_SOCKET_FIELD for name, value in [*self.headers, (b"", self.url)]
        ):
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        else:
            super().handle_websocket_upgrade()

    def on_message_begin(self) -> None:
        """Begins a head."""
        if not self._is_in_head:
            self._is_in_head, self._head_bytes = True, 0
            self._deadline = self.loop.time() + self._limits.request_head_seconds
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Ends a head, and starts the application."""
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers)))
        if size > self._limits.request_head_bytes:
            self._refused = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise _RefusedHeadError
        if len(self.pipeline) >= self._limits.waiting_requests:
            raise _RefusedHeadError
        is_old = (version := self.parser.get_http_version()) != "1.1"
        names, coding = [name for name, _ in self.headers], b"transfer-encoding"
        codings = [value.strip().lower() for name, value in self.headers if name == coding] if coding in names else []
        hosts = names.count(b"host")
        if version == "2.0" or hosts > 1 or not (hosts or is_old) or (codings and is_old):
            raise _RefusedHeadError  # RFC 9112 sections 3.2 and 6.1: what has read it before this server may differ
        if self.parser.should_upgrade():
            length = next((value for name, value in self.headers if name == b"content-length"), b"0")
            if codings or (int(length) and self._should_upgrade()):
                raise _RefusedHeadError  # the parser would read the body as the next request
            self._unparsed = int(length)
        if codings and codings != [b"chunked"]:
            self._refused = HTTPStatus.NOT_IMPLEMENTED  # what another coding packs is not read
            raise _RefusedHeadError
        self._is_in_head, self._body_bytes, self._body_since = False, 0, self.loop.time()
        self._deadline = self._body_since + self._limits.slow_body_seconds
        super().on_headers_complete()
        cycle: RequestResponseCycle | None = self.pipeline[0][0] if self.pipeline else self.cycle
        if cycle is not None:
            extensions: dict[str, Any] = cycle.scope.setdefault("extensions", {})
            if not is_old and cycle.scope["method"] != "HEAD":
                extensions[DIRECT_EXTENSION] = DirectReply(cycle, STATUS_LINE)
        if self.pipeline:
            self.flow.resume_reading()  # uvicorn would not notice that the client leaves until the answer has ended
        else:
            self._answered = self.cycle

    @staticmethod
    def _notices(cycle: RequestResponseCycle) -> list[Callable[[], object]]:
        direct: Any = cycle.scope.get("extensions", {}).get(DIRECT_EXTENSION)
        return [] if direct is None else direct.notices

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Calls the application for a request; a client that knows no chunks gets none."""
        super()._start_asgi_task(cycle, app if cycle.scope["http_version"] == "1.1" else _without_chunks(cycle, app))

    def on_response_complete(self) -> None:
        """Begins the next answer, if its request waits."""
        if self._answered is not None:  # a connection that waits for a request keeps nothing of the last one
            self._answered.scope["extensions"].pop(DIRECT_EXTENSION, None)
        if self.pipeline:
            self._answered = self.pipeline[-1][0]
        super().on_response_complete()

    def on_body(self, body: bytes) -> None:
        """Takes a piece of a body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends a body."""
        if not self._unparsed:
            self._deadline = math.inf
            super().on_message_complete()

    def check_time(self, now: float) -> None:
        """Refuses a request that is late; what has come of a body gives it more time."""
        if now > self._deadline and not self._is_in_head:
            seconds = self._limits.slow_body_seconds + self._body_bytes / self._limits.body_bytes_per_second
            self._deadline = self._body_since + seconds
        if now > self._deadline:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _refuse(self, status: HTTPStatus) -> None:
        """Closes the connection, with a status where no answer has begun on it."""
        self._deadline = math.inf
        cycle = self._answered  # not the request that came last, which may wait for an answer that has begun
        if cycle is None or cycle.response_complete or not cycle.response_started:
            text = _SENTENCES[status].encode()
            headers = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + headers % len(text) + text)
        self.transport.close()
