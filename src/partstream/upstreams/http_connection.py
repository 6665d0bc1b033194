"""One connection to a server over HTTP/1.1, as a protocol of asyncio: a request, its answer, then perhaps the next.

`h11` writes the head of a request and reads that of an answer, `message_bodies` reads the body.
"""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Final, cast

import h11
import httpx2

from partstream.upstreams.message_bodies import body_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from partstream.upstreams.message_bodies import Body

__all__ = ["AnswerBody", "HTTPConnection"]

_LARGEST_HEAD: Final = 100 * 1024
_MOST_WAITING: Final = 64 * 1024
"""Bytes that nobody has taken yet; with more, the connection is not read, so that the server has to wait."""
_SWITCHING_PROTOCOLS: Final = 101


class HTTPConnection(asyncio.Protocol):
    """A connection; serves one request at a time.

    Args:
        on_lost: Called once the connection is closed.

    Attributes:
        last_used: When its last answer ended, by the clock of the event loop.
    """

    def __init__(self, on_lost: Callable[[HTTPConnection], object]) -> None:
        self.last_used = 0.0
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._arrived: bytes | bytearray = b""
        self._is_paused = False
        self._ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are of another class

    def data_received(self, data: bytes) -> None:
        """Takes what came."""
        if not self._arrived:
            self._arrived = data
        else:  # one buffer, not a list: a server may send them byte by byte
            if isinstance(self._arrived, bytes):
                self._arrived = bytearray(self._arrived)
            self._arrived += data
        if len(self._arrived) > _MOST_WAITING and not self._is_paused and self._transport is not None:
            self._transport.pause_reading()
            self._is_paused = True
        self._wake()

    def eof_received(self) -> bool:
        """Takes the end of the answer's bytes; the connection closes then."""
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Takes the end of the connection."""
        self._ended = True
        self._error = self._error or error
        self._on_lost(self)
        self._wake()

    def _wake(self) -> None:
        reader = self._reader
        if reader is not None and not reader.done():
            reader.set_result(None)

    # What the client calls

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent: nothing has come since the last answer, not even the end."""
        if self._transport is None or self._ended or self._arrived or self._transport.is_closing():
            return False
        socket = self._transport.get_extra_info("socket")
        return socket is not None and not _is_readable(socket.fileno())

    async def ask(self, request: httpx2.Request, give_back: Callable[[HTTPConnection], object]) -> httpx2.Response:
        """Sends a request and returns its answer when the head has come.

        Args:
            request: The request. Its extension `on_sending` is called when its first byte is about to be sent: only
                here is it known when the connection is open.
            give_back: Called with a connection that can take the next request, when the answer was read to its end.

        Raises:
            httpx2.LocalProtocolError: The request cannot be sent.
            httpx2.RemoteProtocolError: What came is no answer.
            httpx2.ReadError: The connection broke.
        """
        content = await request.aread()
        try:
            conversation = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
            head = conversation.send(
                h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            )
            body = conversation.send(h11.Data(data=content)) if content else b""
            rest = conversation.send(h11.EndOfMessage())
            on_sending = request.extensions.get("on_sending")
            if on_sending is not None:
                on_sending()
            self._write(b"".join((head or b"", body or b"", rest or b"")))
            on_sent = request.extensions.get("on_sent")
            if on_sent is not None:
                on_sent()
            answer = await self._head(conversation)
        except h11.LocalProtocolError as error:
            self.abort()
            raise httpx2.LocalProtocolError(str(error)) from error
        except h11.RemoteProtocolError as error:
            self.abort()
            raise httpx2.RemoteProtocolError(str(error)) from error
        except BaseException:
            self.abort()
            raise
        read = body_of(request.method, answer.status_code, answer.headers)
        stream = AnswerBody(self, read, give_back if _is_kept(request, answer) else None)
        begun, _ = conversation.trailing_data
        self._arrived = begun + self._arrived
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers.raw_items(),
            stream=stream,
            extensions={"http_version": b"HTTP/" + answer.http_version, "reason_phrase": answer.reason, "body": stream},
        )

    async def read(self) -> bytes:
        """Waits for bytes and takes all that are there; none at the end.

        Raises:
            httpx2.ReadError: The connection broke.
        """
        if not self._arrived:
            if not self._ended:
                await self._come()
            if not self._arrived:
                if self._error is not None:
                    raise httpx2.ReadError(str(self._error)) from self._error
                return b""
        data, self._arrived = bytes(self._arrived), b""
        if self._is_paused and self._transport is not None:
            self._transport.resume_reading()
            self._is_paused = False
        return data

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _write(self, data: bytes) -> None:
        """Writes; what a connection that is lost cannot take is missed by nobody, an answer may have come before."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def _come(self) -> None:
        """Waits until something has come."""
        self._reader = self._loop.create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    async def _head(self, conversation: h11.Connection) -> h11.Response:
        while True:
            event = conversation.next_event()
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.InformationalResponse):
                if event.status_code == _SWITCHING_PROTOCOLS:
                    raise httpx2.RemoteProtocolError("illegal answer: nobody asked for another protocol")
                continue
            data = await self.read()
            if not data:
                raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
            conversation.receive_data(data)


class AnswerBody(httpx2.AsyncByteStream):
    """The body of one answer.

    Args:
        connection: Where it comes from.
        body: Finds it in the bytes.
        give_back: Takes the connection when it can be used again; None if it cannot.
    """

    def __init__(
        self, connection: HTTPConnection, body: Body, give_back: Callable[[HTTPConnection], object] | None
    ) -> None:
        self._connection = connection
        self._body = body
        self._give_back = give_back
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces of the body, as they come."""
        while piece := await self.next():
            yield piece

    async def next(self) -> bytes:
        """The next piece; empty behind the last.

        Raises:
            httpx2.RemoteProtocolError: It is no body, or not whole.
            httpx2.ReadError: The connection broke.
        """
        body = self._body
        try:
            while not body.is_whole:
                data = await self._connection.read()
                if data:
                    piece = body.feed(data)
                    if piece:
                        return piece
                else:
                    body.end()
        except BaseException:
            self._close(reusable=False)
            raise
        return b""

    async def aclose(self) -> None:
        """Closes the connection, or gives it back if the whole body was read."""
        self._close(reusable=self._body.is_whole and not self._body.rest)

    def _close(self, *, reusable: bool) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if reusable and self._give_back is not None:
            self._give_back(self._connection)
        else:
            self._connection.abort()


def _is_kept(request: httpx2.Request, answer: h11.Response) -> bool:
    """Whether a connection lives on behind an answer (RFC 9112 section 9.3)."""
    said = [value.lower() for name, value in answer.headers if name == b"connection"]
    said.append(request.headers.get("connection", "").lower().encode())
    options = {option.strip() for value in said for option in value.split(b",")}
    return answer.http_version >= b"1.1" and b"close" not in options


def _is_readable(descriptor: int) -> bool:
    """Whether something has come that the event loop has not seen yet; on an idle connection that is its end."""
    if descriptor < 0:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
