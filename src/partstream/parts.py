"""The values a response is made of, one class for each part class of VS Code.

Pure values: they know nothing of a wire, a socket or a screen. Equality is by content, and none of them
can be changed once made, so a part that was reported to one consumer is safe to hand to another.

Source: `@types/vscode` 1.140, `LanguageModel*Part`; the rules that a stream of them must keep are in
:mod:`partstream.contract`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DataPart",
    "MessagePart",
    "ResponsePart",
    "TextPart",
    "ThinkingPart",
    "ToolCallPart",
    "ToolResultContent",
    "ToolResultPart",
]


@dataclass(frozen=True, slots=True, init=False)
class TextPart:
    """A piece of the visible answer; stands for `vscode.LanguageModelTextPart`.

    Consecutive text parts are one text: the consumer joins their values without a separator.

    Attributes:
        value: Markdown text as the model wrote it, a fragment of any length, also of one character.
    """

    value: str

    def __init__(self, value: str) -> None:
        _set_text(self, value)


@dataclass(frozen=True, slots=True, init=False)
class ThinkingPart:
    """A piece of the model's reasoning; stands for `vscode.LanguageModelThinkingPart`.

    Attributes:
        value: The text of the reasoning or of its summary; empty when a part only carries metadata.
        id: The upstream's identifier of the reasoning item, or None.
        metadata: What the upstream needs back to continue the reasoning (JSON values only), or None. Copilot
            keeps only the last metadata of a model call, so the last part of an item carries all of it.
    """

    value: str
    id: str | None = None
    metadata: Mapping[str, Any] | None = None

    def __init__(self, value: str, id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:  # noqa: A002
        _set_thinking(self, value)
        _set_thinking_id(self, id)
        _set_thinking_metadata(self, metadata)


# A response makes one of these an event. The constructor that dataclasses write for frozen classes costs nearly twice
# as much as setting the slots through their descriptors (`make bench`).
_set_text = TextPart.__dict__["value"].__set__
_set_thinking = ThinkingPart.__dict__["value"].__set__
_set_thinking_id = ThinkingPart.__dict__["id"].__set__
_set_thinking_metadata = ThinkingPart.__dict__["metadata"].__set__


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A complete request to run one tool; stands for `vscode.LanguageModelToolCallPart`.

    Tool calls are atomic: one part is the whole call, and a response holds each `call_id` at most once.

    Attributes:
        call_id: The key that ties the call to its result; unique within a response, never empty.
        name: The name of one of the request's tools.
        input: The arguments, a JSON object already parsed; nobody changes it from here on.
    """

    call_id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DataPart:
    """Bytes with a media type; stands for `vscode.LanguageModelDataPart`.

    VS Code's chat does not show data parts; they are for programs.

    Attributes:
        data: The content, at full length.
        mime_type: The media type, or one of Copilot's own names such as `usage`.
    """

    data: bytes
    mime_type: str

    @classmethod
    def image(cls, data: bytes, mime_type: str) -> DataPart:
        """An image, in the encoding that `mime_type` names (`image/png`, ...)."""
        return cls(data, mime_type)

    @classmethod
    def json(cls, value: object, mime_type: str = "application/json") -> DataPart:
        """A JSON document, in ASCII.

        Raises:
            TypeError: `value` holds something that JSON has no form for.
        """
        return cls(json.dumps(value, separators=(",", ":")).encode(), mime_type)

    @classmethod
    def text(cls, value: str, mime_type: str = "text/plain") -> DataPart:
        """A text document in UTF-8."""
        return cls(value.encode(), mime_type)


ToolResultContent: TypeAlias = TextPart | DataPart
"""What the result of a tool may hold."""


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What running a tool gave; stands for `vscode.LanguageModelToolResultPart`.

    Only for messages: a provider that puts one into a response breaks the contract.

    Attributes:
        call_id: The `call_id` of the :class:`ToolCallPart` that this answers.
        content: The result, in order; may be empty.
        is_error: Whether the tool failed and `content` says how.
    """

    call_id: str
    content: tuple[ToolResultContent, ...] = field(default=())
    is_error: bool = False


ResponsePart: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart
"""What a provider may report in a response."""

MessagePart: TypeAlias = ResponsePart | ToolResultPart
"""What a message of a request may hold."""
