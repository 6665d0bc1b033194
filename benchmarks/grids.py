"""A table before it is drawn, and how it is drawn in a terminal; knows nothing of what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

__all__ = ["Grid", "draw"]


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
