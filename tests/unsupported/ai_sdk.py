"""What the streams of the AI SDK have no place for."""

from __future__ import annotations
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.conversation.provider_state import ITEMS
from partstream.lm.outputs import CitationMode, Outcome, StreamOptions
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UnifiedFinishReason,
    Usage,
    is_mark,
)
from partstream.protocols.ai_sdk.blocks import SIGNING_PROVIDER, Sources
from partstream.protocols.ai_sdk.provider_state import PROVIDER, REASONING, SUMMARY, TOOL_CALL
from partstream.protocols.ai_sdk.serve import UNNAMED, WrittenItems, source_chunk, take_for_call
from partstream.protocols.errors import NO_REASON
from partstream.protocols.read_response import RecentText
from unsupported.common import (
    ERROR_CODE,
    ERROR_KIND,
    FINISH_WORD,
    MODEL,
    PROVIDER_METADATA,
    RESPONSE_ID,
    THINKING_IDS,
    TRUNCATION,
    ResponseFeature,
    ResponseForm,
    Unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from partstream.lm.parts import ResponsePart
    from partstream.protocols.ai_sdk.serve import StateMetadata

__all__ = ["DATA_STREAM", "FULL_STREAM", "PROVIDER_STREAM", "UI_STREAM"]

# ---- parts ----


def _without_marks(form: ResponseForm) -> ResponseForm:
    kept = (part for part in form.parts if not isinstance(part, DataPart) or _is_said(part))
    return replace(form, parts=tuple(kept))


def _is_said(part: DataPart) -> bool:
    return source_chunk(part) is not None if part.mime_type == CITATION_MIME_TYPE else not is_mark(part.mime_type)


_HOST_MARKS: Final = ResponseFeature(
    "host-marks",
    "Data parts that are neither files nor sources: marks of the host such as `usage` and `stateful_marker`.",
    _without_marks,
)


def _as_sources(form: ResponseForm) -> ResponseForm:
    read = Sources(StreamOptions(citations=CitationMode.DATA), RecentText())
    parts: list[Any] = []
    for part in form.parts:
        source = source_chunk(part) if isinstance(part, DataPart) else None
        parts += [part] if source is None else read.source(source)
    return replace(form, parts=tuple(parts))


_SOURCES: Final = ResponseFeature(
    "source-fields",
    "Of a source everything but its address or identifier, title, file name, media type and span; a document without "
    "a title or a media type gets one, and a source of the same span is named once.",
    _as_sources,
)


def _with_named_thoughts(form: ResponseForm) -> ResponseForm:
    items, parts = WrittenItems(), list[Any]()
    last: str | None = None
    for part in form.parts:
        if isinstance(part, ThinkingPart):
            brought = items.take(part.metadata) if part.metadata is not None else []
            if part.value or any(one.kind == REASONING for one in brought):
                last = part.id or (None if part.value else last) or UNNAMED
                parts.append(ThinkingPart(part.value, last, part.metadata))
            else:
                parts.append(ThinkingPart(part.value, None, part.metadata))
            continue
        if part != TextPart("") and not (isinstance(part, DataPart) and part.mime_type == CITATION_MIME_TYPE):
            last = None
        parts.append(part)
    return replace(form, parts=tuple(parts))


_THOUGHT_NAMES: Final = ResponseFeature(
    "unnamed-thoughts", f"That a thought has no id: it gets the id `{UNNAMED}`.", _with_named_thoughts
)


_Listed: TypeAlias = "tuple[ResponsePart, list[Any]]"
"""A part, and the items that it brings beside those before it."""


def _listing(parts: Iterable[_Listed]) -> Iterator[ResponsePart]:
    """The parts, each with all items up to its own where it brings any, as a reader lists them."""
    listed: list[Any] = []
    for part, new in parts:
        if isinstance(part, ThinkingPart) and new:
            listed += new
            yield ThinkingPart(part.value, part.id, {**(part.metadata or {}), ITEMS: list(listed)})
        else:
            yield part


class _Read:
    """What a reader makes of the thinking that a writer has written, one part after the other."""

    def __init__(self, keep: Callable[[StateMetadata, str], Mapping[str, Any] | None]) -> None:
        self._keep = keep
        self._items = WrittenItems()
        self._of_calls: list[StateMetadata] = []
        self._id: str | None = None
        self._text = ""

    def read(self, part: ResponsePart) -> Iterator[_Listed]:
        if isinstance(part, ThinkingPart):
            yield from self._thinking(part)
            return
        if part != TextPart("") and not (isinstance(part, DataPart) and part.mime_type == CITATION_MIME_TYPE):
            self._id, self._text = None, ""
        if isinstance(part, ToolCallPart) and (brought := take_for_call(self._of_calls, part.call_id)) is not None:
            options = self._keep(brought, "")
            item = {"type": TOOL_CALL, "toolCallId": part.call_id, "providerOptions": options}
            yield ThinkingPart(""), [item] if options else []
        yield part, []

    def _thinking(self, part: ThinkingPart) -> list[_Listed]:
        if part.value:
            self._text = (self._text if self._id == part.id else "") + part.value
            self._id = part.id
        rows: list[_Listed] = [(ThinkingPart(part.value, part.id), [])]
        for brought in () if part.metadata is None else self._items.take(part.metadata):
            if brought.kind == TOOL_CALL:
                self._of_calls.append(brought)
                continue
            text = self._text if self._id == part.id else ""
            if brought.kind == SUMMARY:
                text = brought.text or ""
            options = self._keep(brought, text)
            self._id, self._text = None, ""
            if options:
                item = {"type": brought.kind, "text": text, "providerOptions": options}
                rows += [(ThinkingPart("", part.id), [])] if rows[-1][1] else []
                rows[-1][1].append(item)
        return rows


def _read_again(
    keep: Callable[[StateMetadata, str], Mapping[str, Any] | None],
) -> Callable[[ResponseForm], ResponseForm]:
    """Gives an answer with the state that is read again.

    Args:
        keep: The options that are read for what was brought beside a text, or None.
    """

    def take(form: ResponseForm) -> ResponseForm:
        reader = _Read(keep)
        return replace(form, parts=tuple(_listing(row for part in form.parts for row in reader.read(part))))

    return take


def _wrapped(brought: StateMetadata, text: str) -> Mapping[str, Any]:
    return brought.said if brought.text in {None, text} else brought.wrapped


_FOREIGN_STATE: Final = ResponseFeature(
    "foreign-state",
    f"What thinking brings of other protocols, as itself: it travels as a word of the provider `{PROVIDER}`, and a "
    "client that gives it back gives it back whole.",
    _read_again(_wrapped),
)


def _signed(brought: StateMetadata, text: str) -> Mapping[str, Any] | None:
    said = _wrapped(brought, text).get(SIGNING_PROVIDER, {}) if brought.kind == REASONING else {}
    for name in ("redactedData", "signature"):
        if said.get(name):
            return {SIGNING_PROVIDER: {name: said[name]}}
    return None


_STATE_BUT_SIGNATURES: Final = ResponseFeature(
    "state", "What thinking brings, but the signatures of Anthropic's models.", _read_again(_signed)
)

# ---- the end ----

_ENDS_EARLY: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})


def _outcome(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return form
    reason = form.reason or FinishReason(UnifiedFinishReason.OTHER)
    outcome = Outcome.INCOMPLETE if reason.unified in _ENDS_EARLY else Outcome.COMPLETED
    return replace(form, reason=reason, outcome=outcome)


_OUTCOME: Final = ResponseFeature(
    "outcome",
    "That an answer is incomplete for another reason than its length or a filter; and that no reason was given, which "
    "is the same as `other`.",
    _outcome,
)


def _failure_reason(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    return replace(
        form, reason=FinishReason(UnifiedFinishReason.ERROR, None if form.reason is None else form.reason.raw)
    )


_FAILURE_REASON: Final = ResponseFeature(
    "failure-reason", "Why the model stopped, beside an error: it is always `error`.", _failure_reason
)


def _errors(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    kind = "UpstreamFailureError" if form.error.status is None else "UpstreamHTTPError"
    return replace(form, error=replace(form.error, kind=kind))


_ERRORS: Final = ResponseFeature(
    "error-kind",
    "What kind of error it was: with an HTTP status it is the answer of the upstream, without one a failure that the "
    "upstream reports.",
    _errors,
)


def _error_text(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    return replace(form, error=replace(form.error, message=form.error.message.strip() or NO_REASON))


_ERROR_TEXT: Final = ResponseFeature(
    "error-text", "Spaces around the sentence of an error; an empty one says that no reason was given.", _error_text
)


def _tokens(form: ResponseForm) -> ResponseForm:
    usage = form.usage
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return replace(form, usage=None)
    known = usage.input_tokens is not None and usage.output_tokens is not None
    total = (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else None
    return replace(form, usage=replace(usage, total_tokens=total))


_TOTAL: Final = ResponseFeature(
    "total-tokens",
    "A total that is not the sum of the prompt's and the answer's tokens, and details without either.",
    _tokens,
)


def _without_details(form: ResponseForm) -> ResponseForm:
    usage = form.usage
    return form if usage is None else replace(form, usage=Usage(usage.input_tokens, usage.output_tokens))


_TOKEN_DETAILS: Final = ResponseFeature(
    "token-details", "Tokens that were cached or spent on reasoning.", _without_details
)

_OF_ALL: Final = (_HOST_MARKS, _SOURCES)
_OF_ALL_ENDS: Final = (TRUNCATION, _OUTCOME, _FAILURE_REASON)
_OF_TEXT_ERRORS: Final = (ERROR_KIND, ERROR_CODE, _ERROR_TEXT)
_OF_UNIDENTIFIED_ANSWERS: Final = (FINISH_WORD, RESPONSE_ID, MODEL, PROVIDER_METADATA)

PROVIDER_STREAM: Final = (*_OF_ALL, _THOUGHT_NAMES, _FOREIGN_STATE, *_OF_ALL_ENDS, _ERRORS, _TOTAL)
"""What has no place in what a provider streams, since version 3 of its interface."""

FULL_STREAM: Final = Unsupported((*_OF_ALL, _THOUGHT_NAMES, _FOREIGN_STATE, *_OF_ALL_ENDS, _ERRORS, _TOTAL))

UI_STREAM: Final = Unsupported(
    (
        *_OF_ALL,
        _THOUGHT_NAMES,
        _FOREIGN_STATE,
        *_OF_ALL_ENDS,
        *_OF_TEXT_ERRORS,
        *_OF_UNIDENTIFIED_ANSWERS,
        _TOTAL,
    )
)

DATA_STREAM: Final = Unsupported(
    (
        *_OF_ALL,
        _STATE_BUT_SIGNATURES,
        THINKING_IDS,
        *_OF_ALL_ENDS,
        *_OF_TEXT_ERRORS,
        *_OF_UNIDENTIFIED_ANSWERS,
        _TOKEN_DETAILS,
        _TOTAL,
    )
)
