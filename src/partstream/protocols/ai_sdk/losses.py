"""What the streams of the AI SDK have no place for, for the tables of the folders that write them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from partstream.conversation.markers import is_mark
from partstream.conversation.reasoning import ITEMS
from partstream.outputs import CitationMode, Outcome, StreamOptions
from partstream.parts import DataPart, ResponsePart, TextPart, ThinkingPart
from partstream.protocols.ai_sdk.replay import REASONING
from partstream.protocols.ai_sdk.sources import Sources
from partstream.protocols.ai_sdk.wrapping import PROVIDER
from partstream.protocols.ai_sdk.write_response import UNNAMED
from partstream.protocols.ai_sdk.written_items import WrittenItems
from partstream.protocols.ai_sdk.written_sources import source_chunk
from partstream.protocols.citations import CITATION_MIME_TYPE, RecentText
from partstream.protocols.losses import ResponseForm, ResponseLoss
from partstream.usage import FinishReason, UnifiedFinishReason

__all__ = ["ERRORS", "FOREIGN_STATE", "HOST_MARKS", "OUTCOME", "SOURCES", "THOUGHT_NAMES", "TOTAL"]


def _without_marks(form: ResponseForm) -> ResponseForm:
    kept = (
        part
        for part in form.parts
        if not isinstance(part, DataPart)
        or (source_chunk(part) is not None if part.mime_type == CITATION_MIME_TYPE else not is_mark(part.mime_type))
    )
    return replace(form, parts=tuple(kept))


HOST_MARKS: Final = ResponseLoss(
    "host-marks",
    "Data parts that are no files: marks of the host such as `usage` and `stateful_marker`.",
    _without_marks,
)


def _as_sources(form: ResponseForm) -> ResponseForm:
    read = Sources(StreamOptions(citations=CitationMode.DATA), RecentText())
    parts: list[Any] = []
    for part in form.parts:
        source = source_chunk(part) if isinstance(part, DataPart) else None
        parts += [part] if source is None else read.source(source)
    return replace(form, parts=tuple(parts))


SOURCES: Final = ResponseLoss(
    "source-fields",
    "Of a source everything but its address or identifier, title, file name, media type and span; a source of the "
    "same span is named once.",
    _as_sources,
)


def _with_named_thoughts(form: ResponseForm) -> ResponseForm:
    items, last, parts = WrittenItems(), None, list[ResponsePart]()
    for part in form.parts:
        if isinstance(part, ThinkingPart):
            brought = items.take(part.metadata) if part.metadata is not None else []
            if part.value or any(one.kind == REASONING for one in brought):
                last = part.id or (None if part.value else last) or UNNAMED
                part = ThinkingPart(part.value, last, part.metadata)  # noqa: PLW2901 - the part that is kept
            else:
                part = ThinkingPart(part.value, None, part.metadata)  # noqa: PLW2901
        elif not (isinstance(part, TextPart) and not part.value) and not _is_source(part):
            last = None
        parts.append(part)
    return replace(form, parts=tuple(parts))


def _is_source(part: ResponsePart) -> bool:
    return isinstance(part, DataPart) and part.mime_type == CITATION_MIME_TYPE


THOUGHT_NAMES: Final = ResponseLoss(
    "unnamed-thoughts", f"That a thought has no id: it gets the id `{UNNAMED}`.", _with_named_thoughts
)


def _without_foreign_state(form: ResponseForm) -> ResponseForm:
    items, own, parts = WrittenItems(), list[Any](), list[ResponsePart]()
    for part in form.parts:
        if isinstance(part, ThinkingPart) and part.metadata is not None:
            new = [one.item for one in items.take(part.metadata) if one.item is not None and PROVIDER not in one.said]
            own += new
            part = ThinkingPart(part.value, part.id, {ITEMS: list(own)} if new else None)  # noqa: PLW2901
        parts.append(part)
    return replace(form, parts=tuple(parts))


FOREIGN_STATE: Final = ResponseLoss(
    "foreign-state",
    f"What thinking brings of other protocols, as itself: it travels as a word of the provider `{PROVIDER}`, and a "
    "client that gives it back gives it back whole.",
    _without_foreign_state,
)

_ENDS_EARLY: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})


def _outcome(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return form
    reason = form.reason or FinishReason(UnifiedFinishReason.OTHER)
    return replace(
        form, reason=reason, outcome=Outcome.INCOMPLETE if reason.unified in _ENDS_EARLY else Outcome.COMPLETED
    )


OUTCOME: Final = ResponseLoss(
    "outcome",
    "That an answer is incomplete for another reason than its length or a filter; and that no reason was given, which "
    "becomes `other`.",
    _outcome,
)


def _errors(form: ResponseForm) -> ResponseForm:
    if form.error is None or form.error.kind == "UpstreamHTTPError":
        return form
    return replace(form, error=replace(form.error, kind="UpstreamFailureError"))


ERRORS: Final = ResponseLoss(
    "error-kind",
    "What kind of error it was, unless the upstream answered with an HTTP status: any other becomes a failure that "
    "the upstream reports.",
    _errors,
)


def _total(form: ResponseForm) -> ResponseForm:
    usage = form.usage
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return replace(form, usage=None)
    known = usage.input_tokens is not None and usage.output_tokens is not None
    total = (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else None
    return replace(form, usage=replace(usage, total_tokens=total))


TOTAL: Final = ResponseLoss(
    "total-tokens",
    "A total that is not the sum of the prompt's and the answer's tokens, and details without either.",
    _total,
)
