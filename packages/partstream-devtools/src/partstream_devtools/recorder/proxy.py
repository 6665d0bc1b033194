"""The recording proxy: it listens on loopback between any client and any model server, and keeps what passes.

It forwards first and keeps afterwards: a watcher is called after the bytes were handed on, and no call of it may take
long. It holds no key: what a client sends goes to the server as it is, and into no file. Header fields of one
connection are not forwarded (RFC 9110 section 7.6.1), and the body of a reply is asked for without a content coding, so
that it can be read.

A page of the web can send requests to this machine, and with a name that it resolves to 127.0.0.1 (DNS rebinding) it
can read the replies too. So the host has to be this machine by name, and the origin of a page as well. A connection of
the server that breaks, breaks for the client in the same way; when the client leaves, the connection to the server is
closed at once.
"""

from __future__ import annotations
import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeAlias
from urllib.parse import urlsplit

import httpx2

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import dumps
from partstream.errors import PartstreamError, UpstreamConnectionError
from partstream.server.loopback import BREAK_OFF, Host, LoopbackLimits
from partstream.server.origins import page_refusal
from partstream.upstream.endpoint import url_on_host, without_query
from partstream.upstream.http import Connections, connection_error, length_of, place_of
from partstream.upstream.http_connection import PlainRequest
from partstream_devtools.bundles.exchange import HowEnded

if TYPE_CHECKING:
    from partstream.server.requests import Receive, Scope, Send
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.http_connection import PlainAnswer

# ---- Admission ----

_PAGES: Final = frozenset({"http", "https", "null", ""})
"""Schemes of pages of the web, and origins of frames in a sandbox; programs that are made like pages have schemes of
their own."""
_WEB_SOCKET: Final = "websocket"


def refusal_of(target: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Why a request is refused, by its target without the query and its fields in lower case: the status of the reply,
    and what was got and expected. None to forward it."""
    said = page_refusal(headers, lambda origin: origin.partition("://")[0].lower() not in _PAGES)
    if said is not None:
        return 403, said
    if not target.startswith("/"):
        said = f"got the target {target!r}, expected a path: this is no proxy of the system"
        return 400, f"{said}; set the base URL of the client to its address"
    if headers.get("upgrade", "").lower() == _WEB_SOCKET:  # any other upgrade is an offer, which may be declined
        return 426, "got a WebSocket, expected plain HTTP: a recording holds no WebSocket; switch it off"
    return None


def refusal_body(message: str) -> bytes:
    """The body of a reply that the proxy makes itself, in the form in which most clients look for an error."""
    return dumps({"error": {"type": "partstream_record", "message": f"partstream record: {message}"}})


# ---- Header fields ----

HeaderFields: TypeAlias = "list[tuple[bytes, bytes]]"
"""Names in lower case, and values, in their order."""


def text_fields(fields: HeaderFields) -> list[tuple[str, str]]:
    """The fields as texts."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]


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
    if any(name == b"transfer-encoding" for name, _ in lower):
        named.add(b"content-length")  # RFC 9112 section 6.3: chunks override it, so it may be a lie
    return [(name, value) for name, value in lower if name not in _OF_ONE_CONNECTION and name not in named]


# ---- One exchange ----


class ProxyStoppedError(PartstreamError):
    """The proxy was stopped while the exchange went on."""


class Relay:
    """One exchange: asks the server, sends the reply to the client, and shows what passes to a watcher."""

    def __init__(self, proxy: RecordingProxy, request: ForwardedRequest, watcher: ExchangeWatcher, send: Send) -> None:
        self._proxy = proxy
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
        try:
            reply = await self._proxy.ask(
                self._request,
                lambda: self._watcher.sending(time.monotonic_ns()),
                lambda: self._watcher.sent(time.monotonic_ns()),
            )
        except Exception as error:  # beside its own errors, the client lets out those of addresses and of sockets
            return HowEnded.NO_RESPONSE, await self._without_response(error)
        at, head = time.monotonic_ns(), reply.head
        fields = [*head.fields]
        try:
            await self._send(
                {
                    "type": "http.response.start",
                    "status": head.status,
                    "reason": head.reason,
                    "headers": response_fields(fields),
                }
            )
            self._watcher.head(at, head.status, head.reason.decode("latin-1"), fields)
            return await self._forward_body(reply)
        except OSError:  # the client has left
            return HowEnded.CANCELLED, None
        finally:
            await reply.body.aclose()

    async def _forward_body(self, reply: PlainAnswer) -> tuple[HowEnded, Exception | None]:
        send, watcher = self._send, self._watcher
        try:
            while piece := await reply.body.next():
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
        """Says to the client why there is no reply; a connection that broke breaks here too."""
        failure = self._proxy.not_reached(error)
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


# ---- Watchers ----


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request as the server gets it, without the fields of its connection.

    `number` counts the requests of the proxy from 1. The path has its escapes. The header fields may hold the client's
    key. `at` is when the request had come, in nanoseconds of the monotonic clock.
    """

    number: int
    method: str
    path: str
    query: str = field(repr=False)
    headers: HeaderFields = field(repr=False)
    body: bytes = field(repr=False)
    at: int = 0


class ExchangeWatcher(Protocol):
    """Sees one exchange; no call may take long or raise. Times are nanoseconds of the monotonic clock."""

    @property
    def is_behind(self) -> bool:
        """See the class."""

    async def caught_up(self) -> None:
        """Waits while it cannot take more."""

    def sending(self, at: int) -> None:
        """The first byte of the request is about to be sent."""

    def sent(self, at: int) -> None:
        """The last byte of the request was sent; not called where the time is unknown."""

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        """The head of the response was read."""

    def chunk(self, at: int, data: bytes) -> None:
        """Some bytes of the body were read at once."""

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        """The exchange is over; the last call."""


Watch: TypeAlias = Callable[[ForwardedRequest], ExchangeWatcher]
"""Called with each request that is forwarded."""


# ---- The proxy ----

LARGEST_BODY: Final = 64 * 1024 * 1024  # bytes of a request's body


class RecordingProxy(Host):
    """Listens on 127.0.0.1 inside its `async with` block; 0 is any free port.

    The origin of the server is replaced and nothing else: the path of a request is the path that the server gets. The
    key of the configuration, if it has one, is not used.

    Raises:
        ConnectionSetupError: The proxy or the certificates that this machine names are unusable.
    """

    def __init__(
        self, configuration: GatewayConfiguration, watch: Watch, port: int = 0, largest_body: int = LARGEST_BODY
    ) -> None:
        self._configuration = configuration
        self._to_server = Connections(configuration)
        self._watch = watch
        self._numbers = 0
        limits = LoopbackLimits(body_bytes=largest_body)
        super().__init__(self._answer, lambda status, message: refusal_body(message), port, limits)

    @property
    def base_url(self) -> str:
        """What replaces the server's base URL: the same path on this machine."""
        return f"http://127.0.0.1:{self.port}{urlsplit(self._configuration.base_url).path.rstrip('/')}"

    async def __aenter__(self) -> Self:
        self._to_server.open()
        return await super().__aenter__()

    async def __aexit__(self, *error: object) -> None:
        try:
            await super().__aexit__(*error)
        finally:
            await self._to_server.aclose()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await receive()
        fields: list[tuple[bytes, bytes]] = scope["headers"]
        path = scope["raw_path"].decode("latin-1")
        refusal = refusal_of(path, dict(text_fields(fields)))
        with suppress(OSError):  # the client has left
            if refusal is not None:
                await send_document(send, *refusal)
            else:
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
                await Relay(self, request, self._watch(request), send).run(receive)

    async def ask(
        self, asked: ForwardedRequest, on_sending: Callable[[], object], on_sent: Callable[[], object]
    ) -> PlainAnswer:
        """Sends a request to the server and returns when the head of its reply has come; the caller closes its body.

        The path is from the root of the server's host, as it came; the query follows that of the base URL. `on_sending`
        is called when the first byte is about to be sent, `on_sent` after the last one.

        Raises:
            httpx2.RequestError: There is no reply.
        """
        url = url_on_host(self._configuration.base_url, asked.path, asked.query)
        # As it came: a URL would lose `..`, and what a server makes of that is for the server to say.
        target = b"/" + url.partition("://")[2].partition("/")[2].encode("latin-1")
        length = [(name.encode(), value.encode()) for name, value in length_of(asked.method, asked.body).items()]
        place = place_of(self._configuration.base_url, "/", "")
        headers = [(b"host", place.host.encode()), *asked.headers, *length]
        request = PlainRequest(asked.method, target, headers, asked.body, on_sending, on_sent)
        return await self._to_server.open().send(place.origin, request, self._configuration.timeouts.connect)

    def not_reached(self, error: Exception) -> UpstreamConnectionError:
        """The error for a person of a request without a reply; shows nothing of the request."""
        return connection_error(without_query(self._configuration.base_url), error, proxy=self._to_server.proxy)
