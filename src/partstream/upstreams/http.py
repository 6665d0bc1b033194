"""The one HTTP client of an upstream: its connections, its key, the headers of every request.

Knows neither streams nor documents: who sends a request through it reads the body of the answer.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from partstream._version import __version__
from partstream.codec.redaction import names_a_secret
from partstream.errors import TimeoutPhase, UpstreamTimeoutError
from partstream.protocols.known_servers import server_at
from partstream.protocols.protocol import DEFAULT_PROTOCOL, asking
from partstream.settings.kinds import fits_header
from partstream.upstream.endpoint import (
    SESSION_HEADER,
    CredentialError,
    FixedKey,
    is_hub_key,
    redactor_of,
    secrets_in_url,
    url_on_host,
    without_query,
)
from partstream.upstreams.captured import begin_exchange, captured_pieces, take_head
from partstream.upstreams.client import redacted_log
from partstream.upstreams.connection_failures import RUNNING, connection_error
from partstream.upstreams.connections import Connections
from partstream.upstreams.http_connection import AnswerBody
from partstream.upstreams.trace_context import trace_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from partstream.capturing.exchange_capture import ExchangeCapture
    from partstream.codec.redaction import Redactor
    from partstream.errors import UpstreamConnectionError, UpstreamError
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.endpoint import CredentialSource, Secret
    from partstream.upstreams.captured import OpenExchange

__all__ = ["HTTPAnswer", "OutboundHTTPRequest", "UpstreamHTTP"]

_logger = logging.getLogger("partstream.upstreams")


@dataclass(frozen=True, slots=True)
class OutboundHTTPRequest:
    """A request without the key and without the headers that the configuration adds.

    Attributes:
        method: The method.
        path: The path from the root of the upstream's host. A path, never a URL: the key goes to no other host.
        query: The query, which stands behind that of the base URL.
        content: The body, or None.
        headers: Headers that hold no secret, names in lower case.
        own_headers: Headers that somebody set for this request; they win over all others, and may hold a secret.
        session: The id of its conversation, which a hub is told and no other server; None without one.
    """

    method: str
    path: str
    query: str = ""
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    session: str | None = None


@dataclass(frozen=True, slots=True)
class _SentSecrets:
    """What an upstream was sent and is a secret by its name; its `repr` shows nothing of it.

    Attributes:
        sent: The headers that may hold a secret.
        url: The URL.
        keys: Every key so far.
    """

    sent: Mapping[str, str] = field(repr=False)
    url: str = field(repr=False)
    keys: frozenset[str] = field(repr=False)

    def redactor(self) -> Redactor:
        """Removes it from texts."""
        named = {name: value for name, value in self.sent.items() if names_a_secret(name)}
        return redactor_of(named, [*secrets_in_url(self.url), *self.keys])


@dataclass(frozen=True, slots=True)
class HTTPAnswer:
    """An answer whose head has arrived; the caller reads the body and closes it.

    Attributes:
        response: The answer itself.
        sent: The headers of its request that may hold a secret.
        secrets: What else the upstream was sent and may be a secret.
        keys: Every key that the upstream was sent so far: it may repeat one from before.
        capture: Keeps what goes by; None where nobody does.
    """

    response: httpx2.Response = field(repr=False)
    sent: Mapping[str, str] = field(repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    capture: ExchangeCapture | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Its URL without the query."""
        return without_query(str(self.response.url))

    @property
    def headers(self) -> dict[str, str]:
        """Its headers by lower-case name, without the secrets of the request."""
        redactor = self.redactor
        return {name.lower(): redactor.redact(text) for name, text in self.response.headers.items()}

    @property
    def redactor(self) -> Redactor:
        """Removes the secrets of the request from a text of the upstream."""
        return redactor_of(self.sent, self.secrets | self.keys)

    @property
    def redactor_of_lists(self) -> Redactor:
        """The same for a list of models: only what is a secret by its name.

        A list may hold the words of other headers for good reasons, such as the name of a provider.
        """
        return _SentSecrets(self.sent, str(self.response.request.url), self.keys).redactor()

    def broke(self, error: Exception, *, established: bool = False) -> UpstreamConnectionError:
        """The error for the failed connection of this answer.

        Args:
            error: What the HTTP client met.
            established: Whether a part of the answer had come.
        """
        failure = connection_error(self.url, error, redactor=self.redactor, established=established)
        self.cut(failure)
        return failure

    def cut(self, failure: Exception) -> None:
        """Tells the capture that nothing more of the body is read.

        Args:
            failure: Why, without secrets.
        """
        if self.capture is not None:
            self.capture.cut(failure)

    def is_over(self) -> None:
        """Tells the capture that the answer has come to its end, also where the server leaves the connection open."""
        if self.capture is not None:
            self.capture.whole()

    def next_piece(self) -> Callable[[], Awaitable[bytes | None]]:
        """A function that waits for the next piece of the body, unpacked; it gives None or nothing behind the last.

        It raises `httpx2.RequestError` where the connection breaks.
        """
        next_piece = self._next_piece()
        return next_piece if self.capture is None else captured_pieces(next_piece, self.capture)

    def _next_piece(self) -> Callable[[], Awaitable[bytes | None]]:
        body = self.response.extensions.get("body")
        if isinstance(body, AnswerBody) and self.response.headers.get("content-encoding", "identity") == "identity":
            return body.next  # not through three generators of the client
        pieces = self.response.aiter_bytes()
        return lambda: anext(pieces, None)

    async def aclose(self) -> None:
        """Closes the answer; its connection is kept if the body was read to its end."""
        if self.capture is not None:
            self.capture.cancelled()  # unless it has ended before
        await self.response.aclose()


@dataclass(frozen=True, slots=True)
class _BuiltRequest:
    """A request as the HTTP client sends it; a traceback with local variables shows none of its content.

    Attributes:
        request: The request.
        sent: Its headers that may hold a secret.
        shown_url: Its URL without the query.
    """

    request: httpx2.Request = field(repr=False)
    sent: Mapping[str, str] = field(repr=False)
    shown_url: str


class UpstreamHTTP:
    """The requests to one upstream in one protocol; serves any number of them at once.

    Args:
        configuration: Where the upstream is, how it is reached, its protocol, its key and its headers.
        connections: The connections to it, if others use them too: whoever made them closes them.
    """

    def __init__(self, configuration: GatewayConfiguration, connections: Connections | None = None) -> None:
        self._configuration = configuration
        # Where no protocol is known yet, the key goes as most servers take it: as a bearer token.
        self._protocol = asking(DEFAULT_PROTOCOL if configuration.is_detected else configuration.protocol)
        server = server_at(configuration.base_url)
        host = urlsplit(configuration.base_url).hostname or ""
        self._headers_of_server = dict(server.headers) if server is not None and server.has_host(host) else {}
        self._authorize = self._protocol.authorizer(configuration.request, server)
        self._secrets = frozenset(configuration.secrets)
        self._keys: frozenset[str] = frozenset()
        self._credentials: CredentialSource = configuration.credentials or FixedKey(configuration.api_key)
        self._connections = Connections(configuration) if connections is None else connections
        self._owns_connections = connections is None

    @property
    def base_path(self) -> str:
        """The path of the base URL, without a slash at its end."""
        return urlsplit(self._configuration.base_url).path.rstrip("/")

    @property
    def document_headers(self) -> Mapping[str, str]:
        """The headers that the protocol has for requests that ask no model."""
        return self._protocol.document_headers

    async def send(
        self,
        request: OutboundHTTPRequest,
        limit: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
        *,
        renews_key: bool = True,
        capture: OpenExchange | None = None,
    ) -> HTTPAnswer:
        """Sends a request and returns when the head of its answer has come.

        No redirect is followed. Where the key is refused (HTTP 401) and there is another, the request is sent once
        more with that one.

        Args:
            request: The request.
            limit: Makes the limit of time of one sending; it does not hold while a key is fetched.
            renews_key: Whether it is sent once more with another key.
            capture: Begins the capture of each sending; None where nobody captures it.

        Raises:
            CredentialError: The key cannot be had.
            ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
            UpstreamConnectionError: There is no answer.
            UpstreamTimeoutError: The upstream did not accept a connection in time.
            TimeoutError: The limit was reached.
        """
        key = await self._credentials.get()
        answer = await self._send(request, key, limit, capture)
        if key is None or not renews_key or answer.response.status_code != httpx2.codes.UNAUTHORIZED:
            return answer
        another: Secret | None = None
        try:
            another = await self._credentials.refresh(key)
            if another is None:
                return answer
        except BaseException:
            await answer.aclose()
            raise
        await answer.aclose()
        _logger.info("sending the request again with a new key: the upstream refused the one before")
        return await self._send(request, another, limit, capture)

    async def aclose(self) -> None:
        """Closes the connections that are kept open for the next request."""
        if self._owns_connections:
            await self._connections.aclose()

    async def _send(
        self,
        request: OutboundHTTPRequest,
        key: Secret | None,
        limit: Callable[[], AbstractAsyncContextManager[Any]],
        capture: OpenExchange | None,
    ) -> HTTPAnswer:
        built = self._build(request, key)
        client = self._connections.client()
        exchange = None if capture is None else self._begun(capture, request, built)
        _logger.debug("%s %s: sending %d bytes", request.method, request.path, len(request.content or b""))
        failure: UpstreamError | None = None
        try:
            async with limit():
                with redacted_log(partial(redactor_of, built.sent, self._secrets | self._keys)):
                    response = await client.send(built.request, stream=True)
        except httpx2.ConnectTimeout:
            failure = self._not_connected()
        except TimeoutError:
            raise
        except Exception as error:  # beside its own errors, the client lets out those of addresses and of sockets
            redactor = redactor_of(built.sent, self._secrets | self._keys)
            failure = connection_error(built.shown_url, error, redactor=redactor, proxy=self._connections.proxy)
        else:
            if exchange is not None:
                take_head(exchange, response)
            answer = HTTPAnswer(response, built.sent, self._secrets, self._keys, exchange)
            if _logger.isEnabledFor(logging.DEBUG):
                said = answer.redactor.redact(response.headers.get("content-type", "no content type"))
                _logger.debug("%s %s: got HTTP %d, %s", request.method, request.path, response.status_code, said)
            return answer
        finally:
            if exchange is not None and exchange.head is None:
                exchange.no_response(failure)
        raise failure  # here, so that the client's error, which holds the request and its key, is no context of it

    def _begun(self, capture: OpenExchange, request: OutboundHTTPRequest, built: _BuiltRequest) -> ExchangeCapture:
        """The capture of the exchange that begins now.

        In the bodies, as in a list of models, only what is a secret by its name is hidden: people write of the words
        that other headers hold.
        """
        own_headers = {name.lower() for name in request.own_headers}
        sent = _SentSecrets(built.sent, str(built.request.url), self._keys)
        content = request.content or b""
        return begin_exchange(capture, built.request, content, self._secrets | self._keys, own_headers, sent.redactor)

    def _build(self, request: OutboundHTTPRequest, key: Secret | None) -> _BuiltRequest:
        sent = self._own_headers(request, key)
        url = url_on_host(self._configuration.base_url, request.path, request.query)
        client = self._connections.client()
        proxy = self._connections.proxy
        if proxy is not None:  # one that the environment names is in no setting
            self._secrets |= {*secrets_in_url(proxy.url)}
        built = _as_sent(client, request.method, url, request.content, {**trace_headers(), **request.headers, **sent})
        return _BuiltRequest(built, sent, without_query(url))

    def _own_headers(self, request: OutboundHTTPRequest, key: Secret | None) -> dict[str, str]:
        """The headers of the key, the configured ones, and our user agent; any of them but the last may be secret."""
        headers = {"user-agent": f"partstream/{__version__}", **self._headers_of_server}
        if key is not None:
            if not fits_header(key.reveal()):  # the client's error would quote it
                raise CredentialError("its source", "characters that no header can hold", "a key in printable ASCII")
            if key.reveal() not in self._keys:
                self._keys |= {key.reveal()}
            headers |= self._authorize(key.reveal(), key.kind)
        if request.session is not None and fits_header(request.session) and is_hub_key(key):
            headers[SESSION_HEADER] = request.session
        for wins in (self._configuration.headers, request.own_headers):
            headers |= {name.lower(): value for name, value in wins.items()}
        return headers

    def _not_connected(self) -> UpstreamTimeoutError:
        proxy = self._connections.proxy
        advice = RUNNING if proxy is None else f"is the proxy {proxy.address} ({proxy.where}) right?"
        return UpstreamTimeoutError(TimeoutPhase.CONNECT, self._configuration.timeouts.connect, advice=advice)


def _as_sent(
    client: httpx2.AsyncClient, method: str, url: str, content: bytes | None, headers: Mapping[str, str]
) -> httpx2.Request:
    """A request as `client.build_request` makes it, in half the time: its URL was taken apart before."""
    if client.cookies:
        return client.build_request(method, url, content=content, headers=headers)
    whole = {**client.headers, **headers}
    return httpx2.Request(
        method, _taken_apart(url), content=content, headers=whole, extensions={"timeout": client.timeout.as_dict()}
    )


@lru_cache(maxsize=64)
def _taken_apart(url: str) -> httpx2.URL:
    return httpx2.URL(url)
