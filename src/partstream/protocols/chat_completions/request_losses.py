"""What a request loses on its way over Chat Completions with default settings, to a server that nobody knows."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.conversation.texts import joined_texts
from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.chat_completions.messages import NO_OUTPUT
from partstream.protocols.chat_completions.options import read_options
from partstream.protocols.chat_completions.quirks import Quirks
from partstream.protocols.common_losses import each_part_of_a_request
from partstream.protocols.losses import RequestLoss
from partstream.protocols.prepared_losses import (
    FAILED_RESULTS,
    INSTRUCTIONS,
    PICTURES,
    PREPARED,
    TEXTS_OF_RESULTS,
    TOOL_MODE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["REQUEST"]


def _texts_of_users(asked: Asked) -> Asked:
    return replace(asked, messages=tuple(map(_with_one_text, asked.messages)))


def _with_one_text(message: ChatMessage) -> ChatMessage:
    """Joins what a user says between two results, if it is text alone."""
    if message.role is not Role.USER:
        return message
    content: list[MessagePart] = []
    for of_tools, run in groupby(message.content, lambda part: isinstance(part, ToolResultPart)):
        pieces = list(run)
        texts = [part.value for part in pieces if isinstance(part, TextPart)]
        whole = not of_tools and len(texts) == len(pieces)
        content += [TextPart(joined_texts(texts))] if whole else pieces
    return replace(message, content=tuple(content))


def _answers(asked: Asked) -> Asked:
    """Makes one message of what the assistant says in a row: its text, then its calls."""
    messages: list[ChatMessage] = []
    for role, run in groupby(asked.messages, lambda message: message.role):
        said = list(run)
        messages += [_answer(said)] if role is Role.ASSISTANT else said
    return replace(asked, messages=tuple(messages))


def _answer(messages: list[ChatMessage]) -> ChatMessage:
    text = joined_texts(run for message in messages for run in _runs(message.content))
    calls = (part for message in messages for part in message.content if isinstance(part, ToolCallPart))
    return ChatMessage.assistant([TextPart(text), *calls])


def _runs(parts: Iterable[MessagePart]) -> Iterator[str]:
    for is_text, run in groupby(parts, lambda part: isinstance(part, TextPart)):
        if is_text:
            yield "".join(part.value for part in run if isinstance(part, TextPart))


def _with_output(part: MessagePart) -> MessagePart:
    said = any(not isinstance(one, TextPart) or one.value for one in getattr(part, "content", ()))
    return part if said or not isinstance(part, ToolResultPart) else replace(part, content=(TextPart(NO_OUTPUT),))


def _options(asked: Asked) -> Asked:
    options = asked.options
    chosen = read_options(options.model_options)
    kept = {name: value for name, value in chosen.fields.items() if value is not None and not name.startswith("_")}
    if chosen.limit is not None:
        kept[Quirks().limit_field] = chosen.limit
    effort = {} if chosen.effort is None else {"reasoningEffort": chosen.effort}
    configuration = {**options.model_configuration, **effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=configuration))


REQUEST: Final = (
    *PREPARED,
    FAILED_RESULTS,
    RequestLoss(
        "texts-of-users",
        "That a message of the user is several texts: they become one, with a line end between two that no white space "
        "separates.",
        _texts_of_users,
    ),
    PICTURES,
    TEXTS_OF_RESULTS,
    RequestLoss("empty-results", "That a tool gave nothing: words say so.", each_part_of_a_request(_with_output)),
    INSTRUCTIONS,
    RequestLoss(
        "answers",
        "What the assistant says in a row is one message: its text, and then its calls.",
        _answers,
    ),
    RequestLoss(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out. The name "
        "of the conversation goes only to servers that are known to take it.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""
