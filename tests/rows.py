"""Tables of many cheap rows, which one test goes through.

pytest takes some three milliseconds for each test, in collecting, preparing and reporting it. Rows that take less, and
need nothing of their own, are the rows of one test.
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
    name; several errors are raised as one group. A mark counts for the whole test, so all rows must have the same.
    """
    arguments = (names,) if isinstance(names, str) else names
    table = _table(list(rows), len(arguments), ids)
    marks = table[0].marks if table else (pytest.mark.skip(reason="there is no row"),)
    if any(row.marks != marks for row in table):
        raise ValueError("the rows of one test have the same marks")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def goes_through_all(**others: Any) -> None:
            errors = []
            for row in table:
                try:
                    test(**dict(zip(arguments, row.values, strict=True)), **others)
                except Exception as error:
                    error.add_note(f"in the row {row.name}")
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
    values: tuple[Any, ...]
    name: str
    marks: tuple[Any, ...]


def _table(rows: list[Any], width: int, ids: Iterable[str] | Callable[[Any], object] | None) -> list[_Row]:
    """The rows as `pytest.mark.parametrize` takes them; one without a name is named by its place and its values."""
    names = [None] * len(rows) if ids is None or callable(ids) else list(map(str, ids))
    table = []
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        plain = row if isinstance(row, type(pytest.param())) else pytest.param(*((row,) if width == 1 else row))
        shown = "-".join(_shown(ids(value) if callable(ids) else value) for value in plain.values)
        table.append(_Row(tuple(plain.values), str(plain.id or name or f"{place}: {shown[:200]}"), tuple(plain.marks)))
    return table


def _shown(value: object) -> str:
    """A value in the name of a row; the kind of what may be anything, also an object that cannot be shown."""
    is_long = isinstance(value, int) and value.bit_length() > 64  # Python writes no number of thousands of digits
    return str(value) if isinstance(value, str | int | float | None) and not is_long else type(value).__name__
