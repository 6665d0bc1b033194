"""The layer between a serving application and its socket: it records exchanges and gives replies their faults and pace.

Everything here is about bytes that the application has made: the application itself knows of no test. The admission of
a request says in a :class:`Plan` what becomes of the reply; a reply without a plan goes through as it is. The steps of
a reply become messages of ASGI, with their progress, until they end or the client leaves.
"""

from __future__ import annotations
import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import partial
from typing import Any, Final

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import loads_or_none
from partstream.codec.limits import MOST_VALUES, measure
from partstream.errors import PartstreamError
from partstream.lm.cancellation import Event, EventEmitter
from partstream.protocols.protocol import Protocol
from partstream.protocols.serve import StreamForm
from partstream.server.loopback import BREAK_OFF, receiving
from partstream.server.requests import Application, Message, Receive, Scope
from partstream.server.requests import Send as SendMessage
from partstream_devtools.testing import faults as causes
from partstream_devtools.testing.directives import NamedValue
from partstream_devtools.testing.scripted_model import Outputs

# ---- Exchanges ----

_KEPT: Final = 1000
_KEPT_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the bodies of the requests that are kept; the last one always is."""


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
    """The last 1,000 requests of one upstream with their replies, fewer where their bodies are large; headers that hold
    keys are named in lower case. Any page in a browser may send requests, also those that are refused then."""

    def __init__(self, secret_headers: Collection[str]) -> None:
        self._secret_headers = secret_headers
        self._kept: deque[ServedExchange] = deque()
        self._sizes: deque[int] = deque()
        self._size = 0
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
        """Takes a request with its whole body."""
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
        self._sizes.append(len(body))
        self._size += len(body)
        while len(self._kept) > _KEPT or (self._size > _KEPT_BYTES and len(self._kept) > 1):
            self._kept.popleft()
            self._size -= self._sizes.popleft()
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
    return loads_or_none(body) if measure(body).values <= MOST_VALUES else None  # the reply reports the error


# ---- Sending a reply ----


class ReplyStream:
    """The reply to one request, which stops when the client has left.

    `on_progress` is called after each step, `on_end` with the result at the end of the reply, if the client has not
    left.
    """

    def __init__(
        self,
        send: SendMessage,
        left: asyncio.Event,
        delivery: Delivery,
        on_progress: Callable[[], None],
        on_end: Callable[[Outcome], None],
    ) -> None:
        self._send = send
        self._left = left
        self._delivery = delivery
        self._on_progress = on_progress
        self._on_end = on_end
        self._start = asyncio.get_running_loop().time()

    async def perform(self, steps: Iterable[causes.Step]) -> None:
        """Carries out the steps until they end or the client leaves."""
        for step in steps:
            if self._left.is_set() or self._delivery.outcome is not None:
                return
            try:
                await self._take(step)
            except OSError:  # from the server: the client has left
                await self._left.wait()
            self._on_progress()

    async def _take(self, step: causes.Step) -> None:
        match step:
            case causes.Send(data):
                self._delivery.events_sent += step.events
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
            case causes.Head(status, headers):
                self._delivery.status = status
                raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
                await self._send({"type": "http.response.start", "status": status, "headers": raw})
            case causes.Stall(seconds):
                await self._stall(seconds)
            case causes.Until(seconds):
                rest = self._start + seconds - asyncio.get_running_loop().time()
                if rest > 0:
                    await self._stall(rest)
            case causes.End(causes.EndKind.WHOLE):
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
                if not self._left.is_set():
                    self._on_end(Outcome.WHOLE)
            case causes.End(kind):
                await self._send({"type": BREAK_OFF, "reset": kind is causes.EndKind.RESET})
                self._on_end(Outcome.CUT)

    async def _stall(self, seconds: float | None) -> None:
        """Sends nothing for so long, or until the client leaves."""
        try:
            async with asyncio.timeout(seconds):
                await self._left.wait()
        except TimeoutError:
            return


async def watch(receive: Receive, left: asyncio.Event) -> None:
    """Sets `left` when the client leaves; `receive` has given the whole body before."""
    while (await receive())["type"] != "http.disconnect":
        pass
    left.set()


# ---- The layer ----


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the reply to an admitted request.

    Attributes:
        outputs: The answer of the scripted model.
        protocol: The protocol of the reply.
        form: How its bytes hold its events; None for a reply of one document.
        content_type: The media type of a stream of the protocol.
        error_body: Makes the bytes of an error body in the protocol of the request, from HTTP status and message.
        faults: Its faults.
        pace: Seconds between two pieces of the answer.
        recorded: The events that take the place of the answer, or None.
        replayed: The steps that take the place of the whole reply, or None.
    """

    outputs: Outputs
    protocol: Protocol
    form: StreamForm | None
    content_type: str
    error_body: Callable[[int, str], bytes]
    faults: tuple[NamedValue, ...] = ()
    pace: float = 0.0
    recorded: tuple[causes.Send, ...] | None = None
    replayed: tuple[causes.Step, ...] | None = None


@dataclass(slots=True)
class Current:
    """The request that the running task answers: its exchange, when it arrived in seconds since 1970, and its plan.

    `bug` is what broke of ours meanwhile; the application only tells the client that something did.
    """

    exchange: ServedExchange
    now: float
    plan: Plan | None = None
    bug: Exception | None = None


CURRENT: Final[ContextVar[Current]] = ContextVar("current")
"""Set for the application and everything that it starts, so that its own interfaces need not carry it."""


@contextmanager
def noting_bugs() -> Iterator[None]:
    """Keeps what breaks in the block for the owner of the upstream."""
    try:
        yield
    except PartstreamError:
        raise
    except Exception as error:
        CURRENT.get().bug = error
        raise


class ReplayLayer:
    """The application with the layer around it; an application of ASGI 3 itself."""

    def __init__(self, application: Application, exchanges: Exchanges) -> None:
        self._application = application
        self._exchanges = exchanges

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """Answers one request.

        Raises:
            Exception: What broke of ours meanwhile.
        """
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = await _whole_body(receive)
        exchange = self._exchanges.begin(scope, body)
        current = Current(exchange, time.time())
        left = asyncio.Event()
        end = partial(self._exchanges.end, exchange)
        stream = ReplyStream(send, left, exchange.delivery, self._exchanges.change, end)
        CURRENT.set(current)
        watching = asyncio.create_task(watch(receive, left))
        # At once: the application may need a moment to end.
        watching.add_done_callback(lambda _: end(Outcome.CLIENT_CLOSED) if left.is_set() else None)
        try:
            await self._application(scope, receiving(body, left), _Reply(stream, current, self._exchanges).take)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            # The application may end before the callback above has run: which of them is first, no Python promises.
            end(Outcome.CLIENT_CLOSED if left.is_set() else Outcome.STOPPED)
        if current.bug is not None:
            raise current.bug


class _Reply:
    """Takes the messages of one reply, and has the stream carry out what becomes of them."""

    def __init__(self, stream: ReplyStream, current: Current, exchanges: Exchanges) -> None:
        self._stream = stream
        self._current = current
        self._exchanges = exchanges
        self._pace = causes.Pace(0.0)
        self._cutter: causes.EventCutter | None = None
        self._held: list[causes.Step] | None = None

    async def take(self, message: Message) -> None:
        """Takes the next message of the application."""
        plan = self._current.plan
        if message["type"] == "http.response.start":
            await self._start(message, plan)
            return
        steps = self._body(message)
        if plan is None or self._held is None:
            await self._stream.perform(self._pace.over(steps))
            return
        self._held += steps
        if not message.get("more_body", False):
            await self._perform(plan, self._held)

    async def _start(self, message: Message, plan: Plan | None) -> None:
        # The body comes in chunks: what becomes of the reply may change its length.
        headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", ()))
        head = causes.Head(message["status"], tuple(one for one in headers if one[0].lower() != "content-length"))
        if plan is None:
            await self._stream.perform([head])
            return
        if plan.replayed is not None:
            await self._stream.perform(plan.replayed)
            return
        self._pace = causes.Pace(plan.pace)
        if plan.recorded is not None:
            await self._perform(plan, causes.event_stream(plan.recorded, plan.content_type))
            return
        if plan.form is not None and head.status == 200:
            kinds, pieces = bool(plan.faults), bool(plan.pace)
            self._cutter = causes.EventCutter(plan.protocol, plan.form, has_kinds=kinds, has_pieces=pieces)
        if plan.faults:
            self._held = [head]
        else:
            await self._stream.perform([head])

    async def _perform(self, plan: Plan, steps: Iterable[causes.Step]) -> None:
        if plan.faults:
            attempt = self._exchanges.attempts(self._current.exchange.request)
            context = causes.ReplyContext(attempt, self._current.now, plan.error_body)
            steps = causes.apply_faults(steps, plan.faults, context)
        await self._stream.perform(self._pace.over(steps))

    def _body(self, message: Message) -> Iterator[causes.Step]:
        data, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._cutter is not None:
            yield from self._cutter.cut(data, is_last=is_last)
        elif data:
            yield causes.Send(data)
        if is_last:
            yield causes.End()


async def _whole_body(receive: Receive) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)
