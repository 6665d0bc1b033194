"""What the errors of servers mean, in common words and in those that a protocol adds."""

from datetime import UTC, datetime
from typing import Any

import pytest

from partstream.errors import LanguageModelErrorCode, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.errors import COMMON_ERRORS, ErrorBody, ErrorKind, Errors, Overflow, phrasing, read_error_body
from partstream.upstream.http_errors import http_error

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("provider_code", "code"),
    [
        ("authentication_error", "NoPermissions"),
        ("forbidden", "NoPermissions"),
        ("rate_limit_exceeded", "Blocked"),
        ("insufficient_funds", "Blocked"),
        ("model_not_found", "NotFound"),
        ("overloaded_error", "Unspecified"),
        ("context_length_exceeded", "Unspecified"),
        ("a code of which nobody knows anything", "Unspecified"),
        (None, "Unspecified"),
    ],
)
def test_a_failure_without_a_status_has_vs_codes_word_by_its_own(provider_code: str | None, code: str) -> None:
    error = COMMON_ERRORS.failure("no", provider_code)
    assert (error.code, error.provider_code) == (LanguageModelErrorCode(code), provider_code)
    assert error.provider_message == "no"


PASSING = {ErrorKind.RATE_LIMIT, ErrorKind.QUOTA_SPENT, ErrorKind.UNAVAILABLE}


@pytest.mark.parametrize("kind", ErrorKind)
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
        "resource_exhausted": ErrorKind.RATE_LIMIT,
        "overloaded": ErrorKind.NO_CREDIT,
        "full": ErrorKind.INPUT_TOO_LONG,
    },
    phrasings=(phrasing("Parrot", r"too many words: <count> of <limit>"),),
    read_body=lambda document: ErrorBody(document["broke"], document["how"]),
)


def test_the_codes_of_a_protocol_are_added_to_the_common_ones_and_win_over_them() -> None:
    assert OWN.kind("RESOURCE_EXHAUSTED") is ErrorKind.RATE_LIMIT
    assert OWN.kind("overloaded") is ErrorKind.NO_CREDIT
    assert OWN.kind("forbidden") is ErrorKind.NO_PERMISSION
    assert COMMON_ERRORS.kind("resource_exhausted") is None


@pytest.mark.parametrize(
    ("error", "overflow"),
    [
        (UpstreamHTTPError(400, provider_message="Too many words: 12 of 10."), Overflow(10, 12)),
        (UpstreamFailureError("prompt is too long: 12 tokens > 10 maximum"), Overflow(10, 12)),
        (UpstreamHTTPError(400, provider_code="FULL"), Overflow()),
        (UpstreamHTTPError(400, provider_code="context_length_exceeded"), Overflow()),
        (UpstreamHTTPError(400, provider_code="resource_exhausted"), None),
    ],
)
def test_the_sentences_and_codes_of_a_protocol_say_too_that_an_input_is_too_long(
    error: UpstreamHTTPError | UpstreamFailureError, overflow: Overflow | None
) -> None:
    assert OWN.overflow(error) == overflow


def test_a_protocol_reads_the_bodies_of_its_servers_itself() -> None:
    error = http_error(429, {}, b'{"broke":"Slowly.","how":"RESOURCE_EXHAUSTED"}', NOW, OWN)
    assert (error.provider_message, error.provider_code) == ("Slowly.", "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize(
    "document", [None, 1, "no", [], {}, {"error": None}, {"error": []}, {"error": {"message": 1.5}}]
)
def test_a_body_that_says_nothing_is_empty(document: Any) -> None:
    assert read_error_body(document) == ErrorBody()


def test_a_message_that_repeats_the_whole_request_is_cut() -> None:
    read = read_error_body({"error": {"message": "x" * 100_000, "code": "y"}})
    assert (len(read.message or ""), read.code) == (2000, "y")
