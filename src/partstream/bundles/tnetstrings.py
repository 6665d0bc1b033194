"""Typed netstrings (tnetstrings.info), as mitmproxy writes its flows: `3:abc,` is bytes, `2:10#` a number.

The sign behind a value is its type; mitmproxy adds `;` for text. Files come from strangers: lengths, levels and numbers
have limits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.devtools.bundles.documents import BrokenFlowError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_value"]

_LENGTH: Final = re.compile(rb"(0|[1-9]\d{0,10}):")
_MOST_LEVELS: Final = 32
_LONGEST_NUMBER: Final = 40
_SHOWN: Final = 20


def read_value(data: bytes, at: int = 0) -> tuple[Any, int]:
    """The value that begins at a byte, and the byte behind it.

    Raises:
        BrokenFlowError: There is none, or it goes on behind the end.
    """
    return _value(data, at, len(data), 0)


def _value(data: bytes, at: int, end: int, level: int) -> tuple[Any, int]:
    length = _LENGTH.match(data, at, end)
    if length is None:
        raise BrokenFlowError(_place(at), f"{data[at : at + _SHOWN]!r}", "a length and a colon")
    begin = length.end()
    stop = begin + int(length[1])
    if stop >= end:
        raise BrokenFlowError(_place(at), f"a value that ends at byte {stop}", f"one that ends before byte {end}")
    if level > _MOST_LEVELS:
        raise BrokenFlowError(_place(at), "values inside each other, deeper", f"at most {_MOST_LEVELS} levels")
    sign = data[stop : stop + 1]
    if sign in _LISTS:
        return _LISTS[sign](data, begin, stop, level + 1), stop + 1
    read = _PLAIN.get(sign)
    if read is None:
        raise BrokenFlowError(_place(stop), f"the type {sign!r}", "one of , ; # ^ ! ~ ] }")
    try:
        return read(data[begin:stop]), stop + 1
    except ValueError as error:
        raise BrokenFlowError(_place(begin), f"{data[begin : begin + _SHOWN]!r}", f"a value of {sign!r}") from error


def _list(data: bytes, at: int, end: int, level: int) -> list[Any]:
    values: list[Any] = []
    while at < end:
        value, at = _value(data, at, end, level)
        values.append(value)
    return values


def _dict(data: bytes, at: int, end: int, level: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    while at < end:
        name, value_at = _value(data, at, end, level)
        if isinstance(name, bytes):
            name = name.decode("latin-1")
        if not isinstance(name, str):
            raise BrokenFlowError(_place(at), f"a name of the type {type(name).__name__}", "a text")
        values[name], at = _value(data, value_at, end, level)
    return values


def _number(text: bytes, read: Callable[[bytes], float]) -> float:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(text)
    return read(text)


def _boolean(text: bytes) -> bool:
    if text not in {b"true", b"false"}:
        raise ValueError(text)
    return text == b"true"


def _nothing(text: bytes) -> None:
    if text:
        raise ValueError(text)


def _place(at: int) -> str:
    return f"byte {at}"


_PLAIN: Final[dict[bytes, Callable[[bytes], Any]]] = {
    b",": bytes,
    b";": lambda text: text.decode(),
    b"#": lambda text: _number(text, int),
    b"^": lambda text: _number(text, float),
    b"!": _boolean,
    b"~": _nothing,
}
_LISTS: Final[dict[bytes, Callable[[bytes, int, int, int], Any]]] = {b"]": _list, b"}": _dict}
