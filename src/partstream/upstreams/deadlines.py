"""Turns the time limits of one request into deadlines, and ends what waits longer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from partstream.errors import TimeoutPhase, UpstreamTimeoutError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from partstream.upstream.configuration import Timeouts

__all__ = ["Deadlines", "LimitedWaits"]

_Result = TypeVar("_Result")

_LAST_WORDS: Final = 2.0
"""Seconds to wait for what an upstream adds to an error, or to its word that the end is near."""

_LIMIT: Final = "the setting timeouts.{} is the limit"


class Deadlines:
    """Computes the next deadline from what has arrived; the clock is the caller's.

    Args:
        timeouts: The limits.
        start: The moment of the request, in seconds of any clock.
    """

    __slots__ = ("_ending", "_first_event", "_idle", "_timeouts", "_total")

    def __init__(self, timeouts: Timeouts, start: float) -> None:
        self._timeouts = timeouts
        self.restart(start)

    def restart(self, start: float) -> None:
        """Starts again for another attempt."""
        self._total = start + self._timeouts.total
        self._first_event: float | None = start + self._timeouts.first_event
        self._idle = 0.0
        self._ending = False

    def arrived(self, now: float, *, events: bool, ending: bool) -> None:
        """Notes that bytes arrived, whether they held events, and whether the upstream announced the end."""
        if events:
            self._first_event = None
        if not (ending and self._ending):  # what still arrives then buys no more time
            self._idle = now + (min(_LAST_WORDS, self._timeouts.idle) if ending else self._timeouts.idle)
        self._ending = ending

    def resumed(self, now: float) -> None:
        """Notes that reading goes on: while the consumer took what had arrived, the upstream was not silent."""
        if not self._ending:
            self._idle = max(self._idle, now + self._timeouts.idle)

    @property
    def next(self) -> float:
        """The time of the next deadline."""
        return min(self._total, self._idle if self._first_event is None else self._first_event)

    def error(self) -> UpstreamTimeoutError:
        """The error for the deadline that comes next."""
        if self.next == self._total:
            return UpstreamTimeoutError(TimeoutPhase.TOTAL, self._timeouts.total, advice=_LIMIT.format("total"))
        if self._first_event is not None:
            advice = f"it may have to load the model first; {_LIMIT.format('firstEvent')}"
            return UpstreamTimeoutError(TimeoutPhase.FIRST_EVENT, self._timeouts.first_event, advice=advice)
        return UpstreamTimeoutError(TimeoutPhase.IDLE, self._timeouts.idle, advice=_LIMIT.format("idle"))


class LimitedWaits:
    """Ends each of many waits at the deadline that comes next then, with one timer for all of them.

    `asyncio.timeout_at` sets a timer for each wait and takes it back, which takes longer than to read what came.

    Args:
        deadlines: The deadlines; they move only while nobody waits.
    """

    __slots__ = ("_deadlines", "_loop", "_set_for", "_timer", "_waiting", "_was_ended")

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = 0.0
        self._waiting: asyncio.Task[object] | None = None
        self._was_ended = False

    async def wait(self, result: Awaitable[_Result]) -> _Result:
        """Waits for a result.

        Raises:
            TimeoutError: The deadline was reached.
        """
        deadline = self._deadlines.next
        if self._timer is None or deadline < self._set_for:
            self._set(deadline)
        task = self._waiting = asyncio.current_task()
        cancelling = 0 if task is None else task.cancelling()
        try:
            return await result
        except asyncio.CancelledError as error:
            if self._was_ended and task is not None and task.uncancel() <= cancelling:
                raise TimeoutError from error
            raise
        finally:
            self._waiting = None
            self._was_ended = False

    def close(self) -> None:
        """Takes the timer back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, deadline: float) -> None:
        self.close()
        self._set_for = deadline
        self._timer = self._loop.call_at(deadline, self._reached)

    def _reached(self) -> None:
        """Ends the wait, unless its deadline was moved since the timer was set."""
        self._timer = None
        if self._waiting is None:
            return
        if self._deadlines.next > self._loop.time():
            self._set(self._deadlines.next)
        else:
            self._was_ended = True
            self._waiting.cancel()
