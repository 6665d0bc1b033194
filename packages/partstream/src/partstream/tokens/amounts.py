"""Amounts of money and tokens as people write and read them, and the windows of budgets.

Money is counted in whole nanodollars (10^9 of them are one US dollar), tokens are counted one by one; no float comes
near either. A budget is written as `5 USD/day`, `2M tokens/week` or `250.50 USD/month`. What tokens cost is said once,
for prices in any unit. The windows of budgets begin and end in the calendar of a time zone, which is computed here
without a clock.
"""

from __future__ import annotations
import math
import re
from datetime import date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, Overflow
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from partstream.codec.checks import as_count
from partstream.codec.text import late_pattern
from partstream.errors import UnexpectedValueError

if TYPE_CHECKING:
    from partstream.lm.parts import Usage


class BudgetUnit(StrEnum):
    """What a budget counts."""

    MONEY = "money"  # in nanodollars
    TOKENS = "tokens"
    """Input and output together."""


class Period(StrEnum):
    """How long the window of a budget lasts; the next begins empty."""

    DAY = "day"
    WEEK = "week"
    """From Monday."""
    MONTH = "month"
    TOTAL = "total"
    """For ever: there is one window."""

    @property
    def each(self) -> str:
        """`a day`; of the whole time `in all`."""
        return "in all" if self is Period.TOTAL else f"a {self}"


DOLLAR: Final = 10**9
"""One US dollar, in nanodollars."""

MOST_AMOUNT: Final = 10**18
"""The most of a budget: a thousand million dollars, or a million million million tokens. Nine of them fit a BIGINT."""

# ---- Amounts ----

_FORM: Final = "an amount such as `5 USD/day`, `2M tokens/week`, `250.50 USD/month` or `100 USD`"
_BUDGET: Final = late_pattern(
    r"""\s* (?P<dollar>\$)? \s* (?P<number>\d[\d_,]*(?:\.\d+)?|\.\d+) \s* (?P<factor>[kKmMbBgG])? \s*
        (?P<unit>USD|usd|tokens?)? \s* (?:(?:/|\s(?:a|per)\s) \s* (?P<period>\w+) )? \s*""",
    re.VERBOSE | re.ASCII,
)
_FACTORS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_SUFFIXES: Final = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
_UNITS: Final = {"usd": (BudgetUnit.MONEY, DOLLAR), "token": (BudgetUnit.TOKENS, 1), "tokens": (BudgetUnit.TOKENS, 1)}


class BudgetAmount(NamedTuple):
    """What a budget allows in each window."""

    unit: BudgetUnit
    period: Period
    limit: int


def parsed_budget(text: str) -> BudgetAmount:
    """A budget as a person wrote it; without a period it is a total.

    Raises:
        UnexpectedValueError: It is none, is finer than a nanodollar or a token, or exceeds `MOST_AMOUNT`.
    """
    found = _BUDGET.fullmatch(text)
    word = "" if found is None else (found["period"] or "total").lower()
    period = Period(word) if word in list(Period) else None
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


# ---- Prices ----

Money = TypeVar("Money", int, Decimal)
Prices: TypeAlias = "tuple[Money, Money, Money | None, Money | None]"
"""The prices of a token of input, of output, of input from the cache, and of input that is written into it; None where
the last two cost as much as other input."""


def usage_cost(usage: Usage, prices: Prices[Money]) -> Money:
    """What tokens cost; a number that is not known counts as none."""
    of_input, of_output, of_read, of_written = prices
    given = as_count(usage.input_tokens) or 0
    read = min(as_count(usage.cached_tokens) or 0, given)
    written = min(as_count(usage.cache_write_tokens) or 0, given - read)
    from_cache = read * (of_input if of_read is None else of_read)
    into_cache = written * (of_input if of_written is None else of_written)
    return (
        (given - read - written) * of_input + from_cache + into_cache + (as_count(usage.output_tokens) or 0) * of_output
    )


# ---- Windows ----


class Span(NamedTuple):
    """The time of one window, in seconds since 1970."""

    starts_at: float
    ends_at: float | None  # when the next begins; None for one without an end


def span_at(period: Period, zone: tzinfo | None, time: float) -> Span:
    """The window of a period in which a time lies, in the calendar of a time zone; None is that of this machine.

    A day has 23 or 25 hours where the clocks change, and begins with its first moment where midnight does not exist.
    """
    if period is Period.TOTAL:
        return Span(0.0, None)
    # Rounded to microseconds, the last moment of a day would be the first of the next.
    first = datetime.fromtimestamp(math.floor(time), zone).date()
    following = first + timedelta(days=1)
    if period is Period.WEEK:
        first -= timedelta(days=first.weekday())
        following = first + timedelta(days=7)
    elif period is Period.MONTH:
        first = first.replace(day=1)
        following = (first + timedelta(days=32)).replace(day=1)
    return Span(_midnight(first, zone), _midnight(following, zone))


def _midnight(day: date, zone: tzinfo | None) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
