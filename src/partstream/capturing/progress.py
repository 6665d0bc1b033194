"""Shows a capture each part as a host gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.lm.provider import WaitingProgress

if TYPE_CHECKING:
    from partstream.capturing.capture import AnswerCapture
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import DrainingProgress

__all__ = ["CapturedProgress"]


class CapturedProgress:
    """A progress that hands on everything, and shows each part to a capture.

    Args:
        progress: Takes the parts.
        answer: The capture.
    """

    __slots__ = ("_progress", "_report", "_take")

    def __init__(self, progress: DrainingProgress, answer: AnswerCapture) -> None:
        self._progress = progress
        self._report = progress.report
        self._take = answer.part

    def report(self, part: ResponsePart) -> None:
        """Hands on a part."""
        self._report(part)
        self._take(part)

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Tells why the answer does not begin yet."""
        if isinstance(self._progress, WaitingProgress):
            self._progress.wait(reason, seconds)
