"""The table of what AG-UI has no place for; see :mod:`partstream.protocols.losses`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from partstream.parts import ToolCallPart
from partstream.protocols.ag_ui.request_losses import REQUEST
from partstream.protocols.common_losses import (
    BROKEN_ANSWER,
    DATA_PARTS,
    ERROR_KIND,
    FINISH_WORD,
    PROVIDER_METADATA,
    RESPONSE_ID,
    THINKING_IDS,
    THINKING_STATE,
    TRUNCATION,
)
from partstream.protocols.losses import Losses, ResponseForm, ResponseLoss
from partstream.usage import FinishReason, UnifiedFinishReason

__all__ = ["LOSES"]


def _calls_last(form: ResponseForm) -> ResponseForm:
    return replace(form, parts=tuple(sorted(form.parts, key=lambda part: isinstance(part, ToolCallPart))))


def _failed(form: ResponseForm) -> ResponseForm:
    return form if form.error is None else replace(form, reason=FinishReason(UnifiedFinishReason.ERROR))


def _unsaid(form: ResponseForm) -> ResponseForm:
    """The reason of an answer that gives none: whether it calls tools tells."""
    if form.error is not None or form.reason is not None:
        return form
    calls = any(isinstance(part, ToolCallPart) for part in form.parts)
    return replace(form, reason=FinishReason(UnifiedFinishReason.TOOL_CALLS if calls else UnifiedFinishReason.STOP))


_RESPONSE: Final = (
    DATA_PARTS,
    THINKING_IDS,
    THINKING_STATE,
    BROKEN_ANSWER,
    ResponseLoss(
        "order-of-calls",
        "Where calls stand among text and thinking: they come last, because only the end tells which of them the "
        "client has to run.",
        _calls_last,
    ),
    TRUNCATION,
    ERROR_KIND,
    ResponseLoss("failure-reason", "The finish reason beside an error.", _failed),
    FINISH_WORD,
    ResponseLoss("unsaid-reason", "That an answer gives no finish reason: it stops then, or calls tools.", _unsaid),
    RESPONSE_ID,
    PROVIDER_METADATA,
)

LOSES: Final = Losses(response=_RESPONSE, request=REQUEST)
