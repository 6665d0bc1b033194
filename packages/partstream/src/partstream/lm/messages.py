"""The values of a request: messages, tools and options; knows no wire form.

Source: `@types/vscode` 1.140, `LanguageModelChatRequestMessage`, `LanguageModelChatTool` and
`ProvideLanguageModelChatResponseOptions`. The system role is the raw value 3 that Copilot sends.
"""

from __future__ import annotations
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, get_args

from partstream.codec.checks import (
    MAPPING,
    TEXT,
    check,
    check_fields,
    dataclass,
    field,
    instance_of,
    optional,
    sequence_of,
)
from partstream.lm.parts import MessagePart, TextPart


class Role(IntEnum):
    """The author of a message; the numbers are those of `vscode.LanguageModelChatMessageRole`."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3


class ToolMode(IntEnum):
    """Whether the model may or must call a tool; the counterpart of `vscode.LanguageModelChatToolMode`."""

    AUTO = 1
    REQUIRED = 2


@dataclass(frozen=True, slots=True, weakref_slot=True, init=False)
class ChatMessage:
    """One message of a conversation; the counterpart of `vscode.LanguageModelChatRequestMessage`.

    Attributes:
        role: The author.
        content: The parts, in order; may be empty. A string becomes one text part.
        name: The author's name, or None; VS Code sends an empty string for none.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import ChatMessage, DataPart, TextPart
        >>> ChatMessage.user("Hello").content
        (TextPart(value='Hello'),)
        >>> image = ChatMessage.user([TextPart("What is this?"), DataPart.image(b"...", "image/png")])
        >>> [type(part).__name__ for part in image.content]
        ['TextPart', 'DataPart']
    """

    role: Role
    content: tuple[MessagePart, ...]
    name: str | None = None

    def __init__(self, role: Role, content: str | Iterable[MessagePart], name: str | None = None) -> None:
        if role.__class__ is not Role or name is not None:
            check("ChatMessage.role", role, _ROLE)
            check("ChatMessage.name", name, _OPTIONAL_TEXT)
        _set(self, "role", role)
        if isinstance(content, str):
            _set(self, "content", (TextPart(content),))
        else:
            _set(
                self,
                "content",
                sequence_of("ChatMessage.content", content, _PART_CLASSES, "a part, such as a TextPart"),
            )
        _set(self, "name", name)

    @classmethod
    def user(cls, content: str | Iterable[MessagePart], name: str | None = None) -> ChatMessage:
        """A message from the user; a string becomes one text part."""
        return cls(Role.USER, content, name)

    @classmethod
    def assistant(cls, content: str | Iterable[MessagePart], name: str | None = None) -> ChatMessage:
        """A message from the model; a string becomes one text part."""
        return cls(Role.ASSISTANT, content, name)

    @classmethod
    def system(cls, content: str | Iterable[MessagePart], name: str | None = None) -> ChatMessage:
        """Instructions for the whole conversation; a string becomes one text part."""
        return cls(Role.SYSTEM, content, name)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; the counterpart of `vscode.LanguageModelChatTool`.

    Attributes:
        name: The tool's name, unique within a request.
        description: The tool's description for the model.
        input_schema: A JSON schema of the input object, or None.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import Tool
        >>> schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        >>> Tool("get_weather", "Tells the weather of a city.", schema).name
        'get_weather'
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_fields(self, _TOOL)


@dataclass(frozen=True, slots=True)
class StrictTool(Tool):
    """A tool whose calls the server is to keep to its schema, on a wire that can ask for that."""


@dataclass(frozen=True, slots=True, init=False)
class RequestOptions:
    """The tools and options of a request; the counterpart of `vscode.ProvideLanguageModelChatResponseOptions`.

    Attributes:
        tools: The tools of the request, with unique names.
        tool_mode: Whether the model may or must call a tool.
        model_options: The caller's options for the model, by name. Names that start with an underscore are for the
            host and never reach an upstream.
        model_configuration: The person's choices for the model in VS Code (reasoning effort, ...), by name.
        request_initiator: The id of the extension that sends the request, or None.
        configuration: The keys and values of the group in VS Code that the provider answers for, its API key included;
            outside of a group only the key that the person has entered. No `repr` shows it.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import RequestOptions, Tool
        >>> options = RequestOptions([Tool("read_file", "Reads a file.")], model_options={"temperature": 0})
        >>> [tool.name for tool in options.tools]
        ['read_file']
    """

    tools: tuple[Tool, ...] = ()
    tool_mode: ToolMode = ToolMode.AUTO
    model_options: Mapping[str, Any] = field(default_factory=dict)
    model_configuration: Mapping[str, Any] = field(default_factory=dict)
    request_initiator: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        tool_mode: ToolMode = ToolMode.AUTO,
        model_options: Mapping[str, Any] | None = None,
        model_configuration: Mapping[str, Any] | None = None,
        request_initiator: str | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        _set(self, "tools", sequence_of("RequestOptions.tools", tools, Tool, "a Tool") if tools != () else ())
        _set(self, "tool_mode", tool_mode)
        _set(self, "model_options", given := {} if model_options is None else model_options)
        _set(self, "model_configuration", chosen := {} if model_configuration is None else model_configuration)
        _set(self, "request_initiator", request_initiator)
        _set(self, "configuration", own := {} if configuration is None else configuration)
        if (tool_mode.__class__, given.__class__, chosen.__class__, own.__class__, request_initiator) != _USUAL:
            check_fields(self, _OPTIONS)


_set: Final = object.__setattr__

_PART_CLASSES: Final = get_args(MessagePart)
_OPTIONAL_TEXT: Final = optional(TEXT)
_ROLE: Final = instance_of(Role, "Role.USER, Role.ASSISTANT or Role.SYSTEM (or write ChatMessage.user(...))")
_TOOL: Final = {"name": TEXT, "description": TEXT, "input_schema": optional(MAPPING)}
_USUAL: Final = ToolMode, dict, dict, dict, None
_OPTIONS: Final = {
    "tool_mode": instance_of(ToolMode, "ToolMode.AUTO or ToolMode.REQUIRED"),
    "model_options": MAPPING,
    "model_configuration": MAPPING,
    "request_initiator": _OPTIONAL_TEXT,
    "configuration": MAPPING,
}
