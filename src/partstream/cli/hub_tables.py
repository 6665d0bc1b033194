"""Tables of what there is in a hub, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from partstream.cli.console import make_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["show_table"]


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Prints a table.

    Args:
        columns: The heads.
        rows: The cells of each row; a dash in the place of an empty one.
        right: The heads of columns of numbers.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*(Text(cell or "–") for cell in row))
    make_console().print(table)
