"""What the status of an interaction means (docs/wires/gemini.md#interactions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.outputs import Outcome
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAILURES", "OVER", "finish_of"]

FAILURES: Final[Mapping[str, str]] = {
    "failed": "the interaction failed",
    "cancelled": "the interaction was cancelled",
}
"""The statuses of interactions that failed, and what they say to a person."""

_LIMITS: Final = frozenset({"incomplete", "budget_exceeded", "requires_continuation"})
_WHOLE: Final = frozenset({"completed", "requires_action"})

OVER: Final = frozenset({*FAILURES, *_LIMITS, *_WHOLE})
"""The statuses behind which nothing of the answer follows."""


def finish_of(status: str | None, *, has_calls: bool) -> tuple[Outcome, FinishReason]:
    """How an interaction that did not fail ended: its calls decide, not its status."""
    if status in _LIMITS:
        return Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, status)
    if has_calls:
        return Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS, status)
    unified = UnifiedFinishReason.STOP if status == "completed" else UnifiedFinishReason.OTHER
    return Outcome.COMPLETED, FinishReason(unified, status)
