"""The figures of docs/caching.md: two tables, and a picture of bars."""

from __future__ import annotations
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.caching import Row

__all__ = ["markdown", "picture"]

_WIDTH, _BAR, _GAP, _LABELS, _NUMBERS = 760, 26, 14, 300, 100
_COLOURS: Final = (("uncached", "#b0b7c3"), ("written", "#e0a030"), ("read", "#3b7dd8"))
_DARK: Final = '[fill="#ffffff"] { fill: #1b1e26 } [fill="#222"] { fill: #e6e8ef }'
"""The picture in a dark page."""


def markdown(of_marks: Mapping[str, Sequence[Row]], automatic: Sequence[Row], rounds: int) -> str:
    """The tables, with the picture before them.

    Args:
        of_marks: The session at a server that wants marks, by the model and by where they stand; ours first.
        automatic: The session at servers that find the common beginning by themselves.
        rounds: The requests of one turn.
    """
    first = next(iter(of_marks))
    tables = {**{f"Marks, `{model}`": rows for model, rows in of_marks.items()}, "Caches without marks": automatic}
    lines = [
        f"The session: three turns of {rounds} requests, {of_marks[first][0].tokens:,} tokens of prompts together.",
        "",
        f"![The price of the session with {first}, by where the marks stand](caching.svg)",
        "",
        *(line for what, rows in tables.items() for line in (*_table(what, rows), "")),
    ]
    return "\n".join(lines)


def _table(what: str, rows: Sequence[Row]) -> list[str]:
    names = (what, "uncached", "read", "written", "price", "saved")
    return [
        "| " + " | ".join(names) + " |",
        "| --- |" + " ---: |" * (len(names) - 1),
        *(
            f"| {row.name} | {row.uncached:,} | {row.read:,} | {row.written:,} | {row.price:,.0f} | {row.saving:.1%} |"
            for row in rows
        ),
    ]


def picture(rows: Sequence[Row]) -> str:
    """A bar for each row: what is paid for uncached, written and read tokens, as an SVG document."""
    height = len(rows) * (_BAR + _GAP) + _GAP + 30
    scale = (_WIDTH - _LABELS - _NUMBERS) / max(row.price for row in rows)
    drawing = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13" role="img"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {drawing}>',
        "<title>The price of the session, in tokens of uncached input</title>",
        f"<style>@media (prefers-color-scheme: dark) {{ {_DARK} }}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, row in enumerate(rows):
        parts += _bar(row, _GAP + number * (_BAR + _GAP), scale)
    parts += _legend(height - 20)
    return "\n".join([*parts, "</svg>", ""])


def _bar(row: Row, top: int, scale: float) -> list[str]:
    middle = top + _BAR * 0.68
    paid = _paid(row)
    left = float(_LABELS)
    parts = [f'<text x="{_LABELS - 10}" y="{middle:.0f}" text-anchor="end" fill="#222">{escape(row.name)}</text>']
    for name, colour in _COLOURS:
        width = paid[name] * scale
        if width > 0:
            parts.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>')
        left += width
    parts.append(f'<text x="{left + 8:.1f}" y="{middle:.0f}" fill="#222">{row.price / 1000:,.0f}k</text>')
    return parts


def _paid(row: Row) -> dict[str, float]:
    """The price of each kind of tokens."""
    read = row.read * _READ_PRICE
    return {"uncached": float(row.uncached), "read": read, "written": row.price - row.uncached - read}


_READ_PRICE: Final = 0.1


def _legend(top: int) -> list[str]:
    parts, left = [], _LABELS
    for name, colour in _COLOURS:
        parts.append(f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left + 18}" y="{top + 11}" fill="#222">{name}</text>')
        left += 110
    return parts
