"""What an answer needs of a budget before its provider may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from partstream.hub.directory import BudgetRule

__all__ = ["Need"]


class Need(NamedTuple):
    """What an answer needs of one budget, in nanodollars or in tokens.

    Attributes:
        rule: The rule of the budget.
        amount: An upper bound of what the answer will take.
        least: The least with which it can be begun; from there on the answer is told how much it has.
    """

    rule: BudgetRule
    amount: int
    least: int
