"""The kinds of values of settings: how each is read, and its JSON Schema for editors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_SECONDS
from partstream.settings.checks import boolean, headers, json_object, number, shortened, string, strings, whole_number
from partstream.settings.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "BODY",
    "BOOLEAN",
    "HEADERS",
    "SECONDS",
    "STRINGS",
    "TEXT",
    "Choice",
    "Kind",
    "ValueForm",
    "choice",
    "fraction",
    "text",
    "whole",
]


class ValueForm(StrEnum):
    """The form of a value; in an environment variable, every form but text is JSON."""

    TEXT = "text"
    BOOLEAN = "true or false"
    NUMBER = "number"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a setting's value.

    Attributes:
        form: What it is in a word, for people.
        read: Gives the value in our own types, from JSON's types or from our own; raises a
            :class:`partstream.settings.errors.ConfigurationError` that names the place it is told.
        schema: The keywords of JSON Schema (draft 7) that say the same.
    """

    form: ValueForm
    read: Callable[[Any, str], Any]
    schema: Mapping[str, Any]


class Choice(StrEnum):
    """The words that a setting accepts, each with a sentence that explains it.

    A member is written as `NAME = "word", "What it means."`.

    Attributes:
        says: What the word means, in Markdown.
    """

    _value_: str
    says: str

    def __new__(cls, word: str, says: str = "") -> Choice:
        """The member for a word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.says = says
        return member


def text(check: Callable[[str, str], Any] | None = None, **schema: Any) -> Kind:
    """A string; `check` returns the value or refuses the string."""

    def read(value: Any, where: str) -> Any:
        given = string(value, where)
        return given if check is None else check(given, where)

    return Kind(ValueForm.TEXT, read, {"type": "string", **schema})


def choice(words: type[Choice]) -> Kind:
    """One of several words."""

    def read(value: Any, where: str) -> Choice:
        found = next((word for word in words if word == value), None)
        if found is None:
            raise ConfigurationError(where, shortened(value), f"one of {', '.join(words)}")
        return found

    names, meanings = [word.value for word in words], [word.says for word in words]
    return Kind(ValueForm.TEXT, read, {"type": "string", "enum": names, "enumDescriptions": meanings})


def whole(least: int = 1) -> Kind:
    """A whole number from `least`."""
    return Kind(ValueForm.NUMBER, partial(whole_number, least=least), {"type": "integer", "minimum": least})


def fraction() -> Kind:
    """A number above 0 and at most 1."""
    read = partial(number, fits=lambda value: 0 < value <= 1, expected="a number above 0 and at most 1")
    return Kind(ValueForm.NUMBER, read, {"type": "number", "exclusiveMinimum": 0, "maximum": 1})


def _is_time(value: float) -> bool:
    return 0 < value <= MOST_SECONDS


TEXT: Final = text()
BOOLEAN: Final = Kind(ValueForm.BOOLEAN, boolean, {"type": "boolean"})
SECONDS: Final = Kind(
    ValueForm.NUMBER,
    partial(number, fits=_is_time, expected="a number of seconds above 0"),
    {"type": "number", "exclusiveMinimum": 0},
)
STRINGS: Final = Kind(ValueForm.LIST, strings, {"type": "array", "items": {"type": "string"}})
HEADERS: Final = Kind(ValueForm.OBJECT, headers, {"type": "object", "additionalProperties": {"type": "string"}})
BODY: Final = Kind(ValueForm.OBJECT, json_object, {"type": "object"})
