"""What error answers say: the bodies of real servers and proxies, and Retry-After in both forms."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.gateway.http_errors import http_error, retry_after

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)

# Body: the message and the code in it.
BODIES = {
    "OpenAI": (b'{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"bad"}}', "No.", "bad"),
    "OpenAI without a code": (b'{"error":{"message":"No.","type":"server_error","code":null}}', "No.", "server_error"),
    "a number as code": (b'{"error":{"message":"No.","code":402}}', "No.", "402"),
    "an error that is a text": (b'{"error":"model not found"}', "model not found", None),
    "a text with a code beside it": (b'{"error":"no","code":"E1"}', "no", "E1"),
    "a message without an error": (b'{"message":"Forbidden"}', "Forbidden", None),
    "FastAPI": (b'{"detail":"Not Found"}', "Not Found", None),
    "a detail inside the error": (b'{"error":{"detail":"Too long"}}', "Too long", None),
    "plain text": (b"upstream connect error\nreset reason: overflow", "upstream connect error", None),
    "broken JSON": (b'{"error":', '{"error":', None),
    "a page": (b"<html><body>502 Bad Gateway</body></html>", None, None),
    "nothing": (b"", None, None),
    "blanks": (b" \r\n ", None, None),
    "a list": (b"[1]", None, None),
    "an empty object": (b"{}", None, None),
    "an empty message": (b'{"error":{"message":""}}', None, None),
    "true as message": (b'{"message":true}', None, None),
    "no UTF-8": (b"\xff\xfe broken", "\ufffd\ufffd broken", None),
    "deep JSON": (b"[" * 100_000, "[" * 300, None),
    "a huge number": (b"[" + b"1" * 5000 + b"]", "[" + "1" * 299, None),
}


@pytest.mark.parametrize(("body", "message", "code"), BODIES.values(), ids=BODIES)
def test_the_message_and_the_code_are_read_from(body: bytes, message: str | None, code: str | None):
    error = http_error(418, {}, body, NOW)
    assert (error.http_status, error.provider_message, error.provider_code) == (418, message, code)
    assert len(error.body) <= 2000


RETRY_AFTER = {
    "seconds": ("7", 7.0),
    "a fraction": ("0.25", 0.25),
    "blanks": (" 7 ", 7.0),
    "zero": ("0", 0.0),
    "less than zero": ("-3", 0.0),
    "a date": (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
    "a date of the past": (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
    "a date with another zone": ("Fri, 01 May 2026 14:00:30 +0200", 30.0),
    "a date without a zone": ("Fri, 01 May 2026 12:00:30", 30.0),
    "for ever": ("inf", float("inf")),
    "nothing": ("", None),
    "words": ("soon", None),
    "no date": ("Fri, 99 May 2026 12:00:30 GMT", None),
}


@pytest.mark.parametrize(("value", "seconds"), RETRY_AFTER.values(), ids=RETRY_AFTER)
def test_retry_after_says_how_many_seconds_in(value: str, seconds: float | None):
    assert retry_after({"retry-after": value}, NOW) == seconds


def test_without_the_header_nothing_is_asked_for():
    assert retry_after({}, NOW) is None


@given(st.binary(max_size=200), st.text(max_size=40))
def test_any_body_and_any_header_make_an_error(body: bytes, value: str):
    error = http_error(500, {"retry-after": value}, body, NOW)
    assert error.http_status == 500
    assert error.retry_after is None or error.retry_after >= 0
