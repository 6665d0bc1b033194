"""How the last answers ended, for the debug information: facts of the end, and nothing of what was said."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamError

if TYPE_CHECKING:
    from partstream.hosts.vscode import wire
    from partstream.outputs import Finish

__all__ = ["AnswerEnds", "answer_end"]

_KEPT: Final = 20
"""Answers whose ends are kept."""


class AnswerEnds:
    """The ends of the last answers."""

    def __init__(self) -> None:
        self._ends: deque[wire.AnswerEnd] = deque(maxlen=_KEPT)

    def add(self, end: wire.AnswerEnd) -> None:
        """Takes in one more."""
        self._ends.appendleft(end)

    def result(self) -> list[wire.AnswerEnd]:
        """The newest first."""
        return list(self._ends)


def answer_end(
    provider: str,
    model_id: str,
    finish: Finish | None,
    error: BaseException | None,
    *,
    cancelled: bool,
    now: float,
) -> wire.AnswerEnd:
    """How an answer ended.

    Args:
        provider: How the log calls the provider.
        model_id: The model as its provider names it.
        finish: What the provider said of the end, or None.
        error: What the provider raised, or None.
        cancelled: Whether nobody waited for the answer any more when it ended.
        now: Seconds since 1970.
    """
    reason = None if finish is None else finish.reason
    upstream = error if isinstance(error, UpstreamError) else UpstreamError("")  # which knows nothing
    return {
        "endedAt": now,
        "provider": provider,
        "model": model_id,
        "outcome": "cancelled" if cancelled else _outcome(finish, error),
        "finishReason": None if reason is None else reason.unified.value,
        "providerFinishReason": None if reason is None else reason.raw,
        "responseId": None if finish is None else finish.response_id,
        "answeredBy": None if finish is None else finish.model,
        "error": None if error is None else type(error).__name__,
        "providerCode": upstream.provider_code,
        "httpStatus": upstream.http_status,
    }


def _outcome(finish: Finish | None, error: BaseException | None) -> wire.AnswerOutcome:
    if error is None:
        return "completed" if finish is None else finish.outcome.value
    return "truncated" if finish is not None and finish.outcome.value == "truncated" else "failed"
