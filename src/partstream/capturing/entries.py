"""One thing that went by of an answer, and the room that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.lm.parts import ResponsePart

__all__ = ["ENTRY_BYTES", "PART", "Entry", "size_of"]

ENTRY_BYTES: Final = 200
"""What an entry takes beside its content: the entry itself, its time and the object that it refers to."""

_UNKNOWN: Final = 64 * 1024
"""What a part of another class may take."""

PART: Final = -1
"""In the place of an exchange's index: the entry is a part that the host got."""

Entry: TypeAlias = "tuple[int, int, bytes | ResponsePart]"
"""One thing that went by: the index of its exchange or :data:`PART`, when, in nanoseconds of the clock, and the bytes
or the part. A plain tuple: one is made for every read of every answer.
"""


def size_of(content: bytes | ResponsePart) -> int:
    """The bytes that an entry takes, about."""
    measure = _SIZES.get(type(content))
    return ENTRY_BYTES + (measure(content) if measure is not None else _UNKNOWN)


def _size_of_value(value: Any) -> int:
    """The bytes that a JSON value takes, about."""
    if isinstance(value, str):
        return ENTRY_BYTES + len(value)
    if isinstance(value, dict):
        return ENTRY_BYTES + sum(_size_of_value(name) + _size_of_value(item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return ENTRY_BYTES + sum(map(_size_of_value, value))
    return ENTRY_BYTES


_SIZES: Final[dict[type, Callable[[Any], int]]] = {
    bytes: len,
    TextPart: lambda part: len(part.value),
    ThinkingPart: lambda part: _size_of_value(part.value) + _size_of_value(part.metadata),
    ToolCallPart: lambda part: _size_of_value(part.input),
    DataPart: lambda part: len(part.data),
}
"""The bytes that the content of an entry takes beside the entry itself."""
