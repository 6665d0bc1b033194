"""Reads one JSON object of a server's answer carefully; knows no server.

A value of an unexpected type counts as unknown and is noted: a wrong number must not hide a model.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_DOLLARS, as_count
from partstream.models.records import Fact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.models.records import Source

__all__ = ["Fields", "Problem"]

_MAX_TEXT: Final = 2000
_MAX_ITEMS: Final = 200
_MAX_PROBLEMS: Final = 100


class Problem(str):
    """A sentence for the log about a wrong value: the place, the value, and the expected value."""

    __slots__ = ()

    def __new__(cls, where: str, got: object, expected: str) -> Problem:
        """Shortens the value, which comes from outside and may be long."""
        return super().__new__(cls, f"{where}: got {got!r:.80}, expected {expected}")


class Fields:
    """One object; a path such as `top_provider.context_length` names a field of an inner object.

    Attributes:
        where: The object's place in the answer, such as `data[3]`.
        source: The source of the object's facts.

    Args:
        values: The object.
        where: The object's place in the answer, such as `data[3]`.
        source: The source of the object's facts.
        problems: Takes notes of wrong values, at most 100.
    """

    def __init__(self, values: Mapping[str, Any], where: str, source: Source, problems: list[Problem]) -> None:
        self.where = where
        self.source = source
        self._values = values
        self._problems = problems

    def __contains__(self, path: str) -> bool:
        return self._value(path) is not None

    def names_any(self, *names: str) -> bool:
        """Whether one of the fields exists, even with null."""
        return any(name in self._values for name in names)

    def is_object(self, path: str) -> bool:
        """Whether the field holds an object."""
        return isinstance(self._value(path), dict)

    def text(self, *paths: str) -> str | None:
        """The text in the first of the fields that holds one, at most 2,000 characters; None if none does."""
        for path in paths:
            value = self._value(path)
            if isinstance(value, str):
                if value.strip():
                    return value.strip()[:_MAX_TEXT]
            elif value is not None:
                self._note(path, value, "a string")
        return None

    def tokens(self, *paths: str) -> Fact[int] | None:
        """The number of tokens in the first of the fields that holds one; 0 and null count as unknown."""
        for path in paths:
            value = self._value(path)
            tokens = as_count(value)  # some servers write 131072.0
            if tokens is not None:
                if tokens:
                    return Fact(tokens, self.source, path)
            elif value is not None:
                self._note(path, value, "a number of tokens")
        return None

    def number(self, path: str) -> int | None:
        """The whole number in a field, or None."""
        value = self._value(path)
        if value is None or type(value) is int:
            return value
        self._note(path, value, "a whole number")
        return None

    def boolean(self, path: str) -> Fact[bool] | None:
        """The boolean in a field, or None."""
        value = self._value(path)
        if isinstance(value, bool):
            return Fact(value, self.source, path)
        if value is not None:
            self._note(path, value, "true or false")
        return None

    def words(self, path: str) -> tuple[str, ...] | None:
        """The strings of a list, in lower case; None without a list, which differs from an empty list."""
        value = self._value(path)
        if value is None:
            return None
        if not isinstance(value, list):
            self._note(path, value, "a list of strings")
            return None
        return tuple(word.lower() for word in value[:_MAX_ITEMS] if isinstance(word, str))

    def has_word(self, path: str, *wanted: str) -> Fact[bool] | None:
        """Whether the list at `path` holds one of the words; None without a list."""
        words = self.words(path)
        return None if words is None else Fact(any(word in words for word in wanted), self.source, path)

    def dollars(self, path: str) -> Decimal | None:
        """A price in US dollars, written as a string or a number; None also for a negative price, which means that the
        price varies."""
        value = self._value(path)
        if value is None or isinstance(value, bool):
            return None
        try:
            price = Decimal(str(value)[:40])
        except InvalidOperation:
            self._note(path, value, "a price")
            return None
        return price if price.is_finite() and 0 <= price < MOST_DOLLARS else None

    def objects(self, path: str) -> list[Fields]:
        """The objects of a list, at most 200 of them."""
        value = self._value(path)
        if value is None:
            return []
        if not isinstance(value, list):
            self._note(path, value, "a list")
            return []
        return [
            Fields(item, f"{self.where}.{path}[{number}]", self.source, self._problems)
            for number, item in enumerate(value[:_MAX_ITEMS])
            if isinstance(item, dict)
        ]

    def suffixed(self, suffix: str) -> Fact[int] | None:
        """The number of tokens in the only field whose name has this suffix."""
        names = [name for name in self._values if name.endswith(suffix)]
        if len(names) != 1:
            return None
        value = self._values[names[0]]
        tokens = as_count(value)
        if tokens:
            return Fact(tokens, self.source, names[0])
        self._note(names[0], value, "a number of tokens")
        return None

    def inside(self, path: str) -> Fields:
        """The object in a field; an empty object if there is none."""
        value = self._value(path)
        if value is not None and not isinstance(value, dict):
            self._note(path, value, "an object")
        return Fields(value if isinstance(value, dict) else {}, f"{self.where}.{path}", self.source, self._problems)

    def _value(self, path: str) -> Any:
        value: Any = self._values
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def _note(self, path: str, got: object, expected: str) -> None:
        problem = Problem(f"{self.where}.{path}", got, expected)
        if len(self._problems) < _MAX_PROBLEMS and problem not in self._problems:  # a field may be read twice
            self._problems.append(problem)
