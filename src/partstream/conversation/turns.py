"""A conversation as a list of turns: the common form that every protocol's request is written from.

A turn is what one speaker says without a break; the results of tools are turns of their own, several in one where
they follow each other. Names and call ids are those that are sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.media import MediaKind

__all__ = ["Attachment", "Call", "Note", "Piece", "Reasoning", "Result", "ResultContent", "Text", "Turn", "TurnRole"]


class TurnRole(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Text:
    """Text, never empty.

    Attributes:
        value: The text.
        is_json: Whether it came as a JSON document; protocols with a place for JSON values may say it as one.
    """

    value: str
    is_json: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a file.

    Attributes:
        kind: Which of the two.
        media_type: What the bytes are.
        data: The bytes.
        where: The place in the messages, such as `messages[2].content[0]`.
    """

    kind: MediaKind
    media_type: str
    data: bytes
    where: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool.

    Attributes:
        call_id: The id that is sent.
        name: The name that is sent.
        input: The arguments.
        where: The place in the messages.
    """

    call_id: str
    name: str
    input: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A reasoning item of the model that is asked, as its protocol wants it back."""

    item: Mapping[str, Any]


ResultContent: TypeAlias = Text | Attachment


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave.

    Attributes:
        call_id: The id that is sent; always that of a call before it.
        name: The name of the tool, as it is sent.
        content: The result; may be empty.
        is_error: Whether the tool failed.
        where: The place in the messages.
    """

    call_id: str
    name: str
    content: tuple[ResultContent, ...]
    is_error: bool
    where: str


Piece: TypeAlias = Text | Attachment | Call | Reasoning | Result


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says without a break.

    Attributes:
        role: Who speaks.
        content: What is said; results in turns of tools and nowhere else, calls and reasoning in the assistant's.
        message: The number of the message that it comes from, the first of several.
    """

    role: TurnRole
    content: tuple[Piece, ...]
    message: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something about a request that its owner should know; it is sent all the same.

    Attributes:
        subject: What it is about, the same for every note of its kind.
        where: The place in the messages.
    """

    subject: str
    where: str
