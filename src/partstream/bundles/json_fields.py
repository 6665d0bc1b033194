"""Reads JSON of a file from a stranger: each value is what its place demands, or an error names the place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.bundles.errors import BundleContentError
from partstream.codec.json_codec import JSONDecodeError, loads, nests_too_deeply

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

_Choice = TypeVar("_Choice", bound="StrEnum")

__all__ = ["JSONFields", "read_object"]

_MOST_SHOWN: Final = 60


def read_object(data: bytes, where: str) -> JSONFields:
    """The JSON object in an entry.

    Args:
        data: The bytes of the entry.
        where: Its name.

    Raises:
        BundleContentError: It holds no JSON object, or one that nests too deep.
    """
    try:
        value = None if nests_too_deeply(data) else loads(data)
    except JSONDecodeError as error:
        raise BundleContentError(where, f"no JSON ({error.msg})", "a JSON object") from error
    if not isinstance(value, dict):
        raise BundleContentError(where, _shown(value), "a JSON object")
    return JSONFields(value, where)


class JSONFields:
    """The fields of one JSON object.

    Args:
        value: The object.
        where: Its place in the file.
    """

    def __init__(self, value: dict[str, Any], where: str) -> None:
        self._value = value
        self.where = where

    def text(self, name: str) -> str:
        """A text."""
        value: str = self._read(name, "a text", lambda value: isinstance(value, str))
        return value

    def optional_text(self, name: str) -> str | None:
        """A text, or None for null or a field that is not there."""
        value: str | None = self._read(name, "a text or null", lambda value: value is None or isinstance(value, str))
        return value

    def number(self, name: str) -> int:
        """A number from 1."""
        value: int = self._read(name, "a whole number from 1", lambda value: _is_integer(value) and value >= 1)
        return value

    def time(self, name: str) -> int | None:
        """Nanoseconds, or None for null or a field that is not there."""
        value: int | None = self._read(
            name, "nanoseconds as a whole number from 0, or null", lambda value: value is None or _is_time(value)
        )
        return value

    def status(self, name: str) -> int:
        """A status of HTTP."""
        value: int = self._read(
            name, "a number of three digits", lambda value: _is_integer(value) and 100 <= value <= 999
        )
        return value

    def choice(self, name: str, values: type[_Choice]) -> _Choice:
        """One of the values of an enumeration."""
        known = ", ".join(values)
        said = self._read(name, f"one of {known}", lambda value: isinstance(value, str) and value in set(values))
        return values(said)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """A list of pairs of texts."""
        return tuple((left, right) for left, right in self._read(name, "a list of pairs of texts", _are_pairs))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._read(name, "a list of texts", _are_texts))

    def text_by_name(self, name: str) -> dict[str, str]:
        """An object of texts."""
        value: dict[str, str] = self._read(name, "an object of texts", lambda value: _is_object_of(value, str))
        return value

    def count_by_name(self, name: str) -> dict[str, int]:
        """An object of whole numbers."""
        value: dict[str, int] = self._read(name, "an object of whole numbers", lambda value: _is_object_of(value, int))
        return value

    def object(self, name: str) -> JSONFields:
        """An object."""
        value = self._read(name, "an object", lambda value: isinstance(value, dict))
        return JSONFields(value, self._place(name))

    def optional_object(self, name: str) -> JSONFields | None:
        """An object, or None for null or a field that is not there."""
        return None if self._value.get(name) is None else self.object(name)

    def raw(self, name: str) -> Any:
        """The value as it stands there; None for a field that is not there."""
        return self._value.get(name)

    def _read(self, name: str, expected: str, accepts: Callable[[Any], bool]) -> Any:
        value = self._value.get(name)
        if not accepts(value):
            got = _shown(value) if name in self._value else "nothing"
            raise BundleContentError(self._place(name), got, expected)
        return value

    def _place(self, name: str) -> str:
        return f"{self.where}, field {name!r}"


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_time(value: Any) -> bool:
    return _is_integer(value) and 0 <= value < 1 << 63


def _are_pairs(value: object) -> bool:
    return isinstance(value, list) and all(_are_texts(pair) and len(pair) == 2 for pair in value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_object_of(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(type(one) is kind for one in value.values())


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
