"""How many seconds a server asks to wait before the next request, of all the places in which it may say so."""

from __future__ import annotations

import logging
import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import MOST_SECONDS, as_amount
from partstream.protocols.errors import seconds_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["retry_after", "wait_before_retry"]

_logger = logging.getLogger("partstream.upstreams")

_MILLISECONDS: Final = "retry-after-ms"
_REMAINING: Final = "x-ratelimit-remaining"
_RESET: Final = "x-ratelimit-reset"
_LIMIT: Final = "ratelimit-"
_LEFT: Final = "-remaining"
_ANEW: Final = "-reset"
"""Headers such as `VENDOR-ratelimit-tokens-remaining`, as Anthropic sends them."""
_DATE: Final = re.compile(r"\s*\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)?\s*\Z")
_FIRST_POINT_IN_TIME: Final = 10**9
"""From here on a number is no duration but seconds since 1970: servers of Chat Completions have both."""
_FIRST_IN_MILLISECONDS: Final = 10**11


def wait_before_retry(status: int, headers: Mapping[str, str], now: datetime, said: float | None) -> float | None:
    """The seconds to wait, from the first place that says it; None where none does.

    The order: `retry-after-ms`, which the SDKs of OpenAI and Azure read first; `retry-after`; what the body says; and
    the headers of the limits, of which only one that is used up counts (docs/wires/chat-completions.md#rate-limits).

    Args:
        status: The status of the answer. What is said beside the two headers counts where the server is busy alone.
        headers: The headers of the answer, by name in lower case.
        now: The time, for a moment in the headers.
        said: What the body says, in a field or a sentence.
    """
    milliseconds = seconds_of(headers.get(_MILLISECONDS, ""))
    if milliseconds is not None:
        return milliseconds / 1000
    if (seconds := retry_after(headers, now)) is not None:
        return seconds
    if not _is_busy(status):
        return None
    return said if said is not None else _until_reset(headers, now)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds in the header Retry-After: a number or a date (RFC 9110 section 10.2.3).

    None without the header, and for a value that is neither or is out of range, which the log names.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        wait = float(value)
    except ValueError:
        wait = _seconds_until(value, now)
    seconds = as_amount(0.0 if wait < 0 else wait, MOST_SECONDS)
    if seconds is None:
        _logger.warning("the header Retry-After: got %.80r, expected a number of seconds or a date; ignored", value)
    return seconds


def _is_busy(status: int) -> bool:
    return status in {413, 429} or status >= 500


def _until_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """The longest wait until a limit that is used up begins anew: `x-ratelimit-reset-tokens` and its like."""
    waits = [
        _until(headers.get(reset, ""), now)
        for name, left in headers.items()
        if left.strip() == "0" and (reset := _reset_beside(name)) is not None
    ]
    return max((wait for wait in waits if wait is not None), default=None)


def _reset_beside(remaining: str) -> str | None:
    """The header that says when a limit begins anew, by that of what is left of it; None for any other header."""
    if remaining.startswith(_REMAINING):
        return _RESET + remaining.removeprefix(_REMAINING)
    stem = remaining.removesuffix(_LEFT)
    return stem + _ANEW if stem != remaining and _LIMIT in stem else None


def _until(reset: str, now: datetime) -> float | None:
    """The seconds in a header of a limit: a duration, a date (RFC 3339), or a point in time in seconds or milliseconds
    since 1970."""
    if _DATE.match(reset):
        try:
            moment = datetime.fromisoformat(reset.strip())
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return as_amount(max((moment - now).total_seconds(), 0.0), MOST_SECONDS)
    seconds = seconds_of(reset) if len(reset) < 40 else None
    if seconds is None and reset.strip().isdecimal():
        point = float(reset[:20])
        seconds = point / 1000 if point >= _FIRST_IN_MILLISECONDS else point
    if seconds is None or seconds < _FIRST_POINT_IN_TIME:
        return seconds
    return max(seconds - now.timestamp(), 0.0)


def _seconds_until(date: str, now: datetime) -> float:
    """The seconds from now until a date in a header; NaN for a text that is no date."""
    try:
        moment = parsedate_to_datetime(date)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, OverflowError, TypeError, IndexError):  # what the parser raises for texts and for large numbers
        return math.nan
