"""How the last answers ended, for the debug information: facts about the ends, and no text of the answers."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from partstream.hosts.vscode.failures import upstream_facts
from partstream.vscode.methods import encode_finish

if TYPE_CHECKING:
    from partstream.lm.outputs import Finish
    from partstream.vscode import rpc_types as wire

__all__ = ["AnswerEnds", "answer_end"]

_KEPT: Final = 20
"""The number of answers whose ends are kept."""


class AnswerEnds:
    """The ends of the last answers."""

    def __init__(self) -> None:
        self._ends: deque[wire.AnswerEnd] = deque(maxlen=_KEPT)

    def add(self, end: wire.AnswerEnd) -> None:
        """Adds the end of an answer."""
        self._ends.appendleft(end)

    def result(self) -> list[wire.AnswerEnd]:
        """The ends, newest first."""
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
        provider: The provider's name in the log.
        model_id: The model's id at its provider.
        finish: The end that the provider reported, or None.
        error: The error that the provider raised, or None.
        cancelled: Whether the request had been cancelled when the answer ended.
        now: Seconds since 1970.
    """
    shown = encode_finish(finish)
    upstream = upstream_facts(error)
    return {
        "endedAt": now,
        "provider": provider,
        "model": model_id,
        "outcome": "cancelled" if cancelled else _outcome(finish, error),
        "finishReason": shown.get("finishReason"),
        "providerFinishReason": shown.get("providerFinishReason"),
        "responseId": shown.get("responseId"),
        "answeredBy": shown.get("model"),
        "error": None if error is None else type(error).__name__,
        "providerCode": upstream.provider_code,
        "httpStatus": upstream.http_status,
    }


def _outcome(finish: Finish | None, error: BaseException | None) -> wire.AnswerOutcome:
    if error is None:
        return "completed" if finish is None else finish.outcome.value
    return "truncated" if finish is not None and finish.outcome.value == "truncated" else "failed"
