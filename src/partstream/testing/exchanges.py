"""What a replay upstream received and how each reply went; knows neither the wire nor the socket."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.lm.cancellation import Event, EventEmitter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.devtools.testing.directives import NamedValue
    from partstream.server.requests import Scope

__all__ = ["Delivery", "Exchanges", "Outcome", "ReceivedRequest", "ServedExchange"]

_KEPT: Final = 1000


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


class Exchanges:
    """The last 1,000 requests of one upstream with their replies, in order of arrival.

    Args:
        secret_headers: The names of the headers that hold keys, in lower case.
    """

    def __init__(self, secret_headers: Collection[str]) -> None:
        self._secret_headers = secret_headers
        self._kept: deque[ServedExchange] = deque(maxlen=_KEPT)
        self._received = 0
        self._changed = asyncio.Event()
        self._finished: EventEmitter[ServedExchange] = EventEmitter()

    @property
    def kept(self) -> list[ServedExchange]:
        """All of them."""
        return list(self._kept)

    @property
    def received(self) -> int:
        """The number of requests so far."""
        return self._received

    @property
    def on_did_finish(self) -> Event[ServedExchange]:
        """Fires when a reply has ended, with any result."""
        return self._finished.event

    def begin(self, scope: Scope, body: bytes) -> ServedExchange:
        """Takes a request.

        Args:
            scope: The request as ASGI has it.
            body: Its whole body.
        """
        self._received += 1
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        received = ReceivedRequest(
            self._received,
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            {name: self._redacted(name, value) for name, value in headers.items()},
            _json_or_none(body),
            hashlib.sha256(body).digest(),
        )
        exchange = ServedExchange(received, time.monotonic())
        self._kept.append(exchange)
        self.change()
        return exchange

    def end(self, exchange: ServedExchange, outcome: Outcome) -> None:
        """Takes the end of a reply; only the first one counts."""
        if exchange.delivery.outcome is None:
            exchange.delivery.outcome, exchange.delivery.ended_at = outcome, time.monotonic()
            self.change()
            self._finished.fire(exchange)

    def attempts(self, request: ReceivedRequest) -> int:
        """How often this same request had arrived when it came, including that time."""
        came = (one.request for one in self._kept if one.request.number <= request.number)
        return sum((one.digest, one.path) == (request.digest, request.path) for one in came)

    def at(self, number: int) -> ServedExchange | None:
        """The exchange with that number, if it exists and is still kept."""
        index = number - (self._received - len(self._kept)) - 1
        return self._kept[index] if 0 <= index < len(self._kept) else None

    def change(self) -> None:
        """Wakes all tasks that wait in :meth:`until`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def until(self, condition: Callable[[], object], timeout: float) -> None:
        """Returns as soon as `condition` holds; checks it whenever a request arrives, proceeds or ends.

        Raises:
            TimeoutError: The condition did not hold within `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self._changed.wait()
        except TimeoutError as error:
            states = [(one.request.number, one.request.path, one.delivery) for one in self._kept]
            raise TimeoutError(f"not within {timeout:g} seconds; the exchanges: {states}") from error

    def _redacted(self, name: str, value: str) -> str:
        if name not in self._secret_headers:
            return value
        scheme, space, _ = value.partition(" ")
        return f"{scheme} [redacted]" if space else "[redacted]"


def _json_or_none(body: bytes) -> Any:
    try:
        return loads(body) if body else None
    except JSONDecodeError:
        return None  # the reply reports the error
