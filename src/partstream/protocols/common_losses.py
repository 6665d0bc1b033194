"""Losses that several protocols share; a protocol's own `losses.py` picks from them and adds its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.conversation.media import MediaKind, read_media
from partstream.messages import ChatMessage
from partstream.outputs import Asked, Outcome
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.citations import CITATION_MIME_TYPE, Citation, read_citation
from partstream.protocols.losses import RequestLoss, ResponseForm, ResponseLoss
from partstream.usage import FinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.parts import MessagePart, ResponsePart

__all__ = [
    "BROKEN_ANSWER",
    "DATA_PARTS",
    "ERROR_CODE",
    "ERROR_KIND",
    "FINISH_WORD",
    "MODEL",
    "PROVIDER_METADATA",
    "RESPONSE_ID",
    "SOURCES_BEHIND",
    "SPEAKER_NAMES",
    "TEXT_DOCUMENTS",
    "THINKING_IDS",
    "THINKING_STATE",
    "TRUNCATION",
    "each_part_of_a_request",
    "each_part_of_a_response",
    "source_with_address",
]


def each_part_of_a_response(
    change: Callable[[ResponsePart], ResponsePart | None],
) -> Callable[[ResponseForm], ResponseForm]:
    """Applies a function to each part of an answer; where it returns None, the part is left out."""

    def take(form: ResponseForm) -> ResponseForm:
        changed = (change(part) for part in form.parts)
        return replace(form, parts=tuple(part for part in changed if part is not None))

    return take


def each_part_of_a_request(change: Callable[[MessagePart], MessagePart | None]) -> Callable[[Asked], Asked]:
    """Applies a function to each part of a request, also inside tool results.

    Where it returns None, the part is left out.
    """

    def take(asked: Asked) -> Asked:
        messages = tuple(replace(one, content=tuple(_changed(one.content, change))) for one in asked.messages)
        return replace(asked, messages=messages)

    return take


def _changed(
    parts: Iterable[MessagePart], change: Callable[[MessagePart], MessagePart | None]
) -> Iterable[MessagePart]:
    for part in parts:
        changed = change(part)
        if isinstance(changed, ToolResultPart):
            content = tuple(one for one in _changed(changed.content, change) if isinstance(one, TextPart | DataPart))
            yield replace(changed, content=content)
        elif changed is not None:
            yield changed


# ---- answers ----


def _without_thinking_id(part: ResponsePart) -> ResponsePart:
    return ThinkingPart(part.value, None, part.metadata) if isinstance(part, ThinkingPart) else part


def _without_thinking_state(part: ResponsePart) -> ResponsePart:
    return ThinkingPart(part.value, part.id) if isinstance(part, ThinkingPart) else part


def _without_data(part: ResponsePart) -> ResponsePart | None:
    return None if isinstance(part, DataPart) else part


def _is_source(part: ResponsePart) -> bool:
    return isinstance(part, DataPart) and part.mime_type == CITATION_MIME_TYPE


def _sources_behind(form: ResponseForm) -> ResponseForm:
    parts: list[ResponsePart] = []
    for of_text, run in groupby(form.parts, lambda part: isinstance(part, TextPart) or _is_source(part)):
        said = list(run)
        parts += sorted(said, key=_is_source) if of_text else said
    return replace(form, parts=tuple(parts))


def source_with_address(part: ResponsePart) -> Citation | None:
    """The source that a part names, if it has an address; None for every other part."""
    source = read_citation(part) if isinstance(part, DataPart) else None
    return None if source is None or source.url is None else source


def _as_broken(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    kept = (one for one in form.parts if not isinstance(one, ToolCallPart) and source_with_address(one) is None)
    return replace(form, parts=tuple(ThinkingPart(one.value) if isinstance(one, ThinkingPart) else one for one in kept))


def _without_word(form: ResponseForm) -> ResponseForm:
    return form if form.reason is None else replace(form, reason=FinishReason(form.reason.unified))


def _without_error_code(form: ResponseForm) -> ResponseForm:
    return form if form.error is None else replace(form, error=replace(form.error, code=None))


def _with_one_kind_of_error(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    return replace(form, error=replace(form.error, kind="UpstreamFailureError", status=None))


def _as_failed(form: ResponseForm) -> ResponseForm:
    return replace(form, outcome=Outcome.FAILED) if form.outcome is Outcome.TRUNCATED else form


THINKING_IDS: Final = ResponseLoss(
    "thinking-ids", "The ids of thoughts.", each_part_of_a_response(_without_thinking_id)
)
THINKING_STATE: Final = ResponseLoss(
    "thinking-state",
    "The opaque state of thinking, which its model wants back.",
    each_part_of_a_response(_without_thinking_state),
)
DATA_PARTS: Final = ResponseLoss(
    "data-parts", "Data parts: files and citations.", each_part_of_a_response(_without_data)
)
SOURCES_BEHIND: Final = ResponseLoss(
    "order-in-a-document",
    "Behind which of its words a source of a text came: in a document all stand behind the text.",
    _sources_behind,
)
BROKEN_ANSWER: Final = ResponseLoss(
    "broken-answer", "Calls, sources and the state of thinking of an answer that fails.", _as_broken
)
FINISH_WORD: Final = ResponseLoss("finish-word", "The provider's own word for why the model stopped.", _without_word)
ERROR_CODE: Final = ResponseLoss("error-code", "The provider's code of an error.", _without_error_code)
ERROR_KIND: Final = ResponseLoss(
    "error-kind",
    "What kind of error it was, and its HTTP status: every error becomes a failure that the upstream reports.",
    _with_one_kind_of_error,
)
TRUNCATION: Final = ResponseLoss("truncation", "That an answer broke off: it is reported as failed.", _as_failed)
RESPONSE_ID: Final = ResponseLoss(
    "response-id", "The identifier of the response.", lambda form: replace(form, response_id=None)
)
MODEL: Final = ResponseLoss("model", "The model that answered.", lambda form: replace(form, model=None))
PROVIDER_METADATA: Final = ResponseLoss(
    "provider-metadata",
    "What the provider says of the answer beside its tokens.",
    lambda form: replace(form, provider_metadata={}),
)

# ---- requests ----


def _text_of_document(part: MessagePart) -> MessagePart:
    """Servers take a text document as text; its label is lost."""
    if isinstance(part, DataPart) and (media := read_media(part)).kind is MediaKind.TEXT:
        return TextPart(media.text)
    return part


def _without_names(asked: Asked) -> Asked:
    return replace(asked, messages=tuple(ChatMessage(one.role, one.content) for one in asked.messages))


TEXT_DOCUMENTS: Final = RequestLoss(
    "text-documents",
    "That a text document was a document: its text stands in its place.",
    each_part_of_a_request(_text_of_document),
)
SPEAKER_NAMES: Final = RequestLoss("speaker-names", "The names of speakers.", _without_names)
