"""Sends a request and hands on the outputs of its answer: connection, limits of time, retries, HTTP errors.

Knows HTTP and nothing of a protocol: bytes go into a reader, outputs come out.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import httpx2

from partstream._version import __version__
from partstream.errors import (
    TimeoutPhase,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.json_codec import dumps
from partstream.outputs import Finish
from partstream.upstreams.client import make_client
from partstream.upstreams.credentials import FixedKey
from partstream.upstreams.deadlines import Deadlines
from partstream.upstreams.http_errors import http_error
from partstream.upstreams.secret import without_secrets

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from partstream.outputs import StreamOutput
    from partstream.protocols.reader import StreamReader
    from partstream.upstreams.configuration import GatewayConfiguration
    from partstream.upstreams.credentials import CredentialSource
    from partstream.upstreams.exchange import Exchange
    from partstream.upstreams.secret import Secret

__all__ = ["Transport"]

_logger = logging.getLogger("partstream.upstreams")

_MAX_ERROR_BODY: Final = 64 * 1024
_ERROR_BODY_SECONDS: Final = 2.0
_REST_SECONDS: Final = 0.1
_PLAIN_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-type": "application/json",
        "user-agent": f"partstream/{__version__}",
    }
)
_RETRIED_STATUSES: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _Request(NamedTuple):
    """One attempt as HTTP.

    Attributes:
        method: The method.
        url: The whole URL.
        content: The body.
        headers: All headers.
        own_headers: Those of them that may hold a secret.
    """

    method: str
    url: str
    content: bytes
    headers: Mapping[str, str]
    own_headers: Mapping[str, str]


class Transport:
    """Speaks to one upstream; serves any number of requests at once.

    Args:
        configuration: Where it is, and how long to wait.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._credentials: CredentialSource = configuration.credentials or FixedKey(configuration.api_key)
        self._client: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def stream(
        self,
        exchange: Exchange,
    ) -> AsyncGenerator[list[StreamOutput]]:
        """Sends a request and yields the outputs of its answer as they arrive, a Finish the last of them.

        The headers of the exchange win over those of the configuration, and those over the headers of the protocol.

        Sends again, with growing pauses, only what failed before its first event; once more and at once, when the key
        was refused and there is another. Closing the iterator, or cancelling the task that waits for it, closes the
        connection at once.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamError: There is no answer to read: no connection, an HTTP error, a limit of time.
        """
        url = _join(self._configuration.base_url, exchange.request.path, exchange.request.query)
        content = dumps(exchange.request.body)
        key = await self._credentials.get()
        renewed = False
        attempt = 1
        while True:
            reader = exchange.make_reader()
            own = self._headers(exchange, key)
            request = _Request(exchange.request.method, url, content, {**exchange.request.headers, **own}, own)
            answer = self._attempt(request, reader)
            try:
                async for outputs in answer:
                    yield _without_secrets_in(outputs, own)
            except UpstreamError as error:
                if reader.started:
                    raise
                if not renewed and (another := await self._another_key(error, key)) is not None:
                    key, renewed = another, True
                    continue
                wait = self._wait_before_retry(error, attempt)
                if wait is None:
                    raise
                _logger.warning("attempt %d failed, the next in %.1f s: %s", attempt, wait, error)
            else:
                return
            finally:
                await answer.aclose()
            await asyncio.sleep(wait)
            attempt += 1

    async def aclose(self) -> None:
        """Closes the connections that are kept open for the next request."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():  # another loop took its connections along
            await client.aclose()

    async def _attempt(
        self,
        request: _Request,
        reader: StreamReader,
    ) -> AsyncGenerator[list[StreamOutput]]:
        loop = asyncio.get_running_loop()
        client = self._client_of(loop)
        deadlines = Deadlines(self._configuration.timeouts, loop.time())
        url = request.url
        built = client.build_request(request.method, url, content=request.content, headers=request.headers)
        response = await self._send(client, built, deadlines)
        try:
            refusal = await self._refusal(response, request.own_headers)
            if refusal is not None:
                raise refusal
            chunks = response.aiter_bytes()
            while not reader.finished:
                try:
                    async with asyncio.timeout_at(deadlines.next):
                        chunk = await anext(chunks, None)
                except TimeoutError:
                    yield _broken(reader, deadlines.error())
                    return
                except httpx2.RequestError as error:
                    yield _broken(reader, _connection_error(url, error, established=reader.started))
                    return
                if chunk is None:
                    outputs = reader.end()
                    if not reader.started:
                        raise UpstreamConnectionError(_without_query(url), "it was closed before the first event")
                    yield outputs
                    return
                outputs = reader.feed(chunk)
                deadlines.arrived(loop.time(), events=reader.started, ending=reader.failing or reader.ending)
                if outputs:
                    yield outputs
            await _read_away(chunks)
        finally:
            await response.aclose()

    async def _send(self, client: httpx2.AsyncClient, request: httpx2.Request, deadlines: Deadlines) -> httpx2.Response:
        try:
            async with asyncio.timeout_at(deadlines.next):
                return await client.send(request, stream=True)
        except TimeoutError:
            raise deadlines.error() from None
        except httpx2.ConnectTimeout:
            raise UpstreamTimeoutError(TimeoutPhase.CONNECT, self._configuration.timeouts.connect) from None
        except httpx2.RequestError as error:
            raise _connection_error(str(request.url), error) from error

    async def _refusal(self, response: httpx2.Response, headers: Mapping[str, str]) -> UpstreamError | None:
        """The error that an answer which is no stream stands for, its body read; None for a stream."""
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Some servers stream under other names; what is surely no stream is a page of a proxy, or one document.
        if response.is_success and content_type not in ("text/html", "application/json"):
            return None
        body = without_secrets(await _error_body(response), headers)
        error = http_error(response.status_code, response.headers, body, datetime.now(UTC))
        if not response.is_success or error.provider_message is not None:
            return error
        return UpstreamProtocolError(
            event_type=None,
            field="content-type",
            got=f"{content_type} {body[:60].decode(errors='replace')!r}",
            expected="text/event-stream",
        )

    async def _another_key(self, error: UpstreamError, refused: Secret | None) -> Secret | None:
        if refused is None or not isinstance(error, UpstreamHTTPError) or error.http_status != 401:
            return None
        another = await self._credentials.refresh(refused)
        if another is not None:
            _logger.info("sending the request again with a new key: the upstream refused the one before")
        return another

    def _client_of(self, loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
        """The client of this event loop; connections cannot move to another."""
        if self._client is None or self._loop is not loop:
            self._client = make_client(self._configuration)
            self._loop = loop
        return self._client

    def _headers(self, exchange: Exchange, key: Secret | None) -> dict[str, str]:
        """The headers of every request, those of the key and those that somebody set: any of them may be secret."""
        headers = {"accept": exchange.protocol.accept, **_PLAIN_HEADERS}
        if key is not None:
            headers |= exchange.authorize(key.reveal(), key.kind)
        for wins in (self._configuration.headers, exchange.headers):
            headers |= {name.lower(): value for name, value in wins.items()}
        return headers

    def _wait_before_retry(self, error: UpstreamError, attempt: int) -> float | None:
        """How many seconds to wait before the next attempt, or None for no further one."""
        policy = self._configuration.retry
        if attempt >= policy.attempts or not _can_be_retried(error):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= policy.longest_wait else None
        most = min(policy.longest_wait, policy.first_wait * 2 ** (attempt - 1))
        return random.uniform(most / 2, most)  # noqa: S311 - spreads clients, guards nothing


async def _error_body(response: httpx2.Response) -> bytes:
    """The start of a body; what has come of it, if it breaks off or goes on for ever."""
    body = b""
    try:
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            async for chunk in response.aiter_bytes():
                body += chunk[: _MAX_ERROR_BODY - len(body)]
                if len(body) >= _MAX_ERROR_BODY:
                    break
    except (TimeoutError, httpx2.RequestError) as error:
        _logger.info("the body of HTTP %d did not come whole: %s", response.status_code, type(error).__name__)
    return body


async def _read_away(chunks: AsyncIterator[bytes]) -> None:
    """Reads what follows the last event, mostly nothing: only a connection that was read to its end is used again."""
    # The answer is whole: whatever this meets changes nothing, and the connection is closed then.
    with suppress(TimeoutError, httpx2.RequestError):
        async with asyncio.timeout(_REST_SECONDS):
            async for _ in chunks:
                pass


def _can_be_retried(error: UpstreamError) -> bool:
    if isinstance(error, UpstreamHTTPError):
        return error.http_status in _RETRIED_STATUSES
    if isinstance(error, UpstreamTimeoutError):
        return error.phase is TimeoutPhase.CONNECT  # a slow model would only be asked twice
    return isinstance(error, UpstreamConnectionError)


def _without_secrets_in(outputs: list[StreamOutput], headers: Mapping[str, str]) -> list[StreamOutput]:
    """The same, where an upstream repeats a key in the failure that it reports inside of the stream."""
    finish = outputs[-1] if outputs else None
    if not isinstance(finish, Finish) or not isinstance(finish.error, UpstreamFailureError | UpstreamHTTPError):
        return outputs
    return [*outputs[:-1], replace(finish, error=_quiet(finish.error, headers))]


def _quiet(error: UpstreamFailureError | UpstreamHTTPError, headers: Mapping[str, str]) -> UpstreamError:
    def quiet(said: str) -> str:
        return without_secrets(said.encode(errors="surrogatepass"), headers).decode(errors="surrogatepass")

    if isinstance(error, UpstreamFailureError):
        return UpstreamFailureError(quiet(error.provider_message), provider_code=error.provider_code)
    return UpstreamHTTPError(
        error.http_status or 0,
        provider_message=None if error.provider_message is None else quiet(error.provider_message),
        provider_code=error.provider_code,
        retry_after=error.retry_after,
        body=quiet(error.body),
        generation_id=error.generation_id,
        attempts=tuple(map(quiet, error.attempts)),
    )


def _broken(reader: StreamReader, error: UpstreamError) -> list[StreamOutput]:
    """Ends an answer that broke in the middle; what broke before its first event is raised, to be sent again."""
    if not reader.started:
        raise error
    return reader.end() if reader.failing or reader.ending else reader.fail(error)


def _connection_error(url: str, error: httpx2.RequestError, *, established: bool = False) -> UpstreamConnectionError:
    reason = str(error) or "the upstream closed it"
    return UpstreamConnectionError(_without_query(url), reason, established=established)


def _join(base_url: str, path: str, query: str) -> str:
    """The path of the protocol behind that of the base URL, and both queries."""
    address = urlsplit(base_url)
    queries = "&".join(filter(None, (address.query, query)))
    return urlunsplit((address.scheme, address.netloc, address.path.rstrip("/") + path, queries, ""))


def _without_query(url: str) -> str:
    address = urlsplit(url)
    return f"{address.scheme}://{address.netloc}{address.path}"
