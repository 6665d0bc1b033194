"""The tokens of each request to a model in one run, from the usage contents of its updates."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import StepUsage
from partstream.numbers import as_count
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["StepTokens"]

_FIELDS: Final = {
    "input_token_count": "input_tokens",
    "output_token_count": "output_tokens",
    "total_token_count": "total_tokens",
    "cache_read_input_token_count": "cached_tokens",
    "reasoning_output_token_count": "reasoning_tokens",
    "cache_creation_input_token_count": "cache_write_tokens",
}
"""Source: Agent Framework 1.23, `UsageDetails`."""


class StepTokens:
    """Collects the usage of one inner response after the other.

    A response may say it in several pieces, which add up as in the framework's own `add_usage_details`. From its second
    response on, a run of Agent Framework 1.22 or later says the sum of all responses instead, in contents that replace
    what was said before (`project_cumulative_usage`).
    """

    def __init__(self) -> None:
        self._before: Counter[str] = Counter()
        self._counts: dict[str, int] = {}

    def add(self, details: Mapping[str, Any] | None, *, replaces: bool = False) -> None:
        """Takes a piece of the usage of the current response, or all of it and of the responses before."""
        said = {field: as_count((details or {}).get(name)) for name, field in _FIELDS.items()}
        known = {field: count for field, count in said.items() if count is not None}
        if replaces:
            self._counts = {field: max(count - self._before[field], 0) for field, count in known.items()}
        else:
            self._counts |= {field: count + self._counts.get(field, 0) for field, count in known.items()}

    def end_step(self) -> list[StepUsage]:
        """The tokens of the response that is over; none where nothing was said of them."""
        counts: dict[str, Any] = dict(self._counts)
        self._before.update(counts)
        self._counts = {}
        return [StepUsage(Usage(**counts))] if counts else []
