"""How one answer ended, whichever of its attempts gave it; knows no connection and no part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from partstream.outputs import Finish, Outcome
from partstream.provider import FinishingProgress

if TYPE_CHECKING:
    from partstream.errors import LanguageModelError
    from partstream.provider import Progress

__all__ = ["AnswerEnd"]


class AnswerEnd:
    """Collects how the attempts at one answer ended, and tells the progress how the answer did.

    Args:
        progress: Where the answer is reported; one that is no :class:`FinishingProgress` is told nothing.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress if isinstance(progress, FinishingProgress) else None
        self._last: Finish | None = None

    def attempt_ended(self, finish: Finish) -> None:
        """Takes how one attempt ended: a fallback model, or the same request with less carried state, may follow."""
        self._last = finish

    def answered(self) -> None:
        """Tells the progress what the last attempt said of its end; nothing where it did not come to say anything."""
        if self._last is not None:
            self._tell(self._last)

    def failed(self, error: LanguageModelError) -> None:
        """Tells the progress that the answer fails with `error`, and what else the upstream said of that end."""
        last = self._last
        # An attempt that got no response at all says nothing; what is kept then is of the attempt before it.
        if last is None or last.error is None or last.error not in (error, error.__cause__):
            last = Finish(Outcome.FAILED)
        self._tell(replace(last, error=error))

    def _tell(self, finish: Finish) -> None:
        if self._progress is not None:
            self._progress.finish(finish)
