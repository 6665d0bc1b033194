"""What error answers say: the bodies of real servers and proxies, and Retry-After in both forms."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.errors import LanguageModelErrorCode
from partstream.upstream.http_errors import http_error, retry_after
from recordings import FOLDER
from rows import one_test_for

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
    "LiteLLM's proxy": (
        b'data: {"error": {"message": "It failed.", "type": "server_error", "code": "500"}}\n\ndata: [DONE]\n\n',
        "It failed.",
        "500",
    ),
    "an event without its blank line": (b'event: error\ndata: {"error": "No."}', "No.", None),
    "an event that is no JSON": (b"data: no JSON\n\n", "data: no JSON", None),
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


@one_test_for(("body", "message", "code"), BODIES.values(), ids=BODIES)
def test_the_message_and_the_code_are_read_from(body: bytes, message: str | None, code: str | None):
    error = http_error(418, {}, body, NOW)
    assert (error.http_status, error.provider_message, error.provider_code) == (418, message, code)
    assert len(error.body) <= 2000


ROUTED = {
    "error": {"message": "prompt is too long: 204716 tokens > 200000 maximum", "type": "invalid_request_error"},
    "generationId": "gen_1",
    "providerMetadata": {
        "gateway": {
            "routing": {
                "attempts": [
                    {"provider": "anthropic", "error": "prompt is too long: 204716 tokens > 200000 maximum"},
                    {"provider": "bedrock", "error": "Input is too long for requested model."},
                    {"error": "No."},
                    {"provider": "vertex", "success": True},
                    "odd",
                ]
            }
        },
        "other": None,
    },
}


def test_a_server_that_routes_says_its_id_and_what_each_attempt_met():
    error = http_error(400, {}, json.dumps(ROUTED).encode(), NOW)
    assert error.generation_id == "gen_1"
    assert error.attempts == (
        "anthropic: prompt is too long: 204716 tokens > 200000 maximum",
        "bedrock: Input is too long for requested model.",
        "a provider: No.",
    )
    assert error.message == (
        "the server answered HTTP 400: prompt is too long: 204716 tokens > 200000 maximum "
        "(tried: bedrock: Input is too long for requested model.; a provider: No.) [gen_1]"
    )


def test_many_long_attempts_are_cut():
    attempts = [{"provider": "a", "error": "x" * 5000}] * 50
    body = {"providerMetadata": {"gateway": {"routing": {"attempts": attempts}}}}
    error = http_error(500, {}, json.dumps(body).encode(), NOW)
    assert error.attempts == (f"a: {'x' * 300}",) * 10


ODD_ROUTES = {
    "no object": {"providerMetadata": [1]},
    "no routing": {"providerMetadata": {"gateway": {"routing": []}}},
    "attempts that are no list": {"providerMetadata": {"gateway": {"routing": {"attempts": {"error": "x"}}}}},
    "an id that is none": {"generationId": 7},
    "an id of two lines": {"generationId": "a\nb"},
    "an id without end": {"generationId": "x" * 1000},
}


@pytest.mark.parametrize("document", ODD_ROUTES.values(), ids=ODD_ROUTES)
def test_what_is_odd_about_a_route_is_left_out(document: dict[str, Any]):
    error = http_error(500, {}, json.dumps(document).encode(), NOW)
    assert (error.generation_id, error.attempts) == (None, ())
    assert error.message == f"the server answered HTTP 500: no message in its answer {json.dumps(document)[:200]}"


GATEWAY_ERRORS = sorted((FOLDER / "ai_sdk").glob("*/gateway/gateway-errors.json"))


@pytest.mark.recordings
@pytest.mark.skipif(not GATEWAY_ERRORS, reason=f"no recordings in {FOLDER}; set PARTSTREAM_RECORDINGS")
@pytest.mark.parametrize("path", GATEWAY_ERRORS, ids=lambda path: path.parent.parent.name)
def test_the_errors_of_the_gateway_that_were_recorded(path: Path):
    """Each body as the published client met it, with what it made of it; its own words for a person are not ours."""
    codes = {401: LanguageModelErrorCode.NO_PERMISSIONS, 403: LanguageModelErrorCode.NO_PERMISSIONS}
    codes |= {402: LanguageModelErrorCode.BLOCKED, 429: LanguageModelErrorCode.BLOCKED}
    codes |= {404: LanguageModelErrorCode.NOT_FOUND}
    seen = 0
    for events in json.loads(path.read_bytes()).values():
        error = events[1].get("error", {})
        if "causeResponseBody" not in error:
            continue
        seen += 1
        read = http_error(error["statusCode"], {}, error["causeResponseBody"].encode(), NOW)
        assert read.code is codes.get(error["statusCode"], LanguageModelErrorCode.UNSPECIFIED)
        body = error["causeResponseBody"]
        document = {"error": {"message": None}} if body.startswith("<") else json.loads(body)
        assert read.provider_message == document["error"]["message"]
        assert read.generation_id == document.get("generationId")
    assert seen >= 10


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
    "for ever": ("inf", None),
    "for ever in digits": ("1e999", None),
    "less than for ever": ("-inf", 0.0),
    "no number": ("nan", None),
    "longer than anybody waits": ("1000000001", None),
    "hundreds of digits": ("9" * 400, None),
    "thousands of digits": ("9" * 5000, None),
    "the year 99999": ("Mon, 01 Jan 99999 00:00:00 GMT", None),
    "a year of eleven digits": ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
    "the last year": ("Fri, 31 Dec 9999 23:59:59 GMT", None),
    "the first year": ("Mon, 01 Jan 0001 00:00:00 +1400", 0.0),
    "a zone of days": ("Fri, 01 May 2026 12:00:30 +9999999", None),
    "nothing": ("", None),
    "words": ("soon", None),
    "no date": ("Fri, 99 May 2026 12:00:30 GMT", None),
}


@pytest.mark.parametrize(("value", "seconds"), RETRY_AFTER.values(), ids=RETRY_AFTER)
def test_retry_after_says_how_many_seconds_and_the_log_names_what_is_no_time(
    value: str, seconds: float | None, caplog: pytest.LogCaptureFixture
):
    assert retry_after({"retry-after": value}, NOW) == seconds
    assert ("Retry-After" in caplog.text) == (seconds is None and value != "")


def test_without_the_header_nothing_is_asked_for():
    assert retry_after({}, NOW) is None


@given(st.binary(max_size=200), st.text(max_size=40))
def test_any_body_and_any_header_make_an_error(body: bytes, value: str):
    error = http_error(500, {"retry-after": value}, body, NOW)
    assert error.http_status == 500
    assert error.retry_after is None or 0 <= error.retry_after <= 10**9
