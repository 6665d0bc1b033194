"""The gate for numbers from outside: a number that is not finite or not within its limits is unknown.

Upstreams, providers, settings and files are other people's: JSON lets them write `1e999`, Python reads `NaN` too, and
headers hold any text. Beyond these limits floats overflow, SQLite refuses integers (64 bits) and the JSON-RPC peer
refuses the whole message. Pure functions; whoever calls them says what was dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = [
    "LAST_TIME",
    "MOST_DOLLARS",
    "MOST_SECONDS",
    "MOST_TOKENS",
    "as_amount",
    "as_count",
    "storable_text",
    "unusable_counts",
]

MOST_TOKENS: Final = 10**9
"""The most tokens of a request, an answer or a limit; servers without a limit report larger numbers."""

MOST_DOLLARS: Final = 10**6
"""The most US dollars of an answer, or of a million tokens."""

MOST_SECONDS: Final = 10**9
"""The most seconds of a wait or a time limit: about 31 years."""

LAST_TIME: Final = 32_503_680_000
"""The latest point in time, in seconds since 1970: the year 3000, with which the calendar of Windows ends."""

_MOST_CHARACTERS: Final = 1_000
_MOST_DEPTH: Final = 6
_MOST_FOUND: Final = 10


def as_count(value: object, most: int = MOST_TOKENS) -> int | None:
    """A whole number from 0 to `most`, or None. A whole float counts: JavaScript has one type of number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        return None
    return int(value) if value == int(value) else None


def as_amount(value: object, most: float) -> float | None:
    """A number from 0 to `most`, whole or not, or None; never NaN or infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        return None
    return float(value)


def storable_text(text: str) -> str:
    """The first thousand characters in a form that UTF-8 can represent: half of a surrogate pair becomes `?`."""
    short = text[:_MOST_CHARACTERS]
    return short if short.isascii() else short.encode(errors="replace").decode()


def unusable_counts(reported: Mapping[str, object]) -> tuple[str, ...]:
    """The token counts in an upstream's report that are no counts, each as `path: value`; at most ten.

    Args:
        reported: The upstream's own object. Numbers in fields whose path names tokens are counts.
    """
    found: list[str] = []
    _find_unusable(reported, "", found, 0)
    return tuple(found[:_MOST_FOUND])


def _find_unusable(reported: Mapping[str, object], prefix: str, found: list[str], depth: int) -> None:
    for name, value in reported.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth < _MOST_DEPTH:
            _find_unusable(value, f"{path}.", found, depth + 1)
        elif isinstance(value, int | float) and "token" in path.lower() and as_count(value) is None:
            found.append(f"{path:.80}: {_shown(value)}")
        if len(found) >= _MOST_FOUND:
            return


def _shown(number: float) -> str:
    """A number as text, also one with more digits than Python converts (`sys.set_int_max_str_digits`)."""
    return f"an integer of {number.bit_length()} bits" if isinstance(number, int) and number >= 2**64 else f"{number}"
