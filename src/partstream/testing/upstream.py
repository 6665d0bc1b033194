"""The replay upstream: a real model server on loopback that answers, and misbehaves, as it is told.

It listens, has each request answered and keeps a record of what came and how it ended. What is answered is decided in
:mod:`partstream.testing.answering`; HTTP is spoken in :mod:`partstream.testing.connection`.
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
from partstream.testing.served import BASE_PATHS, ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

    from partstream.testing.directives import Choice
    from partstream.testing.steps import Step

__all__ = ["Exchange", "ReceivedRequest", "ReplayUpstream"]

_KEPT_EXCHANGES: Final = 1000
_SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"}.union(
        *(endpoint.key_headers("key") for endpoint in ENDPOINTS.values())
    )
)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as the upstream got it.

    Attributes:
        number: Which of the upstream's requests it is, from 1.
        method: The HTTP method.
        path: The path without its query.
        headers: By name in lower case; of a secret only its scheme is kept (`Bearer [redacted]`).
        body: The JSON value of the body, or None where there is none or it is not JSON.
        digest: Of the body's bytes, by which the same request is known when it comes again.
    """

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    digest: bytes = field(repr=False)


@dataclass(slots=True)
class Exchange:
    """A request and what became of it.

    Attributes:
        request: What came.
        choice: The scenario or recording that answered, or None.
        faults: The faults that were put on the reply.
        delivery: How far the reply has got, and how it ended.
        started_at: When the request was whole, by :func:`time.monotonic`, in seconds.
    """

    request: ReceivedRequest
    started_at: float
    choice: str | None = None
    faults: tuple[Choice, ...] = ()
    delivery: Delivery = field(default_factory=Delivery)


class ReplayUpstream:
    """A model server on 127.0.0.1, for as long as its `async with` block lasts.

    ::

        async with ReplayUpstream(scenario="tools") as upstream:
            ...  # talk to upstream.base_url
            assert upstream.requests[0].body["stream"] is True

    What is served stands in :mod:`partstream.testing.served`. Model ids are the scenarios' names; any other model
    answers with the scenario given at the start.

    Args:
        port: The port to listen on; 0 for any that is free.
        scenario: What answers where a request does not say, as `NAME` or `NAME=VALUE`.
        replay: A recorded stream that answers every request, in the place of scenarios; always streamed.
        pace: Seconds between two pieces of the answer.
        fault: What goes wrong where a request does not say, as `NAME[=VALUE]`, several with commas between them.
        token: The key that requests must carry, in the header that their protocol has for it; None for no key.
        limits: What a client may ask of a connection.

    Raises:
        CallerError: An argument is not what it should be; its type says which.
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
    ) -> None:
        self._port = port
        self._limits = limits or Limits()
        self._answering = Answering(scenario, replay, pace, fault, token)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._exchanges: deque[Exchange] = deque(maxlen=_KEPT_EXCHANGES)
        self._received = 0
        self._changed = asyncio.Event()
        self._finished: EventEmitter[Exchange] = EventEmitter()
        self._failure: BaseException | None = None

    # ---- what its owner sees ----

    @property
    def port(self) -> int:
        """The port that it listens on.

        Raises:
            CallerError: It does not listen.
        """
        if self._server is None:
            raise CallerError("the replay upstream listens only inside its `async with` block")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def base_url(self) -> str:
        """What a client takes for its base URL, with `/v1`."""
        return self.base_url_of(DEFAULT_PROTOCOL)

    def base_url_of(self, protocol: str) -> str:
        """What a client that speaks `protocol` takes for its base URL.

        Raises:
            CallerError: It is not served, or the upstream does not listen.
        """
        if protocol not in BASE_PATHS:
            raise CallerError(f"protocol: got {protocol!r}, expected one of {', '.join(BASE_PATHS)}")
        return f"http://127.0.0.1:{self.port}{BASE_PATHS[protocol]}"

    @property
    def exchanges(self) -> list[Exchange]:
        """The last 1,000 requests with what became of them, in the order in which they came."""
        return list(self._exchanges)

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The last 1,000 requests, in the order in which they came."""
        return [exchange.request for exchange in self._exchanges]

    @property
    def open_streams(self) -> int:
        """How many replies are under way, those that stall included."""
        return sum(exchange.delivery.outcome is None for exchange in self._exchanges)

    @property
    def on_did_finish_exchange(self) -> Event[Exchange]:
        """Fires when a reply has ended, whichever way."""
        return self._finished.event

    async def until(self, condition: Callable[[], object], timeout: float = 5.0) -> None:
        """Returns as soon as `condition` holds; it is asked whenever a request comes, proceeds or ends.

        Raises:
            TimeoutError: It did not within `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self._changed.wait()
        except TimeoutError as error:
            states = [(one.request.number, one.request.path, one.delivery) for one in self._exchanges]
            raise TimeoutError(f"not within {timeout:g} seconds; the exchanges: {states}") from error

    async def wait_for_end(self, number: int | None = None, timeout: float = 5.0) -> Exchange:
        """Waits until the reply to a request has ended, and says how and when.

        This is how to learn that a client closed its connection in the middle: `delivery.outcome` is then
        `client_closed` and `delivery.ended_at` the moment in which the upstream saw it.

        Args:
            number: Which request; None for the last that has come, or else the first to come.
            timeout: Seconds to wait at the most.

        Raises:
            TimeoutError: It did not end in time.
        """
        wanted = number or max(self._received, 1)

        ended: list[Exchange] = []

        def has_ended() -> list[Exchange]:
            exchange = self._exchange(wanted)
            if exchange is not None and exchange.delivery.outcome is not None:
                ended.append(exchange)
            return ended

        await self.until(has_ended, timeout)
        return ended[0]

    def _exchange(self, number: int) -> Exchange | None:
        """The exchange of that number, if it has come and is still kept."""
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
            # A mistake of ours; raised at the end of the block, where someone sees it.
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

    def _receive(self, request: HTTPRequest) -> Exchange:
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
        exchange = Exchange(received, time.monotonic())
        self._exchanges.append(exchange)
        self._change()
        return exchange

    def _plan(self, request: HTTPRequest, exchange: Exchange) -> Iterable[Step]:
        received = exchange.request
        attempt = sum((one.digest, one.path) == (received.digest, received.path) for one in self.requests)
        plan = self._answering.plan(request, Moment(received.number, attempt, time.time()))
        exchange.choice, exchange.faults = plan.choice, plan.faults
        return plan.steps

    def _change(self) -> None:
        """Wakes everyone who waits in :meth:`until`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _nothing() -> None:
    """For a delivery that nobody waits for."""


def _json_or_none(body: bytes) -> Any:
    try:
        return loads(body) if body else None
    except JSONDecodeError:
        return None  # the client is told so; what came is of no further use


def _redacted(name: str, value: str) -> str:
    if name not in _SECRET_HEADERS:
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} [redacted]" if space else "[redacted]"
