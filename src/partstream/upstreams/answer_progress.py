"""The progress of one answer over all its attempts: its parts and its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from partstream.codec.checks import as_kind
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.provider import DrainingProgress, FinishingProgress, WaitingProgress

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import Progress

__all__ = ["ForwardingProgress"]


class ForwardingProgress:
    """Passes the parts of an answer to the caller's progress, and its end once.

    Several attempts may be made at one answer: with less carried state, or of a fallback model.

    Args:
        progress: Where the answer is reported; one that is no :class:`FinishingProgress` is not told its end.

    Attributes:
        has_begun: Whether a part was reported; then no other attempt may follow.
    """

    def __init__(self, progress: Progress) -> None:
        self.has_begun = False
        self._progress = progress
        self._draining = as_kind(progress, DrainingProgress)
        self._finishing = as_kind(progress, FinishingProgress)
        self._waiting = as_kind(progress, WaitingProgress)
        self._last: Finish | None = None

    def report(self, part: ResponsePart) -> None:
        """Reports a part."""
        self.has_begun = True
        self._progress.report(part)

    async def drain(self) -> None:
        """Waits for a consumer that is slower than the upstream."""
        if self._draining is not None:
            await self._draining.drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Announces that the next attempt begins after some seconds."""
        if self._waiting is not None:
            self._waiting.wait(reason, seconds)

    def attempt_ended(self, finish: Finish) -> None:
        """Takes the end of one attempt; another may follow."""
        self._last = finish

    def answered(self) -> None:
        """Passes on the end of the last attempt, if it had one."""
        if self._last is not None:
            self._tell(self._last)

    def failed(self, error: LanguageModelError) -> None:
        """Passes on that the answer fails with `error`, and what else the upstream said about its end."""
        last = self._last
        # An attempt that got no response at all says nothing; what is kept then is of the attempt before it.
        if last is None or last.error is None or last.error not in (error, error.__cause__):
            last = Finish(Outcome.FAILED)
        self._tell(replace(last, error=error))

    def _tell(self, finish: Finish) -> None:
        if self._finishing is not None:
            self._finishing.finish(finish)
