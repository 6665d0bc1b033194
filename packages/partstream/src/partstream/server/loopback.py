"""A small HTTP host on 127.0.0.1: serves an ASGI application in pure Python, and can break its connections off.

:class:`Host` accepts connections inside its `async with` block, refuses those above its limit, and raises at the end of
the block what the application raised first. :class:`ServerConnection` is one HTTP/1.1 connection: h11 reads and frames
the requests, the application answers one after another, and the connection watches the client's end during a reply,
also while the application sends nothing. A request whose end two readers would find in two places is refused, because
the rest of it may be smuggled (RFC 9112 section 6.1). An application breaks the connection off with :data:`BREAK_OFF`,
as a dying server would.
"""

from __future__ import annotations
import asyncio
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import unquote

import h11

from partstream.codec.checks import dataclass
from partstream.errors import CallerError, PartstreamError

if TYPE_CHECKING:
    from partstream.server.requests import Application, Message, Receive, Scope

BREAK_OFF: Final = "partstream.break_off"
"""The extension by which an application breaks the connection off, and the type of the message that does it.

The message has `reset`: True to reset the connection (RST), as after the death of a server process; False to close it
(FIN) without the end of the body.
"""
_READ_SIZE: Final = 65536
_LINGER_SECONDS: Final = 1.0


class LoopbackLimits(NamedTuple):
    """The limits of a connection: the bytes of a request's head and of its body, and the seconds from the start, or the
    last reply, to the end of the next request."""

    header_bytes: int = 64 * 1024
    body_bytes: int = 64 * 1024 * 1024
    request_seconds: float = 60.0


class BadHTTPRequestError(PartstreamError):
    """An unreadable request, with the HTTP status of its answer; the connection is unusable afterwards."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class LoopbackRequest:
    """An HTTP request; header names in lower case, path and query without the question mark."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""

    def scope(self) -> Scope:
        """The request as ASGI has it, without what is optional there and has one value here."""
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": self.method,
            "path": unquote(self.path),
            "raw_path": self.path.encode("latin-1"),
            "query_string": self.query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()],
            "extensions": {BREAK_OFF: {}},
        }


class ServerConnection:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: LoopbackLimits) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self._answers_head = False
        # drain() then waits until the kernel has the last byte, so that a reset loses nothing that was sent before it.
        writer.transport.set_write_buffer_limits(high=0)

    async def next_request(self) -> LoopbackRequest | None:
        """The next request; None if the client closed the connection or leaves it idle.

        Raises:
            BadHTTPRequestError: The request is not HTTP, too large or too slow.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        elif self._http.our_state is not h11.IDLE:
            return None
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                return await self._read_request()
        except TimeoutError as error:
            if self._http.their_state is h11.IDLE and not self._http.trailing_data[0]:
                return None
            message = f"no whole request within {self._limits.request_seconds:g} seconds"
            raise BadHTTPRequestError(408, message) from error
        except h11.RemoteProtocolError as error:
            raise BadHTTPRequestError(error.error_status_hint, f"not a readable HTTP/1.1 request: {error}") from error
        except ConnectionError:
            return None

    async def _read_request(self) -> LoopbackRequest | None:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        if not head.http_version.startswith(b"1."):  # the messages of another major version have another form
            raise BadHTTPRequestError(505, f"got HTTP/{head.http_version.decode('latin-1')}, expected HTTP/1.1")
        self._answers_head = head.method == b"HEAD"
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if "transfer-encoding" in headers and "content-length" in headers:
            raise BadHTTPRequestError(400, "got Content-Length and Transfer-Encoding, expected one of them")
        if "transfer-encoding" in headers and head.http_version == b"1.0":
            raise BadHTTPRequestError(400, "got Transfer-Encoding in HTTP/1.0, expected Content-Length")
        self._refuse_large_body(int(headers.get("content-length", 0)))
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            self._refuse_large_body(len(body))
        if not isinstance(event, h11.EndOfMessage):
            return None
        path, _, query = head.target.decode("latin-1").partition("?")
        return LoopbackRequest(head.method.decode("latin-1"), path, headers, bytes(body), query)

    def _refuse_large_body(self, size: int) -> None:
        limit = self._limits.body_bytes
        if size > limit:
            raise BadHTTPRequestError(413, f"got a body of {size:,} bytes or more, expected at most {limit:,}")

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                self._write(h11.InformationalResponse(status_code=100, headers=[]))
                await self._writer.drain()
            self._http.receive_data(await self._reader.read(_READ_SIZE))
        return event

    async def answer(self, request: LoopbackRequest, application: Application) -> None:
        """Calls the application for the request that was read last; returns when the application does.

        An application that ends before its reply leaves a connection that cannot be used again.
        """
        left = asyncio.Event()
        watching = asyncio.create_task(self._watch(left))
        try:
            await application(request.scope(), receiving(request.body, left), self._send)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def refuse(self, status: int, body: bytes) -> None:
        """Refuses a client that has sent no request; `body` is JSON."""
        headers = [(b"content-type", b"application/json")]
        with suppress(OSError):
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})

    async def _send(self, message: Message) -> None:
        """Sends a part of the reply.

        Raises:
            OSError: The client has left, as ASGI has it from version 2.4 on.
        """
        if self._writer.transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        match message["type"]:
            case "http.response.start":
                head, headers = message.get("reason", b""), list(message.get("headers", ()))
                self._write(h11.Response(status_code=message["status"], headers=headers, reason=head))
            case "http.response.body":
                data = message.get("body", b"")
                if data and not self._answers_head:  # RFC 9110 section 9.3.2: a reply to HEAD ends with its headers
                    self._write(h11.Data(data=data))
                if not message.get("more_body", False):
                    self._write(h11.EndOfMessage())
            case kind if kind == BREAK_OFF:
                self._break_off(reset=message["reset"])
                return
            case kind:
                raise ValueError(f"message: got type {kind!r}, expected a part of the reply")
        await self._writer.drain()
        if message.get("more_body"):  # else the reply is whole, and no other task may run before that is known
            # drain() does not yield to other tasks while the kernel takes everything.
            await asyncio.sleep(0)

    def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)

    def _break_off(self, *, reset: bool) -> None:
        self._http.send_failed()
        if reset:
            # SO_LINGER with zero seconds: closing sends RST. The struct is two ints, two shorts on Windows.
            linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._writer.transport.abort()
        else:
            self._writer.close()

    async def _watch(self, left: asyncio.Event) -> None:
        """Sets `left` when the client has closed its end, or has sent more data ahead than the limit for a head."""
        ahead = 0
        try:
            while ahead <= self._limits.header_bytes and (data := await self._reader.read(_READ_SIZE)):
                self._http.receive_data(data)
                ahead += len(data)
        except ConnectionError:
            pass
        if self._http.our_state is not h11.DONE:  # the rest of the reply has no reader
            self._writer.transport.abort()
        left.set()

    async def close(self) -> None:
        """Closes after reading the client's remaining data for a moment, so that the client can read the reply."""
        try:
            if not self._writer.transport.is_closing():
                self._writer.write_eof()
                async with asyncio.timeout(_LINGER_SECONDS):
                    while await self._reader.read(_READ_SIZE):
                        pass
        except OSError:  # the time is over (TimeoutError), or the client has disconnected
            self._writer.transport.abort()
        finally:
            self._writer.close()


def receiving(body: bytes, left: asyncio.Event) -> Receive:
    """ASGI's `receive` of a request: the whole body, then that the client has left."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        if (message := next(messages, None)) is not None:
            return message
        await left.wait()
        return {"type": "http.disconnect"}

    return receive


class Host:
    """Serves an application at 127.0.0.1 inside its `async with` block.

    Args:
        refusal: Makes the JSON that refuses a client without a request, given HTTP status and message.
        connections: The most connections at once. For one more, that one gives way which has waited longest without a
            whole request; where all are being answered, it is cut.

    Raises:
        BaseException: At the end of the block: what the application raised first.
    """

    def __init__(
        self,
        application: Application,
        refusal: Callable[[int, str], bytes],
        port: int = 0,
        limits: LoopbackLimits | None = None,
        connections: int | None = None,
    ) -> None:
        self._application = application
        self._refusal = refusal
        self._port = port
        self._limits = limits or LoopbackLimits()
        self._most_connections = connections
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._unasked: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}  # that wait for a request, the oldest first
        self._failure: BaseException | None = None

    @property
    def port(self) -> int:
        """The port that the host listens on.

        Raises:
            CallerError: It does not listen.
        """
        if self._server is None:
            raise CallerError("the server listens only inside its `async with` block")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def open_connections(self) -> int:
        """The number of connections that clients hold open."""
        return len(self._connections)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._most_connections is not None and len(self._connections) >= self._most_connections:
            if not self._unasked:
                writer.transport.abort()
                return
            oldest = self._unasked.pop(next(iter(self._unasked)))
            self._connections.discard(oldest)
            oldest.cancel()

        def forget(connection: asyncio.Task[None]) -> None:
            self._connections.discard(connection)
            self._unasked.pop(writer, None)
            if not connection.cancelled():  # an error is a bug of the application, raised at the end of the block
                self._failure = self._failure or connection.exception()
            # Not in the task: one that is cancelled before its first step does nothing at all.
            writer.transport.abort()

        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(connection)
        self._unasked[writer] = connection
        connection.add_done_callback(forget)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(reader, writer, self._limits)
        try:
            while (request := await connection.next_request()) is not None:
                task = self._unasked.pop(writer)
                await connection.answer(request, self._application)
                self._unasked[writer] = task
        except BadHTTPRequestError as error:
            await connection.refuse(error.status, self._refusal(error.status, str(error)))
        await connection.close()
