"""Finds what in a value has no JSON form, and says where; knows nothing of parts and rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

__all__ = ["MAX_DEPTH", "find_non_json", "shorten"]

MAX_DEPTH: Final = 500
"""How deep objects and arrays may nest. Far above any real argument, and below Python's own limits."""

_MAX_SHOWN: Final = 80

_Key: TypeAlias = str | int


def find_non_json(value: object, name: str) -> str | None:
    """Says the first place in `value` that JSON has no form for, or None when there is none.

    Objects are mappings with string keys, arrays are lists and tuples, numbers are finite. Linear in the size of the
    value, and bounded by :data:`MAX_DEPTH`, so a cycle ends as a value that is nested too deep.

    Args:
        value: Anything.
        name: What to call it in the answer, such as `input`.
    """
    path: list[_Key] = [name]
    stack: list[Iterator[tuple[_Key, object]]] = [iter([(name, value)])]
    while stack:
        for key, child in stack[-1]:
            path[-1] = key
            fault = _fault(child)
            if fault is not None:
                return f"{_render(path)} is {fault}"
            if isinstance(child, Mapping | list | tuple):
                if len(stack) > MAX_DEPTH:
                    return f"{name} is nested deeper than {MAX_DEPTH} levels, or holds itself"
                stack.append(iter(child.items() if isinstance(child, Mapping) else enumerate(child)))
                path.append("")
                break
        else:
            stack.pop()
            path.pop()
    return None


def shorten(value: object) -> str:
    """`value` as Python writes it, cut to a length that fits a report; control characters come out escaped."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _fault(value: object) -> str | None:
    if value is None or isinstance(value, str | int | list | tuple):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value}, a number that JSON does not have"
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        return f"an object with the key {shorten(odd[0])}, expected string keys" if odd else None
    return f"a {type(value).__name__}, expected a JSON value"


def _render(path: list[_Key]) -> str:
    return str(path[0]) + "".join(f"[{shorten(key)}]" for key in path[1:])
