"""One HTTP/1.1 connection of a server: reads requests, carries out steps, and notices when the client disconnects.

Knows neither questions nor answers. h11 reads and frames HTTP. The connection watches the client's end during a reply,
also while it sends nothing.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import h11

from partstream.errors import PartstreamError
from partstream.testing.steps import End, EndKind, Head, Send, Stall, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["BadHTTPRequestError", "Delivery", "HTTPRequest", "Limits", "Outcome", "ServerConnection"]

_READ_SIZE: Final = 65536
_LINGER_SECONDS: Final = 1.0


class Limits(NamedTuple):
    """The limits of a connection.

    Attributes:
        header_bytes: The maximum size of a request's head.
        body_bytes: The maximum size of a request's body.
        request_seconds: The maximum time from the start, or the last reply, to the end of the next request.
    """

    header_bytes: int = 64 * 1024
    body_bytes: int = 64 * 1024 * 1024
    request_seconds: float = 60.0


class BadHTTPRequestError(PartstreamError):
    """An unreadable request; the connection is unusable afterwards.

    Attributes:
        status: The HTTP status of the answer.
        message: What arrived and what was expected.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """An HTTP request; header names in lower case, path and query without the question mark."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


class Outcome(StrEnum):
    """The result of delivering a reply."""

    WHOLE = "whole"
    CUT = "cut"
    """The server ended the reply on purpose, as part of a fault."""
    CLIENT_CLOSED = "client_closed"
    STOPPED = "stopped"
    """The server was stopped during the reply."""


@dataclass(slots=True)
class Delivery:
    """The progress of a reply.

    Attributes:
        outcome: The result; None during the reply.
        status: The HTTP status; None before it is sent.
        events_sent: The number of events whose sending has started, without the mark of the end.
        ended_at: The time of the end by :func:`time.monotonic`, in seconds; None during the reply.
    """

    outcome: Outcome | None = None
    status: int | None = None
    events_sent: int = 0
    ended_at: float | None = None


class ServerConnection:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self._answers_head = False
        # drain() then waits until the kernel has the last byte, so that a reset loses nothing that was sent before it.
        writer.transport.set_write_buffer_limits(high=0)

    async def next_request(self) -> HTTPRequest | None:
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

    async def _read_request(self) -> HTTPRequest | None:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        _refuse_version(head.http_version)
        self._answers_head = head.method == b"HEAD"
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        _refuse_framing(headers, head.http_version)
        self._refuse_large_body(int(headers.get("content-length", 0)))
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            self._refuse_large_body(len(body))
        if not isinstance(event, h11.EndOfMessage):
            return None
        path, _, query = head.target.decode("latin-1").partition("?")
        return HTTPRequest(head.method.decode("latin-1"), path, headers, bytes(body), query)

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

    async def deliver(self, steps: Iterable[Step], delivery: Delivery, on_progress: Callable[[], None]) -> None:
        """Carries out the steps until they end or the client disconnects.

        Args:
            steps: The steps.
            delivery: Receives the progress.
            on_progress: Called after each step.
        """
        loop = asyncio.get_running_loop()
        sending = asyncio.create_task(self._carry_out(steps, delivery, on_progress))
        watching = asyncio.create_task(self._client_leaves())
        outcome = Outcome.STOPPED
        try:
            await asyncio.wait({sending, watching}, return_when=asyncio.FIRST_COMPLETED)
            outcome = await sending if sending.done() else Outcome.CLIENT_CLOSED
        except ConnectionError:
            outcome = Outcome.CLIENT_CLOSED
        except asyncio.CancelledError:
            # The client may have the last byte before this task notices: the reply is whole then.
            if sending.done() and sending.exception() is None:
                outcome = sending.result()
            raise
        finally:
            ended_at = loop.time()
            sending.cancel()
            watching.cancel()
            await asyncio.gather(sending, watching, return_exceptions=True)
            delivery.ended_at, delivery.outcome = ended_at, outcome
        if outcome is Outcome.CLIENT_CLOSED:
            self._writer.transport.abort()

    async def _carry_out(self, steps: Iterable[Step], delivery: Delivery, on_progress: Callable[[], None]) -> Outcome:
        for step in steps:
            match step:
                case Head(status, headers):
                    delivery.status = status
                    self._write(h11.Response(status_code=status, headers=list(headers)))
                case Send(data):
                    delivery.events_sent += step.is_event
                    if not self._answers_head:  # RFC 9110 section 9.3.2: its answer ends behind the headers
                        self._write(h11.Data(data=data))
                case Stall(seconds):
                    # Ends with the task, when the client disconnects or the server stops.
                    await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))
                case End(EndKind.WHOLE):
                    self._write(h11.EndOfMessage())
                    await self._writer.drain()
                    break
                case End(kind):
                    self._break_off(kind)
                    return Outcome.CUT
            await self._writer.drain()
            on_progress()
            # drain() does not yield to other tasks while the kernel takes everything.
            await asyncio.sleep(0)
        return Outcome.WHOLE

    def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)

    def _break_off(self, kind: EndKind) -> None:
        self._http.send_failed()
        if kind is EndKind.RESET:
            # SO_LINGER with zero seconds: closing sends RST. The struct is two ints, two shorts on Windows.
            linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._writer.transport.abort()
        else:
            self._writer.close()

    async def _client_leaves(self) -> None:
        """Returns when the client has closed its end, or has sent more data ahead than the limit for a head."""
        ahead = 0
        try:
            while ahead <= self._limits.header_bytes and (data := await self._reader.read(_READ_SIZE)):
                self._http.receive_data(data)
                ahead += len(data)
        except ConnectionError:
            return

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


def _refuse_version(version: bytes) -> None:
    """Refuses another major version of HTTP: its messages have another form.

    Raises:
        BadHTTPRequestError: It is one.
    """
    if not version.startswith(b"1."):
        raise BadHTTPRequestError(505, f"got HTTP/{version.decode('latin-1')}, expected HTTP/1.1")


def _refuse_framing(headers: Mapping[str, str], version: bytes) -> None:
    """Refuses a request whose end two readers would find in two places: what stands behind it may be smuggled.

    RFC 9112 section 6.1: such a request is probably an attack, and its connection must not be used again.

    Raises:
        BadHTTPRequestError: It is one.
    """
    if "transfer-encoding" not in headers:
        return
    if "content-length" in headers:
        raise BadHTTPRequestError(400, "got Content-Length and Transfer-Encoding, expected one of them")
    if version == b"1.0":
        raise BadHTTPRequestError(400, "got Transfer-Encoding in HTTP/1.0, expected Content-Length")
