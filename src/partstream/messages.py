"""What a consumer sends: messages, tools and options; no wire form of any of them.

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
    """Who speaks; the numbers are those of `vscode.LanguageModelChatMessageRole`."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3


class ToolMode(IntEnum):
    """Whether the model may or must call a tool; `vscode.LanguageModelChatToolMode`."""

    AUTO = 1
    REQUIRED = 2


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ChatMessage:
    """One message of a conversation; stands for `vscode.LanguageModelChatRequestMessage`.

    Attributes:
        role: Who speaks.
        content: The parts, in order; may be empty.
        name: An optional name of the speaker; VS Code sends an empty string for none.
    """

    role: Role
    content: tuple[MessagePart, ...]
    name: str | None = None

    @classmethod
    def user(cls, content: str | Sequence[MessagePart], name: str | None = None) -> ChatMessage:
        """A message of the user; a string becomes one text part."""
        return cls(Role.USER, _parts(content), name)

    @classmethod
    def assistant(cls, content: str | Sequence[MessagePart], name: str | None = None) -> ChatMessage:
        """A message of the model; a string becomes one text part."""
        return cls(Role.ASSISTANT, _parts(content), name)

    @classmethod
    def system(cls, content: str | Sequence[MessagePart], name: str | None = None) -> ChatMessage:
        """Instructions that stand above the conversation; a string becomes one text part."""
        return cls(Role.SYSTEM, _parts(content), name)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may ask for; stands for `vscode.LanguageModelChatTool`.

    Attributes:
        name: How the model calls it; unique within a request.
        description: What it does, for the model.
        input_schema: A JSON schema of the input object, or None where the consumer gave none.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What goes with the messages; stands for `vscode.ProvideLanguageModelChatResponseOptions`.

    Attributes:
        tools: The tools of this request, with unique names.
        tool_mode: Whether the model may or must call one of them.
        model_options: Options of the caller for this model, by name. Names that start with an underscore are
            the host's own and never reach an upstream.
        model_configuration: What the person chose for this model in VS Code (reasoning effort, ...), by name.
        request_initiator: The identifier of the extension that asks, or None.
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
