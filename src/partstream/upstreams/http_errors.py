"""What an HTTP answer that is no stream says: the typed error in it; knows no protocol and opens nothing."""

from __future__ import annotations

import logging
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from partstream.errors import UpstreamHTTPError
from partstream.json_codec import JSONDecodeError, loads
from partstream.numbers import MOST_SECONDS, as_amount
from partstream.protocols.errors import COMMON_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.errors import Errors

__all__ = ["http_error", "retry_after"]

_logger = logging.getLogger("partstream.upstreams")


def http_error(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime, errors: Errors = COMMON_ERRORS
) -> UpstreamHTTPError:
    """The error that an answer with an error status stands for.

    Args:
        status: The status.
        headers: The headers, by name in lower case.
        body: The start of the body: JSON, which `errors` reads, plain text, or the HTML page of a proxy.
        now: The time, for a moment in the headers.
        errors: How the protocol's servers say what went wrong.
    """
    text = body.decode(errors="replace").strip()
    try:
        document = loads(body)
    except JSONDecodeError:
        document = None
    said = errors.read_body(document)
    message = said.message
    if message is None and text and not text.startswith("<") and document is None:
        message = text.splitlines()[0][:300]
    return UpstreamHTTPError(
        status,
        provider_message=message,
        provider_code=said.code,
        retry_after=retry_after(headers, now),
        body=text,
        generation_id=said.generation_id,
        attempts=said.attempts,
    )


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """How many seconds the answer asks to wait: RFC 9110 section 10.2.3, a number or a date.

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


def _seconds_until(date: str, now: datetime) -> float:
    """The seconds from now until a date in a header; NaN for a text that is no date."""
    try:
        moment = parsedate_to_datetime(date)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, OverflowError, TypeError, IndexError):  # what the parser raises for texts and for large numbers
        return math.nan
