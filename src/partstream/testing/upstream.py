"""The replay upstream: a real model server on loopback with selectable answers and faults.

This module listens, and records every request and its result. :mod:`partstream.testing.answering` selects the answers;
:mod:`partstream.testing.connection` speaks HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError
from partstream.events import Event, EventEmitter
from partstream.json_codec import JSONDecodeError, loads
from partstream.protocols.registry import DEFAULT_PROTOCOL
from partstream.testing.answering import Answering, Moment, error_document
from partstream.testing.connection import (
    BadHTTPRequestError,
    Delivery,
    HTTPRequest,
    Limits,
    Outcome,
    ServerConnection,
)
from partstream.testing.prompt_cache import PromptCache
from partstream.testing.served import BASE_PATHS, ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

    from partstream.testing.directives import NamedValue
    from partstream.testing.steps import Step

__all__ = ["ReceivedRequest", "ReplayUpstream", "ServedExchange"]

_KEPT_EXCHANGES: Final = 1000
_ANY_KEY: Final = "0123"
_SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"}).union(
    name
    for endpoint in ENDPOINTS.values()
    for name, value in endpoint.key_headers(_ANY_KEY).items()
    if _ANY_KEY in value  # others say of what kind the key is
)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request that the upstream received.

    Attributes:
        number: The number of the request among the upstream's requests, from 1.
        method: The HTTP method.
        path: The path without its query.
        headers: The headers by name in lower case; of a secret, only the scheme is kept (`Bearer [redacted]`).
        body: The JSON value of the body; None if there is no body or it is not JSON.
        digest: The digest of the body's bytes, which identifies repetitions of the request.
    """

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    digest: bytes = field(repr=False)


@dataclass(slots=True)
class ServedExchange:
    """A request and its reply.

    Attributes:
        request: The request.
        choice: The scenario or recording that answered, or None.
        faults: The faults that were applied to the reply.
        delivery: The progress and the result of the reply.
        started_at: The time by :func:`time.monotonic` at which the whole request had arrived, in seconds.
    """

    request: ReceivedRequest
    started_at: float
    choice: str | None = None
    faults: tuple[NamedValue, ...] = ()
    delivery: Delivery = field(default_factory=Delivery)


class ReplayUpstream:
    """A model server on 127.0.0.1 that runs inside its `async with` block.

    ::

        async with ReplayUpstream(scenario="tools") as upstream:
            ...  # talk to upstream.base_url
            assert upstream.requests[0].body["stream"] is True

    :mod:`partstream.testing.served` has the paths. The model ids are the names of the scenarios; all other models
    answer with the default scenario.

    Args:
        port: The port to listen on; 0 for any free port.
        scenario: The default scenario, as `NAME` or `NAME=VALUE`.
        replay: A recorded stream that answers every request instead of a scenario; always streamed.
        pace: The default pace: seconds between two pieces of the answer.
        fault: The default faults, as `NAME[=VALUE]`, separated by commas.
        token: The key that requests must carry, in the header that their protocol has for it; None for no key.
        limits: The limits of connections.
        protocols: The names of the protocols that it speaks, as a server that knows no others; None for all.
        bills_cache: Whether it bills prompts by the rules of its vendors' caches, and says so in the usage.

    Raises:
        CallerError: An argument is invalid; the type of the error says which.
        OSError: The recorded stream cannot be read.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        scenario: str = "text",
        replay: Path | None = None,
        pace: float = 0.0,
        fault: str | None = None,
        token: str | None = None,
        limits: Limits | None = None,
        protocols: Collection[str] | None = None,
        bills_cache: bool = False,
    ) -> None:
        self._port = port
        self._limits = limits or Limits()
        cache = PromptCache() if bills_cache else None
        self._answering = Answering(scenario, replay, pace, fault, token, protocols, cache)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._exchanges: deque[ServedExchange] = deque(maxlen=_KEPT_EXCHANGES)
        self._received = 0
        self._changed = asyncio.Event()
        self._finished: EventEmitter[ServedExchange] = EventEmitter()
        self._failure: BaseException | None = None

    # ---- for the owner ----

    @property
    def port(self) -> int:
        """The port that the upstream listens on.

        Raises:
            CallerError: The upstream does not listen.
        """
        if self._server is None:
            raise CallerError("the replay upstream listens only inside its `async with` block")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def base_url(self) -> str:
        """The base URL for clients of the default protocol."""
        return self.base_url_of(DEFAULT_PROTOCOL)

    def base_url_of(self, protocol: str) -> str:
        """The base URL for clients of a protocol.

        Raises:
            CallerError: The upstream does not serve the protocol, or does not listen.
        """
        if protocol not in BASE_PATHS:
            raise CallerError(f"protocol: got {protocol!r}, expected one of {', '.join(BASE_PATHS)}")
        return f"http://127.0.0.1:{self.port}{BASE_PATHS[protocol]}"

    @property
    def exchanges(self) -> list[ServedExchange]:
        """The last 1,000 requests with their replies, in order of arrival."""
        return list(self._exchanges)

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The last 1,000 requests, in order of arrival."""
        return [exchange.request for exchange in self._exchanges]

    @property
    def open_streams(self) -> int:
        """The number of unfinished replies, including those that stall."""
        return sum(exchange.delivery.outcome is None for exchange in self._exchanges)

    @property
    def on_did_finish_exchange(self) -> Event[ServedExchange]:
        """Fires when a reply has ended, with any result."""
        return self._finished.event

    async def until(self, condition: Callable[[], object], timeout: float = 5.0) -> None:
        """Returns as soon as `condition` holds; checks it whenever a request arrives, proceeds or ends.

        Raises:
            TimeoutError: The condition did not hold within `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self._changed.wait()
        except TimeoutError as error:
            states = [(one.request.number, one.request.path, one.delivery) for one in self._exchanges]
            raise TimeoutError(f"not within {timeout:g} seconds; the exchanges: {states}") from error

    async def wait_for_end(self, number: int | None = None, timeout: float = 5.0) -> ServedExchange:
        """Waits until the reply to a request has ended, and returns the exchange.

        If a client disconnected during the reply, `delivery.outcome` is `client_closed` and `delivery.ended_at` is the
        time at which the upstream noticed.

        Args:
            number: The number of the request; None for the last request, or for the first if none has arrived.
            timeout: The maximum time to wait, in seconds.

        Raises:
            TimeoutError: The reply did not end in time.
        """
        wanted = number or max(self._received, 1)

        ended: list[ServedExchange] = []

        def has_ended() -> list[ServedExchange]:
            exchange = self._exchange(wanted)
            if exchange is not None and exchange.delivery.outcome is not None:
                ended.append(exchange)
            return ended

        await self.until(has_ended, timeout)
        return ended[0]

    def _exchange(self, number: int) -> ServedExchange | None:
        """The exchange with that number, if it exists and is still kept."""
        index = number - (self._received - len(self._exchanges)) - 1
        return self._exchanges[index] if 0 <= index < len(self._exchanges) else None

    async def __aenter__(self) -> ReplayUpstream:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    # ---- connections ----

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._forget)
        # Not in the task: one that is cancelled before its first step does nothing at all.
        connection.add_done_callback(lambda _: writer.transport.abort())

    def _forget(self, connection: asyncio.Task[None]) -> None:
        self._connections.discard(connection)
        if not connection.cancelled():
            # A bug of the upstream; raised at the end of the block, where somebody sees it.
            self._failure = self._failure or connection.exception()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(reader, writer, self._limits)
        await self._serve_requests(connection)
        await connection.close()

    async def _serve_requests(self, connection: ServerConnection) -> None:
        while True:
            try:
                request = await connection.next_request()
            except BadHTTPRequestError as error:
                await connection.deliver(error_document(error.status, error.message), Delivery(), _nothing)
                return
            if request is None:
                return
            exchange = self._receive(request)
            try:
                await connection.deliver(self._plan(request, exchange), exchange.delivery, self._change)
            finally:
                exchange.delivery.outcome = exchange.delivery.outcome or Outcome.STOPPED
                self._change()
                self._finished.fire(exchange)
            if exchange.delivery.outcome is not Outcome.WHOLE:
                return

    def _receive(self, request: HTTPRequest) -> ServedExchange:
        self._received += 1
        headers = {name: _redacted(name, value) for name, value in request.headers.items()}
        received = ReceivedRequest(
            self._received,
            request.method,
            request.path,
            headers,
            _json_or_none(request.body),
            hashlib.sha256(request.body).digest(),
        )
        exchange = ServedExchange(received, time.monotonic())
        self._exchanges.append(exchange)
        self._change()
        return exchange

    def _plan(self, request: HTTPRequest, exchange: ServedExchange) -> Iterable[Step]:
        received = exchange.request
        attempt = sum((one.digest, one.path) == (received.digest, received.path) for one in self.requests)
        plan = self._answering.plan(request, Moment(received.number, attempt, time.time()))
        exchange.choice, exchange.faults = plan.choice, plan.faults
        return plan.steps

    def _change(self) -> None:
        """Wakes all tasks that wait in :meth:`until`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _nothing() -> None:
    """The progress callback of a delivery that nobody waits for."""


def _json_or_none(body: bytes) -> Any:
    try:
        return loads(body) if body else None
    except JSONDecodeError:
        return None  # the reply reports the error


def _redacted(name: str, value: str) -> str:
    if name not in _SECRET_HEADERS:
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} [redacted]" if space else "[redacted]"
