"""What AG-UI has no place for."""

from __future__ import annotations
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.lm.messages import ToolMode
from partstream.lm.parts import FinishReason, ToolCallPart, UnifiedFinishReason
from partstream.protocols.ag_ui.write_request import EFFORT, chosen_options
from unsupported.common import (
    ANSWERS,
    BROKEN_ANSWER,
    DATA_PARTS,
    ERROR_KIND,
    FINISH_WORD,
    INSTRUCTIONS,
    PICTURES,
    PREPARED_WITH_NAMES,
    PROVIDER_METADATA,
    RESPONSE_ID,
    TEXTS_OF_RESULTS,
    THINKING_IDS,
    THINKING_STATE,
    TRUNCATION,
    RequestFeature,
    ResponseFeature,
    ResponseForm,
    Unsupported,
)

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest

__all__ = ["UNSUPPORTED"]

# ---- answers ----


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
    ResponseFeature(
        "order-of-calls",
        "Where calls stand among text and thinking: they come last, because only the end tells which of them the "
        "client has to run.",
        _calls_last,
    ),
    TRUNCATION,
    ERROR_KIND,
    ResponseFeature("failure-reason", "The finish reason beside an error.", _failed),
    FINISH_WORD,
    ResponseFeature("unsaid-reason", "That an answer gives no finish reason: it stops then, or calls tools.", _unsaid),
    RESPONSE_ID,
    PROVIDER_METADATA,
)


# ---- requests ----


def _without_demand(asked: InboundRequest) -> InboundRequest:
    return replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


def _options(asked: InboundRequest) -> InboundRequest:
    options = asked.options
    chosen = chosen_options(options.model_options)
    effort = chosen.pop(EFFORT, options.model_configuration.get(EFFORT))
    kept = {name: value for name, value in chosen.items() if value is not None}
    configuration = {} if effort is None else {EFFORT: effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=configuration))


_REQUEST: Final = (
    *PREPARED_WITH_NAMES,
    PICTURES,
    TEXTS_OF_RESULTS,
    INSTRUCTIONS,
    ANSWERS,
    RequestFeature(
        "options",
        "Options that would replace the request itself, and the name of the conversation, are left out; the others are "
        "passed to the agent, which takes what it knows.",
        _options,
    ),
    RequestFeature("demanded-calls", "That the model must call a tool: no field says so.", _without_demand),
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, request=_REQUEST)
