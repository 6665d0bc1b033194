"""How long servers ask to wait, in durations, sentences and fields; and which of them counts."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from partstream.protocols.errors import seconds_of, wait_in_body, wait_in_sentence
from partstream.upstream.http_errors import wait_before_retry
from rows import one_test_for

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)

DURATIONS = {
    "12ms": 0.012,
    "1.57s": 1.57,
    "6s": 6.0,
    "6m0s": 360.0,
    "2m59.56s": 179.56,
    "1h2m3s": 3723.0,
    "1d": 86_400.0,
    "150µs": 0.00015,
    "5 minutes": 300.0,
    "37": 37.0,
    " 2.5 ": 2.5,
    "-1": None,
    "0": None,
    "0s": None,
    "": None,
    "soon": None,
    "1.2.3s": None,
    "5s later": None,
    "9" * 400: None,
}


@one_test_for(("text", "seconds"), DURATIONS.items())
def test_a_duration_is_read_as_seconds(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == (None if seconds is None else pytest.approx(seconds))


SENTENCES = {
    "Rate limit reached for model `x`: Limit 30, Used 30. Please try again in 5.289s. Visit the console.": 5.289,
    "Please try again in 6m0s.": 360.0,
    "Please retry after 37 seconds.": 37.0,
    "Please retry after 86400 seconds.": 86_400.0,
    "Please retry in 37.512s.": 37.512,
    "Try again in 20 seconds, or wait 5 seconds": 20.0,
    "Too many tokens, please wait before trying again.": None,
    "try again in 3 tries": None,
    "wait " * 3000 + "wait 5s": None,
}


@one_test_for(("said", "seconds"), SENTENCES.items())
def test_a_sentence_says_how_long(said: str, seconds: float | None) -> None:
    assert wait_in_sentence(said) == (None if seconds is None else pytest.approx(seconds))


FIELDS: list[tuple[dict[str, Any], float | None]] = [
    ({"details": [{"@type": "type.googleapis.com/google.rpc.Help"}, {"retryDelay": "37s"}]}, 37.0),
    ({"retry_after": 2.5}, 2.5),
    ({"retry_after_ms": 250}, 0.25),
    ({"retry_after": True, "details": "soon"}, None),
    ({"retry_after": 10**400}, None),
    ({"retry_after": -1}, None),
    ({}, None),
]


@one_test_for(("error", "seconds"), FIELDS)
def test_a_field_says_how_long(error: dict[str, Any], seconds: float | None) -> None:
    assert wait_in_body(error) == seconds


USED_UP = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.57s"}
HEADERS: dict[str, tuple[int, dict[str, str], float | None, float | None]] = {
    "milliseconds first": (429, {"retry-after-ms": "1500", "retry-after": "9"}, 7.0, 1.5),
    "then the header": (429, {"retry-after": "9", **USED_UP}, 7.0, 9.0),
    "at once": (429, {"retry-after": "0"}, 7.0, 0.0),
    "then the body": (429, USED_UP, 7.0, 7.0),
    "then a limit that is used up": (429, USED_UP, None, 1.57),
    "the longer of two": (429, {**USED_UP, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, None, 30.0),
    "a point in time": (
        429,
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{int(NOW.timestamp()) + 30}"},
        None,
        30.0,
    ),
    "a point in time in milliseconds": (
        429,
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{int(NOW.timestamp() * 1000) + 30_000}"},
        None,
        30.0,
    ),
    "a limit that is not used up": (429, {**USED_UP, "x-ratelimit-remaining-tokens": "12"}, None, None),
    "Azure does not know": (
        429,
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "-1"},
        None,
        None,
    ),
    "no server that is busy": (400, USED_UP, 7.0, None),
    "nothing": (503, {}, None, None),
}


@one_test_for(("status", "headers", "said", "seconds"), HEADERS.values(), ids=HEADERS)
def test_what_counts_of_all_the_places(
    status: int, headers: dict[str, str], said: float | None, seconds: float | None
) -> None:
    waits = wait_before_retry(status, headers, NOW, said)
    assert waits == (None if seconds is None else pytest.approx(seconds))


@given(st.text(max_size=60))
@example("¹")
def test_any_text_is_a_wait_or_none(text: str) -> None:
    for read in (seconds_of, wait_in_sentence):
        assert (seconds := read(text)) is None or seconds > 0
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": text, "retry-after-ms": text}
    assert (wait := wait_before_retry(429, headers, NOW, None)) is None or wait >= 0
