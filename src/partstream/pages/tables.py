"""Tables and figures of pages: HTML that says the same to those who see it and those who hear it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.pages.document import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from partstream.pages.plots import Piece

__all__ = ["PATTERNS", "figure", "table"]

PATTERNS: Final = (
    '<svg class="unseen" aria-hidden="true" width="0" height="0"><defs><pattern id="hatched" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" x2="0" y1="0" y2="6"/>'
    '</pattern><pattern id="striped" width="4" height="4" patternUnits="userSpaceOnUse"><line class="stripe" x1="0" '
    'x2="4" y1="2" y2="2"/></pattern></defs></svg>'
)
"""The patterns that the pieces of a plot refer to: a page with plots has them once."""


def table(
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    of_text: Collection[str] = (),
    foot: Sequence[str] | None = None,
) -> Iterator[str]:
    """A table without its empty columns.

    Each cell has the name of its column with it, and the roles of a table are written out: a narrow page may show a row
    as a block of lines, which keeps no browser from seeing a table.

    Args:
        title: What the table shows, as text.
        names: The names of the columns, as HTML without tags.
        rows: The cells as HTML; the first of a row names it.
        of_text: The names of the columns that hold texts; the others hold numbers.
        foot: The cells of a last row that adds the others up, or None.
    """
    if not rows:
        yield "<p>None yet.</p>"
        return
    columns = [number for number in range(len(names)) if any(row[number] for row in rows)]
    kinds = ["" if names[number] in of_text else ' class="number"' for number in columns]
    head = "".join(
        f'<th scope="col" role="columnheader"{kind}>{names[number]}</th>'
        for number, kind in zip(columns, kinds, strict=True)
    )
    kinds = [f'{kind} data-column="{names[number]}"' for number, kind in zip(columns, kinds, strict=True)]
    yield f'<div class="scroll" tabindex="0" role="group" aria-label="{text(title)}, table"><table role="table">'
    yield f'<caption class="unseen">{text(title)}</caption>'
    yield f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">'
    for row in rows:
        yield _row(row, columns, kinds)
    yield "</tbody>"
    if foot is not None:
        yield f'<tfoot role="rowgroup">{_row(foot, columns, kinds)}</tfoot>'
    yield "</table></div>"


def _row(row: Sequence[str], columns: Sequence[int], kinds: Sequence[str]) -> str:
    first, *others = [(row[number], kind) for number, kind in zip(columns, kinds, strict=True)]
    cells = "".join(f'<td role="cell"{kind}>{cell}</td>' for cell, kind in others)
    return f'<tr role="row"><th scope="row" role="rowheader"{first[1]}>{first[0]}</th>{cells}</tr>'


def figure(caption: str, plot: str, pieces: Sequence[Piece]) -> str:
    """A plot with its caption, and with the legend of its pieces where it has any.

    Args:
        caption: What it shows, as text.
        plot: The plot as SVG.
        pieces: The kinds of pieces, as in the plot.
    """
    keys = "".join(
        f'<li><svg viewBox="0 0 20 12" aria-hidden="true"><rect class="{piece.style}" x="1" y="1" width="18" '
        f'height="10"/></svg>{text(piece.name)}</li>'
        for piece in pieces
    )
    legend = f'<ul class="legend">{keys}</ul>' if keys else ""
    scroll = f'<div class="scroll" tabindex="0" role="group" aria-label="{text(caption)}, plot">{plot}</div>'
    return f"<figure><figcaption>{text(caption)}</figcaption>{scroll}{legend}</figure>"
