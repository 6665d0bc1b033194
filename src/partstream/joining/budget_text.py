"""What is left of a budget, in a few words: `$3.20 of $5.00 left today`; without I/O.

What is left is rounded down, so that nobody reads of money that is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.joining.standing import BudgetUnit

if TYPE_CHECKING:
    from partstream.joining.standing import HubBudget

__all__ = ["left_text"]

_NANODOLLARS: Final = 1_000_000_000
_CENT: Final = _NANODOLLARS // 100
_SMALL: Final = 10 * _CENT
"""Below that, two digits behind the point say too little."""
_WINDOWS: Final = {"day": " today", "week": " this week", "month": " this month", "total": ""}
_OWNERS: Final = {"team": " for the team", "key": " for this key"}
_UNITS: Final = ((10**9, "B"), (10**6, "M"), (10**3, "K"))


def left_text(budget: HubBudget) -> str:
    """What is left of a budget: `$3.20 of $5.00 left today`, `1.2M of 2M tokens left this week for the team`."""
    window = _WINDOWS.get(budget.period, f" ({budget.period})" if budget.period else "")
    left, limit = budget.remaining, budget.limit
    if budget.unit is BudgetUnit.MONEY:
        amounts = f"{_dollars(left)} of {_dollars(limit)}"
    else:
        amounts = f"{_tokens(left)} of {_tokens(limit)} tokens"
    return f"{amounts} left{window}{_OWNERS.get(budget.owner.partition(' ')[0], '')}"


def _dollars(nanodollars: int) -> str:
    """Whole cents, rounded down; of less than ten cents four digits."""
    if 0 < nanodollars < _SMALL:
        return f"$0.{nanodollars // 100_000:04}"
    cents = nanodollars // _CENT
    return f"${cents // 100:,}.{cents % 100:02}"


def _tokens(count: int) -> str:
    """950, 42.1K, 1.2M; rounded down."""
    for size, letter in _UNITS:
        if count >= size:
            tenths = count * 10 // size
            return f"{tenths // 10:,}" + (f".{tenths % 10}" if tenths % 10 else "") + letter
    return str(count)
