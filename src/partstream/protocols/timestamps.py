"""Writes a moment as RFC 3339 demands, without a clock."""

from __future__ import annotations

from typing import Final

__all__ = ["rfc3339"]

_DAY: Final = 86_400
_DAYS_OF_ERA: Final = 146_097
"""Days of 400 years, after which the calendar repeats itself."""
_DAYS_BEFORE_1970: Final = 719_468
"""From 1 March of the year 0."""


def rfc3339(seconds: int) -> str:
    """The moment in UTC, such as `2026-08-21T20:22:19Z`.

    Args:
        seconds: Seconds since 1970, at least 0.
    """
    days, rest = divmod(seconds, _DAY)
    era, day_of_era = divmod(days + _DAYS_BEFORE_1970, _DAYS_OF_ERA)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = era * 400 + year_of_era + (month <= 2)
    hours, minutes = divmod(rest // 60, 60)
    return f"{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{rest % 60:02}Z"
