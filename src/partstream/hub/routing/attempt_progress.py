"""The progress of one attempt at an answer: notices its first part, and keeps its end until the attempt is the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.kinds import as_kind
from partstream.provider import DrainingProgress, FinishingProgress, WaitingProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import Finish
    from partstream.parts import ResponsePart
    from partstream.provider import Progress

__all__ = ["AttemptProgress"]


class AttemptProgress:
    """Passes the parts of one attempt on. No other attempt may follow once there is one.

    Args:
        progress: Where the answer is reported.
        on_begin: Called once, before the first part.

    Attributes:
        has_begun: Whether a part was reported.
        said_finish: How the attempt ended, as the provider said; None while it has not.
    """

    __slots__ = ("_draining", "_finishing", "_on_begin", "_report", "_waiting", "has_begun", "said_finish")

    def __init__(self, progress: Progress, on_begin: Callable[[], object]) -> None:
        self.has_begun = False
        self._report = progress.report
        self._on_begin = on_begin
        self._draining = as_kind(progress, DrainingProgress)
        self._finishing = as_kind(progress, FinishingProgress)
        self._waiting = as_kind(progress, WaitingProgress)
        self.said_finish: Finish | None = None

    def report(self, part: ResponsePart, /) -> None:
        """Passes a part on."""
        if not self.has_begun:
            self.has_begun = True
            self._on_begin()
        self._report(part)

    async def drain(self) -> None:
        """Waits for a consumer that is slower than the upstream."""
        if self._draining is not None:
            await self._draining.drain()

    def wait(self, reason: str, seconds: float, /) -> None:
        """Passes on why the answer does not begin yet."""
        if self._waiting is not None:
            self._waiting.wait(reason, seconds)

    def finish(self, finish: Finish, /) -> None:
        """Keeps the end, which is that of the answer only if no other attempt follows."""
        self.said_finish = finish

    def end(self) -> None:
        """Passes the end on: this attempt was the last."""
        if self.said_finish is not None and self._finishing is not None:
            self._finishing.finish(self.said_finish)
