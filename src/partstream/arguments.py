"""Checks the arguments of public constructors: says what was got, where, and what was expected. Knows no class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

from partstream.errors import CallerError, UnexpectedValueError

__all__ = [
    "BOOLEAN",
    "COUNT",
    "FILLED_TEXT",
    "MAPPING",
    "NUMBER",
    "TEXT",
    "Expectation",
    "InvalidArgumentError",
    "check",
    "check_fields",
    "described",
    "instance_of",
    "optional",
    "refuse",
    "sequence_of",
]

T = TypeVar("T")

_MAX_SHOWN: Final = 60


class InvalidArgumentError(UnexpectedValueError, CallerError, TypeError, ValueError):
    """A function or a constructor got an argument that it cannot use; `where` is the argument, as `TextPart.value`.

    Also a `TypeError` and a `ValueError`, which Python's own functions raise for such arguments.
    """


@dataclass(frozen=True, slots=True)
class Expectation:
    """The values that an argument may have.

    Attributes:
        description: A description for the error, such as `a text (str)`.
        fits: Whether a value is one of them.
    """

    description: str
    fits: Callable[[object], bool]


TEXT: Final = Expectation("a text (str)", lambda value: isinstance(value, str))
FILLED_TEXT: Final = Expectation("a text (str) that is not empty", lambda value: isinstance(value, str) and value != "")
BOOLEAN: Final = Expectation("True or False", lambda value: isinstance(value, bool))
COUNT: Final = Expectation(
    "a whole number above 0", lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0
)
NUMBER: Final = Expectation("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
MAPPING: Final = Expectation("a mapping, such as a dict", lambda value: isinstance(value, Mapping))


def optional(expectation: Expectation) -> Expectation:
    """The same values, or None."""
    return Expectation(f"{expectation.description}, or None", lambda value: value is None or expectation.fits(value))


def instance_of(kind: type, description: str = "") -> Expectation:
    """The instances of a class."""
    return Expectation(description or f"a {kind.__name__}", lambda value: isinstance(value, kind))


def refuse(where: str, value: object, expected: str) -> NoReturn:
    """Raises the error for a value.

    Raises:
        InvalidArgumentError: Always.
    """
    raise InvalidArgumentError(where, described(value), expected)


def check(where: str, value: object, expectation: Expectation) -> None:
    """Checks one argument.

    Raises:
        InvalidArgumentError: The value does not fit.
    """
    if not expectation.fits(value):
        refuse(where, value, expectation.description)


def check_fields(instance: object, expectations: Mapping[str, Expectation]) -> None:
    """Checks fields of a new object, by their names.

    Raises:
        InvalidArgumentError: The first field with a value that does not fit.
    """
    for name, expectation in expectations.items():
        value = getattr(instance, name)
        if not expectation.fits(value):
            refuse(f"{type(instance).__name__}.{name}", value, expectation.description)


def sequence_of(where: str, values: Iterable[T], classes: type | tuple[type, ...], expected: str) -> tuple[T, ...]:
    """The values as a tuple, each an instance of one of the classes.

    Args:
        where: The argument.
        values: A list, a tuple or another iterable; no text, no bytes and no mapping.
        classes: The classes that a value may have.
        expected: A description of one value, such as `a Tool`.

    Raises:
        InvalidArgumentError: `values` cannot be iterated over, or one of them has another class.
    """
    if isinstance(values, str | bytes | bytearray | Mapping) or not isinstance(values, Iterable):
        refuse(where, values, f"a list or a tuple, each item {expected}")
    kept = tuple(values)
    for index, value in enumerate(kept):
        if not isinstance(value, classes):
            refuse(f"{where}[{index}]", value, expected)
    return kept


def described(value: object) -> str:
    """A value in a few words, for a message: `'5' (str)`, `list`. Contents of containers are not shown: they may be
    long, and may hold a key."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    if isinstance(value, str):
        shown = repr(value) if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]!r}..."
        return f"{shown} ({type(value).__name__})"
    return f"{value!r} ({type(value).__name__})" if isinstance(value, int | float) else type(value).__name__
