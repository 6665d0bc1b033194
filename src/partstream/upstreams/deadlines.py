"""Turns the time limits of one request into deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import TimeoutPhase, UpstreamTimeoutError

if TYPE_CHECKING:
    from partstream.upstreams.connection_settings import Timeouts

__all__ = ["Deadlines"]

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
