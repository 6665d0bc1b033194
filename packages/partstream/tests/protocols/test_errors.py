"""What the errors of servers mean, in common words and in those that a protocol adds."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from partstream import Finish, read_stream
from partstream.errors import LanguageModelErrorCode, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.errors import COMMON_ERRORS, ErrorBody, ErrorKind, Errors, Overflow, read_error_body
from partstream.upstream.http_errors import http_error
from rows import one_test_for

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@one_test_for(
    ("provider_code", "code"),
    [
        ("authentication_error", "NoPermissions"),
        ("forbidden", "NoPermissions"),
        ("rate_limit_exceeded", "Blocked"),
        ("insufficient_funds", "Blocked"),
        ("model_not_found", "NotFound"),
        ("overloaded_error", "Unspecified"),
        ("context_length_exceeded", "Unspecified"),
        ("an unknown code", "Unspecified"),
        (None, "Unspecified"),
    ],
)
def test_a_failure_without_a_status_has_vs_codes_word_by_its_own(provider_code: str | None, code: str) -> None:
    error = COMMON_ERRORS.failure("no", provider_code)
    assert (error.code, error.provider_code) == (LanguageModelErrorCode(code), provider_code)
    assert error.provider_message == "no"


PASSING = {ErrorKind.RATE_LIMIT, ErrorKind.QUOTA_SPENT, ErrorKind.UNAVAILABLE}


@one_test_for("kind", ErrorKind)
def test_only_what_passes_is_helped_by_another_model(kind: ErrorKind) -> None:
    assert kind.is_passing is (kind in PASSING)


# ---- a protocol's own ----


def test_codes_that_no_table_can_list_are_read_by_their_form() -> None:
    errors = Errors(codes={"known": ErrorKind.UNAVAILABLE}, code_forms=(("PerDay", ErrorKind.QUOTA_SPENT),))
    assert errors.kind("RequestsPerDayPerModel") is ErrorKind.QUOTA_SPENT
    assert errors.kind("known") is ErrorKind.UNAVAILABLE
    assert errors.kind("RequestsPerMinute") is None
    assert errors.kind(None) is None


OWN = Errors(
    codes={
        "a_code_of_its_own": ErrorKind.RATE_LIMIT,
        "overloaded": ErrorKind.NO_CREDIT,
        "full": ErrorKind.INPUT_TOO_LONG,
    },
    read_body=lambda document: ErrorBody(document["broke"], document["how"]),
)


def test_the_codes_of_a_protocol_are_added_to_the_common_ones_and_win_over_them() -> None:
    assert OWN.kind("A_CODE_OF_ITS_OWN") is ErrorKind.RATE_LIMIT
    assert OWN.kind("overloaded") is ErrorKind.NO_CREDIT
    assert OWN.kind("forbidden") is ErrorKind.NO_PERMISSION
    assert COMMON_ERRORS.kind("a_code_of_its_own") is None


@pytest.mark.parametrize(
    ("error", "overflow"),
    [
        (UpstreamFailureError("prompt is too long: 12 tokens > 10 maximum"), Overflow(10, 12)),
        (UpstreamHTTPError(400, provider_code="FULL"), Overflow()),
        (UpstreamHTTPError(400, provider_code="context_length_exceeded"), Overflow()),
        (UpstreamHTTPError(400, provider_code="a_code_of_its_own"), None),
    ],
)
def test_the_sentences_and_codes_of_a_protocol_say_too_that_an_input_is_too_long(
    error: UpstreamHTTPError | UpstreamFailureError, overflow: Overflow | None
) -> None:
    assert OWN.overflow(error) == overflow


def test_a_protocol_reads_the_bodies_of_its_servers_itself() -> None:
    error = http_error(429, {}, b'{"broke":"Slowly.","how":"RESOURCE_EXHAUSTED"}', NOW, OWN)
    assert (error.provider_message, error.provider_code) == ("Slowly.", "RESOURCE_EXHAUSTED")


@one_test_for("document", [None, 1, "no", [], {}, {"error": None}, {"error": []}, {"error": {"message": 1.5}}])
def test_a_body_that_says_nothing_is_empty(document: Any) -> None:
    assert read_error_body(document) == ErrorBody()


def test_a_message_that_repeats_the_whole_request_is_cut() -> None:
    read = read_error_body({"error": {"message": "x" * 100_000, "code": "y"}})
    assert (len(read.message or ""), read.code) == (2000, "y")


WIRES = ("chat-completions", "openresponses", "anthropic-messages", "gemini", "ollama", "ai-gateway", "ag-ui")
MEANINGS = {
    "a key": ({"code": "InvalidApiKey", "message": "No."}, LanguageModelErrorCode.NO_PERMISSIONS, None),
    "a key, in words": ({"message": "Invalid API key."}, LanguageModelErrorCode.NO_PERMISSIONS, None),
    "a limit": ({"error": {"message": "Slowly.", "code": 429}}, LanguageModelErrorCode.BLOCKED, None),
    "a limit, in words": ({"error": "Rate limit, try again in 12s"}, LanguageModelErrorCode.BLOCKED, 12.0),
    "a limit with a wait": ({"code": 429, "message": "No.", "retry_after": 7}, LanguageModelErrorCode.BLOCKED, 7.0),
    "overload": ({"message": "Overloaded", "status": 503}, LanguageModelErrorCode.UNSPECIFIED, None),
    "a refusal": ({"code": "DataInspectionFailed", "message": "No."}, LanguageModelErrorCode.BLOCKED, None),
    "a model": ({"detail": "The model m does not exist"}, LanguageModelErrorCode.NOT_FOUND, None),
}


@one_test_for("wire", WIRES)
@one_test_for(("document", "code", "wait"), MEANINGS.values(), ids=MEANINGS)
def test_an_error_without_a_type_says_on_every_wire_what_it_means(
    wire: Any, document: dict[str, object], code: LanguageModelErrorCode, wait: float | None
) -> None:
    line = json.dumps(document).encode() + b"\n"
    *_, finish = read_stream([line if wire == "ollama" else b"data: " + line + b"\n"], protocol=wire)
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, UpstreamFailureError)
    assert (finish.error.code, finish.error.retry_after) == (code, wait)


@one_test_for("wire", WIRES)
def test_an_input_that_is_too_long_is_known_on_every_wire_by_an_error_without_a_type(wire: Any) -> None:
    line = b'{"message": "prompt is too long: 12 tokens > 10 maximum"}\n'
    *_, finish = read_stream([line if wire == "ollama" else b"data: " + line + b"\n"], protocol=wire)
    assert isinstance(finish, Finish)
    assert isinstance(finish.error, UpstreamFailureError)
    assert COMMON_ERRORS.overflow(finish.error) == Overflow(10, 12)
