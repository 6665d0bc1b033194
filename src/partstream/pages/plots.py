"""Two plots as SVG: stacked bars, a column a day, and a line that fills up to a limit.

A plot is a picture of a table that stands beside it: its title says what it shows, each bar and point has its numbers
as a title, and patterns tell the pieces of a bar apart, so that nothing is said by colour alone. Colours come from the
classes in `usage.css`; there is no style in the SVG, which a Content-Security-Policy would refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

from partstream.pages.document import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Column", "Piece", "Point", "bars", "line"]

_WIDTH: Final = 720
_HEIGHT: Final = 200
_LEFT: Final = 64
_TOP: Final = 10
_BOTTOM: Final = 26
_FLOOR: Final = _HEIGHT - _BOTTOM
_RANGE: Final = _FLOOR - _TOP
_TICKS: Final = 4
_LABELS: Final = 8
"""The most labels below a plot."""
_THINNEST: Final = 1.5
"""The least height of a piece that is not zero."""
_LARGEST_DOT: Final = 60
"""The most points that are drawn as dots."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A kind of piece of every column.

    Attributes:
        name: Its name in the legend.
        style: Its class, which gives it a colour and a pattern.
    """

    name: str
    style: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a plot with bars.

    Attributes:
        label: What stands below it.
        title: All that it says, in words.
        heights: The height of each piece, from the bottom.
    """

    label: str
    title: str
    heights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line.

    Attributes:
        title: All that it says, in words.
        value: Its height.
        limit: The most that it can be, or None if that is unknown.
    """

    title: str
    value: float
    limit: float | None


def bars(
    title: str, columns: Sequence[Column], pieces: Sequence[Piece], shown: Callable[[float], str], name: str
) -> str:
    """Columns of stacked pieces.

    Args:
        title: What the plot shows, for those who do not see it.
        columns: The columns, from left to right; at least one.
        pieces: The kinds of pieces, from the bottom.
        shown: A value as text, for the scale.
        name: A name of the plot that is an identifier, unlike that of every other plot of the page.
    """
    top = _scale(max(sum(column.heights) for column in columns))
    step = (_WIDTH - _LEFT) / len(columns)
    width = min(step * 0.75, 40)
    drawn = [*_axis(top, shown)]
    for number, column in enumerate(columns):
        left = _LEFT + step * number + (step - width) / 2
        drawn.append(f"<g><title>{text(column.title)}</title>{''.join(_stack(column, pieces, left, width, top))}</g>")
    drawn += _labels([column.label for column in columns], lambda number: _LEFT + step * (number + 0.5))
    return _svg(title, name, drawn)


def line(title: str, points: Sequence[Point], shown: Callable[[float], str], name: str) -> str:
    """A line through points, and their limit above it.

    Args:
        title: What the plot shows, for those who do not see it.
        points: The points, from left to right; at least one.
        shown: A value as text, for the scale.
        name: A name of the plot that is an identifier, unlike that of every other plot of the page.
    """
    top = _scale(max(max(point.value, point.limit or 0) for point in points))
    step = (_WIDTH - _LEFT - 16) / max(len(points) - 1, 1)
    places = [(_LEFT + 8 + step * number, _y(point.value, top), point) for number, point in enumerate(points)]
    drawn = [*_axis(top, shown), *_limits(places, top)]
    drawn.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)}"/>')
    radius = 4 if len(points) <= _LARGEST_DOT else 1.5
    drawn += [
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>{text(point.title)}</title></circle>'
        for x, y, point in places
    ]
    drawn += _labels([str(number) for number in range(1, len(points) + 1)], lambda number: places[number][0])
    return _svg(title, name, drawn)


def _svg(title: str, name: str, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{text(title)}</title>{"".join(drawn)}</svg>'
    )


def _axis(top: float, shown: Callable[[float], str]) -> Iterator[str]:
    for number in range(_TICKS + 1):
        value = top * number / _TICKS
        y = _y(value, top)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text(shown(value))}</text>'


def _labels(labels: Sequence[str], place: Callable[[int], float]) -> Iterator[str]:
    """As many labels as fit: the last one, and others at the same distance."""
    distance = ceil(len(labels) / _LABELS)
    for number, label in enumerate(labels):
        if (len(labels) - 1 - number) % distance == 0:
            x = min(place(number), _WIDTH - 20)
            yield f'<text class="tick" x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{text(label)}</text>'


def _stack(column: Column, pieces: Sequence[Piece], left: float, width: float, top: float) -> Iterator[str]:
    floor_of_piece = float(_FLOOR)
    for height, piece in zip(column.heights, pieces, strict=True):
        if height > 0:
            drawn = max(height / top * _RANGE, _THINNEST)
            floor_of_piece -= drawn
            yield (
                f'<rect class="{piece.style}" x="{left:.1f}" y="{floor_of_piece:.1f}" width="{width:.1f}" '
                f'height="{drawn:.1f}"/>'
            )


def _limits(places: Sequence[tuple[float, float, Point]], top: float) -> Iterator[str]:
    """The limit between each two points that have one; over all of the plot for a point alone."""
    if len(places) == 1 and places[0][2].limit is not None:
        y = _y(places[0][2].limit, top)
        yield f'<line class="limit" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
    for (x, _, point), (next_x, _, following) in pairwise(places):
        if point.limit is not None and following.limit is not None:
            y, next_y = _y(point.limit, top), _y(following.limit, top)
            yield f'<line class="limit" x1="{x:.1f}" x2="{next_x:.1f}" y1="{y:.1f}" y2="{next_y:.1f}"/>'


def _y(value: float, top: float) -> float:
    return _FLOOR - value / top * _RANGE


def _scale(most: float) -> float:
    """The top of a scale with round steps: the next of 1, 2, 4, 6, 8, 10 with zeros behind it."""
    if most <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(most))
    return next(unit * step for step in (1, 2, 4, 6, 8, 10, 20) if unit * step >= most)
