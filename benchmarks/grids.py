"""A table before it is drawn, and how it is drawn in a terminal and on a page; knows nothing of what is in it."""

from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

__all__ = ["Grid", "draw", "markdown"]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table before it is drawn."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def draw(grid: Grid, console: Console) -> None:
    """Prints a table; a row that ends with `not reached` is red."""
    table = Table(title=grid.title, title_justify="left")
    for place, name in enumerate(grid.head):
        table.add_column(name, justify="left" if place == 0 else "right")
    for row in grid.rows:
        table.add_row(*row, style="red" if row[-1] == "not reached" else None)
    console.print(table)


def markdown(machine: Mapping[str, object], skipped: Mapping[str, str], grids: Iterable[Grid]) -> str:
    """The figures of a page: on what they were measured, what was left out and why, and the tables."""
    lines = [f"- {name}: {value}" for name, value in machine.items()]
    lines += [f"- not measured: {name}, {why}" for name, why in skipped.items()]
    for grid in grids:
        lines += ["", f"## {grid.title}", "", _row(grid.head), _row(["---", *["---:"] * (len(grid.head) - 1)])]
        lines += [_row(row) for row in grid.rows]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
