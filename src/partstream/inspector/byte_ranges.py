"""The one range of bytes that a request asks for (RFC 9110 section 14.2), bounded."""

from __future__ import annotations

import re
from typing import Final

from partstream.errors import CallerError

__all__ = ["MOST_BYTES", "UnusableRangeError", "range_asked"]

MOST_BYTES: Final = 1024 * 1024
"""The most bytes of one reply."""

_RANGE: Final = re.compile(r"bytes=(\d{1,15})-(\d{1,15})", re.ASCII)


class UnusableRangeError(CallerError):
    """A request asks for no range, for one that is not there, or for too much."""


def range_asked(header: str | None, size: int) -> range:
    """The range of a `Range` header, cut at the end of the body.

    Args:
        header: The header; None if there is none.
        size: The bytes of the body.

    Raises:
        UnusableRangeError: It is not one range with a first and a last byte, begins behind the body, or is too long.
    """
    match = _RANGE.fullmatch(header or "")
    if match is None:
        raise UnusableRangeError("expected the header Range with one range, such as bytes=0-4095")
    first, last = int(match[1]), int(match[2])
    if not first <= last or first >= size:
        raise UnusableRangeError(f"got bytes {first}-{last}, expected a range within {size:,} bytes")
    if last - first >= MOST_BYTES:
        raise UnusableRangeError(f"got a range of {last - first + 1:,} bytes, expected at most {MOST_BYTES:,}")
    return range(first, min(last + 1, size))
