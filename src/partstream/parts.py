"""The parts of a response and of a message, one class for each part class of VS Code.

Pure values: they know no wire, no socket and no screen. They compare by content and cannot be changed once made, so a
part that was reported to one consumer can safely go to another.

Source: `@types/vscode` 1.140, `LanguageModel*Part`. The rules for a stream of parts are in :mod:`partstream.contract`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from partstream.codec.checks import (
    BOOLEAN,
    FILLED_TEXT,
    MAPPING,
    TEXT,
    Expectation,
    check,
    check_fields,
    optional,
    refuse,
    sequence_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_Row = TypeVar("_Row")

__all__ = [
    "DataPart",
    "MessagePart",
    "ResponsePart",
    "TextPart",
    "ThinkingPart",
    "ToolCallPart",
    "ToolResultContent",
    "ToolResultPart",
    "row_of_class",
    "text_part",
    "thinking_part",
    "tool_call_part",
    "unchecked_part",
]


@dataclass(frozen=True, slots=True, init=False)
class TextPart:
    """A piece of the visible answer; the counterpart of `vscode.LanguageModelTextPart`.

    Consecutive text parts form one text: the consumer joins their values without a separator.

    Attributes:
        value: A fragment of the model's Markdown text, of any length.

    Raises:
        InvalidArgumentError: `value` is no text.

    Example:
        >>> from partstream import TextPart
        >>> TextPart("Hello").value
        'Hello'
    """

    value: str

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            refuse("TextPart.value", value, TEXT.description)
        _set_text(self, value)


@dataclass(frozen=True, slots=True, init=False)
class ThinkingPart:
    """A piece of the model's reasoning; the counterpart of `vscode.LanguageModelThinkingPart`.

    Attributes:
        value: Text of the reasoning or of its summary; empty in a part that only carries metadata. A list of texts,
            which VS Code's class also allows, is joined without a separator.
        id: The upstream's id of the reasoning item, or None.
        metadata: JSON values that the upstream needs back to continue the reasoning, or None. Copilot keeps only the
            last metadata of a model call, so the last part of an item carries all of the item's metadata.

    Raises:
        InvalidArgumentError: An argument has another type.

    Example:
        >>> from partstream import ThinkingPart
        >>> ThinkingPart("Six times seven.").value
        'Six times seven.'
    """

    value: str
    id: str | None = None
    metadata: Mapping[str, Any] | None = None

    def __init__(
        self,
        value: str | Sequence[str],
        id: str | None = None,  # noqa: A002
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if value.__class__ is not str:
            value = _joined(value)
        check("ThinkingPart.id", id, _OPTIONAL_TEXT)
        check("ThinkingPart.metadata", metadata, _OPTIONAL_MAPPING)
        _set_thinking(self, value)
        _set_thinking_id(self, id)
        _set_thinking_metadata(self, metadata)


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A complete request to run one tool; the counterpart of `vscode.LanguageModelToolCallPart`.

    Tool calls are atomic: one part is the whole call, and a response holds each `call_id` at most once.

    Attributes:
        call_id: The id that connects the call with its result; unique within a response, never empty.
        name: The name of one of the request's tools.
        input: The arguments as a parsed JSON object, which nobody may change.

    Raises:
        InvalidArgumentError: An argument has another type, or the id or the name is empty.

    Example:
        >>> from partstream import ToolCallPart
        >>> ToolCallPart("call-1", "read_file", {"path": "notes.txt"}).input["path"]
        'notes.txt'
    """

    call_id: str
    name: str
    input: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_fields(self, _TOOL_CALL)


@dataclass(frozen=True, slots=True)
class DataPart:
    """Bytes with a media type; the counterpart of `vscode.LanguageModelDataPart`.

    VS Code's chat does not show data parts; programs read them.

    Attributes:
        data: The whole content.
        mime_type: The media type, or one of Copilot's own names, such as `usage`; never empty.

    Raises:
        InvalidArgumentError: An argument has another type, or the media type is empty.

    Example:
        >>> from partstream import DataPart
        >>> DataPart.json({"bytes": 8})
        DataPart(data=b'{"bytes":8}', mime_type='application/json')
    """

    data: bytes
    mime_type: str

    def __post_init__(self) -> None:
        check_fields(self, _DATA)

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


@dataclass(frozen=True, slots=True, init=False)
class ToolResultPart:
    """The result of a tool call; the counterpart of `vscode.LanguageModelToolResultPart`.

    Only for messages: a provider that puts one into a response breaks the contract.

    Attributes:
        call_id: The `call_id` of the :class:`ToolCallPart` that the result answers; never empty.
        content: The parts of the result, in order; may be empty.
        is_error: Whether the tool failed; then `content` describes the failure.

    Raises:
        InvalidArgumentError: An argument has another type, or the id is empty.

    Example:
        >>> from partstream import TextPart, ToolResultPart
        >>> ToolResultPart("call-1", [TextPart("milk")]).is_error
        False
    """

    call_id: str
    content: tuple[ToolResultContent, ...] = ()
    is_error: bool = False

    def __init__(self, call_id: str, content: Iterable[ToolResultContent] = (), is_error: bool = False) -> None:
        check("ToolResultPart.call_id", call_id, FILLED_TEXT)
        check("ToolResultPart.is_error", is_error, BOOLEAN)
        kept = sequence_of("ToolResultPart.content", content, (TextPart, DataPart), "a TextPart or a DataPart")
        _fill(self, call_id, kept, is_error)


ResponsePart: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart
"""A part that a provider may report in a response."""

MessagePart: TypeAlias = ResponsePart | ToolResultPart
"""A part that a message of a request may hold."""

_P = TypeVar("_P", TextPart, ThinkingPart, ToolCallPart, DataPart, ToolResultPart)

_OPTIONAL_TEXT: Final = optional(TEXT)
_OPTIONAL_MAPPING: Final = optional(MAPPING)
_TOOL_CALL: Final = {"call_id": FILLED_TEXT, "name": FILLED_TEXT, "input": MAPPING}
_DATA: Final = {"data": Expectation("bytes", lambda value: isinstance(value, bytes)), "mime_type": FILLED_TEXT}

# A response makes one text or thinking part per event. Setting the slots through their descriptors takes about half as
# long as the constructor that dataclasses generate for frozen classes, and a function less than a class (`make bench`).
_new: Final = object.__new__
_set_text = TextPart.__dict__["value"].__set__
_set_thinking = ThinkingPart.__dict__["value"].__set__
_set_thinking_id = ThinkingPart.__dict__["id"].__set__
_set_thinking_metadata = ThinkingPart.__dict__["metadata"].__set__
_set_call_id = ToolCallPart.__dict__["call_id"].__set__
_set_call_name = ToolCallPart.__dict__["name"].__set__
_set_call_input = ToolCallPart.__dict__["input"].__set__


def text_part(value: str) -> TextPart:
    """A text part whose value is known to be a text: without the check, for adapters."""
    part = _new(TextPart)
    _set_text(part, value)
    return part


def thinking_part(value: str, id: str | None = None, metadata: Mapping[str, Any] | None = None) -> ThinkingPart:  # noqa: A002
    """A thinking part whose values are known to fit: without the checks, for adapters."""
    part = _new(ThinkingPart)
    _set_thinking(part, value)
    _set_thinking_id(part, id)
    _set_thinking_metadata(part, metadata)
    return part


def tool_call_part(call_id: str, name: str, input: Mapping[str, Any]) -> ToolCallPart:  # noqa: A002
    """A tool call as an upstream sent it: without the checks, for adapters. The contract judges an empty id."""
    part = _new(ToolCallPart)
    _set_call_id(part, call_id)
    _set_call_name(part, name)
    _set_call_input(part, input)
    return part


def unchecked_part(part_class: type[_P], *values: object) -> _P:
    """A part of values from outside, as they came: adapters and hosts do not refuse a whole answer or conversation for
    an empty id, but leave it to the contract.

    Args:
        part_class: The class of the part.
        values: The values of all its fields, in order.
    """
    part = _new(part_class)
    _fill(part, *values)
    return part


def _fill(part: object, *values: object) -> None:
    for name, value in zip(type(part).__slots__, values, strict=True):  # type: ignore[attr-defined]
        object.__setattr__(part, name, value)


def _joined(value: object) -> str:
    texts = value if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(text, str) for text in texts):
        refuse("ThinkingPart.value", value, TEXT.description)
    return "".join(texts)


def row_of_class(table: Mapping[type[Any], _Row], value: object) -> _Row:
    """The row of a table by class that is for the class of `value`, or for the nearest class that it inherits from.

    Raises:
        TypeError: The table has no such row; the message names the classes that it has.
    """
    for one in type(value).__mro__:
        row = table.get(one)
        if row is not None:
            return row
    known = ", ".join(one.__name__ for one in table)
    raise TypeError(f"got {type(value).__name__}, expected one of {known}")
