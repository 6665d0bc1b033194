"""The table of what Ollama has no place for; see :mod:`partstream.protocols.losses`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.conversation.media import read_media
from partstream.outputs import Outcome
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.common_losses import (
    ERROR_CODE,
    ERROR_KIND,
    MODEL,
    PROVIDER_METADATA,
    RESPONSE_ID,
    THINKING_IDS,
    THINKING_STATE,
    TRUNCATION,
    each_part_of_a_response,
)
from partstream.protocols.losses import Losses, ResponseForm, ResponseLoss
from partstream.protocols.ollama.request_losses import REQUEST
from partstream.protocols.ollama.write_response import is_picture
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from partstream.parts import ResponsePart

__all__ = ["LOSES"]


def _pictures(part: ResponsePart) -> ResponsePart | None:
    if not isinstance(part, DataPart):
        return part
    return DataPart(part.data, read_media(part).media_type) if is_picture(part) else None


def _reason(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return replace(form, reason=FinishReason(UnifiedFinishReason.ERROR))
    is_long = form.reason is not None and form.reason.unified is UnifiedFinishReason.LENGTH
    is_cut = form.outcome is Outcome.INCOMPLETE or is_long
    unified = UnifiedFinishReason.LENGTH if is_cut else UnifiedFinishReason.STOP
    if any(isinstance(part, ToolCallPart) for part in form.parts):
        unified = UnifiedFinishReason.TOOL_CALLS
    outcome = Outcome.INCOMPLETE if is_cut else Outcome.COMPLETED
    return replace(form, outcome=outcome, reason=FinishReason(unified, "length" if is_cut else "stop"))


def _counts(form: ResponseForm) -> ResponseForm:
    usage = form.usage
    given, made = (None, None) if usage is None else (usage.input_tokens, usage.output_tokens)
    if form.error is not None or (given is None and made is None):
        return replace(form, usage=None)
    return replace(form, usage=Usage(given, made, None if given is None or made is None else given + made))


_PLACES: Final = (ThinkingPart, TextPart, DataPart, ToolCallPart)


def _message(form: ResponseForm) -> ResponseForm:
    """Puts the parts where the fields of one message have them."""
    return replace(form, parts=tuple(sorted(form.parts, key=lambda part: _PLACES.index(type(part)))))


_RESPONSE: Final = (
    ResponseLoss(
        "data",
        "Of data, the bytes of pictures stay; addresses, sources and other files are left out.",
        each_part_of_a_response(_pictures),
    ),
    THINKING_IDS,
    THINKING_STATE,
    TRUNCATION,
    ResponseLoss(
        "finish-reason",
        "An answer stops, or is cut at a length; whether it calls tools is told by its calls.",
        _reason,
    ),
    ERROR_CODE,
    ERROR_KIND,
    ResponseLoss(
        "token-counts",
        "Of the tokens, those of the prompt and of the answer stay; an answer that fails reports none.",
        _counts,
    ),
    RESPONSE_ID,
    MODEL,
    PROVIDER_METADATA,
)

_DOCUMENT: Final = (
    THINKING_STATE,
    ResponseLoss(
        "order-in-a-document",
        "A message has one field for all it thinks, one for its text, one for its pictures and one for its calls.",
        _message,
    ),
)

LOSES: Final = Losses(response=_RESPONSE, document=_DOCUMENT, request=REQUEST)
