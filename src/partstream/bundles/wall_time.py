"""Wall times as text and as nanoseconds since 1970; reads no clock.

Written apart from the standard library's `datetime`, whose module can tell the time, and which holds no nanoseconds.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["nanoseconds_of", "wall_time_of"]

SECOND: Final = 1_000_000_000
_TEXT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,20}))?\s*(?:([Zz])|([+-])(\d\d):?(\d\d))?", re.ASCII
)
_DAYS_BEFORE_MONTH: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_TO_1970: Final = 719_162
"""From the first day of the year 1."""
_DAY: Final = 86_400


def nanoseconds_of(text: str) -> int | None:
    """The nanoseconds since 1970 of a time in ISO 8601, in UTC where it names no offset; None for what is no time."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute < 60 and second <= 60):
        return None
    days = _days_before(year) + _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and _is_leap(year)) + day - 1
    seconds = (days - _DAYS_TO_1970) * _DAY + hour * 3600 + minute * 60 + second
    if match[9]:
        offset = int(match[10]) * 3600 + int(match[11]) * 60
        seconds -= offset if match[9] == "+" else -offset
    return seconds * SECOND + int((match[7] or "").ljust(9, "0")[:9])


def wall_time_of(nanoseconds: int) -> str:
    """A time in ISO 8601, in UTC, with microseconds; of one before the year 1 or behind 9999, that of 1970."""
    days, rest = divmod(nanoseconds // 1000, _DAY * 1_000_000)
    days += _DAYS_TO_1970
    if not 0 <= days < _days_before(10_000):
        return wall_time_of(0)
    year = days * 400 // 146_097 + 1
    while _days_before(year) > days:
        year -= 1
    while _days_before(year + 1) <= days:
        year += 1
    days -= _days_before(year)
    month = 12
    while (first := _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and _is_leap(year))) > days:
        month -= 1
    seconds, micro = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micro:06}"
    return f"{year:04}-{month:02}-{days - first + 1:02}T{clock}+00:00"


def _days_before(year: int) -> int:
    """From the first day of the year 1 to that of a year, in the Gregorian calendar."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
