"""Checks JSON values against shapes and says what is wrong where; knows what a shape is, and none of the protocol."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "Check",
    "Shape",
    "any_json",
    "base64_text",
    "boolean",
    "check_object",
    "check_tagged",
    "integer",
    "list_of",
    "number",
    "object_of",
    "one_of",
    "shaped",
    "string",
    "tagged",
    "type_name",
    "whole_number",
]

Check: TypeAlias = "Callable[[Any, str], None]"
"""A value and the place where it stands; raises :class:`InvalidRequestError`."""


class Shape(NamedTuple):
    """The fields of an object; any other is refused."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check]


def check_object(value: object, where: str, shape: Shape) -> None:
    """Checks an object field by field."""
    fields = _object(value, where)
    known = {**shape.required, **shape.optional}
    for name in fields:
        if name not in known:
            raise InvalidRequestError(_inside(where, name), "a field that there is not", f"one of {', '.join(known)}")
    for name in shape.required:
        if name not in fields:
            raise InvalidRequestError(_inside(where, name), "nothing", "this field")
    for name, field in fields.items():
        known[name](field, _inside(where, name))


def check_tagged(value: object, where: str, shapes: Mapping[str, Shape]) -> str:
    """Checks an object whose `type` says which of the shapes it has, and gives that type."""
    fields = _object(value, where)
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in shapes:
        got = "nothing" if kind is None else repr(kind)
        raise InvalidRequestError(f"{where}.type", got, f"one of {', '.join(shapes)}")
    shape = shapes[kind]
    check_object(value, where, Shape({"type": string, **shape.required}, shape.optional))
    return kind


def _inside(where: str, name: str) -> str:
    """The place of a field; the body itself has no name."""
    return f"{where}.{name}" if where else name


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequestError(where, type_name(value), "an object")
    return value


# ---- checks of single values ----


def _of_type(types: tuple[type, ...], expected: str) -> Check:
    def check(value: object, where: str) -> None:
        # A truth value is an int in Python and none in JSON.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InvalidRequestError(where, type_name(value), expected)

    return check


string: Final = _of_type((str,), "a string")
boolean: Final = _of_type((bool,), "true or false")
number: Final = _of_type((int, float), "a number")
integer: Final = _of_type((int,), "an integer")


def any_json(value: object, where: str) -> None:
    """Takes whatever there is, null as well."""


def whole_number(value: Any, where: str) -> None:
    """An integer above zero."""
    integer(value, where)
    if value < 1:
        raise InvalidRequestError(where, repr(value), "an integer above zero")


def base64_text(value: Any, where: str) -> None:
    """Bytes as base64, at least one."""
    string(value, where)
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidRequestError(where, f"text that is no base64 ({error})", "base64") from error
    if not data:
        raise InvalidRequestError(where, "an empty string", "base64 of at least one byte")


def one_of(values: Iterable[str]) -> Check:
    """One of the words."""
    words = tuple(values)

    def check(value: object, where: str) -> None:
        if value not in words:
            raise InvalidRequestError(where, repr(value), f"one of {', '.join(words)}")

    return check


def list_of(check_item: Check) -> Check:
    """A list, each item of which passes the check."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, list):
            raise InvalidRequestError(where, type_name(value), "a list")
        for index, item in enumerate(value):
            check_item(item, f"{where}[{index}]")

    return check


def object_of(check_value: Check) -> Check:
    """An object with any names, each value of which passes the check."""

    def check(value: object, where: str) -> None:
        for name, field in _object(value, where).items():
            check_value(field, f"{where}.{name}")

    return check


def shaped(shape: Shape) -> Check:
    """An object of the shape."""
    return lambda value, where: check_object(value, where, shape)


def tagged(shapes: Mapping[str, Shape]) -> Check:
    """An object of one of the shapes, by its `type`."""

    def check(value: object, where: str) -> None:
        check_tagged(value, where, shapes)

    return check


def type_name(value: object) -> str:
    """What a value is called in an error; its content may be somebody's secret."""
    return "null" if value is None else type(value).__name__
