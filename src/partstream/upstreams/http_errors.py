"""What an HTTP answer that is no stream says: the typed error in it; knows no protocol and opens nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from partstream.errors import UpstreamHTTPError
from partstream.json_codec import JSONDecodeError, loads
from partstream.protocols.errors import COMMON_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.errors import Errors

__all__ = ["http_error", "retry_after"]


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
    """How many seconds the answer asks to wait: RFC 9110 section 10.2.3, a number or a date, or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
