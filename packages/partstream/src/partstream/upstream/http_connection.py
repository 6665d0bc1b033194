"""The ways of our HTTP client to a server: connections that are kept, over HTTP/1.1, straight or through a proxy.

Through a proxy, `ProxyTransport` has `httpx2` ask, which is loaded then. Otherwise requests go through
`DirectTransport`, which takes a fifth of the time for each piece of an answer:
docs/decisions/0017-connections-of-our-own.md. Both take a `PlainRequest`, give a `PlainAnswer`, and raise the errors of
`httpx2`.

`HTTPConnection` is a protocol of asyncio: a request, its answer, then perhaps the next. A head that is plain, as nearly
all are, is written and read here with one regular expression (`plain_request`, `plain_answer`); `h11`, which takes ten
times as long, judges and reads all others. Bodies are read here, sans-IO, because an answer of a model comes in
thousands of small chunks, and `h11` takes 7 µs for each of them, which is more than all that the reader of its events
takes. The head says how long a body is (RFC 9112 section 6.3): a length, chunks, or the end of the connection.
Dialling tries all addresses of a host one after the other, each next one a little later (RFC 8305), then comes TLS.
"""

from __future__ import annotations
import asyncio
import errno
import os
import re
import select
import socket
import ssl
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from itertools import chain, repeat, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from partstream.codec.system import LazyModule
from partstream.upstream.context import run_in_thread

if TYPE_CHECKING:
    import httpx2 as httpx2  # noqa: PLC0414 - for the modules that share it
else:
    httpx2 = LazyModule("httpx2")  # it has 3.5 MB, and takes a tenth of the start


def client_errors(*others: type[Exception], name: str = "RequestError") -> tuple[type[Exception], ...]:
    """An error of httpx2, and others, for an `except`. A cancellation passes it too, and must not wait until httpx2 is
    loaded; before that, it has raised nothing."""
    found = getattr(sys.modules.get("httpx2"), name, None)
    return others if found is None else (*others, found)


KEPT: Final = 64
"""Idle connections that are kept: of a server with many clients, each answer takes one."""
_KEPT_SECONDS: Final = 5.0
PORTS: Final = {"http": 80, "https": 443}
"""The usual port of a scheme."""
Origin: TypeAlias = tuple[str, str, int, str | None]
"""A server: scheme, host, port, and the name in its certificate where that is not the host."""


class PlainRequest(NamedTuple):
    """A request whose body is known; its `headers` hold `host` and those of the body too, as they are sent.

    Attributes:
        target: The path with its query.
        on_sending: Called when its first byte is about to be sent: only here is it known when the connection is open.
        on_sent: Called when its last byte was sent.
        head: The bytes of its head, made with :func:`plain_head`; None has them made here.
    """

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    content: bytes
    on_sending: Callable[[], object] | None = None
    on_sent: Callable[[], object] | None = None
    head: bytes | None = None


def trusting_nobody() -> ssl.SSLContext:
    """Trusts no certificate: every connection with TLS fails."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class DirectTransport:
    """Connections to servers, without a proxy; lives in one event loop.

    Attributes:
        certificates: The trusted ones; None trusts no authority, and takes no memory until TLS is used.
    """

    def __init__(self, certificates: ssl.SSLContext | None) -> None:
        self.certificates = certificates
        self._idle: deque[tuple[Origin, HTTPConnection]] = deque()
        self._all: set[HTTPConnection] = set()
        self._is_closed = False

    async def send(self, origin: Origin, request: PlainRequest, seconds: float | None) -> PlainAnswer:
        """Sends a request to a server and returns its answer when the head has come; the connection is to be open
        within some seconds.

        Raises:
            httpx2.TransportError: There is no answer.
        """
        connection = self._take(origin) or await self.dial(origin, seconds)
        return await connection.ask(request, partial(self._give_back, origin))

    async def dial(self, origin: Origin, seconds: float | None) -> HTTPConnection:
        """Opens a connection to a server, within some seconds; None waits for ever.

        Raises:
            httpx2.ConnectTimeout: It took too long.
            httpx2.ConnectError: There is no connection; the cause says why.
        """
        scheme, host, port, name = origin
        certificates: ssl.SSLContext | None = None
        named: str | None = None
        if scheme == "https":
            certificates, named = self.certificates or trusting_nobody(), name or host
            certificates.set_alpn_protocols(["http/1.1"])
            self.certificates = certificates
        loop, make = asyncio.get_running_loop(), partial(HTTPConnection, self._all.discard)
        try:
            async with asyncio.timeout(seconds):
                opened = await _opened(host, port)
                try:
                    _, connection = await loop.create_connection(
                        make, sock=opened, ssl=certificates, server_hostname=named
                    )
                except BaseException as error:
                    opened.close()
                    # asyncio's error for an end in the middle of the handshake
                    if named is not None and isinstance(error, ConnectionResetError) and error.errno is None:
                        ended = "the connection ended before it was encrypted"
                        raise ssl.SSLEOFError(ssl.SSL_ERROR_EOF, ended) from error
                    raise
        except TimeoutError as error:
            # The system has such an error too: then the peer is silent, as it is when the limit is reached.
            raise httpx2.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(str(error)) from error
        self._all.add(connection)
        return connection

    def _give_back(self, origin: Origin, one: HTTPConnection) -> None:
        if self._is_closed:
            one.abort()
            return
        one.last_used = one.loop.time()
        self._idle.append((origin, one))
        if len(self._idle) > KEPT:
            self._idle.popleft()[1].abort()

    async def aclose(self) -> None:
        """Closes all connections."""
        self._is_closed = True
        self._idle.clear()
        for connection in [*self._all]:
            connection.abort()

    def _take(self, origin: Origin) -> HTTPConnection | None:
        """An idle connection to a server, the one that was used last; closes those that were idle for too long."""
        while self._idle and (oldest := self._idle[0][1]).loop.time() - oldest.last_used > _KEPT_SECONDS:
            self._idle.popleft()[1].abort()
        for entry in reversed(self._idle):
            if entry[0] == origin:
                self._idle.remove(entry)
                if entry[1].is_usable:
                    return entry[1]
                entry[1].abort()
                return self._take(origin)
        return None


class ProxyTransport:
    """Connections through a proxy: those of `httpx2`, whose errors they raise; lives in one event loop."""

    def __init__(self, certificates: ssl.SSLContext | None, proxy: str) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=KEPT)
        trusted, through = certificates or trusting_nobody(), httpx2.Proxy(proxy)
        self.client = httpx2.AsyncHTTPTransport(verify=trusted, proxy=through, limits=limits)

    async def send(self, origin: Origin, request: PlainRequest, seconds: float | None) -> PlainAnswer:
        """As :meth:`DirectTransport.send`; the proxy looks the name of the server up."""
        is_for_proxy = False  # as is what opens a tunnel

        async def take_step(name: str, info: Mapping[str, Any]) -> None:
            nonlocal is_for_proxy
            if name.endswith("send_request_headers.started"):
                is_for_proxy = info["request"].method == b"CONNECT"
                if request.on_sending is not None and not is_for_proxy:
                    request.on_sending()
            elif name.endswith("send_request_body.complete") and request.on_sent is not None and not is_for_proxy:
                request.on_sent()

        scheme, host, port, _ = origin
        asked = httpx2.Request(
            request.method,
            httpx2.URL(scheme=scheme, host=host, port=port, raw_path=request.target),
            content=request.content or None,
            headers=request.headers,
            extensions={"timeout": {"connect": seconds}, "trace": take_step},
        )
        came = await self.client.handle_async_request(asked)
        fields = [(name.lower(), value) for name, value in came.headers.raw]
        version = came.http_version.removeprefix("HTTP/").encode()
        head = AnswerHead(came.status_code, came.extensions.get("reason_phrase", b""), version, fields)
        return PlainAnswer(head, ProxiedBody(came))

    async def aclose(self) -> None:
        """Closes all connections."""
        await self.client.aclose()


class ProxiedBody:
    """The body of an answer that came through a proxy; has what an `AnswerBody` has."""

    def __init__(self, came: httpx2.Response) -> None:
        self._came = came
        self._pieces = came.aiter_raw()
        self.is_whole = False

    async def next(self) -> bytes:
        """The next piece; empty after the last."""
        async for piece in self._pieces:
            if piece:
                return piece
        self.is_whole = True
        return b""

    async def aclose(self) -> None:
        """Gives the connection back if the whole body was read, and closes it otherwise."""
        await self._came.aclose()


_LARGEST_HEAD: Final = 100 * 1024
_MOST_WAITING: Final = 64 * 1024
"""Bytes that are not read yet; with more, the connection is not read, so that the server has to wait."""
_WRITTEN_AT_ONCE: Final = 1024 * 1024
"""Bytes of a request that are given to the transport, which copies what the server does not take yet."""
_SWITCHING_PROTOCOLS: Final = 101


class HTTPConnection(asyncio.Protocol):
    """A connection; serves one request at a time, and calls `on_lost` once it is closed. It was `last_used` at the end
    of its last answer, by the clock of the event loop."""

    def __init__(self, on_lost: Callable[[HTTPConnection], object]) -> None:
        self.last_used = 0.0
        self._on_lost = on_lost
        self.loop = asyncio.get_running_loop()
        self._poll: select.poll | None = None
        self._transport: asyncio.Transport | None = None
        self._arrived: bytes | bytearray = b""
        self._is_paused = False
        self._is_full = self._waits_for_room = False
        self._ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None

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
        if (reader := self._reader) is not None and not reader.done():
            reader.set_result(None)

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

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent: nothing has come since the last answer, not even the end."""
        if self._transport is None or self._ended or self._arrived or self._transport.is_closing():
            return False
        # Something may have come that the event loop has not seen yet; on an idle connection that is its end.
        if self._poll is None:
            socket = self._transport.get_extra_info("socket")
            if socket is None or socket.fileno() < 0:
                return False
            if not hasattr(select, "poll"):  # Windows
                return not select.select([socket.fileno()], [], [], 0)[0]
            self._poll = select.poll()
            self._poll.register(socket.fileno(), select.POLLIN)
        return not self._poll.poll(0)

    async def ask(self, request: PlainRequest, give_back: Callable[[HTTPConnection], object]) -> PlainAnswer:
        """Sends a request and returns its answer when the head has come. `give_back` gets a connection that can take
        the next request, when the answer was read to its end.

        Raises:
            httpx2.LocalProtocolError: The request cannot be sent.
            httpx2.RemoteProtocolError: What came is no answer.
            httpx2.ReadError: The connection broke.
        """
        try:
            conversation: _Conversation | None = None
            data = plain_request(request) if request.head is None else request.head + request.content
            if data is None:
                conversation = _Conversation(request)
                data = conversation.sent
            if request.on_sending is not None:
                request.on_sending()
            await self._write(data)
            if request.on_sent is not None:
                request.on_sent()
            came = await self.read()
            plain = plain_answer(came) if conversation is None else None
            answer, self._arrived = plain or await self._judged_head(came, conversation or _Conversation(request))
        except BaseException:
            self.abort()
            raise
        read = body_of(request.method, answer.status, answer.fields)
        # Whether the connection outlives the answer (RFC 9112 section 9.3).
        said = [value.lower() for name, value in answer.fields if name == b"connection"]
        if request.head is None:
            said += [value.lower() for name, value in request.headers if name.lower() == b"connection"]
        is_kept = answer.http_version >= b"1.1" and not (
            said and any(option.strip() == b"close" for value in said for option in value.split(b","))
        )
        return PlainAnswer(answer, AnswerBody(self, read, give_back if is_kept else None))

    async def _write(self, data: bytes) -> None:
        """Writes a request as the server takes it, until an answer comes, or the connection is lost: then the rest is
        written at once, because the answer may be the end of both."""
        for place in range(0, len(data), _WRITTEN_AT_ONCE):
            while self._is_full and (arrival := self.arrival()) is not None:
                self._waits_for_room = True
                await arrival
                self._waits_for_room = False
            if self._transport is None or self._transport.is_closing():
                return
            self._transport.write(data if len(data) <= _WRITTEN_AT_ONCE else data[place : place + _WRITTEN_AT_ONCE])

    def pause_writing(self) -> None:
        """Hears that the server takes no more for now."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Hears that the server takes more."""
        self._is_full = False
        if self._waits_for_room:
            self._wake()

    async def _judged_head(self, data: bytes, conversation: _Conversation) -> tuple[AnswerHead, bytes]:
        """The head of the answer, whose first bytes these are, and the bytes after it."""
        while True:
            if not data:
                raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
            if (found := conversation.answer(data)) is not None:
                return found
            data = await self.read()

    async def read(self) -> bytes:
        """Waits for bytes and takes all that are there; none at the end.

        Raises:
            httpx2.ReadError: The connection broke.
        """
        if (arrival := self.arrival()) is not None:
            await arrival
        return self.take()

    def arrival(self) -> asyncio.Future[None] | None:
        """What ends when bytes have come, or the end; None where they are there."""
        if self._arrived or self._ended:
            return None
        self._reader = self.loop.create_future()
        return self._reader

    def take(self) -> bytes:
        """Takes all bytes that are there; none at the end."""
        if not self._arrived:
            if self._error is not None:
                raise httpx2.ReadError(str(self._error)) from self._error
            return b""
        data, self._arrived = self._arrived, b""
        if self._is_paused and self._transport is not None:
            self._transport.resume_reading()
            self._is_paused = False
        return data if isinstance(data, bytes) else bytes(data)

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()


# ---- Heads ----

_TOKEN: Final = rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]++"
_VALUE: Final = rb"(?:[^\x00\s]++(?:[ \t]++[^\x00\s]++)*+)?+"
_PLAIN_REQUEST: Final = re.compile(rb"%b [\x21-\x7e]++ HTTP/1\.1\r\n(?:%b: %b\r\n)++\r\n" % (_TOKEN, _TOKEN, _VALUE))
_FIELD: Final = re.compile(rb"(%b):[ \t]*+(%b)[ \t]*+\r\n" % (_TOKEN, _VALUE))
_PLAIN_ANSWER: Final = re.compile(
    rb"HTTP/(1\.[01]) ([2-5][0-9]{2})(?: ((?:[ \t]|[^\x00\s])*+))?\r\n((?:%b:[ \t]*+%b[ \t]*+\r\n)*+)\r\n"
    % (_TOKEN, _VALUE)
)
_LENGTH: Final = re.compile(rb"[0-9]{1,20}")
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})


class AnswerHead(NamedTuple):
    """The head of an answer; `fields` are its headers in order, with names in lower case."""

    status: int
    reason: bytes
    http_version: bytes
    fields: Sequence[tuple[bytes, bytes]]


def plain_request(request: PlainRequest) -> bytes | None:
    """The bytes of a request; None for one that has to be judged: it may be none, or its framing is another one."""
    fields: list[bytes] = []
    length, hosts = None, 0
    for name, value in request.headers:
        if b":" in name:
            return None
        match name.lower():
            case b"host":
                hosts += 1
                fields.insert(0, b"%b: %b\r\n" % (name, value))  # the first (RFC 9110 section 7.2)
                continue
            case b"content-length" if length is None:
                length = value
            case b"content-length" | b"transfer-encoding":
                return None
        fields.append(b"%b: %b\r\n" % (name, value))
    size = b"%d" % len(request.content)
    if hosts != 1 or (length != size and (request.content or length is not None)):
        return None
    head = b"%b %b HTTP/1.1\r\n%b\r\n" % (request.method.encode(), request.target, b"".join(fields))
    # A line for each header, so that no header holds another.
    is_plain = _PLAIN_REQUEST.fullmatch(head) is not None and head.count(b"\r\n") == len(request.headers) + 2
    return head + request.content if is_plain else None


def plain_head(method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The head of a request as it is written, without its last line and the length of its body; None where the whole
    request has to be judged."""
    for name, value in headers:
        lowered = name.lower()
        if lowered == b"content-length" or (lowered == b"connection" and value.lower() != b"keep-alive"):
            return None
    head = plain_request(PlainRequest(method, target, headers, b""))
    return None if head is None else head[:-2]


def plain_answer(data: bytes) -> tuple[AnswerHead, bytes] | None:
    """The head of an answer and the bytes after it; None where it is not whole, or has to be judged."""
    found = _PLAIN_ANSWER.match(data)
    if found is None or found.end() > _LARGEST_HEAD:
        return None
    version, status, reason, block = found.groups()
    fields = [(name.lower(), value) for name, value in _FIELD.findall(block)]
    framing = [one for one in fields if one[0] in _FRAMING]
    if framing and framing != [(b"transfer-encoding", b"chunked")]:
        is_length = len(framing) == 1 and framing[0][0] == b"content-length"
        if not is_length or _LENGTH.fullmatch(framing[0][1]) is None:
            return None
    return AnswerHead(int(status), reason or b"", version, fields), data[found.end() :]


class _Conversation:
    """A request and its answer as `h11` writes and reads them; `sent` are the bytes of the request."""

    def __init__(self, request: PlainRequest) -> None:
        import h11  # noqa: PLC0415 - hardly ever used

        self._h11 = h11
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        events: list[Any] = [h11.Data(data=request.content)] if request.content else []
        try:
            head = h11.Request(method=request.method, target=request.target, headers=list(request.headers))
            self.sent = b"".join(self._connection.send(one) or b"" for one in (head, *events, h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error

    def answer(self, data: bytes) -> tuple[AnswerHead, bytes] | None:
        """Takes bytes; gives the head of the answer and what follows it, or None before it is whole."""
        try:
            self._connection.receive_data(data)
            while isinstance(event := self._connection.next_event(), self._h11.InformationalResponse):
                if event.status_code == _SWITCHING_PROTOCOLS:
                    raise httpx2.RemoteProtocolError("illegal answer: no request asked for another protocol")
        except self._h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        if not isinstance(event, self._h11.Response):
            return None
        rest, _ = self._connection.trailing_data
        return AnswerHead(event.status_code, event.reason, event.http_version, [*event.headers]), rest


class AnswerBody:
    """The body of one answer; `give_back` takes the connection when it can be used again, or is None."""

    def __init__(
        self, connection: HTTPConnection, body: Body, give_back: Callable[[HTTPConnection], object] | None
    ) -> None:
        self._connection = connection
        self._body = body
        self._give_back = give_back
        self._is_closed = False

    @property
    def is_whole(self) -> bool:
        """Whether its end has come."""
        return self._body.is_whole

    async def next(self) -> bytes:
        """The next piece; empty after the last.

        Raises:
            httpx2.RemoteProtocolError: It is no body, or not whole.
            httpx2.ReadError: The connection broke.
        """
        body, connection = self._body, self._connection
        try:
            while not body.is_whole:
                if (arrival := connection.arrival()) is not None:
                    await arrival
                data = connection.take()
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


class PlainAnswer:
    """An answer whose head has come; `fields` are those of the head as texts. The caller closes the body."""

    __slots__ = ("body", "fields", "head")

    def __init__(self, head: AnswerHead, body: AnswerBody | ProxiedBody) -> None:
        self.head = head
        self.body = body
        try:
            self.fields = [(name.decode(), value.decode()) for name, value in head.fields]
        except UnicodeDecodeError:
            self.fields = [(name.decode(), value.decode("latin-1")) for name, value in head.fields]


# ---- Bodies ----

_NO_BODY: Final = frozenset({204, 304})
_CHUNK_HEAD: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")
_SIZES: Final = frozenset(range(1, 16 + 1))
"""How many digits a size may have."""
_DIGITS: Final = b"0123456789abcdefABCDEF"
_MOST_PIECES: Final = 1000
_LONGEST_LINE: Final = 16 * 1024
"""Bytes of the line before a chunk."""
_LARGEST_TRAILERS: Final = 1024 * 1024
_SHOWN: Final = 40


class Body:
    """The body of one answer: this one ends with the connection, those below have a length or chunks.

    Attributes:
        is_whole: Whether its end has come.
        rest: The bytes after its end: a connection with a rest is not used again.
    """

    __slots__ = ("is_whole", "rest")

    def __init__(self) -> None:
        self.is_whole = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Takes the next bytes of the connection, returns those of the body, possibly none.

        Raises:
            httpx2.RemoteProtocolError: They are no such body.
        """
        return data

    def end(self) -> None:
        """Takes the end of the connection.

        Raises:
            httpx2.RemoteProtocolError: The body is not whole.
        """
        if not self.is_whole and (lacks := self._lacks()):
            raise httpx2.RemoteProtocolError(f"peer closed connection without sending complete message body ({lacks})")
        self.is_whole = True

    def _lacks(self) -> str:
        """What a body lacks whose end has not come; nothing where the end of the connection is its end."""
        return ""


def body_of(method: str, status: int, headers: Iterable[tuple[bytes, bytes]]) -> Body:
    """The body that a head announces; `headers` are those of the answer with names in lower case, as `h11` has checked
    them: at most one length, and no coding but `chunked`."""
    fields = dict(headers)
    if method == "HEAD" or status in _NO_BODY:
        return SizedBody(0)
    if b"transfer-encoding" in fields:
        return ChunkedBody()
    if b"content-length" in fields:
        return SizedBody(int(fields[b"content-length"]))
    return Body()


class SizedBody(Body):
    """A body of a known length in bytes."""

    __slots__ = ("_missing", "_size")

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = self._missing = size
        self.is_whole = size == 0

    def feed(self, data: bytes) -> bytes:
        """Takes bytes; those after the length are the rest."""
        body, more = data[: self._missing], data[self._missing :]
        self._missing -= len(body)
        self.is_whole = self._missing == 0
        self.rest += more
        return body

    def _lacks(self) -> str:
        return f"received {self._size - self._missing} bytes, expected {self._size}"


class ChunkedBody(Body):
    """A body in chunks, each after its size (RFC 9112 section 7.1). Trailers after the last one are skipped."""

    __slots__ = ("_missing", "_pending", "_trailers")

    def __init__(self) -> None:
        super().__init__()
        self._pending = b""  # of a line that is not whole
        self._missing = 0  # bytes of the open chunk and of its line end
        self._trailers = -1  # bytes of the lines after the last chunk; below 0 before them

    def feed(self, data: bytes) -> bytes:
        """Takes bytes; nearly every read of a live answer is one whole chunk, or a few."""
        if self._missing or self._pending or self._trailers >= 0:
            return self._read(data)
        # Most servers write a size alone in its line, and no line end in a chunk: so it is read in a few steps.
        *pieces, rest = data.split(b"\r\n", _MOST_PIECES)  # a server may send them byte by byte
        sizes, chunks = pieces[::2], pieces[1::2]
        is_plain = not rest and {*map(len, sizes)} <= _SIZES and not b"".join(sizes).translate(None, _DIGITS)
        lengths = [*map(len, chunks)]
        if not is_plain or [*map(int, sizes, repeat(16))] != lengths or 0 in lengths[:-1]:
            return self._read(data)
        if lengths and not lengths[-1]:
            self.is_whole, self._trailers = True, 0
        return b"".join(chunks)

    def _lacks(self) -> str:
        return "incomplete chunked read"

    def _read(self, data: bytes) -> bytes:
        body, at = bytearray(), 0
        data, self._pending = self._pending + data, b""
        while at < len(data) and not self.is_whole:
            if self._missing:
                end = at + self._missing
                begin = max(at, end - 2)  # of the line end after the chunk
                line_end = data[begin:end]
                if line_end != b"\r\n"[-min(2, self._missing) :][: len(line_end)]:
                    raise _malformed(data[begin:])
                body += data[at:begin]
                self._missing = max(0, end - len(data))
                at = end
            elif self._trailers >= 0 or (head := _CHUNK_HEAD.match(data, at)) is None:
                at = self._read_line(data, at)
            else:
                at, size = head.end(), int(head[1], 16)
                self._missing, self._trailers = (size + 2, -1) if size else (0, 0)
        self.rest += data[at:] if self.is_whole else b""
        return bytes(body)

    def _read_line(self, data: bytes, at: int) -> int:
        """Reads a line that is no whole one before a chunk: one that goes on, or a trailer, of which an empty one is
        the end."""
        line_end = data.find(b"\n", at)
        if self._trailers < 0 and (line_end >= 0 or len(data) - at > _LONGEST_LINE):
            raise _malformed(data[at:])
        if self._trailers + (line_end + 1 or len(data)) - at > _LARGEST_TRAILERS:
            raise httpx2.RemoteProtocolError("illegal trailers: they are too long")
        if line_end < 0:
            self._pending = data[at:]
            return len(data)
        self._trailers += line_end + 1 - at
        self.is_whole = not data[at:line_end].rstrip(b"\r")
        return line_end + 1


def _malformed(data: bytes) -> httpx2.RemoteProtocolError:
    return httpx2.RemoteProtocolError(f"illegal chunk header: {data[:_SHOWN]!r}")


# ---- Dialling ----

_NEXT_AFTER: Final = 0.25
"""Seconds until the next address is tried beside one that has not answered (RFC 8305 section 5)."""


async def _opened(host: str, port: int) -> socket.socket:
    """The first connection that opens; the next address is tried once one has failed, or has been silent for long."""
    waiting = await _addresses(host, port)
    if len(waiting) == 1:
        return await _connected(*waiting[0])
    tries: list[asyncio.Task[socket.socket]] = []
    running: set[asyncio.Task[socket.socket]] = set()
    found: asyncio.Task[socket.socket] | None = None
    try:
        while found is None and (waiting or running):
            if waiting:
                tries.append(asyncio.create_task(_connected(*waiting.pop(0))))
                running.add(tries[-1])
            seconds = _NEXT_AFTER if waiting else None
            done, running = await asyncio.wait(running, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            found = next((one for one in done if one.exception() is None), None)
    finally:
        for one in tries:
            one.cancel()
            with suppress(OSError, asyncio.CancelledError):
                opened = await one
                if one is not found:
                    opened.close()
    if found is not None:
        return found.result()
    errors = [error for one in tries if isinstance(error := one.exception(), Exception)]
    raise OSError("All connection attempts failed") from ExceptionGroup("several addresses were tried", errors)


async def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """The addresses of a host, those of IP version 6 and 4 by turns, in the order of the system."""
    with suppress(ValueError):
        address = ip_address(host)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        if "%" not in host:  # the system resolves the scope of an address
            return [(family, (host, port))]
    rows = await looked_up(host, port)
    found = list(dict.fromkeys((family, place) for family, _, _, _, place in rows))
    first = [one for one in found if one[0] == found[0][0]]
    second = [one for one in found if one[0] != found[0][0]]
    return [one for one in chain.from_iterable(zip_longest(first, second)) if one is not None]


_LOOKUPS: Final[dict[tuple[asyncio.AbstractEventLoop, str, int], asyncio.Task[list[tuple[Any, ...]]]]] = {}


async def looked_up(host: str, port: int) -> list[tuple[Any, ...]]:
    """The rows of `socket.getaddrinfo` for a name: looked up once for all who wait, in a thread of its own. Otherwise
    silent name servers take all the threads of `asyncio.to_thread`, for which large requests wait."""
    of = asyncio.get_running_loop(), host, port
    if (looking := _LOOKUPS.get(of)) is None:
        look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        looking = _LOOKUPS[of] = asyncio.create_task(run_in_thread(look, "partstream-lookup"))
        looking.add_done_callback(lambda _: _LOOKUPS.pop(of))
    return await asyncio.shield(looking)


async def _connected(family: socket.AddressFamily, place: tuple[object, ...]) -> socket.socket:
    # With its protocol: asyncio looks at it before it lets small pieces go at once (TCP_NODELAY).
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setblocking(False)
        await _connect(opened, place)
    except BaseException:
        opened.close()
        raise
    return opened


async def _connect(opened: socket.socket, place: tuple[object, ...]) -> None:
    """Connects, without the loop's `sock_connect` where that can be: uvloop's looks every address up in a pool of
    four threads."""
    if sys.platform == "win32":  # its event loop waits for no writing
        await asyncio.get_running_loop().sock_connect(opened, place)
        return
    if (refused := opened.connect_ex(place)) == errno.EINPROGRESS:
        loop = asyncio.get_running_loop()
        is_open: asyncio.Future[None] = loop.create_future()

        def resume() -> None:
            if not is_open.done():
                is_open.set_result(None)

        loop.add_writer(opened, resume)
        try:
            await is_open
        finally:
            loop.remove_writer(opened)
        refused = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if refused:
        raise OSError(refused, f"{os.strerror(refused)}: {place[0]}")
