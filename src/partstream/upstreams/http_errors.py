"""What an HTTP answer that is no stream says: the typed error in it; knows no protocol and opens nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamHTTPError
from partstream.json_codec import JSONDecodeError, loads
from partstream.protocols.routing_attempts import routing_attempts

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["http_error", "retry_after"]

_MAX_ID: Final = 200


def http_error(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> UpstreamHTTPError:
    """The error that an answer with an error status stands for.

    Bodies in use: `{"error": {"message", "type", "code"}}`, `{"error": "..."}`, `{"message": "..."}`,
    `{"detail": "..."}`, plain text, HTML pages of proxies. Servers that route a request to others add `generationId`
    and what each of those said.
    """
    text = body.decode(errors="replace").strip()
    try:
        document = loads(body)
    except JSONDecodeError:
        document = None
    message, code = _said(document)
    if message is None and text and not text.startswith("<") and document is None:
        message = text.splitlines()[0][:300]
    return UpstreamHTTPError(
        status,
        provider_message=message,
        provider_code=code,
        retry_after=retry_after(headers, now),
        body=text,
        generation_id=_field(document, "generationId"),
        attempts=routing_attempts(document),
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


def _said(document: Any) -> tuple[str | None, str | None]:
    """The message and the code of an error document."""
    if not isinstance(document, dict):
        return None, None
    error = document.get("error")
    if isinstance(error, str):
        return error or None, _text(document.get("code"))
    source = error if isinstance(error, dict) else document
    message = _text(source.get("message")) or _text(source.get("detail"))
    return message, _text(source.get("code")) or _text(source.get("type"))


def _field(document: Any, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_ID and value.isprintable() else None


def _text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None
