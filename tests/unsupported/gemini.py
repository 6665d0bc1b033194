"""What Gemini's wire has no place for; requests with default settings, to a model of which nothing is known."""

from __future__ import annotations
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.citations import CITATION_MIME_TYPE, Citation
from partstream.conversation.turns import FAILED_SILENTLY
from partstream.lm.outputs import Outcome
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
)
from partstream.protocols.gemini.provider_state import WrittenState, is_made_up
from partstream.protocols.gemini.read_response import FILTERS, read_usage
from partstream.protocols.gemini.serve import COUNTS, file_part, finish_word, named_counts
from partstream.protocols.gemini.write_request import OPTIONS
from partstream.protocols.options import OptionRules, chosen_options
from partstream.protocols.schemas import GOOGLE_JSON
from unsupported.common import (
    BROKEN_ANSWER,
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
    RequestFeature,
    ResponseFeature,
    ResponseForm,
    Unsupported,
    each_part_of_a_request,
    place_of,
    source_with_address,
)

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, Tool
    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import MessagePart, ResponsePart

__all__ = ["EFFORT", "FAILED_RESULTS", "FILES", "FILES_OF_RESULTS", "SCHEMAS", "UNSUPPORTED", "options_of"]

# ---- answers ----


def _files(form: ResponseForm) -> ResponseForm:
    """Leaves out files that hold nothing, and marks of the host."""
    kept = (one for one in form.parts if not isinstance(one, DataPart) or source_with_address(one) or file_part(one))
    return replace(form, parts=tuple(kept))


def _sources(form: ResponseForm) -> ResponseForm:
    """Puts each source once behind everything else, by its address, with its title, its place in the text before it
    and the words that are cited."""
    said: list[ResponsePart] = []
    sources: dict[str, ResponsePart] = {}
    for part in form.parts:
        source = source_with_address(part)
        if source is None:
            said.append(part)
        elif source.url is not None and source.url not in sources:
            place = place_of(source, said)
            kept = Citation(source.url, source.title or None, "", {}, None, None, None, *place, source.cited_text)
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
    usage = read_usage(dict(named_counts(form.usage, COUNTS) or {}))
    return replace(form, usage=None if usage is None else replace(usage, raw={}))


FILES: Final = ResponseFeature("files", "Files that hold nothing, and marks of the host such as `usage`.", _files)

_RESPONSE: Final = (
    FILES,
    ResponseFeature(
        "sources",
        "Sources stand behind the whole answer, once for each address: their address, their title, the words that are "
        "cited and a place in the text before them are kept.",
        _sources,
    ),
    TRUNCATION,
    BROKEN_ANSWER,
    THINKING_IDS,
    ResponseFeature(
        "state",
        "That the opaque state of a thought belongs to this thought: it is in signatures of calls and of empty "
        "texts. The state of other protocols is there as a sealed word, and a client that gives it back gives it "
        "back whole.",
        _state,
    ),
    ResponseFeature("order", "What the model thinks between two calls precedes both.", _order),
    ResponseFeature(
        "finish-reason",
        "An answer stops, is cut at a length or by a filter, or ends for another reason; no word says that it calls "
        "tools, and words of other providers are left out.",
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


# ---- requests ----


def _files_of_requests(asked: InboundRequest) -> InboundRequest:
    return replace(asked, messages=tuple(map(_with_files_behind, asked.messages)))


def _with_files_behind(message: ChatMessage) -> ChatMessage:
    """Puts the files of results behind all results of a message, and everything else behind these."""
    results = [part for part in message.content if isinstance(part, ToolResultPart)]
    if not results:
        return message
    texts = [replace(one, content=tuple(part for part in one.content if isinstance(part, TextPart))) for one in results]
    files = [part for one in results for part in one.content if isinstance(part, DataPart)]
    others = [part for part in message.content if not isinstance(part, ToolResultPart)]
    return replace(message, content=(*texts, *files, *others))


def _with_words(part: MessagePart) -> MessagePart:
    if not isinstance(part, ToolResultPart) or not part.is_error or any(_says(one) for one in part.content):
        return part
    return replace(part, content=(TextPart(FAILED_SILENTLY), *part.content))


def _says(part: MessagePart) -> bool:
    return isinstance(part, TextPart) and part.value != ""


def _numbered_calls(asked: InboundRequest) -> InboundRequest:
    """Gives the calls ids by their order, and their results the same."""
    calls = [part for message in asked.messages for part in message.content if isinstance(part, ToolCallPart)]
    ids = {call.call_id: f"call_{number}" for number, call in enumerate(calls, 1)}

    def renamed(part: MessagePart) -> MessagePart:
        if isinstance(part, ToolCallPart | ToolResultPart):
            return replace(part, call_id=ids.get(part.call_id, part.call_id))
        return part

    return each_part_of_a_request(renamed)(asked)


def _schemas(asked: InboundRequest) -> InboundRequest:
    tools = tuple(map(_with_schema, asked.options.tools))
    return replace(asked, options=replace(asked.options, tools=tools))


def _with_schema(tool: Tool) -> Tool:
    schema = GOOGLE_JSON.of(tool.input_schema).schema
    return replace(tool, input_schema=schema if schema.get("properties") else None)


def options_of(rules: OptionRules) -> RequestFeature:
    """Leaves out the options that a wire has no name for."""

    def take(asked: InboundRequest) -> InboundRequest:
        chosen = chosen_options(asked.options.model_options, rules)
        kept = {name: value for name, value in chosen.fields.items() if value is not None}
        return replace(asked, options=replace(asked.options, model_options=kept))

    return RequestFeature("options", "Options have Google's names; those that it has no name for are left out.", take)


def _effort(asked: InboundRequest) -> InboundRequest:
    return replace(asked, options=replace(asked.options, model_configuration={}))


FILES_OF_RESULTS: Final = RequestFeature(
    "files-of-results",
    "Files in results of tools follow behind all results; models from Gemini 3 on take images inside of them.",
    _files_of_requests,
)
FAILED_RESULTS: Final = RequestFeature(
    "failed-results",
    "That a tool failed without a word: words say so.",
    each_part_of_a_request(_with_words),
)
SCHEMAS: Final = RequestFeature(
    "schemas-of-google",
    "References inside of a schema are replaced by what they mean, its dialect is left out, and a tool without "
    "parameters has no schema.",
    _schemas,
)
EFFORT: Final = RequestFeature(
    "effort",
    "How much a model is to think goes only to models that are known to take it.",
    _effort,
)

_REQUEST: Final = (
    *PREPARED,
    FILES_OF_RESULTS,
    TEXTS_OF_RESULTS,
    FAILED_RESULTS,
    RequestFeature(
        "call-ids",
        "The ids of calls that the server did not give: it tells calls and their results apart by name and order.",
        _numbered_calls,
    ),
    SCHEMAS,
    INSTRUCTIONS,
    options_of(OPTIONS),
    EFFORT,
    TOOL_MODE,
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, request=_REQUEST)
