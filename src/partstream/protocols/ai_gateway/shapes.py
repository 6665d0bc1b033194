"""Checks JSON values against shapes: says what is wrong where, and collects what no field has a place for.

Knows what a shape is, and nothing of the protocol.
"""

from __future__ import annotations

import base64
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.codec.json_codec import is_json
from partstream.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "Check",
    "ObjectShape",
    "any_json",
    "base64_text",
    "boolean",
    "check_object",
    "check_tagged",
    "inside",
    "integer",
    "list_of",
    "number",
    "object_of",
    "one_of",
    "string",
    "tagged",
    "type_name",
    "whole_number",
]

Check: TypeAlias = "Callable[[Any, str, dict[str, Any]], None]"
"""Takes a value, the place where it stands and what was collected so far; raises :class:`InvalidRequestError`."""


class ObjectShape(NamedTuple):
    """The fields of an object; any other is collected as it is.

    Attributes:
        required: Those that must be there.
        optional: Those that may be there.
        unplaced: Further ones that may be there: they are checked, and collected, because nothing has a place for them.
    """

    required: Mapping[str, Check]
    optional: Mapping[str, Check] = MappingProxyType({})
    unplaced: Mapping[str, Check] = MappingProxyType({})


def check_object(value: object, where: str, shape: ObjectShape, unmapped: dict[str, Any]) -> None:
    """Checks an object field by field.

    Raises:
        InvalidRequestError: It is no object, a field is missing, or the value of one is not what its check allows.
    """
    fields = _object(value, where)
    for name in shape.required:
        if name not in fields:
            raise InvalidRequestError(inside(where, name), "nothing", "this field")
    for name, field in fields.items():
        check = shape.required.get(name) or shape.optional.get(name)
        if check is None:
            unmapped[inside(where, name)] = field
            check = shape.unplaced.get(name, any_json)
        check(field, inside(where, name), unmapped)


def check_tagged(value: object, where: str, shapes: Mapping[str, ObjectShape], unmapped: dict[str, Any]) -> None:
    """Checks an object whose `type` says which of the shapes it has.

    Raises:
        InvalidRequestError: It has none of the types, or not the shape of its type.
    """
    kind = _object(value, where).get("type")
    if not isinstance(kind, str) or kind not in shapes:
        got = "nothing" if kind is None else repr(kind)
        raise InvalidRequestError(f"{where}.type", got, f"one of {', '.join(shapes)}")
    shape = shapes[kind]
    check_object(value, where, shape._replace(required={"type": string, **shape.required}), unmapped)


def inside(where: str, name: str) -> str:
    """The place of a field; the body itself has no name."""
    return f"{where}.{name}" if where else name


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequestError(where or "body", type_name(value), "an object")
    return value


# ---- checks of single values ----


def _of_type(types: tuple[type, ...], expected: str) -> Check:
    def check(value: object, where: str, _unmapped: dict[str, Any]) -> None:
        # A truth value is an int in Python and none in JSON.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InvalidRequestError(where, type_name(value), expected)

    return check


string: Final = _of_type((str,), "a string")
boolean: Final = _of_type((bool,), "true or false")
number: Final = _of_type((int, float), "a number")
integer: Final = _of_type((int,), "an integer")


def any_json(value: object, where: str, unmapped: dict[str, Any]) -> None:
    """Any JSON value, including null; the readers of Python also take infinite numbers."""
    if not is_json(value):
        raise InvalidRequestError(where, "a number that is not finite, or nesting that is too deep", "a JSON value")


def whole_number(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    """An integer above zero."""
    integer(value, where, unmapped)
    if value < 1:
        raise InvalidRequestError(where, repr(value), "an integer above zero")


def base64_text(value: Any, where: str, unmapped: dict[str, Any]) -> None:
    """Bytes as base64, at least one."""
    string(value, where, unmapped)
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidRequestError(where, f"text that is no base64 ({error})", "base64") from error
    if not data:
        raise InvalidRequestError(where, "an empty string", "base64 of at least one byte")


def one_of(values: Iterable[str]) -> Check:
    """One of the words."""
    words = tuple(values)

    def check(value: object, where: str, _unmapped: dict[str, Any]) -> None:
        if value not in words:
            raise InvalidRequestError(where, repr(value), f"one of {', '.join(words)}")

    return check


def list_of(check_item: Check) -> Check:
    """A list, each item of which passes the check."""

    def check(value: object, where: str, unmapped: dict[str, Any]) -> None:
        if not isinstance(value, list):
            raise InvalidRequestError(where, type_name(value), "a list")
        for index, item in enumerate(value):
            check_item(item, f"{where}[{index}]", unmapped)

    return check


def object_of(check_value: Check) -> Check:
    """An object with any names, each value of which passes the check."""

    def check(value: object, where: str, unmapped: dict[str, Any]) -> None:
        for name, field in _object(value, where).items():
            check_value(field, f"{where}.{name}", unmapped)

    return check


def tagged(shapes: Mapping[str, ObjectShape]) -> Check:
    """An object of one of the shapes, by its `type`."""

    def check(value: object, where: str, unmapped: dict[str, Any]) -> None:
        check_tagged(value, where, shapes, unmapped)

    return check


def type_name(value: object) -> str:
    """The type of a value for an error; its content may be secret, so it is not shown."""
    return "null" if value is None else type(value).__name__
