"""What Anthropic Messages has no place for; requests with default settings, to an unknown server."""

from __future__ import annotations
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.citations import CITATION_MIME_TYPE, read_citation
from partstream.conversation.preparation import UNKNOWN_CAPABILITIES
from partstream.lm.messages import ChatMessage, Role, ToolMode
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
)
from partstream.protocols.anthropic_messages.errors import said_of
from partstream.protocols.anthropic_messages.models import AnthropicMessagesSettings, abilities_of, rules_of
from partstream.protocols.anthropic_messages.read_response import ReportedUsage, StopReason
from partstream.protocols.anthropic_messages.read_response import citation_of as read_citation_of
from partstream.protocols.anthropic_messages.serve import (
    WrittenBlocks,
    citation_of,
    joined_blocks,
    read_thinking,
    stop_word,
    usage_at_end,
    usage_at_start,
)
from partstream.protocols.anthropic_messages.write_request import (
    CONTINUE,
    NO_BEGINNING,
    OPTIONS,
    ThinkingChoice,
    answer_limit,
    thinking_fields,
)
from partstream.protocols.options import Option, chosen_options
from unsupported.common import (
    ERROR_KIND,
    INSTRUCTIONS,
    MODEL,
    PICTURES_OF_ANSWERS,
    PREPARED,
    PROVIDER_METADATA,
    RESPONSE_ID,
    THINKING_IDS,
    TOOL_MODE,
    TRUNCATION,
    RequestFeature,
    ResponseFeature,
    ResponseForm,
    Unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import MessagePart, ResponsePart

__all__ = ["UNSUPPORTED"]

# ---- answers ----


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
    for part in form.parts:
        if isinstance(part, TextPart) and part.value:
            blocks.say(part.value)
        elif isinstance(part, ThinkingPart):
            if part.value:
                blocks.think(part.value, part.id)
            if part.metadata:
                blocks.carry(part.metadata)
        elif isinstance(part, ToolCallPart):
            blocks.call(part)
        elif (citation := _citation(part)) is not None:
            blocks.cite(citation)
    blocks.close()
    parts = [part for block in joined_blocks(blocks.take()) for part in _parts_of(block)]
    container = () if blocks.container is None else (ThinkingPart("", None, {"container": blocks.container}),)
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
    ResponseFeature("data", "Of data, sources with an address stay; pictures and all other data are left out.", _data),
    ResponseFeature(
        "sources",
        "Of a source, the address, the title and the cited words are kept, but not which words of the answer it backs.",
        _sources,
    ),
    ResponseFeature(
        "blocks",
        "A source belongs to the whole text before it, once with the same words. State of another protocol is sealed "
        "in the signature of the open thought, or in a redacted thought of its own; a client that gives blocks back as "
        "they are gives it back whole.",
        _blocks,
    ),
    THINKING_IDS,
    TRUNCATION,
    ResponseFeature(
        "broken-answer",
        "Calls of an answer that fails: a reader waits for the end with them, because another model that goes on with "
        "the answer takes them back.",
        _failed,
    ),
    ResponseFeature(
        "finish-reason",
        "An answer stops, calls tools, is cut at a length, refused or paused, or fails; other words for it are left "
        "out.",
        _reason,
    ),
    ResponseFeature(
        "error-code",
        "An error has one of the types of this wire: its own code if it is one of them, else the one of its kind. What "
        "is too long is said in the words that clients look for.",
        _error_code,
    ),
    ERROR_KIND,
    ResponseFeature(
        "token-counts",
        "The tokens of the answer, and those of the prompt without the cache, are always told: unknown ones as 0. The "
        "total is their sum.",
        _counts,
    ),
    RESPONSE_ID,
    MODEL,
    PROVIDER_METADATA,
)


# ---- requests ----


def _blank(asked: InboundRequest) -> InboundRequest:
    """Leaves out texts of white space alone that the system, the user or a tool says, and answers of nothing else."""
    spoken = (one for one in asked.messages if one.role is not Role.ASSISTANT or _filled(one.content))
    # Answers are joined before what stood between them is left out.
    answered = _answers(replace(asked, messages=tuple(spoken)))
    messages = (
        one if one.role is Role.ASSISTANT else replace(one, content=_filled(one.content)) for one in answered.messages
    )
    return replace(asked, messages=tuple(one for one in messages if one.content))


def _filled(parts: Iterable[MessagePart]) -> tuple[Any, ...]:
    kept = (part for part in parts if not isinstance(part, TextPart) or part.value.strip())
    return tuple(replace(one, content=_filled(one.content)) if isinstance(one, ToolResultPart) else one for one in kept)


def _joined(parts: Iterable[MessagePart]) -> Iterator[MessagePart]:
    """The parts of an answer, neighbouring texts as one, without those of white space alone."""
    for is_text, run in groupby(parts, lambda part: isinstance(part, TextPart)):
        if not is_text:
            yield from run
            continue
        text = "".join(part.value for part in run if isinstance(part, TextPart))
        if text.strip():
            yield TextPart(text)


def _answers(asked: InboundRequest) -> InboundRequest:
    """Makes one message of what the assistant says in a row, without white space at its end."""
    messages: list[ChatMessage] = []
    for role, run in groupby(asked.messages, lambda message: message.role):
        said = list(run)
        if role is Role.ASSISTANT:
            parts = [*_joined(part for message in said for part in message.content)]
            if parts and isinstance(parts[-1], TextPart):
                parts[-1] = TextPart(parts[-1].value.rstrip())
            said = [ChatMessage.assistant(parts)] if parts else []
        messages += said
    return replace(asked, messages=tuple(messages))


def _ends(asked: InboundRequest) -> InboundRequest:
    """Lets the user have the first word and the last."""
    orders = [message for message in asked.messages if message.role is Role.SYSTEM]
    said = [message for message in asked.messages if message.role is not Role.SYSTEM]
    if said and said[0].role is not Role.USER:
        said.insert(0, ChatMessage.user(NO_BEGINNING))
    if not said or said[-1].role is not Role.USER:
        said.append(ChatMessage.user(CONTINUE))
    return replace(asked, messages=(*orders, *said))


def _options(asked: InboundRequest) -> InboundRequest:
    """Chooses a limit where there is none, and says the effort as the server gets it."""
    chosen = chosen_options(asked.options.model_options, OPTIONS)
    abilities = abilities_of(asked.model, UNKNOWN_CAPABILITIES)
    limit = answer_limit(chosen.elsewhere.get(Option.LIMIT), abilities, None, reserves=False)
    kept = {name: value for name, value in chosen.fields.items() if value is not None and not name.startswith("_")}
    effort = chosen.effort or asked.options.model_configuration.get("reasoningEffort")
    must_call = bool(asked.options.tools) and asked.options.tool_mode is ToolMode.REQUIRED
    own, rules = AnthropicMessagesSettings(), rules_of(None, asked.model)
    said = thinking_fields(ThinkingChoice(own, effort, abilities, rules, limit, must_call, ()))
    read, options = read_thinking({**said, **kept})
    configuration: dict[str, Any] = {"reasoningEffort": read} if read else {}
    model_options = {**kept, **options, "max_tokens": limit}
    return replace(
        asked, options=replace(asked.options, model_options=model_options, model_configuration=configuration)
    )


_REQUEST: Final = (
    *PREPARED,
    PICTURES_OF_ANSWERS,
    INSTRUCTIONS,
    RequestFeature("blank-texts", "Texts of white space alone are left out: servers refuse them.", _blank),
    RequestFeature(
        "answers",
        "What the assistant says in a row is one message, without white space at its end.",
        _answers,
    ),
    RequestFeature(
        "first-and-last-word",
        "A conversation begins and ends with the user: where it does not, words for it are put into the user's mouth.",
        _ends,
    ),
    RequestFeature(
        "options",
        "Options have the names of this protocol. An answer always has a limit; for models whose thinking takes no "
        "effort, the effort is a number of tokens, and without that where a tool must be called. The name of the "
        "conversation is not sent.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""


UNSUPPORTED: Final = Unsupported(response=_RESPONSE, request=_REQUEST)
