"""What a request loses on wires where a message holds one text: which texts it was made of, and where they stood."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.conversation.texts import joined_texts
from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.losses import RequestLoss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from partstream.outputs import Asked
    from partstream.parts import MessagePart

__all__ = ["ANSWERS", "each_run_of_users"]


def each_run_of_users(
    join: Callable[[Sequence[MessagePart]], Iterable[MessagePart]],
) -> Callable[[Asked], Asked]:
    """Applies a function to what a user says in one message between two results of tools."""

    def joined(message: ChatMessage) -> ChatMessage:
        if message.role is not Role.USER:
            return message
        content: list[MessagePart] = []
        for of_tools, run in groupby(message.content, lambda part: isinstance(part, ToolResultPart)):
            said = list(run)
            content += said if of_tools else join(said)
        return replace(message, content=tuple(content))

    return lambda asked: replace(asked, messages=tuple(map(joined, asked.messages)))


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


ANSWERS: Final = RequestLoss(
    "answers", "What the assistant says in a row is one message: its text, and then its calls.", _answers
)
