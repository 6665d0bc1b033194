"""What is kept of a simulation: figures with four digits, and series of ten seconds."""

from __future__ import annotations
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["kept_figures", "kept_routing"]

_STEP = 10
_LEVELS = frozenset({"journal", "most_journal"})
_TOTALS = frozenset({"statements", "transactions", "rows"})
_COUNTS = ("asked", "admitted", "at_once", "spent", "unreachable")
_ROUTING_COUNTS = ("asked", "failed", "moved", "read", "cold", "u0", "u1", "u2", "u3")


def kept_figures(figures: Mapping[str, Any], *, with_series: bool) -> dict[str, Any]:
    """The figures of budgets, with the series where they are shown."""
    kept = {name: _short(value) for name, value in figures.items() if name != "by_second"}
    if with_series:
        seconds = figures["by_second"]
        kept["series"] = {
            **{name: _sums(seconds, name) for name in _COUNTS},
            **{name: [one.get(name, 0) for one in seconds[::_STEP]] for name in sorted(_LEVELS)},
        }
    return kept


def kept_routing(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of routing, with their series."""
    kept = {}
    for choice, one in figures.items():
        kept[choice] = {name: _short(value) for name, value in one.items() if name != "by_second"}
        kept[choice]["series"] = {name: _sums(one["by_second"], name) for name in _ROUTING_COUNTS}
    return kept


def _sums(seconds: Sequence[Mapping[str, int]], name: str) -> list[int]:
    return [
        sum((Counter({name: one.get(name, 0)}) for one in seconds[at : at + _STEP]), Counter())[name]
        for at in range(0, len(seconds), _STEP)
    ]


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    return value
