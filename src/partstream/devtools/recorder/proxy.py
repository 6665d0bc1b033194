"""The recording proxy: stands on loopback between any client and any model server, and keeps what goes by.

It forwards first and keeps afterwards. It holds no key: what a client sends goes to the server as it is, and into no
file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import httpx2

from partstream.codec.json_codec import dumps
from partstream.devtools.bundles.exchange import HowEnded
from partstream.errors import PartstreamError
from partstream.server.loopback import BREAK_OFF, Host, LoopbackLimits
from partstream.upstream.endpoint import is_loopback, url_on_host, without_query
from partstream.upstream.http import connection_error, find_proxy, make_transport
from partstream.upstream.http_connection import AnswerBody, DirectTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence
    from types import TracebackType

    from partstream.errors import UpstreamConnectionError
    from partstream.server.requests import Receive, Scope, Send
    from partstream.upstream.configuration import GatewayConfiguration


# ---- admission ----
# Which requests the recording proxy forwards, and what the others are told. Sans-IO.
#
# A page of the web can send requests to this machine, and with a name that it resolves to 127.0.0.1 (DNS rebinding)
# it can read the replies too. So the host has to be this machine by name, and the origin of a page as well.

_PAGES: Final = frozenset({"http", "https"})
"""Schemes of pages of the web; programs that are made like pages have schemes of their own."""
_NAMELESS: Final = frozenset({"", "null"})
"""Origins of a frame in a sandbox, and of pictures and links of a page: a browser says then that another page asks."""
_OF_ANOTHER_PAGE: Final = frozenset({"cross-site", "same-site"})
_WEB_SOCKET: Final = "websocket"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not forwarded.

    Attributes:
        status: The HTTP status of the reply.
        message: What was got and what was expected.
    """

    status: int
    message: str


def refusal_of(target: str, headers: Mapping[str, str]) -> Refusal | None:
    """Why a request is refused; None for one that is forwarded.

    Args:
        target: Its target without the query.
        headers: Its header fields, names in lower case.
    """
    host = headers.get("host", "")
    if not _is_this_machine(f"//{host}"):
        return Refusal(
            403, f"got the host {host!r}, expected 127.0.0.1 or localhost: it listens for this machine alone"
        )
    origin = headers.get("origin", "")
    if origin.partition("://")[0].lower() in _PAGES and not _is_this_machine(origin):
        return Refusal(403, f"got a request of the page {origin!r}, expected none of a page from another machine")
    if origin.lower() in _NAMELESS and headers.get("sec-fetch-site", "").lower() in _OF_ANOTHER_PAGE:
        return Refusal(403, "got a request of a page that does not say which it is, expected one of a program")
    if not target.startswith("/"):
        return Refusal(
            400,
            f"got the target {target!r}, expected a path: this is no proxy of the system; set the base URL of the "
            "client to its address",
        )
    if headers.get("upgrade", "").lower() == _WEB_SOCKET:  # any other upgrade is an offer, which nobody has to take
        return Refusal(426, "got a WebSocket, expected plain HTTP: a recording holds no WebSocket; switch it off")
    return None


def refusal_body(message: str) -> bytes:
    """The body of a reply that the proxy makes itself, in the form in which most clients look for an error."""
    return dumps({"error": {"type": "partstream_record", "message": f"partstream record: {message}"}})


def _is_this_machine(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


# ---- forwarded headers ----
# Which header fields a proxy hands on (RFC 9110 section 7.6.1), in both directions. Sans-IO.

HeaderFields: TypeAlias = "list[tuple[bytes, bytes]]"
"""Names in lower case, and values, in their order."""

_OF_ONE_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_WRITTEN_ANEW: Final = frozenset({b"accept-encoding", b"content-length", b"expect", b"host"})
"""Of a request: what the client of the server says itself, for the body that it sends."""


def request_fields(fields: Iterable[tuple[bytes, bytes]]) -> HeaderFields:
    """The fields of a request as the server gets them; the body is asked for as it is, so that it can be read."""
    kept = [(name, value) for name, value in response_fields(fields) if name not in _WRITTEN_ANEW]
    return [*kept, (b"accept-encoding", b"identity")]


def response_fields(fields: Iterable[tuple[bytes, bytes]]) -> HeaderFields:
    """The fields of a response as the client gets them: without those of one connection."""
    lower = [(name.lower(), value) for name, value in fields]
    named = {option.strip().lower() for name, value in lower if name == b"connection" for option in value.split(b",")}
    return [(name, value) for name, value in lower if name not in _OF_ONE_CONNECTION and name not in named]


# ---- relay ----
# One exchange through the proxy: hands the request on, then each read of the reply at once, and says how it ended.


class ProxyStoppedError(PartstreamError):
    """The proxy was stopped while the exchange went on."""


class Relay:
    """One exchange.

    Args:
        server: Who is asked.
        request: What is asked.
        watcher: Sees what goes by.
        send: Sends a part of the reply to the client.
    """

    def __init__(self, server: ForwardServer, request: ForwardedRequest, watcher: ExchangeWatcher, send: Send) -> None:
        self._server = server
        self._request = request
        self._watcher = watcher
        self._send = send

    async def run(self, receive: Receive) -> None:
        """Runs until the reply is over or the client leaves; the connection to the server is closed at once then."""
        forwarding = asyncio.create_task(self._forward())
        leaving = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({forwarding, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not forwarding.done():
                await _cancelled(forwarding)
                self._end(HowEnded.CANCELLED, None)
            else:
                self._end(*forwarding.result())
        except asyncio.CancelledError:
            await _cancelled(forwarding)
            self._end(HowEnded.CUT, ProxyStoppedError("the proxy was stopped"))
            raise
        finally:
            leaving.cancel()

    def _end(self, how: HowEnded, error: Exception | None) -> None:
        self._watcher.end(time.monotonic_ns(), how, error)

    async def _forward(self) -> tuple[HowEnded, Exception | None]:
        """Forwards the whole exchange; gives how it ended."""
        request = self._request
        try:
            reply = await self._server.ask(
                request.method,
                request.path,
                request.query,
                request.headers,
                request.body,
                lambda: self._watcher.sending(time.monotonic_ns()),
                lambda: self._watcher.sent(time.monotonic_ns()),
            )
        except Exception as error:  # beside its own errors, the client lets out those of addresses and of sockets
            return HowEnded.NO_RESPONSE, await self._without_response(error)
        at = time.monotonic_ns()
        try:
            await self._send(
                {
                    "type": "http.response.start",
                    "status": reply.status,
                    "reason": reply.reason,
                    "headers": response_fields(reply.headers),
                }
            )
            self._watcher.head(at, reply.status, reply.reason.decode("latin-1"), reply.headers)
            return await self._forward_body(reply)
        except OSError:  # the client has left
            return HowEnded.CANCELLED, None
        finally:
            await reply.aclose()

    async def _forward_body(self, reply: ServerReply) -> tuple[HowEnded, Exception | None]:
        send, watcher = self._send, self._watcher
        try:
            while piece := await reply.next_piece():
                at = time.monotonic_ns()
                try:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                finally:  # also where the client has left, or is slow and the proxy is stopped
                    watcher.chunk(at, piece)
                if watcher.is_behind:
                    await watcher.caught_up()
        except httpx2.RequestError as error:
            await send({"type": BREAK_OFF, "reset": isinstance(error, httpx2.ReadError)})
            return HowEnded.CUT, error
        await send({"type": "http.response.body"})
        return HowEnded.WHOLE, None

    async def _without_response(self, error: Exception) -> Exception:
        """Tells the client what no server told it; a connection that broke breaks here too."""
        failure = self._server.not_reached(error)
        try:
            if isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError):
                await self._send({"type": BREAK_OFF, "reset": isinstance(error, httpx2.ReadError)})
            else:
                status = 504 if isinstance(error, httpx2.ConnectTimeout) else 502
                await send_document(self._send, status, str(failure))
        except OSError:  # the client has left
            pass
        return failure


async def send_document(send: Send, status: int, message: str) -> None:
    """Sends a reply that the proxy makes itself.

    Raises:
        OSError: The client has left.
    """
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal_body(message)})


async def _cancelled(task: asyncio.Task[object]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# ---- server ----
# The server behind the recording proxy: where it is, and requests to it that are sent as they came.


@dataclass(frozen=True, slots=True)
class ServerReply:
    """A reply whose head has come; the caller reads its body and closes it.

    Attributes:
        status: The HTTP status.
        reason: The reason phrase; may be empty.
        headers: The header fields.
        next_piece: Waits for the next read of the body; gives nothing behind the last.
        aclose: Closes it; the connection is kept if the body was read to its end.
    """

    status: int
    reason: bytes
    headers: HeaderFields = field(repr=False)
    next_piece: Callable[[], Awaitable[bytes]] = field(repr=False)
    aclose: Callable[[], Awaitable[None]] = field(repr=False)


class ForwardServer:
    """One server; takes any number of requests at once, in one event loop.

    Args:
        configuration: Where it is and how it is reached. No key of it is used.

    Raises:
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._base_url = configuration.base_url
        self._timeout = {"connect": configuration.timeouts.connect, "read": None, "write": None, "pool": None}
        self._proxy = find_proxy(configuration)
        self._transport = make_transport(configuration, self._proxy)

    async def ask(
        self,
        method: str,
        path: str,
        query: str,
        headers: HeaderFields,
        body: bytes,
        on_sending: Callable[[], object],
        on_sent: Callable[[], object],
    ) -> ServerReply:
        """Sends a request and returns when the head of its reply has come.

        Args:
            method: Its method.
            path: Its path from the root of the server's host, as it came.
            query: Its query, which stands behind that of the base URL.
            headers: Its header fields.
            body: Its body.
            on_sending: Called when the first byte is about to be sent.
            on_sent: Called when the last byte was sent; not on the way through a proxy.

        Raises:
            httpx2.RequestError: There is no reply.
        """
        extensions: dict[str, Any] = {"timeout": self._timeout, "on_sending": on_sending, "on_sent": on_sent}
        url = url_on_host(self._base_url, path, query)
        request = httpx2.Request(method, url, headers=headers, content=body or None, extensions=extensions)
        if not isinstance(self._transport, DirectTransport):
            on_sending()
        response = await self._transport.handle_async_request(request)
        reason: bytes = response.extensions.get("reason_phrase", b"")
        fields = [(name.lower(), value) for name, value in response.headers.raw]
        return ServerReply(response.status_code, reason, fields, _pieces_of(response), response.aclose)

    def not_reached(self, error: Exception) -> UpstreamConnectionError:
        """What a person is told of a request without a reply; shows nothing of the request."""
        return connection_error(without_query(self._base_url), error, proxy=self._proxy)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()


def _pieces_of(response: httpx2.Response) -> Callable[[], Awaitable[bytes]]:
    body = response.extensions.get("body")
    if isinstance(body, AnswerBody):
        return body.next
    pieces = response.aiter_raw()

    async def following() -> bytes:
        while (piece := await anext(pieces, None)) is not None:
            if piece:
                return piece
        return b""

    return following


# ---- watching ----
# What sees an exchange go by; the proxy calls it after it has forwarded what it tells.


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request as the server gets it, without the fields of its connection.

    Attributes:
        number: Its number among the requests of the proxy, from 1.
        method: The method.
        path: The path as it came, with its escapes.
        query: The query without `?`.
        headers: The header fields. They may hold the client's key.
        body: The body.
        at: When it had come from the client, in nanoseconds of the monotonic clock.
    """

    number: int
    method: str
    path: str
    query: str = field(repr=False)
    headers: HeaderFields = field(repr=False)
    body: bytes = field(repr=False)
    at: int = 0


class ExchangeWatcher(Protocol):
    """Sees one exchange; no call may take long or raise. Times are nanoseconds of the monotonic clock.

    Attributes:
        is_behind: Whether it cannot take more before :meth:`caught_up` returns.
    """

    @property
    def is_behind(self) -> bool:
        """See the class."""

    async def caught_up(self) -> None:
        """Waits while it cannot take more."""

    def sending(self, at: int) -> None:
        """The first byte of the request is about to be sent."""

    def sent(self, at: int) -> None:
        """The last byte of the request was sent; not called where nobody knows when."""

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        """The head of the response was read."""

    def chunk(self, at: int, data: bytes) -> None:
        """Some bytes of the body were read at once."""

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        """The exchange is over; the last call."""


Watch: TypeAlias = Callable[[ForwardedRequest], ExchangeWatcher]
"""Called with each request that is forwarded."""


# ---- proxy ----
# The proxy: listens on loopback, forwards every request to one server, and shows each exchange to a watcher.

LARGEST_BODY: Final = 64 * 1024 * 1024
"""Bytes of a request's body."""


class RecordingProxy:
    """Listens on 127.0.0.1 inside its `async with` block.

    The origin of the server is replaced and nothing else: the path of a request is the path that the server gets.

    Args:
        configuration: Where the server is and how it is reached; its key, if it has one, is not used.
        watch: Sees each exchange.
        port: The port to listen on; 0 for any free port.
        largest_body: The most bytes of a request's body.

    Raises:
        ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
    """

    def __init__(
        self, configuration: GatewayConfiguration, watch: Watch, port: int = 0, largest_body: int = LARGEST_BODY
    ) -> None:
        self._configuration = configuration
        self._server: ForwardServer | None = None
        self._watch = watch
        self._numbers = 0
        self._host = Host(
            self._answer, lambda status, message: refusal_body(message), port, LoopbackLimits(body_bytes=largest_body)
        )

    @property
    def port(self) -> int:
        """The port that it listens on.

        Raises:
            CallerError: It does not listen.
        """
        return self._host.port

    @property
    def base_url(self) -> str:
        """What stands instead of the server's base URL: the same path on this machine."""
        return f"http://127.0.0.1:{self.port}{urlsplit(self._configuration.base_url).path.rstrip('/')}"

    @property
    def open_connections(self) -> int:
        """The number of connections that clients hold open."""
        return self._host.open_connections

    async def __aenter__(self) -> RecordingProxy:
        self._server = ForwardServer(self._configuration)
        await self._host.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._host.__aexit__(kind, error, traceback)
        finally:
            if self._server is not None:
                await self._server.aclose()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await receive()
        fields: list[tuple[bytes, bytes]] = scope["headers"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
        path = scope["raw_path"].decode("latin-1")
        refusal = refusal_of(path, headers)
        with suppress(OSError):  # the client has left
            if refusal is not None:
                await send_document(send, refusal.status, refusal.message)
            elif self._server is not None:
                self._numbers += 1
                query = scope["query_string"].decode("latin-1")
                request = ForwardedRequest(
                    self._numbers,
                    scope["method"],
                    path,
                    query,
                    request_fields(fields),
                    asked.get("body", b""),
                    time.monotonic_ns(),
                )
                await Relay(self._server, request, self._watch(request), send).run(receive)


# ---- several watchers ----
# Shows one exchange to several watchers.


class SeveralWatchers:
    """Hands on what it sees, in the order of the watchers.

    Args:
        watchers: Who sees it.
    """

    def __init__(self, watchers: Sequence[ExchangeWatcher]) -> None:
        self._watchers = watchers

    @property
    def is_behind(self) -> bool:
        """Whether one of them cannot take more."""
        return any(watcher.is_behind for watcher in self._watchers)

    async def caught_up(self) -> None:
        """Waits for all of them."""
        for watcher in self._watchers:
            await watcher.caught_up()

    def sending(self, at: int) -> None:
        """The first byte of the request is about to be sent."""
        for watcher in self._watchers:
            watcher.sending(at)

    def sent(self, at: int) -> None:
        """The last byte of the request was sent."""
        for watcher in self._watchers:
            watcher.sent(at)

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        """The head of the response was read."""
        for watcher in self._watchers:
            watcher.head(at, status, reason, headers)

    def chunk(self, at: int, data: bytes) -> None:
        """Some bytes of the body were read at once."""
        for watcher in self._watchers:
            watcher.chunk(at, data)

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        """The exchange is over."""
        for watcher in self._watchers:
            watcher.end(at, how, error)
