"""The values of a request: messages, tools and options; knows no wire form.

Source: `@types/vscode` 1.140, `LanguageModelChatRequestMessage`, `LanguageModelChatTool` and
`ProvideLanguageModelChatResponseOptions`. The system role is the raw value 3 that Copilot sends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from partstream.parts import MessagePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChatMessage", "RequestOptions", "Role", "Tool", "ToolMode"]


class Role(IntEnum):
    """The author of a message; the numbers are those of `vscode.LanguageModelChatMessageRole`."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3


class ToolMode(IntEnum):
    """Whether the model may or must call a tool; the counterpart of `vscode.LanguageModelChatToolMode`."""

    AUTO = 1
    REQUIRED = 2


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ChatMessage:
    """One message of a conversation; the counterpart of `vscode.LanguageModelChatRequestMessage`.

    Attributes:
        role: The author.
        content: The parts, in order; may be empty.
        name: The author's name, or None; VS Code sends an empty string for none.
    """

    role: Role
    content: tuple[MessagePart, ...]
    name: str | None = None

    @classmethod
    def user(cls, content: str | Sequence[MessagePart], name: str | None = None) -> ChatMessage:
        """A message from the user; a string becomes one text part."""
        return cls(Role.USER, _parts(content), name)

    @classmethod
    def assistant(cls, content: str | Sequence[MessagePart], name: str | None = None) -> ChatMessage:
        """A message from the model; a string becomes one text part."""
        return cls(Role.ASSISTANT, _parts(content), name)

    @classmethod
    def system(cls, content: str | Sequence[MessagePart], name: str | None = None) -> ChatMessage:
        """Instructions for the whole conversation; a string becomes one text part."""
        return cls(Role.SYSTEM, _parts(content), name)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; the counterpart of `vscode.LanguageModelChatTool`.

    Attributes:
        name: The tool's name, unique within a request.
        description: The tool's description for the model.
        input_schema: A JSON schema of the input object, or None.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The tools and options of a request; the counterpart of `vscode.ProvideLanguageModelChatResponseOptions`.

    Attributes:
        tools: The tools of the request, with unique names.
        tool_mode: Whether the model may or must call a tool.
        model_options: The caller's options for the model, by name. Names that start with an underscore are for the
            host and never reach an upstream.
        model_configuration: The person's choices for the model in VS Code (reasoning effort, ...), by name.
        request_initiator: The id of the extension that sends the request, or None.
    """

    tools: tuple[Tool, ...] = ()
    tool_mode: ToolMode = ToolMode.AUTO
    model_options: Mapping[str, Any] = field(default_factory=dict)
    model_configuration: Mapping[str, Any] = field(default_factory=dict)
    request_initiator: str | None = None


def _parts(content: str | Sequence[MessagePart]) -> tuple[MessagePart, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(content)
