"""Carries out the steps of a reply as messages of ASGI, and keeps its progress."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.server.loopback import BREAK_OFF
from partstream.testing.exchanges import Delivery, Outcome
from partstream.testing.steps import End, EndKind, Head, Send, Stall, Until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.server.requests import Receive
    from partstream.server.requests import Send as SendMessage
    from partstream.testing.steps import Step

__all__ = ["ReplyStream", "watch"]


class ReplyStream:
    """The reply to one request.

    Args:
        send: Takes the messages.
        left: Set when the client has left: nothing is sent from then on.
        delivery: Receives the progress.
        on_progress: Called after each step.
        on_end: Called with the result at the end of the reply, if the client has not left.
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

    async def perform(self, steps: Iterable[Step]) -> None:
        """Carries out the steps until they end or the client leaves."""
        for step in steps:
            if self._left.is_set() or self._delivery.outcome is not None:
                return
            try:
                await self._take(step)
            except OSError:  # from the server: the client has left
                await self._left.wait()
            self._on_progress()

    async def _take(self, step: Step) -> None:
        match step:
            case Send(data):
                self._delivery.events_sent += step.events
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
            case Head(status, headers):
                self._delivery.status = status
                raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
                await self._send({"type": "http.response.start", "status": status, "headers": raw})
            case Stall(seconds):
                await self._stall(seconds)
            case Until(seconds):
                rest = self._start + seconds - asyncio.get_running_loop().time()
                if rest > 0:
                    await self._stall(rest)
            case End(EndKind.WHOLE):
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
                if not self._left.is_set():
                    self._on_end(Outcome.WHOLE)
            case End(kind):
                await self._send({"type": BREAK_OFF, "reset": kind is EndKind.RESET})
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
