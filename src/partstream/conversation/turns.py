"""A conversation as a list of turns: the common form from which every protocol writes its request.

A turn holds consecutive pieces of one role; consecutive results of tools form a turn of their own. Names and call ids
are those to send.
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
    """The role of a turn."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty.

    Attributes:
        value: The text.
        is_json: Whether the text came as a JSON document; protocols that can send JSON values may send it as one.
    """

    value: str
    is_json: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a file.

    Attributes:
        kind: Whether it is an image or a file.
        media_type: The media type of the bytes.
        data: The bytes; empty if they are somewhere else.
        where: The place in the messages, such as `messages[2].content[0]`.
        url: The address of an image or a file whose bytes are somewhere else; otherwise empty.
    """

    kind: MediaKind
    media_type: str
    data: bytes
    where: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool.

    Attributes:
        call_id: The id to send.
        name: The name to send.
        input: The arguments.
        where: The place in the messages.
        is_added: Whether the conversation lacks it: it was added to a result that is left of it.
    """

    call_id: str
    name: str
    input: Mapping[str, Any]
    where: str
    is_added: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A reasoning item of the requested model, in the form that its protocol wants back."""

    item: Mapping[str, Any]


ResultContent: TypeAlias = Text | Attachment


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool call.

    Attributes:
        call_id: The id to send, always that of an earlier call.
        name: The name of the tool to send.
        content: The result; may be empty.
        is_error: Whether the tool failed.
        where: The place in the messages.
        is_added: Whether the conversation lacks it: it was added to a call that was never answered.
    """

    call_id: str
    name: str
    content: tuple[ResultContent, ...]
    is_error: bool
    where: str
    is_added: bool = field(default=False, compare=False)


Piece: TypeAlias = Text | Attachment | Call | Reasoning | Result


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive pieces of one role.

    Attributes:
        role: The role.
        content: The pieces. Only turns of tools hold results; only turns of the assistant hold calls and reasoning.
        message: The number of the message of the first piece.
    """

    role: TurnRole
    content: tuple[Piece, ...]
    message: int


@dataclass(frozen=True, slots=True)
class Note:
    """A note for the owner of a request, which is sent nevertheless.

    Attributes:
        subject: The subject, the same for every note of its kind.
        where: The place in the messages.
    """

    subject: str
    where: str
