"""Reads the tokens that servers report, in five places (docs/wires/chat-completions.md#usage)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.numbers import MOST_DOLLARS, as_amount, as_count
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.read_response import Wire

__all__ = ["ReportedUsage", "read_cost", "read_usage"]

_CACHED: Final = (
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # DeepSeek
    ("cached_tokens",),  # Moonshot
    ("num_cached_tokens",),  # Mistral
    ("prompt_token_details", "cached_tokens"),  # Mistral's spelling
)
_WRITTEN: Final = (
    ("prompt_tokens_details", "cache_write_tokens"),  # OpenRouter
    ("prompt_tokens_details", "cache_creation_input_tokens"),  # Qwen
    ("prompt_tokens_details", "created_cache_tokens"),  # vLLM
)
_REASONING: Final = (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",))  # the second: SGLang


_TICKS: Final = 10_000_000_000


class ReportedUsage:
    """The usage of one answer. A later report replaces an earlier one, and nothing is added up.

    Attributes:
        raw: The last object with a number in it that is not 0, else the last with any number; None without one.
        reports: How many objects with a number that is not 0 came.
    """

    __slots__ = ("raw", "reports")

    def __init__(self) -> None:
        self.raw: Wire | None = None
        self.reports = 0

    def say(self, report: Any) -> None:
        """Takes what stands in a field `usage`. MiniMax reports zeros until its last frame."""
        if not isinstance(report, dict):
            return
        numbers = [value for value in report.values() if isinstance(value, int | float) and not isinstance(value, bool)]
        if any(numbers) or (numbers and not self.reports):
            self.raw = report
            self.reports += any(numbers)

    @property
    def cost(self) -> float | None:
        """The cost in US dollars that no reader of `cost` would find, or None."""
        return None if self.raw is None else read_cost(self.raw)

    @property
    def value(self) -> Usage | None:
        """The usage, or None if none was reported."""
        return None if self.raw is None else read_usage(self.raw)


def read_usage(raw: Wire) -> Usage:
    """The usage that an object reports.

    xAI's `completion_tokens` leave the reasoning out. That is told by arithmetic, not by name: where all three together
    are the total, the output is the sum of two (recording xai-text). Its cached tokens may be more than its prompt,
    which then leaves them out.
    """
    given, made, total = (as_count(raw.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    cached, written, reasoning = (_first(raw, paths) for paths in (_CACHED, _WRITTEN, _REASONING))
    if given is not None and made is not None and reasoning and given + made + reasoning == total:
        made += reasoning
    if given is not None and cached is not None and cached > given:
        given += cached
    if total is None and given is not None and made is not None:
        total = given + made
    return Usage(given, made, total, cached, reasoning, raw, written)


def read_cost(raw: Wire) -> float | None:
    """What an object says of the cost, in US dollars, in another form than a number in `cost`; None if nothing.

    Perplexity has the parts of the cost and their sum, xAI counts in ten billionths of a dollar.
    """
    ticks = as_amount(raw.get("cost_in_usd_ticks"), MOST_DOLLARS * _TICKS)
    total = as_amount(_at(raw, ("cost", "total_cost")), MOST_DOLLARS)
    return total if ticks is None else ticks / _TICKS


def _first(raw: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    """The count at the first of some places that has one."""
    return next((count for path in paths if (count := as_count(_at(raw, path))) is not None), None)


def _at(raw: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        raw = raw.get(name) if isinstance(raw, dict) else None
    return raw
