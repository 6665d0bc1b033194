"""Checks JSON values against the TypedDicts of the wire; knows no method and makes no values.

Does not check parts (the unions of TypedDicts): :mod:`partstream.hosts.vscode.conversion` does, and skips unknown
types. Ignores fields that a shape does not have: a newer peer may send more.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from partstream.errors import CallerError, UnexpectedValueError

__all__ = ["InvalidParamsError", "check"]

_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
    list: "an array",
    dict: "an object",
}


class InvalidParamsError(UnexpectedValueError, CallerError):
    """The peer sent a value of the wrong shape; `where` is a place such as `params.messages[2].role`."""


def check(value: object, shape: Any, where: str) -> None:
    """Checks `value` and all values in it.

    Raises:
        InvalidParamsError: The first place with the wrong shape.
    """
    if is_typeddict(shape):
        _check_object(value, shape, where)
        return
    origin = get_origin(shape)
    if origin in {Union, UnionType}:
        _check_union(value, get_args(shape), where)
    elif origin is list:
        _check_list(value, get_args(shape)[0], where)
    elif origin is dict:
        _expect(isinstance(value, dict), value, where, _NAMES[dict])
    elif origin is Literal:
        _expect(_is_one_of(value, get_args(shape)), value, where, " or ".join(map(repr, get_args(shape))))
    elif shape is not Any:
        _expect(_is_a(value, shape), value, where, _NAMES[shape])


def _check_object(value: object, shape: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise InvalidParamsError(where, _describe(value), _NAMES[dict])
    for name, (hint, required) in _fields(shape).items():
        if name in value:
            check(value[name], hint, f"{where}.{name}")
        elif required:
            raise InvalidParamsError(f"{where}.{name}", "nothing", _expectation(hint))


def _check_union(value: object, choices: tuple[Any, ...], where: str) -> None:
    if value is None and NoneType in choices:
        return
    shapes = [choice for choice in choices if choice is not NoneType]
    if len(shapes) == 1:
        check(value, shapes[0], where)
    elif not all(map(is_typeddict, shapes)):
        _expect(any(_is_a(value, shape) for shape in shapes), value, where, " or ".join(_NAMES[s] for s in shapes))


def _check_list(value: object, item: Any, where: str) -> None:
    if not isinstance(value, list):
        raise InvalidParamsError(where, _describe(value), _NAMES[list])
    for index, entry in enumerate(value):
        check(entry, item, f"{where}[{index}]")


@cache
def _fields(shape: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a TypedDict: the shape of each, and whether it is required."""
    fields = {}
    for name, hint in get_type_hints(shape, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        fields[name] = (get_args(hint)[0] if optional else hint, not optional)
    return fields


def _is_a(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def _is_one_of(value: object, choices: tuple[Any, ...]) -> bool:
    return any(value == choice and type(value) is type(choice) for choice in choices)


def _expect(fits: bool, value: object, where: str, expected: str) -> None:
    if not fits:
        raise InvalidParamsError(where, _describe(value), expected)


def _expectation(shape: Any) -> str:
    return _NAMES.get(get_origin(shape) or shape, "a value")


def _describe(value: object) -> str:
    # Shows only numbers and booleans: a string may be a key in the wrong field.
    name = _NAMES.get(type(value), type(value).__name__)
    return repr(value) if isinstance(value, int | float) else name
