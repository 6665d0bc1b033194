"""Amounts and times of the page in words: exact integers in, as few digits as a reader needs out."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from partstream.hub.directory import BudgetUnit, Period
from partstream.pages.document import text
from partstream.pages.usage_text import exact, tokens

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["ago", "amount", "count", "moment", "money", "money_tick", "percent", "period_words", "until"]

_NANO: Final = Decimal(10) ** 9
_A_CENT: Final = 10_000_000
"""Nanodollars."""
_LEAST: Final = 1_000
_PERIODS: Final = {Period.DAY: "a day", Period.WEEK: "a week", Period.MONTH: "a month", Period.TOTAL: "in all"}
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_WHOLE_NUMBER: Final = 1_000_000


def money(nanodollars: int) -> str:
    """$1,234.56, or below a cent the two digits that matter: $0.0013."""
    if nanodollars < 0:
        return f"-{money(-nanodollars)}"
    dollars = Decimal(nanodollars) / _NANO
    if nanodollars == 0 or nanodollars >= _A_CENT:
        return f"${dollars:,.2f}"
    if nanodollars < _LEAST:
        return "< $0.000001"
    shown = f"{Decimal(f'{dollars:.2g}'):f}"
    return f"${shown.rstrip('0')}"


def money_tick(nanodollars: float) -> str:
    """An amount on the scale of a plot."""
    return money(round(nanodollars))


def amount(unit: BudgetUnit, value: int) -> str:
    """An amount of a budget: money, or tokens."""
    if unit is BudgetUnit.MONEY:
        return money(value)
    return f"{exact(value)} tokens" if value < _WHOLE_NUMBER else f"{tokens(value)} tokens"


def period_words(period: Period) -> str:
    """`a day`, `a week`, `a month`, `in all`."""
    return _PERIODS[period]


def percent(part: int, whole: int) -> str:
    """A part in percent, rounded down, so that 100 % is all of it; a little of it is no 0 %."""
    if whole <= 0:
        return "100%" if part else "0%"
    share = part * 100 // whole
    return "< 1%" if part and share == 0 else f"{share}%"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 answer`, `2 answers`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def moment(seconds: float | None, zone: tzinfo | None) -> str:
    """A time as HTML, in the zone of the page; nothing for an unknown one."""
    if seconds is None:
        return ""
    then = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    return f'<time datetime="{then.isoformat(timespec="seconds")}">{text(then.strftime("%Y-%m-%d %H:%M"))}</time>'


def until(seconds: float, now: float) -> str:
    """`in 3 days`, `in 5 hours`, `in a moment`."""
    return _rough(seconds - now, "in {}", "in a moment")


def ago(seconds: float, now: float) -> str:
    """`3 days ago`, `5 minutes ago`, `just now`."""
    return _rough(now - seconds, "{} ago", "just now")


def _rough(seconds: float, form: str, little: str) -> str:
    for size, name in _UNITS:
        if seconds >= size:
            return form.format(count(int(seconds // size), name))
    return little
