"""What answers took, in words and cells; an unknown number is an empty cell and never 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.tokens.usage import ListedAnswer, UsageSums

__all__ = ["answer_cells", "dollars", "exact", "share", "sum_cells", "tokens", "total_rows"]

_A_CENT: Final = 0.01
_LEAST_DOLLARS: Final = 0.00001
_THOUSAND: Final = 1_000
_ALMOST_A_MILLION: Final = 999_950


def answer_cells(answer: ListedAnswer) -> tuple[str, ...]:
    """Input, its share of the limit, the cached share, output and cost of an answer."""
    sign = "~" if answer["source"] == "estimated" else ""
    cached, cost = answer["cachedTokens"], answer["cost"]
    return (
        sign + exact(answer["inputTokens"]),
        share(answer["inputTokens"], answer["maxInputTokens"]),
        "" if cached is None else share(cached, answer["inputTokens"]),
        sign + exact(answer["outputTokens"]),
        "" if cost is None else dollars(cost),
    )


def sum_cells(sums: UsageSums) -> tuple[str, ...]:
    """Answers, input, cached share, output and cost of several answers."""
    cost = sums["cost"]
    return (
        exact(sums["answers"]),
        _sign(sums) + exact(sums["inputTokens"]),
        share(sums["cachedTokens"], sums["inputTokens"]),
        _sign(sums) + exact(sums["outputTokens"]),
        "" if cost is None else ("≥ " if sums["withoutCost"] else "") + dollars(cost),
    )


def total_rows(days: Sequence[UsageSums]) -> tuple[tuple[str, str], ...]:
    """The totals of several days, each with its label; an unknown one stands as a dash."""
    labels = ("Answers", "Input", "Cached", "Output", "Cost")
    cells = sum_cells(_total(days))
    return tuple((label, cell or "–") for label, cell in zip(labels, cells, strict=True))


def tokens(count: float) -> str:
    """950, 42.1K, 128K, 1.2M."""
    if count < _THOUSAND:
        return f"{count:.4g}"
    value, unit = (count / 1_000, "K") if count < _ALMOST_A_MILLION else (count / 1_000_000, "M")
    return f"{value:.1f}".removesuffix(".0") + unit


def exact(count: int | None) -> str:
    """12,345, or nothing for an unknown number."""
    return "" if count is None else f"{count:,}"


def dollars(amount: float) -> str:
    """Cents, or, below a cent, the two digits that matter."""
    if amount == 0 or amount >= _A_CENT:
        return f"${amount:,.2f}"
    return (
        f"< ${_LEAST_DOLLARS:f}".rstrip("0") if amount < _LEAST_DOLLARS else f"${float(f'{amount:.2g}'):f}".rstrip("0")
    )


def share(part: int | None, whole: int | None) -> str:
    """A part in percent; nothing if either is unknown, or if there is nothing to have a part of."""
    return f"{part / whole:.0%}" if part is not None and whole else ""


def _sign(sums: UsageSums) -> str:
    return ("≥ " if sums["withoutTokens"] else "") + ("~" if sums["estimated"] else "")


def _total(days: Sequence[UsageSums]) -> UsageSums:
    costs = [one["cost"] for one in days if one["cost"] is not None]
    return {
        "answers": sum(one["answers"] for one in days),
        "inputTokens": sum(one["inputTokens"] for one in days),
        "outputTokens": sum(one["outputTokens"] for one in days),
        "cachedTokens": sum(one["cachedTokens"] for one in days),
        "cost": sum(costs) if costs else None,
        "withoutCost": sum(one["withoutCost"] for one in days),
        "withoutTokens": sum(one["withoutTokens"] for one in days),
        "estimated": sum(one["estimated"] for one in days),
    }
