"""Finds the place in a value that JSON cannot represent; knows neither parts nor rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

__all__ = ["MAX_DEPTH", "NonJSON", "find_non_json", "locate_non_json", "shorten"]

MAX_DEPTH: Final = 500
"""The most levels that objects and arrays may nest: far above any real argument, and below Python's own limits."""

_MAX_SHOWN: Final = 80

_Key: TypeAlias = str | int


class NonJSON(NamedTuple):
    """A place in a value that JSON cannot represent.

    Attributes:
        place: The place, such as `input['a'][0]`.
        got: What stands there, such as `a set`.
        expected: What JSON takes there, such as `a JSON value`.
        clause: The end of the sentence that begins with the place; empty for one made of `got` and `expected`.
    """

    place: str
    got: str
    expected: str = "a JSON value"
    clause: str = ""

    def __str__(self) -> str:
        return f"{self.place} {self.clause or f'is {self.got}, expected {self.expected}'}"


def find_non_json(value: object, name: str) -> str | None:
    """Describes the first place in `value` that JSON cannot represent, as :func:`locate_non_json` finds it.

    Args:
        value: Any object.
        name: The value's name in the description, such as `input`.
    """
    found = locate_non_json(value, name)
    return None if found is None else str(found)


def locate_non_json(value: object, name: str) -> NonJSON | None:
    """Finds the first place in `value` that JSON cannot represent; None if there is no such place.

    Objects are mappings with string keys, arrays are lists and tuples, numbers are finite. Takes time linear in the
    size of the value, bounded by :data:`MAX_DEPTH`: a cycle counts as a value that nests too deep.

    Args:
        value: Any object.
        name: The value's name in the place, such as `input`.
    """
    path: list[_Key] = [name]
    stack: list[Iterator[tuple[_Key, object]]] = [iter([(name, value)])]
    while stack:
        for key, child in stack[-1]:
            path[-1] = key
            fault = _fault(child)
            if fault is not None:
                return fault._replace(place=_render(path))
            if isinstance(child, Mapping | list | tuple):
                if len(stack) > MAX_DEPTH:
                    clause = f"nests deeper than {MAX_DEPTH} levels, or contains itself"
                    return NonJSON(name, f"a value that {clause}", clause=clause)
                stack.append(iter(child.items() if isinstance(child, Mapping) else enumerate(child)))
                path.append("")
                break
        else:
            stack.pop()
            path.pop()
    return None


def shorten(value: object) -> str:
    """The `repr` of `value`, cut to a length that fits a report; control characters are escaped."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _fault(value: object) -> NonJSON | None:
    """What JSON cannot represent of a value itself, without its place."""
    if value is None or isinstance(value, str | int | list | tuple):
        return None
    if isinstance(value, float):
        return (
            None if math.isfinite(value) else NonJSON("", str(value), clause=f"is {value}, which is not a JSON number")
        )
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        return NonJSON("", f"an object with the key {shorten(odd[0])}", "only string keys") if odd else None
    return NonJSON("", f"a {type(value).__name__}")


def _render(path: list[_Key]) -> str:
    return str(path[0]) + "".join(f"[{shorten(key)}]" for key in path[1:])
