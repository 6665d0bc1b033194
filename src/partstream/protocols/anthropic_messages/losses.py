"""The table of what Anthropic Messages has no place for; see :mod:`partstream.protocols.losses`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.anthropic_messages.citations import citation_of as read_citation_of
from partstream.protocols.anthropic_messages.finish import StopReason
from partstream.protocols.anthropic_messages.request_losses import REQUEST
from partstream.protocols.anthropic_messages.usage import ReportedUsage
from partstream.protocols.anthropic_messages.write_response import citation_of, stop_word
from partstream.protocols.anthropic_messages.written_blocks import WrittenBlocks
from partstream.protocols.anthropic_messages.written_document import joined_blocks
from partstream.protocols.anthropic_messages.written_errors import said_of
from partstream.protocols.anthropic_messages.written_state import WrittenState
from partstream.protocols.anthropic_messages.written_usage import usage_at_end, usage_at_start
from partstream.protocols.citations import CITATION_MIME_TYPE, read_citation
from partstream.protocols.common_losses import (
    ERROR_KIND,
    MODEL,
    PROVIDER_METADATA,
    RESPONSE_ID,
    THINKING_IDS,
    TRUNCATION,
)
from partstream.protocols.losses import Losses, ResponseForm, ResponseLoss
from partstream.usage import FinishReason, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.parts import ResponsePart

__all__ = ["LOSES"]


def _citation(part: ResponsePart) -> dict[str, Any] | None:
    return citation_of(read_citation(part)) if isinstance(part, DataPart) else None


def _data(form: ResponseForm) -> ResponseForm:
    kept = (part for part in form.parts if not isinstance(part, DataPart) or _citation(part) is not None)
    return replace(form, parts=tuple(kept))


def _sources(form: ResponseForm) -> ResponseForm:
    parts = (part if (said := _citation(part)) is None else _source(said) for part in form.parts)
    return replace(form, parts=tuple(parts))


def _source(citation: dict[str, Any]) -> DataPart:
    return DataPart.json(read_citation_of(citation).payload, CITATION_MIME_TYPE)


def _blocks(form: ResponseForm) -> ResponseForm:
    """Puts everything into the blocks that it is written in."""
    blocks = WrittenBlocks(None, shows_thinking=True)
    state = WrittenState(blocks)
    for part in form.parts:
        if isinstance(part, TextPart) and part.value:
            blocks.say(part.value)
        elif isinstance(part, ThinkingPart):
            if part.value:
                blocks.think(part.value, part.id)
            if part.metadata:
                state.write(part.metadata)
        elif isinstance(part, ToolCallPart):
            blocks.call(part, state.fields_of(part.call_id))
        elif (citation := _citation(part)) is not None:
            blocks.cite(citation)
    blocks.close()
    parts = [part for block in joined_blocks(blocks.take()) for part in _parts_of(block)]
    container = () if state.container is None else (ThinkingPart("", None, {"container": state.container}),)
    return replace(form, parts=(*parts, *container))


def _parts_of(block: Mapping[str, Any]) -> Iterator[ResponsePart]:
    if block["type"] == "text":
        yield TextPart(block["text"])
        sources = {(one["url"], one["cited_text"]): one for one in reversed(block.get("citations") or ())}
        yield from map(_source, reversed(sources.values()))
    elif block["type"] == "tool_use":
        beside = {name: value for name, value in block.items() if name not in {"type", "id", "name", "input"}}
        if beside:
            yield ThinkingPart("", None, beside)
        yield ToolCallPart(block["id"], block["name"], block["input"])
    else:
        yield ThinkingPart(block.get("thinking") or "", None, block)


def _failed(form: ResponseForm) -> ResponseForm:
    if form.error is None:
        return form
    return replace(form, parts=tuple(part for part in form.parts if not isinstance(part, ToolCallPart)))


def _reason(form: ResponseForm) -> ResponseForm:
    if form.error is not None:
        return replace(form, reason=FinishReason(UnifiedFinishReason.ERROR))
    called = any(isinstance(part, ToolCallPart) for part in form.parts)
    stop = StopReason()
    stop.say({"stop_reason": stop_word(form.outcome, form.reason, called=called)})
    return replace(form, outcome=stop.outcome(has_calls=called), reason=stop.reason(has_calls=called))


def _error_code(form: ResponseForm) -> ResponseForm:
    if form.error is None or form.error.error is None:
        return form
    code, message = said_of(form.error.error)
    return replace(form, error=replace(form.error, code=code, message=message))


def _counts(form: ResponseForm) -> ResponseForm:
    reported = ReportedUsage()
    reported.say(usage_at_start())
    if form.usage is not None or form.error is None:
        reported.say(usage_at_end(form.usage))
    usage = reported.value(ran_tools=False)
    return replace(form, usage=None if usage is None else replace(usage, raw={}))


_RESPONSE: Final = (
    ResponseLoss("data", "Of data, sources with an address stay; pictures and all other data are left out.", _data),
    ResponseLoss(
        "sources",
        "Of a source, the address, the title and the cited words are kept, but not which words of the answer it backs.",
        _sources,
    ),
    ResponseLoss(
        "blocks",
        "A source belongs to the whole text before it, once with the same words. State of another protocol is sealed "
        "in the signature of the open thought, or in a redacted thought of its own; a client that gives blocks back as "
        "they are gives it back whole.",
        _blocks,
    ),
    THINKING_IDS,
    TRUNCATION,
    ResponseLoss(
        "broken-answer",
        "Calls of an answer that fails: a reader waits for the end with them, because another model that goes on with "
        "the answer takes them back.",
        _failed,
    ),
    ResponseLoss(
        "finish-reason",
        "An answer stops, calls tools, is cut at a length, refused or paused, or fails; other words for it are left "
        "out.",
        _reason,
    ),
    ResponseLoss(
        "error-code",
        "An error has one of the types of this wire: its own code if it is one of them, else the one of its kind. What "
        "is too long is said in the words that clients look for.",
        _error_code,
    ),
    ERROR_KIND,
    ResponseLoss(
        "token-counts",
        "The tokens of the answer, and those of the prompt without the cache, are always told: unknown ones as 0. The "
        "total is their sum.",
        _counts,
    ),
    RESPONSE_ID,
    MODEL,
    PROVIDER_METADATA,
)

LOSES: Final = Losses(response=_RESPONSE, request=REQUEST)
