"""The parts of a response and of a message, one class for each part class of VS Code.

Pure values: they know no wire, no socket and no screen. They compare by content and cannot be changed once made, so a
part that was reported to one consumer can safely go to another.

Source: `@types/vscode` 1.140, `LanguageModel*Part`. The rules for a stream of parts are in :mod:`partstream.contract`.
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
    """A piece of the visible answer; the counterpart of `vscode.LanguageModelTextPart`.

    Consecutive text parts form one text: the consumer joins their values without a separator.

    Attributes:
        value: A fragment of the model's Markdown text, of any length.
    """

    value: str

    def __init__(self, value: str) -> None:
        _set_text(self, value)


@dataclass(frozen=True, slots=True, init=False)
class ThinkingPart:
    """A piece of the model's reasoning; the counterpart of `vscode.LanguageModelThinkingPart`.

    Attributes:
        value: Text of the reasoning or of its summary; empty in a part that only carries metadata.
        id: The upstream's id of the reasoning item, or None.
        metadata: JSON values that the upstream needs back to continue the reasoning, or None. Copilot keeps only the
            last metadata of a model call, so the last part of an item carries all of the item's metadata.
    """

    value: str
    id: str | None = None
    metadata: Mapping[str, Any] | None = None

    def __init__(self, value: str, id: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:  # noqa: A002
        _set_thinking(self, value)
        _set_thinking_id(self, id)
        _set_thinking_metadata(self, metadata)


# A response makes one of these parts per event. The constructor that dataclasses generate for frozen classes takes
# nearly twice as long as setting the slots through their descriptors (`make bench`).
_set_text = TextPart.__dict__["value"].__set__
_set_thinking = ThinkingPart.__dict__["value"].__set__
_set_thinking_id = ThinkingPart.__dict__["id"].__set__
_set_thinking_metadata = ThinkingPart.__dict__["metadata"].__set__


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A complete request to run one tool; the counterpart of `vscode.LanguageModelToolCallPart`.

    Tool calls are atomic: one part is the whole call, and a response holds each `call_id` at most once.

    Attributes:
        call_id: The id that connects the call with its result; unique within a response, never empty.
        name: The name of one of the request's tools.
        input: The arguments as a parsed JSON object, which nobody may change.
    """

    call_id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DataPart:
    """Bytes with a media type; the counterpart of `vscode.LanguageModelDataPart`.

    VS Code's chat does not show data parts; programs read them.

    Attributes:
        data: The whole content.
        mime_type: The media type, or one of Copilot's own names, such as `usage`.
    """

    data: bytes
    mime_type: str

    @classmethod
    def image(cls, data: bytes, mime_type: str) -> DataPart:
        """An image in the format `mime_type` (`image/png`, ...)."""
        return cls(data, mime_type)

    @classmethod
    def json(cls, value: object, mime_type: str = "application/json") -> DataPart:
        """A JSON document in ASCII.

        Raises:
            TypeError: `value` holds a value that JSON cannot represent, such as an infinite number.
        """
        try:
            document = json.dumps(value, separators=(",", ":"), allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise TypeError(f"got a value that JSON cannot represent: {error}") from error
        return cls(document.encode(), mime_type)

    @classmethod
    def text(cls, value: str, mime_type: str = "text/plain") -> DataPart:
        """A text document in UTF-8."""
        return cls(value.encode(), mime_type)


ToolResultContent: TypeAlias = TextPart | DataPart
"""A part of a tool's result."""


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The result of a tool call; the counterpart of `vscode.LanguageModelToolResultPart`.

    Only for messages: a provider that puts one into a response breaks the contract.

    Attributes:
        call_id: The `call_id` of the :class:`ToolCallPart` that the result answers.
        content: The parts of the result, in order; may be empty.
        is_error: Whether the tool failed; then `content` describes the failure.
    """

    call_id: str
    content: tuple[ToolResultContent, ...] = field(default=())
    is_error: bool = False


ResponsePart: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart
"""A part that a provider may report in a response."""

MessagePart: TypeAlias = ResponsePart | ToolResultPart
"""A part that a message of a request may hold."""
