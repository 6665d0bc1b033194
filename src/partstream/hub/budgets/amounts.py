"""Amounts of money and tokens as people write and read them: `5 USD/day`, `2M tokens/week`, `250.50 USD/month`.

Money is counted in whole nanodollars (10^9 of them are one US dollar), tokens are counted one by one. No float
comes near either.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, Overflow
from typing import Final, NamedTuple

from partstream.errors import UnexpectedValueError
from partstream.hub.directory import DOLLAR, MOST_AMOUNT, BudgetUnit, Period

__all__ = ["BudgetAmount", "amount_text", "budget_text", "nanodollars", "parsed_budget"]

_FORM: Final = "an amount such as `5 USD/day`, `2M tokens/week`, `250.50 USD/month` or `100 USD`"
_BUDGET: Final = re.compile(
    r"""\s* (?P<dollar>\$)? \s* (?P<number>\d[\d_,]*(?:\.\d+)?|\.\d+) \s* (?P<factor>[kKmMbBgG])? \s*
        (?P<unit>USD|usd|tokens?)? \s* (?:(?:/|\s(?:a|per)\s) \s* (?P<period>\w+) )? \s*""",
    re.VERBOSE | re.ASCII,
)
_FACTORS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_SUFFIXES: Final = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
_PERIODS: Final = {"day": Period.DAY, "week": Period.WEEK, "month": Period.MONTH, "total": Period.TOTAL}
_UNITS: Final = {"usd": (BudgetUnit.MONEY, DOLLAR), "token": (BudgetUnit.TOKENS, 1), "tokens": (BudgetUnit.TOKENS, 1)}


class BudgetAmount(NamedTuple):
    """What a budget allows in each window.

    Attributes:
        unit: What is counted.
        period: How long a window is.
        limit: The most of it: nanodollars or tokens.
    """

    unit: BudgetUnit
    period: Period
    limit: int


def parsed_budget(text: str) -> BudgetAmount:
    """A budget as a person wrote it; without a period it is a total.

    Raises:
        UnexpectedValueError: It is none, is finer than a nanodollar or a token, or exceeds `MOST_AMOUNT`.
    """
    found = _BUDGET.fullmatch(text)
    period = None if found is None else _PERIODS.get((found["period"] or "total").lower())
    has_one_unit = found is not None and (found["dollar"] is None) != (found["unit"] is None)
    if found is None or period is None or not has_one_unit:
        raise UnexpectedValueError("budget", text, _FORM)
    unit, scale = _UNITS[(found["unit"] or "usd").lower()]
    factor = _FACTORS[(found["factor"] or "").lower()]
    exact = Decimal(found["number"].replace(",", "").replace("_", "")) * scale * factor
    if exact > MOST_AMOUNT:
        raise UnexpectedValueError("budget", text, f"at most {amount_text(unit, MOST_AMOUNT)}")
    if exact != int(exact):
        finest = "a nanodollar (9 decimals)" if unit is BudgetUnit.MONEY else "a whole token"
        raise UnexpectedValueError("budget", text, f"an amount no finer than {finest}")
    return BudgetAmount(unit, period, int(exact))


def budget_text(budget: BudgetAmount) -> str:
    """A budget in the form that :func:`parsed_budget` reads, without loss."""
    if budget.unit is BudgetUnit.MONEY:
        amount = f"{_dollars(budget.limit)} USD"
    else:
        factor, suffix = next(
            ((factor, suffix) for factor, suffix in _SUFFIXES if budget.limit and budget.limit % factor == 0), (1, "")
        )
        amount = f"{budget.limit // factor}{suffix} tokens"
    return amount if budget.period is Period.TOTAL else f"{amount}/{budget.period.value}"


def amount_text(unit: BudgetUnit, amount: int) -> str:
    """An amount for people: `4.20 USD`, `0.000031 USD`, `1,200 tokens`."""
    if unit is BudgetUnit.TOKENS:
        return f"{amount:,} {'token' if amount == 1 else 'tokens'}"
    return f"{_dollars(amount, ',')} USD"


def nanodollars(dollars: Decimal | float | str) -> int:
    """A number of dollars as nanodollars, rounded to the nearest; a float stands for the decimals it is shown with.

    Raises:
        UnexpectedValueError: It is no finite number from 0 to `MOST_AMOUNT` nanodollars.
    """
    try:
        exact = Decimal(str(dollars)) * DOLLAR
    except (InvalidOperation, Overflow):
        raise UnexpectedValueError("dollars", str(dollars), "a number") from None
    if not exact.is_finite() or not 0 <= exact <= MOST_AMOUNT:
        raise UnexpectedValueError("dollars", str(dollars), f"a number from 0 to {MOST_AMOUNT // DOLLAR:,}")
    return int(exact.quantize(Decimal(1), ROUND_HALF_EVEN))


def _dollars(amount: int, grouping: str = "") -> str:
    """Nanodollars as dollars, with two decimals or as many as it takes."""
    sign, (whole, rest) = "-" if amount < 0 else "", divmod(abs(amount), DOLLAR)
    decimals = f"{rest:09d}"
    shown = decimals[:2] + decimals[2:].rstrip("0")
    return f"{sign}{format(whole, grouping)}" + (f".{shown}" if rest else "" if not grouping else ".00")
