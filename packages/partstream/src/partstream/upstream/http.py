"""The one HTTP client of an upstream: its connections, its key, the headers of every request.

`UpstreamHTTP` sends a request once and returns when the head of its response has come. It adds the headers of the
server, the key, and the configured headers, in this order; headers that were set for this request win over all others.
What follows a refused key or another failure is decided in :mod:`partstream.upstream.attempts`.

`Connections` go straight to a server, or through a client with the proxy of the settings or the environment. A proxy
leads out of this machine, so a model server on it is not asked through one, nor is a host that NO_PROXY names.
No redirect is followed, because it must not carry the key to another host.

No error, log or capture shows a secret: everything that comes from the upstream or from the client goes through a
redactor of what was sent. The client's own errors hold the request with its key, so they never become the context of
ours. A failed connection is explained by the first row of `_FAILURES` that fits one of its causes.

Where the program has loaded OpenTelemetry and a span is current, as below `partstream serve --otlp`, the upstream may
go on with its trace (W3C Trace Context). Baggage stays here: it was not set for other people's servers.
"""

from __future__ import annotations
import asyncio
import logging
import os
import re
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing
from functools import cached_property, lru_cache
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from partstream import errors
from partstream._version import __version__
from partstream.codec.checks import dataclass, field
from partstream.codec.redaction import HIDDEN, Redactor, names_a_secret, query_without_secrets, without_secrets_by_name
from partstream.protocols.protocol import DEFAULT_PROTOCOL, asking
from partstream.settings.kinds import fits_header
from partstream.settings.known_servers import server_at
from partstream.upstream import endpoint, http_connection
from partstream.upstream.attempts import Asking, Attempts, carry_out
from partstream.upstream.context import HOPS, HOPS_HEADER, CapturedRequest, ExchangeTap, in_thread
from partstream.upstream.discovery import FetchResponse
from partstream.upstream.forwarding import SEALING_HEADER
from partstream.upstream.http_connection import (
    PORTS,
    DirectTransport,
    PlainAnswer,
    PlainRequest,
    ProxyTransport,
    client_errors,
    httpx2,
)
from partstream.upstream.http_errors import redacted_error

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration

_logger = logging.getLogger("partstream.upstreams")
_TRACE_CONTEXT: Final = "opentelemetry.trace.propagation.tracecontext"
"""Loaded with the API of OpenTelemetry; never loaded from here."""


class UpstreamHTTP:
    """The requests to one upstream in one protocol; serves any number of them at once.

    Others may use its connections too: then the code that made them closes them.

    Attributes:
        seals: Whether the upstream has said that it seals state, so that it opens it again.
        base_path: The path of the base URL, without a slash at its end.
    """

    def __init__(self, configuration: GatewayConfiguration, connections: Connections | None = None) -> None:
        self.seals = False
        self._configuration = configuration
        # Where no protocol is known yet, the key goes as most servers take it: as a bearer token.
        self._protocol = asking(DEFAULT_PROTOCOL if configuration.is_detected else configuration.protocol)
        server = server_at(configuration.base_url)
        host = urlsplit(configuration.base_url).hostname or ""
        self._headers_of_server = dict(server.headers) if server is not None and server.has_host(host) else {}
        self._authorize = self._protocol.authorizer(configuration.request, server)
        self._secrets = frozenset(configuration.secrets)
        self._keys: frozenset[str] = frozenset()
        self.credentials: endpoint.CredentialSource = configuration.credentials or endpoint.FixedKey(
            configuration.api_key
        )
        self._connections = Connections(configuration) if connections is None else connections
        self._owns_connections = connections is None
        self._last: tuple[tuple[object, ...], OutboundHead] | None = None
        self.base_path = urlsplit(configuration.base_url).path.rstrip("/")

    async def aclose(self) -> None:
        """Closes the connections that are kept open for the next request."""
        if self._owns_connections:
            await self._connections.aclose()

    async def send(
        self, request: OutboundHTTPRequest, key: endpoint.Secret | None, *, capture: OpenExchange | None = None
    ) -> HTTPAnswer:
        """Sends a request once and returns when the head of its answer has come.

        Raises:
            CredentialError: The key is none that a header can hold.
            ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
            UpstreamConnectionError: There is no answer.
            UpstreamTimeoutError: The upstream did not accept a connection in time.
        """
        head, content = self._head(request, key), request.content or b""
        exchange, has_head = None if capture is None else head.begin_exchange(capture, content), False
        _logger.debug("%s %s: sending %d bytes", request.method, request.path, len(content))
        failure: errors.UpstreamError | None = None
        try:
            came = await self._connections.send(head, content, exchange)
        except client_errors(name="ConnectTimeout"):
            proxy, seconds = self._connections.proxy, self._configuration.timeouts.connect
            advice = RUNNING if proxy is None else f"is the proxy {proxy.address} ({proxy.where}) right?"
            failure = errors.UpstreamTimeoutError(errors.TimeoutPhase.CONNECT, seconds, advice=advice)
        except Exception as error:  # beside its own errors, the client lets out those of addresses and of sockets
            failure = connection_error(head.place.shown, error, redactor=head.redactor, proxy=self._connections.proxy)
        else:
            if exchange is not None:
                take_head(exchange, came)
                has_head = True
            answer = HTTPAnswer(came, head, exchange)
            if answer.is_success:  # what fails may be the words of a proxy
                self.seals = SEALING_HEADER in answer.fields
            if _logger.isEnabledFor(logging.DEBUG):
                said = answer.redactor.redact(answer.fields.get("content-type", "no content type"))
                _logger.debug("%s %s: got HTTP %d, %s", request.method, request.path, answer.status, said)
            return answer
        finally:
            if exchange is not None and not has_head:
                exchange.ended("no-response", failure)
        raise failure  # here, so that the client's error, which holds the request and its key, is no context of it

    async def fetch(
        self, path: str, headers: Mapping[str, str], body: bytes | None = None, *, renews_key: bool = True
    ) -> FetchResponse:
        """Gets a document in JSON at a path of the upstream's host, with its query if it has one, or posts `body` to
        it; the caller limits the time. Where the key is refused, another one is asked for, unless `renews_key` is off.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamConnectionError: There is no answer.
            UpstreamTimeoutError: The upstream did not accept a connection in time.
            UpstreamProtocolError: The answer is larger than 8 MiB.
        """
        path, _, query = path.partition("?")
        plain = {**self._protocol.document_headers, "accept": JSON, **({"content-type": JSON} if body else {})}
        request = OutboundHTTPRequest("GET" if body is None else "POST", path, query, body, plain, headers)
        asking = _DocumentAsking(self, request, renews_key)
        try:
            await carry_out(asking, Attempts())
        except errors.UpstreamHTTPError:
            if asking.response is None:
                raise
        assert asking.response is not None  # noqa: S101 - for the type checker: there is one, or an error
        return asking.response

    def _head(self, request: OutboundHTTPRequest, key: endpoint.Secret | None) -> OutboundHead:
        """The head of a request; that of the last one where nothing of it is another."""
        connections = self._connections
        connections.open()
        session, hops = request.session, HOPS.get()
        of = (request.method, request.path, request.query, request.headers, request.own_headers, session, key, hops)
        traced: dict[str, str] = {}
        if (tracing := sys.modules.get(_TRACE_CONTEXT)) is not None:
            tracing.TraceContextTextMapPropagator().inject(traced)
        if not traced and self._last is not None and self._last[0] == of:
            return self._last[1]
        sent = self._own_headers(request, key)
        place = place_of(self._configuration.base_url, request.path, request.query)
        proxy = connections.proxy
        if proxy is not None:  # one that the environment names is in no setting
            self._secrets |= {*endpoint.secrets_in_url(proxy.url)}
        # What a server wants by default gives way to what the protocol has chosen for this request.
        headers = {**traced, **self._headers_of_server, **request.headers, **sent}
        if hops:
            headers[HOPS_HEADER] = str(hops)
        headers = {"host": place.host, **_USUAL_HEADERS, **headers}
        own = frozenset(name.lower() for name in request.own_headers)
        head = OutboundHead(request.method, place, headers, sent, self._secrets, self._keys, own)
        if not traced:
            self._last = of, head
        return head

    def _own_headers(self, request: OutboundHTTPRequest, key: endpoint.Secret | None) -> dict[str, str]:
        """The headers of the key, the configured ones, and our user agent; any of them but the last may be secret."""
        headers = {"user-agent": f"partstream/{__version__}"}
        if key is not None:
            if not fits_header(key.reveal()):  # the client's error would quote it
                raise endpoint.CredentialError(
                    "its source", "characters that no header can hold", "a key in printable ASCII"
                )
            if key.reveal() not in self._keys:
                self._keys |= {key.reveal()}
            headers |= self._authorize(key.reveal(), key.kind)
        if request.session is not None and fits_header(request.session) and endpoint.is_hub_key(key):
            headers[endpoint.SESSION_HEADER] = request.session
        for wins in (self._configuration.headers, request.own_headers):
            headers |= {name.lower(): value for name, value in wins.items()}
        return headers


JSON: Final = "application/json"
_TURN: Final = 1024 * 1024
"""Bytes after which other tasks have their turn: a few packed bytes unpack to millions, without a wait in between."""
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose requests say the length of their body also where it is empty."""

_USUAL_HEADERS: Final = {
    "accept": "*/*", "accept-encoding": "gzip, deflate", "connection": "keep-alive", "user-agent": "",
}  # fmt: skip
"""Headers of every request, which others of these names replace; the last is one of them always."""


class _Place(NamedTuple):
    """Where a request goes; taken apart once for all requests that go there. `shown` is the URL without its query,
    which may hold a secret, `target` the path with its query as it is sent, and `host` the value of that header."""

    url: str
    shown: str
    target: bytes
    host: str
    origin: http_connection.Origin


_BYTE: Final = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_PLAIN_URL: Final = re.compile(
    rf"(https?)://({_BYTE}(?:\.{_BYTE}){{3}}|(?![\d.]*[:/])[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::([0-9]{{1,5}}))?(?!.*/\.)"
    r"((?:/(?:[\w.~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*)+(?:\?(?:[\w.~!$&()*+,;=:@/-]|%[0-9A-Fa-f]{2})+)?)",
    re.ASCII,
)
"""A URL of which nothing has to be written in another way."""


@lru_cache(maxsize=64)
def place_of(base_url: str, path: str, query: str) -> _Place:
    """Where a request to a path of an upstream goes."""
    url = endpoint.url_on_host(base_url, path, query)
    shown = endpoint.without_query(url)
    if (plain := _PLAIN_URL.fullmatch(url)) is not None:
        scheme, name, said, target = plain.groups()
        port = int(said or 0) or PORTS[scheme]
        host = name if port == PORTS[scheme] else f"{name}:{port}"
        return _Place(url, shown, target.encode(), host, (scheme, name, port, None))
    parsed = httpx2.URL(url)
    origin = (parsed.scheme, parsed.raw_host.decode(), parsed.port or PORTS[parsed.scheme], None)
    return _Place(url, shown, parsed.raw_path, httpx2.Request("GET", parsed).headers["host"], origin)


@dataclass(frozen=True, repr=False)
class OutboundHead:
    """The head of a request without the length of its body. What follows from it is made once for all such requests.

    A traceback with local variables shows none of its content.

    Attributes:
        headers: All headers but the length of the body.
        sent: Those of them that may hold a secret.
        secrets: Other texts that the upstream is sent and that may be secret.
        keys: Every key that the upstream was sent so far: it may repeat one from before.
        own: The names of the headers that were set for this request, in lower case: any may hold a secret.
    """

    method: str
    place: _Place
    headers: Mapping[str, str]
    sent: Mapping[str, str]
    secrets: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    @cached_property
    def raw(self) -> list[tuple[bytes, bytes]]:
        """The headers as they are sent."""
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in self.headers.items()]

    @cached_property
    def plain(self) -> bytes | None:
        """The bytes of the head, see :func:`partstream.upstream.http_connection.plain_head`."""
        return http_connection.plain_head(self.method, self.place.target, self.raw)

    @cached_property
    def redactor(self) -> Redactor:
        """Removes the secrets of the request from a text of the upstream."""
        return endpoint.redactor_of(self.sent, self.secrets | self.keys)

    @cached_property
    def redactor_of_lists(self) -> Redactor:
        """The same for a list of models and for the texts of people: only what is a secret by its name.

        They may hold the words of other headers for good reasons, such as the name of a provider.
        """
        named = {name: value for name, value in self.sent.items() if names_a_secret(name)}
        return endpoint.redactor_of(named, [*endpoint.secrets_in_url(self.place.url), *self.keys])

    def request(self, content: bytes, exchange: ExchangeTap | None) -> PlainRequest:
        """The request with a body, as it is sent."""
        lines = [(name.encode(), length.encode()) for name, length in length_of(self.method, content).items()]
        written, headers = [b"%b: %b\r\n" % line for line in lines], [*self.raw, *lines]
        head = None if self.plain is None else b"".join((self.plain, *written, b"\r\n"))
        sending, sent = (None, None) if exchange is None else (exchange.sending, exchange.was_sent)
        return PlainRequest(self.method, self.place.target, headers, content, sending, sent, head)

    @cached_property
    def _captured(self) -> CapturedRequest:
        """What a capture keeps of the request without its body."""
        secrets, url = self.secrets | self.keys, urlsplit(self.place.url)
        headers = [
            (name, HIDDEN if name.lower() in self.own or value in secrets else value)
            for name, value in self.headers.items()
        ]
        query = query_without_secrets(url.query)
        return CapturedRequest(self.method, unquote(url.path) or "/", query, without_secrets_by_name(headers), b"")

    def begin_exchange(self, open_exchange: OpenExchange, content: bytes) -> ExchangeTap:
        """Begins the capture of an exchange. In bodies, as in a list of models, only what is a secret by its name is
        hidden: people write of the words that other headers hold."""
        of = self._captured
        headers = (*of.headers, *length_of(self.method, content).items())
        kept = CapturedRequest(of.method, of.path, of.query, headers, content)
        return open_exchange(kept, lambda: self.redactor_of_lists)


def length_of(method: str, content: bytes) -> Mapping[str, str]:
    """The header with the length of a body; nothing where a request says none."""
    return {"content-length": str(len(content))} if content or method in _WITH_BODY else {}


@dataclass(slots=True)  # not frozen, see `RawRequest`
class OutboundHTTPRequest:
    """A request without the key and without the headers that the configuration adds.

    Attributes:
        path: The path from the root of the upstream's host. A path, never a URL: the key goes to no other host.
        query: The query, which follows that of the base URL.
        headers: Headers that hold no secret, names in lower case.
        own_headers: Headers that were set for this request; they win over all others, and may hold a secret.
        session: The id of its conversation, which a hub gets and no other server; None without one.
    """

    method: str
    path: str
    query: str = ""
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    session: str | None = None


class HTTPAnswer:
    """An answer whose head has arrived; the caller reads the body and closes it. `fields` are its headers by name in
    lower case; they may repeat secrets of the request."""

    def __init__(self, came: PlainAnswer, head: OutboundHead, capture: ExchangeTap | None = None) -> None:
        self.head = head
        self.url = head.place.shown
        self.capture = capture
        self.status = came.head.status
        self.is_success = 200 <= self.status < 300
        self._body = came.body
        self.fields = dict(came.fields)
        if len(self.fields) < len(came.fields):  # some are said twice
            self.fields.clear()
            for name, value in came.fields:
                self.fields[name] = f"{self.fields[name]}, {value}" if name in self.fields else value

    @property
    def redactor(self) -> Redactor:
        """Removes the secrets of the request from a text of the upstream."""
        return self.head.redactor

    @property
    def headers(self) -> dict[str, str]:
        """Its headers by lower-case name, without the secrets of the request."""
        redactor = self.redactor
        return {name: redactor.redact(text) for name, text in self.fields.items()}

    def broke(self, error: Exception, *, established: bool = False) -> errors.UpstreamConnectionError:
        """The error for the connection of this answer, which failed before or after a part of the answer had come."""
        failure = connection_error(self.url, error, redactor=self.redactor, established=established)
        self.cut(failure)
        return failure

    def cut(self, failure: Exception) -> None:
        """Reports to the capture that nothing more of the body is read, and why, without secrets."""
        if self.capture is not None:
            self.capture.ended("cut", failure)

    def late(self, failure: Exception, *, is_whole: bool) -> None:
        """Reports to the capture that nothing more came in time; the answer may have been whole before."""
        if is_whole:
            self.is_over()
        else:
            self.cut(failure)

    def is_over(self) -> None:
        """Reports to the capture that the answer has ended, also where the server leaves the connection open."""
        if self.capture is not None:
            self.capture.ended("whole")

    @property
    def has_come(self) -> bool:
        """Whether the whole body is known to have been read."""
        return self._body.is_whole

    def next_piece(self) -> Callable[[], Awaitable[bytes | None]]:
        """A function that waits for the next piece of the body, unpacked; it gives None or nothing after the last.

        It raises `httpx2.RequestError` where the connection breaks.
        """
        coding = self.fields.get("content-encoding", "identity")
        next_piece = self._body.next if coding == "identity" else self._unpacking(coding)
        exchange = self.capture
        if exchange is None:
            return next_piece
        take = exchange.chunk

        async def next_captured() -> bytes | None:
            piece = await next_piece()
            if piece:
                take(piece)
            else:
                exchange.ended("whole")
            return piece

        return next_captured

    def _unpacking(self, coding: str) -> Callable[[], Awaitable[bytes | None]]:
        """The same for a body that is packed like this, by the client's own means."""
        body, read = self._body, 0

        async def packed(_: object) -> AsyncGenerator[bytes]:
            while piece := await body.next():
                yield piece

        stream = type("Stream", (httpx2.AsyncByteStream,), {"__aiter__": packed})()
        pieces = httpx2.Response(self.status, headers={"content-encoding": coding}, stream=stream).aiter_bytes()

        async def next_piece() -> bytes | None:
            nonlocal read
            if read >= _TURN:
                read = 0
                await asyncio.sleep(0)
            piece = await anext(pieces, None)
            read += len(piece or b"")
            return piece

        return next_piece

    async def start(self, most: int) -> bytes:
        """The body, or so many bytes of its start.

        Raises:
            UpstreamConnectionError: The connection broke.
        """
        body = bytearray()  # not a list of pieces: a server may send them byte by byte
        next_piece = self.next_piece()
        try:
            while len(body) < most and (piece := await next_piece()):
                body += piece[: most - len(body)]
        except client_errors() as error:
            failure = self.broke(error)
        else:
            return bytes(body)
        raise failure

    def aclose(self) -> Awaitable[None]:
        """Closes the answer; its connection is kept if the body was read to its end."""
        if self.capture is not None:
            self.capture.ended("cancelled")  # unless it has ended before
        return self._body.aclose()


_MAX_BODY: Final = 8 * 1024 * 1024


class _DocumentAsking(Asking):
    """The request for a document. Any status is a response; of failures, only a refused key is acted on."""

    def __init__(self, http: UpstreamHTTP, request: OutboundHTTPRequest, renews_key: bool) -> None:
        self._http = http
        self._renews_key = renews_key
        self.credentials = http.credentials
        self._request = request
        self.response: FetchResponse | None = None

    async def send(self, attempts: Attempts) -> None:
        key = attempts.key = attempts.renewed or await self._http.credentials.get()
        async with aclosing(await self._http.send(self._request, key)) as answer:
            content = await answer.start(_MAX_BODY + 1)
        if len(content) > _MAX_BODY:
            got, expected = f"more than {_MAX_BODY:,} bytes", f"at most {_MAX_BODY:,}"
            where = f"the answer of {self._request.path}"
            raise errors.UpstreamProtocolError(event_type=where, field=None, got=got, expected=expected)
        redactor = answer.head.redactor_of_lists if answer.is_success else answer.redactor
        shown = await in_thread(len(content), redactor.redact_bytes, content)
        self.response = FetchResponse(answer.status, answer.headers, shown)
        if answer.status == 401 and self._renews_key:
            raise errors.UpstreamHTTPError(answer.status)


# ---- Connections, shared by all requests to an upstream in whatever protocol ----


class Connections:
    """The connections to one upstream; made when they are first needed, and again in another event loop. `proxy` is
    their proxy, known then."""

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._transport: DirectTransport | ProxyTransport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.proxy: Proxy | None = None

    def open(self) -> DirectTransport | ProxyTransport:
        """Makes what the running event loop needs, once; connections cannot move to another.

        Raises:
            ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
        """
        loop = asyncio.get_running_loop()
        if self._transport is None or self._loop is not loop:
            self.proxy = find_proxy(self._configuration)
            self._transport, self._loop = make_transport(self._configuration, self.proxy), loop
        return self._transport

    def send(
        self, head: OutboundHead, content: bytes, exchange: ExchangeTap | None
    ) -> Coroutine[Any, Any, PlainAnswer]:
        """Sends a request and returns its answer when the head has come.

        Raises:
            httpx2.TransportError: There is no answer.
        """
        place, seconds = head.place, self._configuration.timeouts.connect
        return self.open().send(place.origin, head.request(content, exchange), seconds)

    async def aclose(self) -> None:
        """Closes the connections that are kept open for the next request."""
        if self._loop is asyncio.get_running_loop():  # another loop took its connections along
            opened, self._transport, self._loop = self._transport, None, None
            if opened is not None:
                await opened.aclose()


def make_transport(configuration: GatewayConfiguration, proxy: Proxy | None) -> DirectTransport | ProxyTransport:
    """Makes connections for the running event loop, with a proxy of :func:`find_proxy`; the caller closes them.

    They log nothing, keep no cookies and follow no redirect, because it must not carry the key to another host.

    Raises:
        ConnectionSetupError: The certificates that are trusted cannot be read.
    """
    verify = configuration.verify_certificates
    certificates: ssl.SSLContext | None = None
    # Reading the certificates takes a quarter of a second, and even an empty context has a megabyte.
    if not verify or urlsplit(configuration.base_url).scheme != "http":
        try:
            # Those of SSL_CERT_FILE and SSL_CERT_DIR if they are set, else the system's.
            certificates = httpx2.create_ssl_context(verify=verify)
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            # The first that is set counts.
            variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), None)
            where = "the certificates of the system" if variable is None else f"{variable}={os.environ[variable]}"
            reason = "no certificate in it" if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
            expected = "a file of certificates in PEM that can be read; unset it to trust the system's"
            raise ConnectionSetupError(where, reason or str(error), expected) from error
    return DirectTransport(certificates) if proxy is None else ProxyTransport(certificates, proxy.url)


# ---- Capture of an exchange ----

OpenExchange: TypeAlias = "Callable[[CapturedRequest, Callable[[], Redactor]], ExchangeTap]"
"""Begins the capture of an exchange with its request, and with what makes the redactor of its response."""
_OF_PACKED_BODIES: Final = frozenset({"content-encoding", "content-length"})


def take_head(exchange: ExchangeTap, came: PlainAnswer) -> None:
    """Shows the head of a response, without the headers of a packed body: its reads are kept unpacked."""
    status, reason, headers = came.head.status, came.head.reason.decode("ascii", errors="ignore"), came.fields
    if any([name == "content-encoding" and value != "identity" for name, value in headers]):  # noqa: C419 - quicker so
        headers = [(name, value) for name, value in headers if name not in _OF_PACKED_BODIES]
    exchange.responded(status, reason, headers)


# ---- Proxies ----

_SOCKS: Final = frozenset({"socks5", "socks5h"})
_SOCKS_PACKAGE: Final = "socksio"


class ConnectionSetupError(errors.UnexpectedValueError, errors.LanguageModelError):
    """No connection can be tried: the configured proxy or certificates are unusable.

    `where` is the environment variable or the setting that names them, `got` says what is wrong without a password.
    """


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy: its URL, perhaps with a password, and the environment variable or the setting that names it."""

    url: str = field(repr=False)
    where: str

    @property
    def address(self) -> str:
        """Its host and port, without a password."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


def find_proxy(configuration: GatewayConfiguration) -> Proxy | None:
    """The proxy for requests to an upstream; None if they go there directly.

    Raises:
        ConnectionSetupError: The proxy cannot be used.
    """
    address = urlsplit(configuration.base_url)
    host = address.hostname or ""
    if endpoint.is_loopback(host):
        return None
    is_named = configuration.proxy is not None or any(name.lower().endswith("_proxy") for name in os.environ)
    if not is_named and sys.platform not in {"darwin", "win32"}:
        return None
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - with an HTTP client of its own

    if proxy_bypass(host):
        return None
    if configuration.proxy is not None:
        return _checked(Proxy(configuration.proxy, "the setting proxy"))
    of_environment = getproxies()
    for scheme in (address.scheme, "all"):
        if url := of_environment.get(scheme, ""):
            names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY")
            # Windows and macOS have settings of their own too.
            where = next((name for name in names if os.environ.get(name) == url), "the system")
            return _checked(Proxy(url if "://" in url else f"http://{url}", where))
    return None


def _checked(proxy: Proxy) -> Proxy:
    scheme, separator, _ = proxy.url.partition("://")
    scheme = scheme.lower()
    if scheme not in {"http", "https", *_SOCKS}:
        expected = "http://host:port, https://host:port or socks5://host:port"
        # The text before the separator is no password, unless there is no separator.
        got = f"a proxy of the kind {scheme[:20]!r}" if separator else "no URL"
        raise ConnectionSetupError(proxy.where, got, expected)
    try:
        host = httpx2.Proxy(proxy.url).url.host
        port = urlsplit(proxy.url).port
        if any(map(str.isspace, proxy.url)):  # the HTTP client would take it for a part of the path
            raise ValueError("a space")  # noqa: TRY301 - one way for what is no URL
    except (httpx2.InvalidURL, ValueError) as error:
        raise ConnectionSetupError(proxy.where, "a proxy that is no URL", f"{scheme}://host:port") from error
    if not host or port == 0:
        raise ConnectionSetupError(proxy.where, "a proxy without a host and port", f"{scheme}://host:port")
    if scheme in _SOCKS and find_spec(_SOCKS_PACKAGE) is None:
        expected = f"the package {_SOCKS_PACKAGE} beside Partstream ({errors.to_install('socks')}), or an http:// proxy"
        raise ConnectionSetupError(proxy.where, "a SOCKS proxy, which needs a further package", expected)
    return proxy


# ---- Explanations of failed connections ----


@dataclass(frozen=True, slots=True)
class _Failure:
    """A row; its texts may hold `{peer}`, `{name}`, `{host}`, `{proxy}` and `{detail}`."""

    kind: type[BaseException] | str  # of one of the causes of the error; a name for one of the client's
    says: str
    advice: str
    words: tuple[str, ...] = ()  # the cause holds one of these; none where its type is enough
    scheme: str = ""  # of the URL; empty for any
    of_proxy: bool = False  # whether it is the proxy that failed, where there is one
    lasts: bool = False  # whether another attempt would fail in the same way

    def fits(self, cause: BaseException, scheme: str) -> bool:
        """Whether a cause of an error is of this kind."""
        is_one = type(cause).__name__ == self.kind if isinstance(self.kind, str) else isinstance(cause, self.kind)
        if not is_one or self.scheme not in {"", scheme}:
            return False
        return not self.words or any(word in str(cause) for word in self.words)


RUNNING: Final = "check that it is running, and its address and port"
_SIGN_OF_HTTP: Final = "does the base URL have to begin with http://{peer}?"
_SIGN_OF_HTTPS: Final = "does the base URL have to begin with https://{peer}, or did the server crash?"
_OFFLINE: Final = "is this machine online?"
_NO_PROXY: Final = "NO_PROXY names hosts that need none"

# An SSLError is an OSError, and so is a failed look-up of a name: the more special rows come first.
_FAILURES: Final = (
    _Failure("ProxyError", "the proxy {proxy} refuses: {detail}",
        "for a proxy with a password, use http://user:password@host:port; NO_PROXY names hosts that need none",
        ("407",), lasts=True),
    _Failure("ProxyError", "the proxy {proxy} refuses: {detail}",
        "is that a proxy, and does it let this host through? NO_PROXY names hosts that need none", lasts=True),
    _Failure(ssl.SSLCertVerificationError, "the certificate of {name} is not trusted: {detail}",
        "name the certificate of your network in SSL_CERT_FILE",
        ("self-signed", "self signed", "unable to get local issuer", "unable to get issuer", "unable to verify"),
        lasts=True),
    _Failure(ssl.SSLCertVerificationError, "the certificate of {name} is not good: {detail}",
        "check that the host name matches", lasts=True),
    _Failure(ssl.SSLError, "{peer} does not speak https", _SIGN_OF_HTTP,
        ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL"),
        lasts=True),
    _Failure(ssl.SSLEOFError, "{peer} closed the connection before it was encrypted", _SIGN_OF_HTTP),
    _Failure(ssl.SSLError, "the connection cannot be encrypted: {detail}", ""),
    _Failure(socket.gaierror, "the name of {name} cannot be looked up", _OFFLINE, ("Temporary failure",),
        of_proxy=True),
    _Failure(socket.gaierror, "there is no host {host}", f"check its name, and {_OFFLINE}", of_proxy=True,
        lasts=True),
    _Failure(ConnectionRefusedError, "nothing listens at {peer}", RUNNING, of_proxy=True),
    _Failure(ConnectionResetError, "{peer} reset the connection", _SIGN_OF_HTTPS, scheme="http", of_proxy=True),
    _Failure(ConnectionResetError, "{peer} reset the connection", "", of_proxy=True),
    _Failure(TimeoutError, "{peer} does not answer", RUNNING, of_proxy=True),
    _Failure("RemoteProtocolError", "the answer of {peer} is not HTTP",
        "does the base URL have to begin with https://{peer}?", ("illegal", "malformed"), scheme="http", lasts=True),
    _Failure("RemoteProtocolError", "{peer} closed the connection without an answer", _SIGN_OF_HTTPS,
        ("disconnected without",), scheme="http"),
    _Failure("RemoteProtocolError", "{peer} closed the connection without an answer", "",
        ("disconnected without",)),
)  # fmt: skip


def connection_error(
    url: str,
    error: Exception,
    *,
    redactor: Redactor | None = None,
    proxy: Proxy | None = None,
    established: bool = False,
) -> errors.UpstreamConnectionError:
    """The error for a connection that failed.

    The caller raises it without a cause: the client's own error holds the request with its key, and quotes what the
    upstream sent.

    Args:
        url: What was asked for, without its query.
        error: What the HTTP client met.
        redactor: Removes the secrets of the request from the client's message; None where there are none.
        proxy: The proxy of the connection, or None.
        established: Whether a part of the answer had come: then the way there is not the cause.
    """
    address = urlsplit(url)
    shown = "" if proxy is None else f"{proxy.address} ({proxy.where})"
    found = ((row, cause) for row in _FAILURES for cause in _causes(error) if row.fits(cause, address.scheme))
    row, cause = (None, error) if established else next(found, (None, error))
    says, advice, detail = _detail(error), "", _detail(cause)
    if row is not None:
        peer, name = address.netloc, address.hostname or ""
        texts = {"peer": peer, "name": name, "host": name, "proxy": shown, "detail": detail}
        if proxy is not None and row.of_proxy:
            name = f"the proxy {shown}"
            texts |= {"peer": name, "name": name, "host": f"for {name}"}
        says, advice = row.says.format(**texts), row.advice.format(**texts)
    if proxy is not None and not established and (row is None or row.of_proxy):
        says = f"{says}, through the proxy {shown}" if row is None else says
        advice = _NO_PROXY if row is None else f"is the proxy right? {_NO_PROXY}"
    lasts = row is not None and row.lasts
    failure = errors.UpstreamConnectionError(url, says, established=established, advice=advice, lasts=lasts)
    return failure if redactor is None else redacted_error(failure, redactor)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all its causes."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def _detail(error: BaseException) -> str:
    """The message of an error without error numbers and file names."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(getattr(error, "verify_message", "")) or "TLS failed"
    if isinstance(error, ssl.SSLError):
        return getattr(error, "reason", None) or "TLS failed"  # only OpenSSL's own errors have one
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_detail(one) for one in error.exceptions[:2])
    return str(error) or "the server closed it"
