"""The layer between a serving application and its socket: it records exchanges and gives replies their faults and pace.

Everything here is about bytes that the application has made: the application itself knows of no test. Who admits a
request says in its :class:`Plan` what becomes of the reply; a reply without a plan goes through as it is.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.errors import PartstreamError
from partstream.server.loopback import receiving
from partstream.testing.cut_events import EventCutter
from partstream.testing.exchanges import Outcome
from partstream.testing.faults import ReplyContext, apply_faults
from partstream.testing.stage import ReplyStream, watch
from partstream.testing.steps import End, Head, Pace, Send, event_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from partstream.devtools.testing.directives import NamedValue
    from partstream.devtools.testing.scripted_model import Outputs
    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import StreamForm
    from partstream.server.requests import Application, Message, Receive, Scope
    from partstream.server.requests import Send as SendMessage
    from partstream.testing.exchanges import Exchanges, ServedExchange
    from partstream.testing.steps import Step

__all__ = ["CURRENT", "Current", "Plan", "ReplayLayer", "noting_bugs"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the reply to an admitted request.

    Attributes:
        outputs: The answer of the scripted model.
        protocol: The protocol of the reply.
        form: How its events stand in its bytes; None for a reply of one document.
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
    recorded: tuple[Send, ...] | None = None
    replayed: tuple[Step, ...] | None = None


@dataclass(slots=True)
class Current:
    """The request that the running task answers.

    Attributes:
        exchange: Its exchange.
        now: When it arrived, in seconds since 1970.
        plan: What becomes of its reply; None until it is admitted.
        bug: What broke of ours while it was answered. The application only tells the client that something did.
    """

    exchange: ServedExchange
    now: float
    plan: Plan | None = None
    bug: Exception | None = None


CURRENT: Final[ContextVar[Current]] = ContextVar("current")
"""Set for the application and everything that it starts, so that its own interfaces need not carry it."""


@contextmanager
def noting_bugs() -> Iterator[None]:
    """Keeps what breaks in the block for the one who has started the upstream."""
    try:
        yield
    except PartstreamError:
        raise
    except Exception as error:
        CURRENT.get().bug = error
        raise


class ReplayLayer:
    """The application with the layer around it; an application of ASGI 3 itself.

    Args:
        application: What answers.
        exchanges: Keeps what came and how each reply went.
    """

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
        stage = ReplyStream(send, left, exchange.delivery, self._exchanges.change, end)
        CURRENT.set(current)
        watching = asyncio.create_task(watch(receive, left))
        # At once: the application may need a moment to end.
        watching.add_done_callback(lambda _: end(Outcome.CLIENT_CLOSED) if left.is_set() else None)
        try:
            await self._application(scope, receiving(body, left), _Reply(stage, current, self._exchanges).take)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            # The application may end before the callback above has run: which of them is first, no Python promises.
            end(Outcome.CLIENT_CLOSED if left.is_set() else Outcome.STOPPED)
        if current.bug is not None:
            raise current.bug


class _Reply:
    """Takes the messages of one reply, and has the stage carry out what becomes of them."""

    def __init__(self, stage: ReplyStream, current: Current, exchanges: Exchanges) -> None:
        self._stage = stage
        self._current = current
        self._exchanges = exchanges
        self._pace = Pace(0.0)
        self._cutter: EventCutter | None = None
        self._held: list[Step] | None = None

    async def take(self, message: Message) -> None:
        """Takes the next message of the application."""
        plan = self._current.plan
        if message["type"] == "http.response.start":
            await self._start(message, plan)
            return
        steps = self._body(message)
        if plan is None or self._held is None:
            await self._stage.perform(self._pace.over(steps))
            return
        self._held += steps
        if not message.get("more_body", False):
            await self._perform(plan, self._held)

    async def _start(self, message: Message, plan: Plan | None) -> None:
        head = _head(message)
        if plan is None:
            await self._stage.perform([head])
            return
        if plan.replayed is not None:
            await self._stage.perform(plan.replayed)
            return
        self._pace = Pace(plan.pace)
        if plan.recorded is not None:
            await self._perform(plan, event_stream(plan.recorded, plan.content_type))
            return
        if plan.form is not None and head.status == 200:
            kinds, pieces = bool(plan.faults), bool(plan.pace)
            self._cutter = EventCutter(plan.protocol, plan.form, has_kinds=kinds, has_pieces=pieces)
        if plan.faults:
            self._held = [head]
        else:
            await self._stage.perform([head])

    async def _perform(self, plan: Plan, steps: Iterable[Step]) -> None:
        if plan.faults:
            attempt = self._exchanges.attempts(self._current.exchange.request)
            situation = ReplyContext(attempt, self._current.now, plan.error_body)
            steps = apply_faults(steps, plan.faults, situation)
        await self._stage.perform(self._pace.over(steps))

    def _body(self, message: Message) -> Iterator[Step]:
        data, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._cutter is not None:
            yield from self._cutter.cut(data, is_last=is_last)
        elif data:
            yield Send(data)
        if is_last:
            yield End()


def _head(message: Message) -> Head:
    """The head of the reply. Its body comes in chunks: what becomes of the reply may change its length."""
    headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", ()))
    return Head(message["status"], tuple(one for one in headers if one[0].lower() != "content-length"))


async def _whole_body(receive: Receive) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)
