"""Reads fields of requests under both of their names: Google's servers take `systemInstruction` and
`system_instruction`, as the JSON form of Protocol Buffers says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.protocols.read_request import described

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["camel_case", "field_of", "list_of", "object_of", "text_of"]

_BORDER: Final = re.compile(r"_([a-z0-9])")


def camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object under the names in camel case."""
    return {_BORDER.sub(lambda border: border[1].upper(), name): value for name, value in fields.items()}


def field_of(fields: Mapping[str, Any], name: str, kind: type, expected: str, where: str) -> Any:
    """The value of a field; None if it is missing or null.

    Raises:
        InvalidRequestError: It has another type.
    """
    value = fields.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidRequestError(f"{where}.{name}" if where else name, described(value), expected)
    return value


def object_of(fields: Mapping[str, Any], name: str, where: str = "") -> dict[str, Any]:
    """The object in a field, its own fields in camel case; empty if it is missing.

    Raises:
        InvalidRequestError: It has another type.
    """
    return camel_case(field_of(fields, name, dict, "an object", where) or {})


def list_of(fields: Mapping[str, Any], name: str, where: str = "") -> list[dict[str, Any]]:
    """The objects in a list, their own fields in camel case; empty if it is missing. One object stands for a list.

    Raises:
        InvalidRequestError: It has another type, or holds something else.
    """
    value = fields.get(name)
    if isinstance(value, dict):
        value = [value]
    if value is not None and not isinstance(value, list):
        raise InvalidRequestError(f"{where}.{name}" if where else name, described(value), "a list")
    for place, one in enumerate(value or ()):
        if not isinstance(one, dict):
            at = f"{name}[{place}]"
            raise InvalidRequestError(f"{where}.{at}" if where else at, described(one), "an object")
    return [camel_case(one) for one in value or ()]


def text_of(fields: Mapping[str, Any], name: str, where: str = "") -> str:
    """The string in a field; empty if it is missing.

    Raises:
        InvalidRequestError: It has another type.
    """
    return field_of(fields, name, str, "a string", where) or ""
