"""Parts as JSON values: the one form for commands, reports and recordings.

A part is an object with its `type` and the fields of its class, in their order: `{"type": "text", "value": "Hello"}`.
Bytes are base64, parts inside a part are objects of the same form. docs/command-line.md has the table for users.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UnexpectedValueError
from partstream.parts import (
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    row_of_class,
    unchecked_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import MessagePart

__all__ = ["PART_TYPES", "part_json", "part_of_json"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field of a part may be in JSON.

    Attributes:
        says: What is valid, for an error.
        accepts: Whether a value is.
        read: Makes the value of the part, of an accepted one.
    """

    says: str
    accepts: Callable[[Any], bool]
    read: Callable[[Any], Any] = lambda value: value


_TEXT: Final = _Kind("a text", lambda value: isinstance(value, str))
_OPTIONAL_TEXT: Final = _Kind("a text or null", lambda value: value is None or isinstance(value, str))
_OBJECT: Final = _Kind("an object", lambda value: isinstance(value, dict))
_OPTIONAL_OBJECT: Final = _Kind("an object or null", lambda value: value is None or isinstance(value, dict))
_BOOLEAN: Final = _Kind("true or false", lambda value: isinstance(value, bool))


def _is_base64(value: object) -> bool:
    try:
        return isinstance(value, str) and b64decode(value, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


_BYTES: Final = _Kind("bytes in base64", _is_base64, b64decode)
_CONTENT: Final = _Kind(
    "a list of parts",
    lambda value: isinstance(value, list),
    lambda value: tuple(part_of_json(one, "content") for one in value),
)

_FIELDS: Final[dict[type[Any], tuple[str, dict[str, _Kind]]]] = {
    TextPart: ("text", {"value": _TEXT}),
    ThinkingPart: ("thinking", {"value": _TEXT, "id": _OPTIONAL_TEXT, "metadata": _OPTIONAL_OBJECT}),
    ToolCallPart: ("tool_call", {"call_id": _TEXT, "name": _TEXT, "input": _OBJECT}),
    DataPart: ("data", {"mime_type": _TEXT, "data": _BYTES}),
    ToolResultPart: ("tool_result", {"call_id": _TEXT, "content": _CONTENT, "is_error": _BOOLEAN}),
}
_CLASSES: Final = {tag: part_class for part_class, (tag, _) in _FIELDS.items()}

PART_TYPES: Final = tuple(_CLASSES)
"""What the field `type` can say."""


def part_json(part: MessagePart) -> dict[str, Any]:
    """A part as JSON values, unless it holds what JSON cannot represent: then its values stand there as they are.

    Raises:
        TypeError: It is no part.
    """
    tag, kinds = row_of_class(_FIELDS, part)
    return {"type": tag, **{name: _value(getattr(part, name)) for name in kinds}}


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return [part_json(one) for one in value] if isinstance(value, tuple) else value


def part_of_json(value: object, where: str = "the part") -> Any:
    """The part that JSON values say; it may hold what the contract forbids, such as an empty id.

    Args:
        value: The object, as :func:`part_json` gives it. Fields that are not known are left out.
        where: Its place, for an error.

    Raises:
        UnexpectedValueError: It is no part.
    """
    said: Mapping[str, Any] = value if isinstance(value, dict) else {}
    tag = said.get("type")
    part_class = _CLASSES.get(tag) if isinstance(tag, str) else None
    if part_class is None:
        known = ", ".join(PART_TYPES)
        raise UnexpectedValueError(where, _shown(tag if said else value), f"an object whose `type` is one of {known}")
    _, kinds = _FIELDS[part_class]
    for name, kind in kinds.items():
        if not kind.accepts(said.get(name)):
            raise UnexpectedValueError(f"{where}, field {name!r}", _shown(said.get(name)), kind.says)
    read = {name: kind.read(said.get(name)) for name, kind in kinds.items()}
    return unchecked_part(part_class, *(read[one.name] for one in fields(part_class)))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
