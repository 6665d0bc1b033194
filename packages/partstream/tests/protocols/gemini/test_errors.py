"""What servers of Gemini answer in place of a model's words, literally, and what it means."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from partstream.conversation.provider_state import Carried
from partstream.errors import LanguageModelErrorCode, UpstreamFailureError, UpstreamHTTPError
from partstream.protocols.errors import ErrorKind, Overflow
from partstream.protocols.gemini.errors import ERRORS
from partstream.upstream.http_errors import http_error
from rows import one_test_for

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DETAIL = "type.googleapis.com/google.rpc."
PER_DAY, PER_MINUTE = (
    "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
    "GenerateContentInputTokensPerModelPerMinute-FreeTier",
)


def error(code: int, status: str, message: str = "No.", *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def quota(*ids: str) -> dict[str, Any]:
    violations = [{"quotaMetric": "generate_requests", "quotaId": one, "quotaValue": "20"} for one in ids]
    return {"@type": f"{DETAIL}QuotaFailure", "violations": violations}


RETRY = {"@type": f"{DETAIL}RetryInfo", "retryDelay": "34.4s"}
BAD_KEY = error(
    400,
    "INVALID_ARGUMENT",
    "API key not valid. Please pass a valid API key.",
    {"@type": f"{DETAIL}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"},
)
LIMITED = error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", quota(PER_MINUTE), RETRY)
SPENT = error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", quota(PER_MINUTE, PER_DAY), RETRY)


def read(status: int, body: Any) -> UpstreamHTTPError:
    return http_error(status, {}, json.dumps(body).encode(), NOW, ERRORS)


# Status, body, code, VS Code's word.
BODIES: dict[str, tuple[int, Any, str, LanguageModelErrorCode]] = {
    "a request": (400, error(400, "INVALID_ARGUMENT"), "INVALID_ARGUMENT", LanguageModelErrorCode.UNSPECIFIED),
    "a key": (400, BAD_KEY, "API_KEY_INVALID", LanguageModelErrorCode.NO_PERMISSIONS),
    "no key": (403, error(403, "PERMISSION_DENIED"), "PERMISSION_DENIED", LanguageModelErrorCode.NO_PERMISSIONS),
    "a model": (404, error(404, "NOT_FOUND"), "NOT_FOUND", LanguageModelErrorCode.NOT_FOUND),
    "a limit of a minute": (429, LIMITED, PER_MINUTE, LanguageModelErrorCode.BLOCKED),
    "a quota of a day": (429, SPENT, PER_DAY, LanguageModelErrorCode.BLOCKED),
    "busy": (503, error(503, "UNAVAILABLE"), "UNAVAILABLE", LanguageModelErrorCode.UNSPECIFIED),
    "in an array": (429, [LIMITED], PER_MINUTE, LanguageModelErrorCode.BLOCKED),
    "in a message": (
        400,
        {"error": {"message": json.dumps(BAD_KEY)}},
        "API_KEY_INVALID",
        LanguageModelErrorCode.NO_PERMISSIONS,
    ),
    "in a message of a message": (
        500,
        {"error": {"message": json.dumps({"error": {"message": json.dumps(LIMITED)}}), "code": 500}},
        PER_MINUTE,
        LanguageModelErrorCode.UNSPECIFIED,
    ),
    "of the other API": (
        400,
        {"error": {"message": "No.", "code": "invalid_request"}},
        "invalid_request",
        LanguageModelErrorCode.UNSPECIFIED,
    ),
}


@one_test_for(("status", "body", "code", "word"), BODIES.values(), ids=BODIES)
def test_an_error_says_its_code_and_vs_codes_word(
    status: int, body: Any, code: str, word: LanguageModelErrorCode
) -> None:
    said = read(status, body)
    assert (said.provider_code, said.code) == (code, word)
    assert said.provider_message
    assert not said.provider_message.startswith("{")


def test_a_limit_says_its_quota_and_the_seconds_to_wait_wherever_it_comes() -> None:
    for said in (read(429, LIMITED), read(429, [LIMITED]), ERRORS.failure_in(LIMITED), ERRORS.failure_in([LIMITED])):
        assert isinstance(said, UpstreamHTTPError | UpstreamFailureError)
        assert (said.http_status, said.provider_code, said.retry_after) == (429, PER_MINUTE, 34.4)
        assert said.provider_type == "RESOURCE_EXHAUSTED"
        assert said.provider_message == "You exceeded your current quota."


def test_a_quota_of_a_day_is_no_reason_to_wait_but_one_to_ask_another_model() -> None:
    spent, limited = (ERRORS.kind_of(read(429, body)) for body in (SPENT, LIMITED))
    assert (spent, limited) == (ErrorKind.QUOTA_SPENT, ErrorKind.RATE_LIMIT)
    assert spent is not None
    assert spent.outranks_status
    assert spent.is_passing


TOO_LONG = {
    "The input token count (1054016) exceeds the maximum number of tokens allowed (1048576).": (1_048_576, 1_054_016),
    "The input token count (1,054,016) exceeds the maximum number of tokens allowed 1,048,576.": (1_048_576, 1_054_016),
    "The input token count exceeds the maximum number of tokens allowed.": (None, None),
    "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. "
    "Reduce the input token count and try again.": (1_048_576, 1_251_952),
}


@pytest.mark.parametrize(("said", "numbers"), TOO_LONG.items())
def test_an_input_that_is_too_long_is_told_with_its_numbers(said: str, numbers: tuple[int, int]) -> None:
    limit, count = numbers
    assert ERRORS.overflow(read(400, error(400, "INVALID_ARGUMENT", said))) == Overflow(limit, count)


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("Corrupted thought signature.", Carried.REASONING),
        ("Thought signature is not valid.", Carried.REASONING),
        ("Function call is missing a thought_signature in functionCall parts.", Carried.NOTHING),
        ("The model is overloaded.", Carried.NOTHING),
    ],
)
def test_a_corrupted_signature_is_refused_state_and_a_missing_one_is_none(message: str, refused: Carried) -> None:
    assert ERRORS.refused(read(400, error(400, "INVALID_ARGUMENT", message))) is refused
