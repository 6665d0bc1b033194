"""What OpenResponses has no place for; requests with default settings."""

from __future__ import annotations
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.citations import CITATION_MIME_TYPE, annotation_of
from partstream.conversation.provider_state import ITEMS
from partstream.lm.outputs import Outcome
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.failures import said_in_stream
from partstream.protocols.openresponses.errors import INCOMPLETE_REASONS, incomplete_reason
from partstream.protocols.openresponses.output_items import source_of
from partstream.protocols.openresponses.read_response import citation_of
from partstream.protocols.openresponses.write_request import OPTIONS
from partstream.protocols.options import chosen_options
from unsupported.common import (
    ERROR_KIND,
    FAILED_RESULTS,
    INSTRUCTIONS,
    PICTURES,
    PREPARED,
    PROVIDER_METADATA,
    SOURCES_BEHIND,
    TEXTS_OF_RESULTS,
    TOOL_MODE,
    TRUNCATION,
    RequestFeature,
    ResponseFeature,
    ResponseForm,
    Unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import ResponsePart

__all__ = ["UNSUPPORTED"]

# ---- answers ----

_MADE_UP = re.compile(r"[a-z]+_partstream[0-9a-f]{16}")  # as `make_id` makes them


def _data(form: ResponseForm) -> ResponseForm:
    kept = (part for part in form.parts if not isinstance(part, DataPart) or source_of(part) is not None)
    return replace(form, parts=tuple(kept))


def _sources(form: ResponseForm) -> ResponseForm:
    """Turns each source into its annotation, once for the same words of a message."""
    parts: list[ResponsePart] = []
    length = 0
    cited: set[tuple[Any, ...]] = set()
    for part in form.parts:
        source = source_of(part) if isinstance(part, DataPart) else None
        if source is not None:
            annotation = annotation_of(source, length)
            words = tuple(annotation.get(name) for name in ("url", "start_index", "end_index"))
            if words not in cited:
                cited.add(words)
                parts.append(DataPart.json(citation_of(annotation).payload, CITATION_MIME_TYPE))
            continue
        if isinstance(part, TextPart):
            length += len(part.value)
        else:
            length, cited = 0, set()
        parts.append(part)
    return replace(form, parts=tuple(parts))


def _thoughts(form: ResponseForm) -> ResponseForm:
    return replace(form, parts=tuple(_Thoughts().read(form.parts)))


class _Thoughts:
    """Turns the thoughts of one answer into items, each with the metadata that a reader gives it."""

    def __init__(self) -> None:
        self._parts: list[ResponsePart] = []
        self._open: ThinkingPart | None = None
        self._items: list[Mapping[str, Any]] = []
        self._used: set[str] = set()
        self._listed = 0

    def read(self, parts: Iterable[ResponsePart]) -> list[ResponsePart]:
        for part in parts:
            if isinstance(part, ThinkingPart):
                self._think(part)
            elif not isinstance(part, TextPart) or part.value:
                self._close()
                self._parts.append(part)
        self._close()
        return self._parts

    def _think(self, part: ThinkingPart) -> None:
        if part.value:
            if self._open is not None and self._open.id != part.id:
                self._close()
            said = self._open.value if self._open else ""
            self._open = ThinkingPart(said + part.value, part.id)
        listed = part.metadata.get(ITEMS) if part.metadata else None
        new = [part.metadata] if part.metadata and not isinstance(listed, list | tuple) else []
        if isinstance(listed, list | tuple):
            new, self._listed = list(listed[self._listed :]), len(listed)
        for item in new:
            self._close_with(item, part.id)

    def _close_with(self, item: Mapping[str, Any], part_id: str | None) -> None:
        state = item.get("encrypted_content")
        if item.get("type") == "compaction":
            self._close()
            known = {name: item[name] for name in ("type", "id", "encrypted_content") if item.get(name)}
            self._items.append(_without_made_up(known))
            self._parts.append(ThinkingPart("", None, {ITEMS: list(self._items)}))
        elif isinstance(state, str):
            self._open = self._open or ThinkingPart("", item.get("id") or part_id)
            self._close(state)
        else:
            self._close()

    def _close(self, encrypted: str | None = None) -> None:
        if self._open is None:
            return
        value, given = self._open.value, self._open.id
        own = given if given and given not in self._used and not _MADE_UP.fullmatch(given) else None
        said = {"id": own, "encrypted_content": encrypted}
        known = {name: value for name, value in said.items() if value is not None}
        self._used |= {own} if own else set()
        self._items.append(known)
        self._parts.append(ThinkingPart(value, own, {**known, ITEMS: list(self._items)}))
        self._open = None


def _without_made_up(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "id" or not _MADE_UP.fullmatch(value)}


def _reason(form: ResponseForm) -> ResponseForm:
    if form.outcome is Outcome.INCOMPLETE:
        raw = incomplete_reason(form.reason)
        return replace(form, reason=FinishReason(INCOMPLETE_REASONS.get(raw, UnifiedFinishReason.OTHER), raw))
    if form.outcome is Outcome.COMPLETED:
        called = any(isinstance(part, ToolCallPart) for part in form.parts)
        unified = UnifiedFinishReason.TOOL_CALLS if called else UnifiedFinishReason.STOP
        return replace(form, reason=FinishReason(unified, "completed"))
    return replace(form, reason=FinishReason(UnifiedFinishReason.ERROR, "failed"))


def _error_code(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    said = said_in_stream(form.error.error)
    return replace(form, error=replace(form.error, message=said["message"], code=said["code"]))


def _counts(form: ResponseForm) -> ResponseForm:
    usage = form.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return replace(form, usage=None)
    total = usage.input_tokens + usage.output_tokens if usage.total_tokens is None else usage.total_tokens
    cached, reasoned = usage.cached_tokens or 0, usage.reasoning_tokens or 0
    return replace(form, usage=replace(usage, total_tokens=total, cached_tokens=cached, reasoning_tokens=reasoned))


def _identity(form: ResponseForm) -> ResponseForm:
    made_up = form.response_id is not None and _MADE_UP.fullmatch(form.response_id)
    return replace(form, response_id=None) if made_up else form


def _model(form: ResponseForm) -> ResponseForm:
    return replace(form, model=None)


_RESPONSE: Final = (
    ResponseFeature(
        "data",
        "Images, files and other data are left out; sources with an address stay.",
        _data,
    ),
    ResponseFeature(
        "thoughts",
        "Each thought is an item with an identifier that no other item has, invented where it is missing or double; "
        "the state that other protocols give is left out, unless the client asks for `reasoning.encrypted_content`.",
        _thoughts,
    ),
    ResponseFeature(
        "sources",
        "A source is an annotation of the text before it, once for the same words; where it does not say which words "
        "it belongs to, it follows the last. Only its address, its title and the place of its words are kept.",
        _sources,
    ),
    ResponseFeature(
        "finish-reason",
        "An answer completes, is incomplete for a reason, or fails; other words for it are left out.",
        _reason,
    ),
    TRUNCATION,
    ERROR_KIND,
    ResponseFeature(
        "error-code",
        "An error has a code: that which clients of this wire act on, such as `rate_limit_exceeded`, else the "
        "provider's own; where it has none, one is invented. The seconds to wait are in the message.",
        _error_code,
    ),
    ResponseFeature(
        "token-counts",
        "Tokens are reported where input and output are known; cached and reasoning tokens that are not known are 0.",
        _counts,
    ),
    ResponseFeature(
        "response-id", "A response has an identifier; where the answer has none, one is invented.", _identity
    ),
    ResponseFeature("model", "A response names a model; where the answer names none, it is the one asked for.", _model),
    PROVIDER_METADATA,
)


# ---- requests ----


def _options(asked: InboundRequest) -> InboundRequest:
    chosen = chosen_options(asked.options.model_options, OPTIONS)
    kept = {name: value for name, value in chosen.fields.items() if value is not None}
    return replace(asked, options=replace(asked.options, model_options=kept))


_REQUEST: Final = (
    *PREPARED,
    FAILED_RESULTS,
    PICTURES,
    TEXTS_OF_RESULTS,
    INSTRUCTIONS,
    RequestFeature(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, request=_REQUEST, document=(SOURCES_BEHIND,))
