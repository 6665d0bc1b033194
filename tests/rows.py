"""Tables of many cheap rows, which one test goes through.

pytest takes some three milliseconds for each test, in collecting, preparing and reporting it, and twice that where
workers share them. Rows that take less, and need nothing of their own, are the rows of one test.
"""

from __future__ import annotations
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import pytest

__all__ = ["one_test_for"]


def one_test_for(
    names: str | tuple[str, ...], rows: Iterable[Any], ids: Iterable[str] | Callable[[Any], object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Has one test go through all rows, where `pytest.mark.parametrize` with the same arguments makes a test of each.

    Every row is tried, whatever becomes of those before it. The error of a row that fails has a note with the row's
    name; several errors are raised as one group. A mark counts for the whole test, so all rows must have it.
    """
    arguments = (names,) if isinstance(names, str) else names
    table = [_Row.of(row, len(arguments)) for row in rows]
    named = None if ids is None or callable(ids) else list(map(str, ids))
    if named is not None and len(named) != len(table):
        raise ValueError(f"{len(named)} names for {len(table)} rows")
    marks = table[0].marks if table else ()
    if any(row.marks != marks for row in table):
        raise ValueError("the rows of one test have the same marks")

    def name_of(place: int) -> str:
        row = table[place]
        if row.name is not None:
            return row.name
        if named is not None:
            return named[place]
        shown = [ids(value) if callable(ids) else value for value in row.values]
        return f"{place}: {'-'.join(map(str, shown))[:200]}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def goes_through_all(**others: Any) -> None:
            errors = []
            for place, row in enumerate(table):
                try:
                    test(**dict(zip(arguments, row.values, strict=True)), **others)
                except Exception as error:
                    error.add_note(f"in the row {name_of(place)}")
                    errors.append(error)
            if len(errors) == 1:
                raise errors[0]
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(table)} rows fail", errors)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in arguments]
        goes_through_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        for mark in marks:
            mark(goes_through_all)
        return goes_through_all

    return decorate


@dataclass(frozen=True, slots=True)
class _Row:
    """The values of a row, the name that it was given, and its marks."""

    values: tuple[Any, ...]
    name: str | None
    marks: tuple[pytest.MarkDecorator, ...]

    @classmethod
    def of(cls, row: Any, count: int) -> _Row:
        """A row as `pytest.mark.parametrize` takes it, for so many arguments."""
        if isinstance(row, type(pytest.param())):
            return cls(tuple(row.values), None if row.id is None else str(row.id), tuple(row.marks))
        return cls((row,) if count == 1 else tuple(row), None, ())
