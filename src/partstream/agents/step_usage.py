"""The tokens of an agent's inner requests: those of the last fill its window, the sum is what the answer took."""

from __future__ import annotations

from typing import Any, Final

from partstream.usage import Usage

__all__ = ["StepUsages"]

_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cache_write_tokens",
)


class StepUsages:
    """The tokens of the inner requests of one answer.

    Attributes:
        last: The tokens of the last request, by which a host decides when to compact; None without any.
        total: The sum of all requests, a count that no request has being unknown; None without any.
    """

    def __init__(self) -> None:
        self.last: Usage | None = None
        self.total: Usage | None = None

    def add(self, usage: Usage) -> None:
        """Adds the next request."""
        self.last = usage
        self.total = usage if self.total is None else _sum(self.total, usage)


def _sum(one: Usage, other: Usage) -> Usage:
    counts: dict[str, Any] = {}
    for name in _COUNTS:
        values = [value for usage in (one, other) if (value := getattr(usage, name)) is not None]
        if values:
            counts[name] = sum(values)
    return Usage(**counts)
