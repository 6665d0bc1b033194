"""Tells whether an object has what an interface of ours asks for; quickly, because it is asked for every answer."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

__all__ = ["as_kind"]

_Kind = TypeVar("_Kind")


def as_kind(value: object, kind: type[_Kind]) -> _Kind | None:
    """The object, if it has all that an interface asks for; else None.

    `isinstance` says the same of a `typing.Protocol` and takes 10 to 30 µs for it until Python 3.12.

    Args:
        value: The object.
        kind: A `typing.Protocol` that is `runtime_checkable`.
    """
    for name in _members(kind):  # type: ignore[arg-type]  # a class is hashable
        if not hasattr(value, name):
            return None
    return value  # type: ignore[return-value]


@cache
def _members(kind: type) -> tuple[str, ...]:
    """The names that an interface asks for."""
    names: set[str] = set()
    for base in kind.__mro__:
        if getattr(base, "_is_protocol", False):
            names |= {*vars(base), *vars(base).get("__annotations__", ())}
    return tuple(sorted(name for name in names if not name.startswith("_")))
