"""Pictures of lines as SVG documents, for pages that GitHub shows: light ground, no script, no style sheet."""

from __future__ import annotations
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Axis", "lines"]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 340, 80, 20, 44, 52
_COLOURS: Final = ("#3b7dd8", "#c8553d", "#2f8f5b", "#8a5cb8")
_DASHES: Final = ("", "7 4", "2 4", "10 3 2 3")
"""Each line has a dash of its own, for who does not see the colours."""


_DRAWING: Final = 'font-family="sans-serif" font-size="12" role="img"'


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a picture.

    Attributes:
        label: What it shows, with its unit.
        is_logarithmic: Whether each step is ten times as much.
        most: The end of the axis; None for what the largest value needs.
    """

    label: str
    is_logarithmic: bool = False
    most: float | None = None


def lines(
    title: str,
    x: Axis,
    y: Axis,
    series: Mapping[str, Sequence[tuple[float, float]]],
    shaded: tuple[float, float] | None = None,
) -> str:
    """A picture with a line for each series.

    Args:
        title: What it shows.
        x: The axis to the right.
        y: The axis upwards.
        series: The points of each line, by its name.
        shaded: A part of the axis to the right that is shaded, from and to.
    """
    points = [point for line in series.values() for point in line]
    across = _Scale.of(x, [point[0] for point in points], _LEFT, _WIDTH - _RIGHT)
    upwards = _Scale.of(y, [point[1] for point in points], _HEIGHT - _BOTTOM, _TOP)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" {_DRAWING}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
    ]
    if shaded is not None:
        left, right = (across.place(value) for value in shaded)
        drawn.append(
            f'<rect x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" height="{_HEIGHT - _BOTTOM - _TOP}" '
            'fill="#eceff4"/>'
        )
    drawn += _grid(x, y, across, upwards)
    for number, (name, line) in enumerate(series.items()):
        drawn += _line(number, name, [(across.place(one), upwards.place(other)) for one, other in line])
    return "\n".join([*drawn, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class _Scale:
    first: float
    last: float
    begin: float
    end: float
    is_logarithmic: bool

    @classmethod
    def of(cls, axis: Axis, values: Sequence[float], begin: float, end: float) -> _Scale:
        most = axis.most or max(values)
        if axis.is_logarithmic:
            smallest = min(value for value in values if value > 0)
            return cls(floor(log10(smallest)), ceil(log10(most)), begin, end, is_logarithmic=True)
        return cls(0.0, _round_up(most), begin, end, is_logarithmic=False)

    def place(self, value: float) -> float:
        shown = log10(max(value, 10**self.first)) if self.is_logarithmic else value
        part = (shown - self.first) / ((self.last - self.first) or 1)
        return self.begin + part * (self.end - self.begin)

    def ticks(self) -> list[float]:
        if self.is_logarithmic:
            return [10.0**power for power in range(int(self.first), int(self.last) + 1)]
        return [self.last * step / 5 for step in range(6)]


def _round_up(value: float) -> float:
    power = 10.0 ** floor(log10(value)) if value > 0 else 1.0
    return next(power * step for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if power * step >= value * 0.999)


def _grid(x: Axis, y: Axis, across: _Scale, upwards: _Scale) -> Iterator[str]:
    low, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value in upwards.ticks():
        place = upwards.place(value)
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{place:.1f}" y2="{place:.1f}" stroke="#d5dae2"/>'
        yield f'<text x="{_LEFT - 8}" y="{place + 4:.1f}" text-anchor="end" fill="#333">{_shown(value)}</text>'
    for value in across.ticks():
        place = across.place(value)
        yield f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{low}" y2="{low + 5}" stroke="#8a93a3"/>'
        yield f'<text x="{place:.1f}" y="{low + 19}" text-anchor="middle" fill="#333">{_shown(value)}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle:.0f}" y="{_HEIGHT - 10}" text-anchor="middle" fill="#333">{escape(x.label)}</text>'
    yield f'<text x="{_LEFT - 66}" y="{_TOP - 12}" fill="#333">{escape(y.label)}</text>'


def _line(number: int, name: str, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
    left = _WIDTH - _RIGHT - 190 * (number % 3 + 1)
    top = 14 + 16 * (number // 3)
    yield f'<line x1="{left}" x2="{left + 26}" y1="{top}" y2="{top}" stroke="{colour}" stroke-width="2"{dashed}/>'
    yield f'<text x="{left + 32}" y="{top + 4}" fill="#222">{escape(name)}</text>'


def _shown(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
