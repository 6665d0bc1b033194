"""When the windows of a budget begin and end, in the calendar of the rule's time zone; pure, no clock."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from partstream.hub.directory import Period

if TYPE_CHECKING:
    from partstream.hub.directory import BudgetRule

__all__ = ["Span", "span_at"]


class Span(NamedTuple):
    """The time of one window, in seconds since 1970.

    Attributes:
        starts_at: When it begins.
        ends_at: When it is over and the next begins; None for one without an end.
    """

    starts_at: float
    ends_at: float | None


def span_at(rule: BudgetRule, time: float) -> Span:
    """The window of a rule in which a time lies.

    A day has 23 or 25 hours where the clocks change, and begins with its first moment where midnight does not exist.

    Args:
        rule: The rule, with its period and its time zone.
        time: The time, in seconds since 1970.
    """
    if rule.period is Period.TOTAL:
        return Span(0.0, None)
    zone = ZoneInfo(rule.time_zone)
    # Rounded to microseconds, the last moment of a day would be the first of the next.
    first, following = _days(rule.period, datetime.fromtimestamp(math.floor(time), zone).date())
    return Span(_midnight(first, zone), _midnight(following, zone))


def _days(period: Period, day: date) -> tuple[date, date]:
    """The first day of a period, and the first day of the next."""
    if period is Period.DAY:
        return day, day + timedelta(days=1)
    if period is Period.WEEK:
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    first = day.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)


def _midnight(day: date, zone: ZoneInfo) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()
