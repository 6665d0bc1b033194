"""What servers of Anthropic Messages say when something goes wrong (docs/wires/anthropic-messages.md#errors)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from partstream.errors import LanguageModelErrorCode
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.errors import ErrorKind, Overflow
from partstream.upstream.http_errors import http_error
from rows import one_test_for

_LEFT = "anthropic_ratelimit_tokens_remaining"
_ANEW = "anthropic_ratelimit_tokens_reset"
NOW = datetime(2026, 8, 1, tzinfo=UTC)


def _error(status: int, body: Any, **headers: str) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http_error(status, {name.replace("_", "-"): value for name, value in headers.items()}, data, NOW, ERRORS)


def _body(kind: str, message: str = "No.") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


@one_test_for(
    ("status", "kind", "meaning"),
    [
        (400, "invalid_request_error", None),
        (401, "authentication_error", ErrorKind.NO_PERMISSION),
        (402, "billing_error", ErrorKind.NO_CREDIT),
        (403, "permission_error", ErrorKind.NO_PERMISSION),
        (404, "not_found_error", ErrorKind.UNKNOWN_MODEL),
        (413, "request_too_large", ErrorKind.REQUEST_TOO_LARGE),
        (429, "rate_limit_error", ErrorKind.RATE_LIMIT),
        (500, "api_error", ErrorKind.UNAVAILABLE),
        (504, "timeout_error", ErrorKind.UNAVAILABLE),
        (529, "overloaded_error", ErrorKind.UNAVAILABLE),
    ],
)
def test_every_type_has_its_meaning_as_a_status_and_inside_an_answer(
    status: int, kind: str, meaning: ErrorKind | None
) -> None:
    error = _error(status, _body(kind))
    assert (error.provider_message, error.provider_code, error.request_id) == ("No.", kind, "req_1")
    assert ERRORS.kind_of(error) is meaning
    inside = ERRORS.failure_in(_body(kind))
    assert inside is not None
    assert (inside.http_status, ERRORS.kind_of(inside)) == (status, meaning)


@one_test_for(
    ("body", "said"),
    [
        ({"error": {"code": 400, "message": "No.", "type": "invalid_request_error"}}, "No."),
        ({"detail": "No."}, "No."),
        ({"message": "No.", "__type": "ValidationException"}, "No."),
        ({"error": "No."}, "No."),
        ({"error": {"message": json.dumps({"error": {"message": "No.", "type": "x"}})}}, "No."),
        (b"No.", "No."),
    ],
    ids=["llama.cpp", "FastAPI", "Bedrock", "text", "LiteLLM", "plain"],
)
def test_bodies_of_other_servers_are_read(body: Any, said: str) -> None:
    assert _error(400, body).provider_message == said


@one_test_for(
    ("status", "message", "overflow"),
    [
        (400, "prompt is too long: 209353 tokens > 199999 maximum", Overflow(199_999, 209_353)),
        (
            400,
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length",
            Overflow(136_000, 178_959),
        ),
        (400, "request (9412 tokens) exceeds the available context size (8192 tokens)", Overflow(8192, 9412)),
        (413, "Request exceeds the maximum size", Overflow(speaks_of_tokens=False)),
        (400, "max_tokens: 90000 > 64000, which is the maximum allowed number of output tokens for m", None),
        (400, "No.", None),
    ],
)
def test_an_input_that_is_too_long_is_known_with_its_numbers(
    status: int, message: str, overflow: Overflow | None
) -> None:
    assert ERRORS.overflow(_error(status, _body("invalid_request_error", message))) == overflow
    if status == 400:
        inside = ERRORS.failure_in(_body("invalid_request_error", message))
        assert inside is not None
        assert ERRORS.overflow(inside) == overflow


def test_the_fields_of_llama_cpp_are_read() -> None:
    error = {"type": "exceed_context_size_error", "message": "too long", "n_prompt_tokens": 9412, "n_ctx": 8192}
    assert ERRORS.overflow(_error(400, {"error": error})) == Overflow(8192, 9412)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."),
        (400, "You have reached your specified API usage limits. You will regain access on 2026-09-01."),
        (429, "You have reached the monthly spend limit of your tier."),
    ],
)
def test_money_that_is_used_up_is_told_whatever_the_status_is(status: int, message: str) -> None:
    error = _error(status, _body("rate_limit_error" if status == 429 else "invalid_request_error", message))
    assert ERRORS.kind_of(error) is ErrorKind.NO_CREDIT
    assert error.code is LanguageModelErrorCode.BLOCKED


@one_test_for(
    ("headers", "wait"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "250", "retry_after": "7"}, 0.25),
        (
            {
                "anthropic_ratelimit_tokens_remaining": "0",
                "anthropic_ratelimit_tokens_reset": "2026-08-01T00:00:30Z",
                "anthropic_ratelimit_requests_remaining": "0",
                "anthropic_ratelimit_requests_reset": "2026-08-01T00:00:04.5+00:00",
                "anthropic_ratelimit_input_tokens_remaining": "5000",
                "anthropic_ratelimit_input_tokens_reset": "2026-08-01T01:00:00Z",
            },
            30.0,
        ),
        ({"anthropic_ratelimit_tokens_remaining": "0", "anthropic_ratelimit_tokens_reset": "2025-01-01T00:00:00Z"}, 0),
        (
            {"anthropic_ratelimit_tokens_remaining": "0", "anthropic_ratelimit_tokens_reset": "2026-99-99T00:00:00Z"},
            None,
        ),
        ({"anthropic_ratelimit_tokens_remaining": "0"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_that_of_the_header_or_of_the_limit_that_is_used_up(headers: Any, wait: float | None) -> None:
    assert _error(429, _body("rate_limit_error"), **headers).retry_after == wait


@pytest.mark.parametrize(("said", "should"), [("true", True), ("false", False), ("maybe", None), ("", None)])
def test_the_server_may_say_whether_another_attempt_makes_sense(said: str, should: bool | None) -> None:
    assert _error(500, _body("api_error"), x_should_retry=said).should_retry is should
