"""What the wire of Google Interactions has no place for; requests with default settings, to a model of which nothing is
known."""

from __future__ import annotations
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.citations import CITATION_MIME_TYPE, Citation
from partstream.lm.parts import DataPart, FinishReason, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.protocols.gemini.provider_state import WrittenState
from partstream.protocols.gemini.serve import named_counts
from partstream.protocols.gemini_interactions.errors import SIGNATURE
from partstream.protocols.gemini_interactions.read_response import finish_of, read_usage
from partstream.protocols.gemini_interactions.serve import COUNTS, status_of
from partstream.protocols.gemini_interactions.write_request import OPTIONS, read_item
from unsupported.common import (
    ERROR_CODE,
    ERROR_KIND,
    INSTRUCTIONS,
    MODEL,
    PREPARED,
    PROVIDER_METADATA,
    RESPONSE_ID,
    TEXTS_OF_RESULTS,
    THINKING_IDS,
    TOOL_MODE,
    TRUNCATION,
    ResponseFeature,
    ResponseForm,
    Unsupported,
    place_of,
    source_with_address,
)
from unsupported.gemini import EFFORT, FAILED_RESULTS, FILES, FILES_OF_RESULTS, SCHEMAS, options_of

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart

__all__ = ["UNSUPPORTED"]


def _sources(form: ResponseForm) -> ResponseForm:
    """Keeps each source once, with its address and its title."""
    parts: list[ResponsePart] = []
    seen: set[str | None] = set()
    for part in form.parts:
        source = source_with_address(part)
        if source is None:
            parts.append(part)
        elif source.url not in seen:
            seen.add(source.url)
            kept = Citation(source.url, source.title or None, "", {}, None, None, None, *place_of(source, parts))
            parts.append(DataPart.json(kept.payload, CITATION_MIME_TYPE))
    return replace(form, parts=tuple(parts))


def _state(form: ResponseForm) -> ResponseForm:
    """Puts the signatures that say the state of all thoughts behind everything else."""
    state = WrittenState(read_item)
    carried: list[Any] = []
    for part in form.parts:
        for one in state.write((part.metadata or {}) if isinstance(part, ThinkingPart) else {}):
            carried.append(one[SIGNATURE] if not isinstance(one, str) and one.get("type") == "thought" else one)
    calls = [part.call_id for part in form.parts if isinstance(part, ToolCallPart)]
    of_calls = {call_id: one for call_id in calls if (one := state.of_call(call_id)) is not None}
    thoughts = tuple(ThinkingPart(one.value) if isinstance(one, ThinkingPart) else one for one in form.parts)
    said: dict[str, Any] = {"carried": carried, "calls": of_calls}
    return replace(form, parts=(*thoughts, *((ThinkingPart("", None, said),) if carried or of_calls else ())))


def _reason(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return replace(form, reason=FinishReason(UnifiedFinishReason.ERROR))
    has_calls = any(isinstance(part, ToolCallPart) for part in form.parts)
    outcome, reason = finish_of(status_of(form.outcome, has_calls=has_calls), has_calls=has_calls)
    return replace(form, outcome=outcome, reason=reason)


def _counts(form: ResponseForm) -> ResponseForm:
    usage = read_usage(dict(named_counts(form.usage, COUNTS) or {}))
    return replace(form, usage=None if usage is None else replace(usage, raw={}))


_RESPONSE: Final = (
    FILES,
    ResponseFeature(
        "sources",
        "A source has its address, its title and a place in the text before it, once for each address; the words that "
        "are cited are left out.",
        _sources,
    ),
    TRUNCATION,
    THINKING_IDS,
    ResponseFeature(
        "state",
        "That the opaque state of a thought belongs to this thought: it is in the signatures of steps. The state of "
        "other protocols is sealed in them, and a client that gives it back gives it back whole.",
        _state,
    ),
    ResponseFeature(
        "finish-reason",
        "An answer completes, waits for the results of calls, is incomplete, or fails; that a filter ended it is left "
        "out, and so are words of other providers.",
        _reason,
    ),
    ERROR_KIND,
    ERROR_CODE,
    ResponseFeature(
        "token-counts",
        "The total is the sum of the prompt and the answer; thoughts that are more than the answer, and what was "
        "written to a cache, are left out.",
        _counts,
    ),
    RESPONSE_ID,
    MODEL,
    PROVIDER_METADATA,
)

_REQUEST: Final = (
    *PREPARED,
    FILES_OF_RESULTS,
    TEXTS_OF_RESULTS,
    FAILED_RESULTS,
    SCHEMAS,
    INSTRUCTIONS,
    options_of(OPTIONS),
    EFFORT,
    TOOL_MODE,
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, request=_REQUEST)
