"""What Chat Completions has no place for; requests with default settings, to an unknown server."""

from __future__ import annotations
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.citations import CITATION_MIME_TYPE, Citation, annotation_of
from partstream.conversation.media import URI_LIST, read_media
from partstream.conversation.turns import joined_texts
from partstream.lm.outputs import Outcome, ToolForm
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
)
from partstream.protocols.chat_completions.models import Quirks
from partstream.protocols.chat_completions.read_response import read_usage
from partstream.protocols.chat_completions.serve import (
    WrittenCalls,
    WrittenState,
    finish_word,
    picture_address,
    written_usage,
)
from partstream.protocols.chat_completions.write_request import NO_OUTPUT, OPTIONS
from partstream.protocols.failures import said_in_stream
from partstream.protocols.options import Option, chosen_options
from unsupported.common import (
    ANSWERS,
    BROKEN_ANSWER,
    ERROR_KIND,
    FAILED_RESULTS,
    INSTRUCTIONS,
    MODEL,
    PICTURES,
    PREPARED_WITH_NAMES,
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
    each_run_of_users,
    source_with_address,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import MessagePart, ResponsePart

__all__ = ["UNSUPPORTED"]

# ---- answers ----


def _data(form: ResponseForm) -> ResponseForm:
    """Keeps each picture once, under the label that its bytes have, and all sources."""
    parts: dict[Any, ResponsePart] = {}
    for place, part in enumerate(form.parts):
        if not isinstance(part, DataPart) or source_with_address(part) is not None:
            parts[place] = part
        elif address := picture_address(part):
            label = URI_LIST if part.mime_type == URI_LIST else read_media(part).media_type
            parts.setdefault(address, DataPart(part.data, label))
    return replace(form, parts=tuple(parts.values()))


def _sources(form: ResponseForm) -> ResponseForm:
    """Turns each source into its annotation, once for each address."""
    parts: list[ResponsePart] = []
    cited: set[str | None] = set()
    length = 0
    for part in form.parts:
        source = source_with_address(part)
        if source is None:
            length += len(part.value) if isinstance(part, TextPart) else 0
            parts.append(part)
        elif source.url not in cited:
            cited.add(source.url)
            said = {**annotation_of(source, length), "content": source.cited_text}
            parts.append(DataPart.json(_read_again(said).payload, CITATION_MIME_TYPE))
    return replace(form, parts=tuple(parts))


def _read_again(annotation: Mapping[str, Any]) -> Citation:
    place = (annotation["start_index"], annotation["end_index"])
    url, title = annotation["url"], annotation["title"] or None
    return Citation(url, title, "", annotation, None, None, None, *place, annotation["content"])


def _state(form: ResponseForm) -> ResponseForm:
    """Puts the state of all thoughts, in the fields of this wire, behind everything else."""
    calls = WrittenCalls(None)
    for part in form.parts:
        if isinstance(part, ToolCallPart):
            list(calls.write(part, ToolForm("function", part.name), ""))
    state = WrittenState(calls)
    deltas = [
        delta
        for part in form.parts
        if isinstance(part, ThinkingPart) and part.metadata
        for delta in state.write(part.metadata)
    ]
    thoughts = tuple(ThinkingPart(one.value, one.id) if isinstance(one, ThinkingPart) else one for one in form.parts)
    carried = (ThinkingPart("", None, _joined(deltas)),) if deltas else ()
    return replace(form, parts=(*thoughts, *carried))


def _joined(deltas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of a message that deltas of state make, by themselves: without the indices of entries."""
    fields: dict[str, Any] = {}
    for delta in deltas:
        for name, value in delta.items():
            if name == "tool_calls":
                fields[name] = {**fields.get(name, {}), **{call["index"]: call["extra_content"] for call in value}}
            elif isinstance(value, list):
                entries = ({key: one for key, one in entry.items() if key != "index"} for entry in value)
                fields[name] = [*fields.get(name, []), *entries]
            elif isinstance(value, dict):
                fields[name] = {**fields.get(name, {}), **value}
            else:
                fields[name] = value
    return fields


def _order(form: ResponseForm) -> ResponseForm:
    return replace(form, parts=tuple(sorted(form.parts, key=_rank)))


def _rank(part: ResponsePart) -> int:
    if isinstance(part, ToolCallPart):
        return 2
    return 1 if source_with_address(part) is not None else 0


_MEANINGS: Final = {
    "stop": (Outcome.COMPLETED, UnifiedFinishReason.STOP),
    "tool_calls": (Outcome.COMPLETED, UnifiedFinishReason.TOOL_CALLS),
    "length": (Outcome.INCOMPLETE, UnifiedFinishReason.LENGTH),
    "content_filter": (Outcome.INCOMPLETE, UnifiedFinishReason.CONTENT_FILTER),
}


def _reason(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return replace(form, reason=FinishReason(UnifiedFinishReason.ERROR))
    called = any(isinstance(part, ToolCallPart) for part in form.parts)
    word = finish_word(form.outcome, form.reason, called=called)
    outcome, unified = _MEANINGS[word]
    return replace(
        form, outcome=outcome, reason=FinishReason(UnifiedFinishReason.TOOL_CALLS if called else unified, word)
    )


def _error_code(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    said = said_in_stream(form.error.error)
    return replace(form, error=replace(form.error, message=said["message"], code=said["code"]))


def _counts(form: ResponseForm) -> ResponseForm:
    written = written_usage(form.usage)
    return replace(form, usage=None if written is None else replace(read_usage(written), raw={}))


_PLACES: Final = (ThinkingPart, TextPart, DataPart, ToolCallPart)


def _message(form: ResponseForm) -> ResponseForm:
    """Puts the parts where the fields of one message have them."""
    return replace(form, parts=tuple(sorted(form.parts, key=lambda part: (_PLACES.index(type(part)), _rank(part)))))


_STATE: Final = ResponseFeature(
    "state",
    "That the opaque state of a thought belongs to this thought: all state of an answer is one list. The state of "
    "other protocols is in it as a sealed word, and a client that gives it back gives it back whole.",
    _state,
)
_RESPONSE: Final = (
    ResponseFeature(
        "data",
        "Of data, pictures and sources with an address stay, each picture once; other files and data are left out.",
        _data,
    ),
    ResponseFeature(
        "sources",
        "A source is an annotation of the text before it, once for each address; where it does not say which words it "
        "belongs to, it follows the last. Only its address, its title, and the words that are cited with their "
        "place are kept.",
        _sources,
    ),
    ResponseFeature("order", "Sources stand behind everything that is shown, and calls behind them.", _order),
    THINKING_IDS,
    _STATE,
    TRUNCATION,
    BROKEN_ANSWER,
    ResponseFeature(
        "finish-reason",
        "An answer stops, calls tools, is cut at a length or by a filter, or fails; other words for it are left out.",
        _reason,
    ),
    ERROR_KIND,
    ResponseFeature(
        "error-code",
        "An error has a code: that which clients of this wire act on, such as `rate_limit_exceeded`, else the "
        "provider's own; where it has none, one is invented. The seconds to wait are in the message.",
        _error_code,
    ),
    ResponseFeature(
        "token-counts",
        "Tokens are reported where input and output are known. Counts that contradict each other are read as those "
        "servers mean them that send such.",
        _counts,
    ),
    RESPONSE_ID,
    MODEL,
    PROVIDER_METADATA,
)

_DOCUMENT: Final = (
    _STATE,
    ResponseFeature(
        "order-in-a-document",
        "A message has one field for all it thinks, one for its text, one for its pictures and one for its calls.",
        _message,
    ),
)


# ---- requests ----


def _one_text(said: Sequence[MessagePart]) -> Sequence[MessagePart]:
    """What a user says as one text, if it is text alone."""
    texts = [part.value for part in said if isinstance(part, TextPart)]
    return [TextPart(joined_texts(texts))] if len(texts) == len(said) else said


def _with_output(part: MessagePart) -> MessagePart:
    said = any(not isinstance(one, TextPart) or one.value for one in getattr(part, "content", ()))
    return part if said or not isinstance(part, ToolResultPart) else replace(part, content=(TextPart(NO_OUTPUT),))


def _options(asked: InboundRequest) -> InboundRequest:
    options = asked.options
    chosen = chosen_options(options.model_options, OPTIONS)
    kept = {name: value for name, value in chosen.fields.items() if value is not None and not name.startswith("_")}
    if chosen.elsewhere.get(Option.LIMIT) is not None:
        kept[Quirks().limit_field] = chosen.elsewhere.get(Option.LIMIT)
    effort = {} if chosen.effort is None else {"reasoningEffort": chosen.effort}
    configuration = {**options.model_configuration, **effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=configuration))


_REQUEST: Final = (
    *PREPARED_WITH_NAMES,
    FAILED_RESULTS,
    RequestFeature(
        "texts-of-users",
        "That a message of the user is several texts: they become one, with a line end between two that no white space "
        "separates.",
        each_run_of_users(_one_text),
    ),
    PICTURES,
    TEXTS_OF_RESULTS,
    RequestFeature("empty-results", "That a tool gave nothing: words say so.", each_part_of_a_request(_with_output)),
    INSTRUCTIONS,
    ANSWERS,
    RequestFeature(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out. The name "
        "of the conversation goes only to servers that are known to take it.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, document=_DOCUMENT, request=_REQUEST)
