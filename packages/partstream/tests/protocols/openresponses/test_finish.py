"""How a response ended, in our words beside the wire's."""

from typing import Any

import pytest

from partstream.errors import UpstreamFailureError
from partstream.lm.outputs import Outcome
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage
from partstream.protocols.openresponses.errors import failure, finish_reason, usage
from protocols.openresponses.wire import call, created, delta, done, event, read, terminal
from rows import one_test_for

REPORTED = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 2},
}


@one_test_for(
    ("reported", "expected"),
    [
        (REPORTED, Usage(10, 5, 15, 4, 2, REPORTED)),
        ({"input_tokens": 10, "output_tokens": 5}, Usage(10, 5, 15)),
        ({"input_tokens": 10}, Usage(10)),
        ({"input_tokens": 0, "output_tokens": 0}, Usage(0, 0, 0)),
        ({"input_tokens": 10, "output_tokens": 5, "total_tokens": 17}, Usage(10, 5, 17)),
        ({"input_tokens": None, "output_tokens": "5", "total_tokens": True}, Usage()),
        ({"input_tokens": -1, "output_tokens": 5.5}, Usage()),
        ({"input_tokens": 10.0, "output_tokens": 2**63, "total_tokens": float("inf")}, Usage(10)),
        ({"input_tokens_details": None, "output_tokens_details": []}, Usage()),
        ({}, Usage()),
    ],
)
def test_usage_is_what_was_reported_and_nothing_unknown_becomes_zero(reported: Any, expected: Usage) -> None:
    got = usage({"usage": reported})
    assert got is not None
    assert got.raw == reported
    numbers = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens")
    assert [getattr(got, name) for name in numbers] == [getattr(expected, name) for name in numbers]


@one_test_for(("said", "expected"), [(3, 3), (0, 0), (None, None), (-1, None), ("3", None)])
def test_what_was_written_into_the_cache_is_read_where_it_is_said(said: Any, expected: int | None) -> None:
    got = usage({"usage": {**REPORTED, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": said}}})
    assert got is not None
    assert (got.cached_tokens, got.cache_write_tokens) == (4, expected)


@pytest.mark.parametrize("response", [{}, {"usage": None}, {"usage": []}, {"usage": "none"}])
def test_no_usage_is_none(response: Any) -> None:
    assert usage(response) is None


@one_test_for(
    ("status", "response", "calls", "expected"),
    [
        ("completed", {}, False, FinishReason(UnifiedFinishReason.STOP, "completed")),
        ("completed", {}, True, FinishReason(UnifiedFinishReason.TOOL_CALLS, "completed")),
        ("incomplete", {}, False, FinishReason(UnifiedFinishReason.OTHER, "incomplete")),
        ("incomplete", {"incomplete_details": None}, True, FinishReason(UnifiedFinishReason.OTHER, "incomplete")),
        *(
            ("incomplete", {"incomplete_details": {"reason": raw}}, False, FinishReason(unified, raw))
            for raw, unified in {
                "max_output_tokens": UnifiedFinishReason.LENGTH,
                "content_filter": UnifiedFinishReason.CONTENT_FILTER,
                "tired": UnifiedFinishReason.OTHER,
            }.items()
        ),
    ],
)
def test_the_finish_reason_is_unified_and_raw(status: str, response: Any, calls: bool, expected: FinishReason) -> None:
    assert finish_reason(response, status, calls) == expected


@one_test_for(
    ("reports", "code", "message"),
    [
        ([{"error": {"code": "c", "message": "m", "type": "t", "param": None}}], "c", "m"),
        ([{"code": "c", "message": "m"}], "c", "m"),
        ([{"code": "flat", "message": "flat", "error": {"code": "c", "message": "m"}}], "c", "m"),
        ([{"code": "c", "message": "flat", "error": {"code": None, "message": "m"}}], "c", "m"),
        ([{"error": {"type": "t", "code": None, "message": "m"}}], "t", "m"),
        ([{"error": {"type": "t", "code": "", "message": "m"}}], "t", "m"),
        ([{"error": {"code": 503, "message": "m"}}], "503", "m"),
        ([{"error": {"code": True, "message": "m"}}], None, "m"),
        ([{"error": "it broke"}], None, "it broke"),
        ([{"error": None}], None, "it gave no reason"),
        ([{"error": []}], None, "it gave no reason"),
        ([], None, "it gave no reason"),
        ([{"error": {"code": "a", "message": "first"}}, {"error": {"code": "b", "message": "second"}}], "b", "second"),
        ([{"error": {"code": "a", "message": "first"}}, {"error": {"code": "b"}}], "b", "first"),
        ([{"error": {"code": "a", "message": "first"}}, {"error": None}], "a", "first"),
    ],
)
def test_a_failure_is_put_together_from_all_that_reported_it(reports: Any, code: str | None, message: str) -> None:
    error = failure(*reports)
    assert (error.provider_code, error.provider_message) == (code, message)


NESTED = event("error", error={"type": "server_error", "code": "c", "message": "m", "param": None})
FLAT = event("error", code="c", message="m", param=None)
FAILED = terminal("failed", error={"code": "c", "message": "m"}, usage=REPORTED)


@one_test_for(
    "events",
    [
        [created(), delta("Hi"), NESTED, FAILED],
        [created(), delta("Hi"), FLAT, FAILED],
        [created(), delta("Hi"), FAILED],
        [created(), delta("Hi"), NESTED],
        [created(), delta("Hi"), FLAT],
        [created(), delta("Hi"), NESTED, FLAT, FAILED, NESTED],
        [created(), delta("Hi"), NESTED, terminal("failed", error=None)],
        [created(), delta("Hi"), NESTED, terminal("completed")],
        [created(), delta("Hi"), NESTED, terminal("incomplete")],
    ],
)
def test_however_a_failure_is_reported_it_is_one(events: Any) -> None:
    result = read(events)
    assert result.text == "Hi"
    assert result.finish.outcome is Outcome.FAILED
    assert result.finish.reason is not None
    assert result.finish.reason.unified is UnifiedFinishReason.ERROR
    error = result.finish.error
    assert isinstance(error, UpstreamFailureError)
    assert (error.provider_code, error.provider_message) == ("c", "m")
    assert str(error) == "the server failed: m"


def test_a_failed_response_still_reports_its_usage() -> None:
    finish = read([created(), FAILED]).finish
    assert finish.usage is not None
    assert finish.usage.total_tokens == 15


def test_the_reason_is_tool_calls_only_when_a_call_was_handed_out() -> None:
    for events, unified in (
        ([done(call()), terminal()], UnifiedFinishReason.TOOL_CALLS),
        ([delta("Hi"), terminal()], UnifiedFinishReason.STOP),
        ([done({"type": "web_search_call", "id": "ws"}), terminal()], UnifiedFinishReason.STOP),
    ):
        reason = read(events).finish.reason
        assert reason is not None
        assert reason.unified is unified
