"""The table of what Gemini's wire has no place for; see :mod:`partstream.protocols.losses`."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import Outcome
from partstream.parts import DataPart, ThinkingPart, ToolCallPart
from partstream.protocols.citations import CITATION_MIME_TYPE, Citation
from partstream.protocols.common_losses import (
    BROKEN_ANSWER,
    ERROR_CODE,
    ERROR_KIND,
    MODEL,
    PROVIDER_METADATA,
    RESPONSE_ID,
    THINKING_IDS,
    TRUNCATION,
    source_with_address,
)
from partstream.protocols.gemini.finish import FILTERS
from partstream.protocols.gemini.request_losses import REQUEST
from partstream.protocols.gemini.sealed_state import is_made_up
from partstream.protocols.gemini.usage import read_usage
from partstream.protocols.gemini.write_response import file_part, finish_word
from partstream.protocols.gemini.written_state import WrittenState
from partstream.protocols.gemini.written_usage import written_usage
from partstream.protocols.losses import Losses, ResponseForm, ResponseLoss
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from partstream.parts import ResponsePart

__all__ = ["LOSES"]


def _files(form: ResponseForm) -> ResponseForm:
    """Leaves out files that hold nothing, and marks of the host."""
    kept = (one for one in form.parts if not isinstance(one, DataPart) or source_with_address(one) or file_part(one))
    return replace(form, parts=tuple(kept))


def _sources(form: ResponseForm) -> ResponseForm:
    """Puts each source once behind everything else, by its address, with its title and the words that are cited."""
    said: list[ResponsePart] = []
    sources: dict[str, ResponsePart] = {}
    for part in form.parts:
        source = source_with_address(part)
        if source is None:
            said.append(part)
        elif source.url is not None and source.url not in sources:
            kept = Citation(source.url, source.title or None, "", {}, cited_text=source.cited_text)
            sources[source.url] = DataPart.json(kept.payload, CITATION_MIME_TYPE)
    return replace(form, parts=(*said, *sources.values()))


def _order(form: ResponseForm) -> ResponseForm:
    """Puts what the model thinks between calls before them."""
    parts: list[ResponsePart] = []
    for among, run in groupby(form.parts, lambda part: isinstance(part, ThinkingPart | ToolCallPart)):
        pieces = list(run)
        parts += sorted(pieces, key=lambda part: isinstance(part, ToolCallPart)) if among else pieces
    return replace(form, parts=tuple(parts))


def _state(form: ResponseForm) -> ResponseForm:
    """Puts the signatures that say the state of all thoughts behind everything else."""
    state = WrittenState()
    signatures = [
        signature
        for part in form.parts
        if isinstance(part, ThinkingPart) and part.metadata
        for signature in state.write(part.metadata)
    ]
    calls = [part.call_id for part in form.parts if isinstance(part, ToolCallPart)]
    found = {call_id: state.of_call(call_id) for call_id in calls}
    of_calls = {call_id: one for call_id, one in found.items() if one is not None and not is_made_up(one)}
    thoughts = tuple(ThinkingPart(one.value) if isinstance(one, ThinkingPart) else one for one in form.parts)
    said: dict[str, Any] = {"signatures": signatures, "calls": of_calls}
    carried = (ThinkingPart("", None, said),) if signatures or of_calls else ()
    return replace(form, parts=(*thoughts, *carried))


_MEANINGS: Final = {
    "STOP": UnifiedFinishReason.STOP,
    "MAX_TOKENS": UnifiedFinishReason.LENGTH,
    **dict.fromkeys(FILTERS, UnifiedFinishReason.CONTENT_FILTER),
}
_CUT: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})


def _reason(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return replace(form, reason=FinishReason(UnifiedFinishReason.ERROR))
    word = finish_word(form.outcome, form.reason)
    unified = _MEANINGS.get(word, UnifiedFinishReason.OTHER)
    outcome = Outcome.INCOMPLETE if unified in _CUT else Outcome.COMPLETED
    if unified not in _CUT and any(isinstance(part, ToolCallPart) for part in form.parts):
        unified, word = UnifiedFinishReason.TOOL_CALLS, "STOP"
    return replace(form, outcome=outcome, reason=FinishReason(unified, word))


def _counts(form: ResponseForm) -> ResponseForm:
    written = written_usage(form.usage)
    return replace(form, usage=None if written is None else replace(read_usage({**written}), raw={}))


_RESPONSE: Final = (
    ResponseLoss("files", "Files that hold nothing, and marks of the host such as `usage`.", _files),
    ResponseLoss(
        "sources",
        "Sources stand behind the whole answer, once for each address, without the place that they belong to: their "
        "address, their title and the words that are cited are kept.",
        _sources,
    ),
    TRUNCATION,
    BROKEN_ANSWER,
    THINKING_IDS,
    ResponseLoss(
        "state",
        "That the opaque state of a thought belongs to this thought: it stands in signatures of calls and of empty "
        "texts. The state of other protocols stands there as a sealed word, and a client that gives it back gives it "
        "back whole.",
        _state,
    ),
    ResponseLoss("order", "What the model thinks between two calls stands before both.", _order),
    ResponseLoss(
        "finish-reason",
        "An answer stops, is cut at a length or by a filter, or ends for another reason; no word says that it calls "
        "tools, and words of other providers are left out.",
        _reason,
    ),
    ERROR_KIND,
    ERROR_CODE,
    ResponseLoss(
        "token-counts",
        "The total is the sum of the prompt and the answer; thoughts that are more than the answer, and what was "
        "written to a cache, are left out.",
        _counts,
    ),
    RESPONSE_ID,
    MODEL,
    PROVIDER_METADATA,
)

LOSES: Final = Losses(response=_RESPONSE, request=REQUEST)
