"""What Ollama has no place for; requests with default settings, to a model of which nothing is known."""

from __future__ import annotations
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.conversation.media import MediaKind, read_media
from partstream.conversation.turns import Attachment, joined_texts
from partstream.lm.messages import ToolMode
from partstream.lm.outputs import Outcome
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.ollama.models import NUM_CTX, OPTIONS, body_options
from partstream.protocols.ollama.serve import is_picture
from partstream.protocols.options import chosen_options
from partstream.protocols.schemas import IN_WORDS
from unsupported.common import (
    ANSWERS,
    ERROR_CODE,
    ERROR_KIND,
    FAILED_RESULTS,
    INSTRUCTIONS,
    MODEL,
    PICTURES,
    PREPARED,
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
    each_part_of_a_request,
    each_part_of_a_response,
    each_run_of_users,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import MessagePart, ResponsePart

__all__ = ["UNSUPPORTED"]

# ---- answers ----


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
    ResponseFeature(
        "data",
        "Of data, the bytes of pictures stay; addresses, sources and other files are left out.",
        each_part_of_a_response(_pictures),
    ),
    THINKING_IDS,
    THINKING_STATE,
    TRUNCATION,
    ResponseFeature(
        "finish-reason",
        "An answer stops, or is cut at a length; its calls show whether it calls tools.",
        _reason,
    ),
    ERROR_CODE,
    ERROR_KIND,
    ResponseFeature(
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
    ResponseFeature(
        "order-in-a-document",
        "A message has one field for all it thinks, one for its text, one for its pictures and one for its calls.",
        _message,
    ),
)


# ---- requests ----


def _in_words(part: MessagePart) -> MessagePart:
    if isinstance(part, DataPart) and (media := read_media(part)).kind is not MediaKind.IMAGE:
        return TextPart(Attachment(media.kind, media.media_type, b"", "", media.url).in_words.value)
    return part


def _text_before_images(said: Sequence[MessagePart]) -> Sequence[MessagePart]:
    """What a user says as one text, and then the images."""
    texts = [part.value for part in said if isinstance(part, TextPart)]
    others = [part for part in said if not isinstance(part, TextPart)]
    return [*([TextPart(joined_texts(texts))] if texts else []), *others]


def _options(asked: InboundRequest) -> InboundRequest:
    options = asked.options
    fields, of_model = body_options(chosen_options(options.model_options, OPTIONS))
    kept = {**of_model, **fields}
    think = kept.pop("think", None)
    effort = "none" if think is False else think if isinstance(think, str) and think else None
    kept = {name: value for name, value in kept.items() if value is not None and name[0] != "_"}
    kept.pop(NUM_CTX, None)
    beside = {} if effort is None else {"reasoningEffort": effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=beside))


def _without_demand(asked: InboundRequest) -> InboundRequest:
    return replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


def _schemas(asked: InboundRequest) -> InboundRequest:
    tools = tuple(replace(tool, input_schema=IN_WORDS.of(tool.input_schema).schema) for tool in asked.options.tools)
    return replace(asked, options=replace(asked.options, tools=tools))


_REQUEST: Final = (
    *PREPARED,
    FAILED_RESULTS,
    RequestFeature("files", "Of files, images stay; words stand instead of others.", each_part_of_a_request(_in_words)),
    PICTURES,
    RequestFeature(
        "texts-of-users",
        "Where in a message of the user its images stand: its texts become one, and the images follow.",
        each_run_of_users(_text_before_images),
    ),
    TEXTS_OF_RESULTS,
    INSTRUCTIONS,
    ANSWERS,
    RequestFeature(
        "options",
        "Options have the names of this protocol; those that would replace the request itself, and the name of the "
        "conversation, are left out. How much a model thinks is said only to models that are known to think.",
        _options,
    ),
    RequestFeature("demanded-calls", "That the model must call a tool: no field says so.", _without_demand),
    RequestFeature(
        "schemas-of-tools",
        "Schemas hold what Ollama passes on: references are resolved, and bounds are words of the description.",
        _schemas,
    ),
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, document=_DOCUMENT, request=_REQUEST)
