"""Every shape of an error becomes one typed error with its message, its code and its status."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from partstream.errors import (
    CallerError,
    LanguageModelError,
    LanguageModelErrorCode,
    TimeoutPhase,
    UpstreamAbortedError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import Outcome
from protocols.ai_sdk.wire import read, read_chunks
from rows import one_test_for

BODY = {"error": {"message": "Too long", "type": "invalid_request_error"}}
PLAIN = {"name": "AI_APICallError", "statusCode": 400, "responseBody": json.dumps(BODY), "isRetryable": False}

WITH_STATUS = {
    "tagged": {"$error": "APICallError", "message": "Too long", "cause": {"$undefined": True}, **PLAIN, "data": BODY},
    "without its message": {**PLAIN, "data": BODY},
    "only a body": PLAIN,
    "behind a cause": {"name": "GatewayInvalidRequestError", "statusCode": 400, "cause": PLAIN},
    "retried": {"name": "AI_RetryError", "message": "Failed after 3 attempts.", "lastError": PLAIN, "errors": [PLAIN]},
    "retried, only a list": {"name": "AI_RetryError", "errors": [{"message": "first"}, PLAIN]},
    "of the provider": {"error": {**BODY["error"], "statusCode": 400}},
    "in a string": json.dumps({**BODY["error"], "statusCode": 400}),
}


@one_test_for("error", WITH_STATUS.values(), ids=WITH_STATUS)
@one_test_for("protocol", ["ai-sdk", "ai-gateway"])
def test_an_error_with_a_status_is_an_http_error(error: Any, protocol: str) -> None:
    found = read([{"type": "start"}, {"type": "error", "error": error}], protocol).finish.error
    assert isinstance(found, UpstreamHTTPError)
    assert (found.http_status, found.provider_message, found.provider_code) == (
        400,
        "Too long",
        "invalid_request_error",
    )


@one_test_for(
    ("error", "message", "code"),
    [
        ("plain words", "plain words", None),
        ({"message": "m"}, "m", None),
        ({"type": "overloaded_error", "message": "Overloaded"}, "Overloaded", "overloaded_error"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "m", "overloaded_error"),
        ({"error": "words"}, "words", None),
        ({"error": {"error": {"message": "deep", "code": 7}}}, "deep", "7"),
        ({"$error": "TypeError", "name": "TypeError", "message": "m"}, "m", "TypeError"),
        ({"name": "Error", "message": "m"}, "m", None),
        ({"statusCode": 200, "message": "m"}, "m", None),
        ('{"type":"overloaded_error","message":"m"}', "m", "overloaded_error"),
        ("{broken", "{broken", None),
        ({"detail": "words"}, "words", None),
        ({"name": "AI_NoOutputGeneratedError"}, "AI_NoOutputGeneratedError", "AI_NoOutputGeneratedError"),
        ({}, "it gave no reason", None),
        (None, "it gave no reason", None),
        (True, "it gave no reason", None),
        (7, "7", None),
        ([], "it gave no reason", None),
        ({"name": "AI_StreamProviderError", "message": "m", "code": "c", "type": "t"}, "m", "c"),
    ],
)
def test_an_error_without_a_status_is_a_failure(error: Any, message: str, code: str | None) -> None:
    for chunk in ({"type": "error", "error": error}, {"type": "error", "errorText": error}):
        found = read([chunk]).finish.error
        assert isinstance(found, UpstreamFailureError)
        assert (found.provider_message, found.provider_code) == (message, code)


class _WithMessage:
    message = "boom"


class _WithText:
    def __str__(self) -> str:
        return "boom"


class _Mute:
    def __str__(self) -> str:
        raise RuntimeError


class _StatusError(Exception):
    status_code = 429


def _caused() -> Exception:
    outer = RuntimeError()
    outer.__cause__ = ValueError("boom")
    return outer


@one_test_for(
    ("error", "message", "code"),
    [
        (ValueError("boom"), "boom", "ValueError"),
        (Exception("boom"), "boom", None),
        (KeyError("name"), "'name'", "KeyError"),
        (ConnectionError(), "ConnectionError", "ConnectionError"),
        (_caused(), "boom", "RuntimeError"),
        (CallerError("boom"), "boom", "CallerError"),
        (_WithMessage(), "boom", None),
        (_WithText(), "boom", None),
        (_Mute(), "_Mute", None),
        (MappingProxyType({"message": "boom", "code": "c"}), "boom", "c"),
        (["boom"], "boom", None),
        (["one", "two", None], "one, two", None),
        (("one", 2), "one, 2", None),
        ([ValueError("boom")], "boom", "ValueError"),
        (b"boom", "boom", None),
        (b'{"message": "boom"}', "boom", None),
        (b"\xff", "\ufffd", None),
        (500, "500", None),
        (1.5, "1.5", None),
        ({"error": ValueError("boom")}, "boom", "ValueError"),
        ({"cause": _WithText()}, "boom", None),
    ],
)
def test_the_error_of_a_chunk_keeps_its_message_whatever_it_is(error: Any, message: str, code: str | None) -> None:
    for chunk in ({"type": "error", "error": error}, {"$thrown_by_iterator": error}):
        found = read_chunks([chunk]).finish.error
        assert isinstance(found, UpstreamFailureError)
        assert (found.provider_message, found.provider_code) == (message, code)


@pytest.mark.parametrize(
    "error",
    [
        LanguageModelError.blocked("boom"),
        LanguageModelError.no_permissions("boom"),
        UpstreamHTTPError(404, provider_message="boom"),
        UpstreamTimeoutError(TimeoutPhase.TOTAL, 3),
    ],
    ids=repr,
)
def test_an_error_of_our_own_stays_the_same_error(error: LanguageModelError) -> None:
    assert read_chunks([{"type": "error", "error": error}]).finish.error is error


def test_the_status_of_an_exception_makes_an_http_error() -> None:
    found = read_chunks([{"type": "error", "error": _StatusError("boom")}]).finish.error
    assert isinstance(found, UpstreamHTTPError)
    assert (found.http_status, found.provider_message, found.code) == (429, "boom", LanguageModelErrorCode.BLOCKED)


@one_test_for(
    ("body", "message"),
    [
        ("<html>\n<body>Bad gateway</body></html>", None),
        ("no healthy upstream\nmore", "no healthy upstream"),
        ("x" * 1000, "x" * 300),
        ("{broken", None),
        ("{}", None),
        ('{"detail": "No credit"}', "No credit"),
        ("", None),
    ],
)
def test_of_a_body_that_is_no_json_a_person_sees_the_first_line(body: str, message: str | None) -> None:
    for error in ({"statusCode": 502, "responseBody": body}, {"statusCode": 502, "cause": {"responseBody": body}}):
        found = read([{"type": "error", "error": error}]).finish.error
        assert isinstance(found, UpstreamHTTPError)
        assert (found.provider_message, found.body) == (message, body)


@one_test_for("odd", [[], {}, 7, True, None, [[]], {"name": []}])
@one_test_for("field", ["name", "message", "code", "statusCode", "cause", "data", "responseHeaders"])
def test_an_error_with_an_odd_field_is_an_error(field: str, odd: Any) -> None:
    for chunk in ({"type": "error", "error": {field: odd}}, {"$thrown_by_iterator": {field: odd}}):
        for protocol in ("ai-sdk", "ai-sdk-data", "ai-gateway"):
            assert read([chunk], protocol).finish.outcome is Outcome.FAILED


def test_an_error_that_holds_itself_has_an_end() -> None:
    error: dict[str, Any] = {}
    error["cause"] = error
    assert read_chunks([{"type": "error", "error": error}]).finish.outcome is Outcome.FAILED


ROUTED = {
    "error": {"message": "All providers failed", "type": "invalid_request_error"},
    "providerMetadata": {
        "gateway": {"routing": {"attempts": [{"provider": "a", "error": "Too long"}, {"provider": "b"}, 7]}}
    },
}


@pytest.mark.parametrize(
    "error",
    [
        {"statusCode": 400, **ROUTED},
        {"statusCode": 400, "cause": {"responseBody": json.dumps(ROUTED)}},
        {"statusCode": 400, "message": "All providers failed", "data": ROUTED},
        {"name": "AI_RetryError", "lastError": {"statusCode": 400, "cause": {"data": ROUTED}}},
    ],
)
def test_what_each_provider_said_that_was_tried_in_vain_is_kept(error: Any) -> None:
    found = read([{"type": "error", "error": error}], "ai-gateway").finish.error
    assert isinstance(found, UpstreamHTTPError)
    assert found.attempts == ("a: Too long",)
    assert "tried: a: Too long" in str(found)


def test_the_gateways_id_is_kept_and_said_once() -> None:
    error = {"message": "Busy [gen_1]", "statusCode": 429, "type": "rate_limit_exceeded", "generationId": "gen_1"}
    finish = read([{"type": "error", "error": error}], "ai-gateway").finish
    assert isinstance(finish.error, UpstreamHTTPError)
    assert finish.error.generation_id == "gen_1"
    assert str(finish.error).count("gen_1") == 1
    assert finish.provider_metadata == {"gateway": {"generationId": "gen_1"}}


@pytest.mark.parametrize(("header", "seconds"), [("30", 30.0), ("soon", None), ("9" * 40, None)])
def test_the_time_to_wait_is_read_where_it_is_a_number(header: str, seconds: float | None) -> None:
    error = {"statusCode": 429, "responseHeaders": {"retry-after": header}}
    found = read([{"type": "error", "error": error}]).finish.error
    assert isinstance(found, UpstreamHTTPError)
    assert found.retry_after == seconds
    assert found.provider_message is None


@one_test_for(
    ("reason", "phase"),
    [
        ("The operation was aborted due to timeout", TimeoutPhase.TOTAL),
        ("TimeoutError: The operation was aborted due to timeout", TimeoutPhase.TOTAL),
        ("TimeoutError: Chunk timeout of 100ms exceeded", TimeoutPhase.IDLE),
        ("the request timed out", TimeoutPhase.TOTAL),
        ("This operation was aborted", None),
        ("AbortError: This operation was aborted", None),
        (None, None),
        (7, None),
    ],
)
def test_an_abort_is_told_from_a_limit_of_time(reason: Any, phase: TimeoutPhase | None) -> None:
    finish = read([{"type": "text-delta", "text": "Hi"}, {"type": "abort", "reason": reason}]).finish
    assert finish.outcome is Outcome.FAILED
    if phase is None:
        assert isinstance(finish.error, UpstreamAbortedError)
        assert finish.error.reason == (reason if isinstance(reason, str) else None)
    else:
        assert isinstance(finish.error, UpstreamTimeoutError)
        assert (finish.error.phase, finish.error.seconds) == (phase, None)


@one_test_for(
    ("thrown", "expected"),
    [
        ({"$error": "DOMException", "name": "AbortError", "message": "aborted"}, UpstreamAbortedError),
        ({"$error": "DOMException", "name": "TimeoutError", "message": "late"}, UpstreamTimeoutError),
        ({"$error": "JSONParseError", "name": "AI_JSONParseError", "message": "bad"}, UpstreamFailureError),
        (PLAIN, UpstreamHTTPError),
        ("words", UpstreamFailureError),
    ],
)
def test_what_the_iterator_threw_ends_the_stream(thrown: Any, expected: type[Exception]) -> None:
    result = read([{"type": "text-delta", "text": "Hi"}, {"$thrown_by_iterator": thrown}])
    assert result.text == "Hi"
    assert type(result.finish.error) is expected
