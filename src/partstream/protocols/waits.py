"""Reads how long a server asks to wait, in the forms that servers have for it beside the header Retry-After.

Sources: OpenAI's guide to rate limits and Groq's, whose headers hold durations as Go writes them (`12ms`, `6m0s`);
Google's `google.rpc.RetryInfo`, whose `retryDelay` is `37s`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from partstream.numbers import MOST_SECONDS, as_amount

__all__ = ["seconds_of", "wait_in_body", "wait_in_sentence"]

_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
_WORDS: Final = {"millisecond": "ms", "second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d"}

_PIECE: Final = (
    r"\d{1,12}(?:\.\d{1,12})?\s?(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?|ms|[µun]s|[smhd])"
)
_DURATION: Final = re.compile(rf"(?:{_PIECE}(?![a-zµ])\s?|{_PIECE}(?=\d)){{1,6}}", re.IGNORECASE)
_NUMBER_AND_UNIT: Final = re.compile(r"(\d+(?:\.\d+)?)\s?([a-zµ]+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d{1,12}(?:\.\d{1,12})?")
_ANNOUNCED: Final = re.compile(r"\b(?:try again|retry|wait)(?: again)?(?: in| after| for)?:? (?=\d)", re.IGNORECASE)
_MOST_READ: Final = 4000
_MOST_DETAILS: Final = 20
_FIELDS: Final = {"retry_after": 1.0, "retry_after_seconds": 1.0, "retry_after_ms": 1e-3, "retryDelay": 1.0}
"""The fields of bodies, and the seconds of one unit of a bare number in them."""


def seconds_of(text: str) -> float | None:
    """The seconds of a duration as Go writes it, or of a bare number of seconds.

    None for everything else, and for a number below or at zero: Azure's `-1` and `0` mean that it does not know.
    """
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return _usable(float(stripped))
    found = _DURATION.match(stripped)
    return _sum(found[0]) if found is not None and found.end() == len(stripped) else None


def wait_in_sentence(said: str | None) -> float | None:
    """The seconds in a sentence such as `Please try again in 5.289s` or `Please retry after 37 seconds`."""
    text = (said or "")[:_MOST_READ]
    for announced in _ANNOUNCED.finditer(text):
        if (found := _DURATION.match(text, announced.end())) is not None:
            return _sum(found[0])
    return None


def wait_in_body(error: dict[str, Any]) -> float | None:
    """The seconds in a field of an error: `retry_after`, or `retryDelay` within `details`."""
    details = error.get("details")
    places = [error, *(details[:_MOST_DETAILS] if isinstance(details, list) else ())]
    for place in places:
        for name, unit in _FIELDS.items():
            value = place.get(name) if isinstance(place, dict) else None
            if isinstance(value, str) and (seconds := seconds_of(value)) is not None:
                return seconds
            number = as_amount(value, MOST_SECONDS)
            if number is not None and number > 0:
                return number * unit
    return None


def _sum(duration: str) -> float | None:
    total = 0.0
    for number, unit in _NUMBER_AND_UNIT.findall(duration):
        word = unit.lower().rstrip("s") if len(unit) > 2 else unit.lower()
        total += float(number) * _SECONDS[_WORDS.get(word, word)]
    return _usable(total)


def _usable(seconds: float) -> float | None:
    return as_amount(seconds, MOST_SECONDS) if seconds > 0 else None
