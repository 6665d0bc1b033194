"""Reads fields of requests: a missing field is empty, and a field of the wrong type is refused with its place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from partstream.errors import InvalidRequestError
from partstream.protocols.read_response import read_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Counts", "checked", "described", "not_default", "object_in_text", "optional_text", "required_text"]


class Counts:
    """Counts the fields of a request that nothing here has a place for.

    Attributes:
        numbers: How often, by the place and the wire's own name, such as `input[].item_reference`.
    """

    __slots__ = ("numbers",)

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()

    def add(self, name: str) -> None:
        """Counts it once more."""
        self.numbers[name] += 1


def described(value: object) -> str:
    """Describes a wrong value: short text as it is, any other value by its type."""
    if value is None:
        return "nothing"
    return f"{value!r:.60}" if isinstance(value, str) else type(value).__name__


def checked(fields: Mapping[str, Any], name: str, field_type: type, expected: str, where: str = "") -> Any:
    """The value of a field; None if it is missing or null.

    Raises:
        InvalidRequestError: It has another type.
    """
    value = fields.get(name)
    if value is not None and not isinstance(value, field_type):
        raise InvalidRequestError(f"{where}.{name}" if where else name, described(value), expected)
    return value


def optional_text(fields: Mapping[str, Any], name: str, where: str = "") -> str:
    """The string in a field; empty if it is missing or null.

    Raises:
        InvalidRequestError: It has another type.
    """
    return checked(fields, name, str, "a string", where) or ""


def required_text(fields: Mapping[str, Any], name: str, where: str) -> str:
    """The non-empty string in a field.

    Raises:
        InvalidRequestError: It is missing or empty, or has another type.
    """
    value = optional_text(fields, name, where)
    if not value:
        got = "an empty string" if fields.get(name) == "" else "nothing"
        raise InvalidRequestError(f"{where}.{name}" if where else name, got, "a string that is not empty")
    return value


def object_in_text(fields: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """The JSON object that a field holds as text, such as the arguments of a call.

    An empty text is an empty object: some servers leave out empty arguments, and clients send back what they got.

    Raises:
        InvalidRequestError: The field holds anything else.
    """
    text = fields.get(name)
    value = read_arguments(text) if isinstance(text, str) else None
    if value is None:
        raise InvalidRequestError(f"{where}.{name}", described(text), "a JSON object as text")
    return value


def not_default(fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that ask for something.

    Args:
        fields: The fields of a request.
        defaults: By the names of those to look at, the value that asks for nothing; null never asks for anything.
    """
    return {
        name: fields[name]
        for name, default in defaults.items()
        if fields.get(name) is not None and fields[name] != default
    }
