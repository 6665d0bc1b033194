"""Numbers from outside are finite and within their limits, or unknown."""

import math
import sqlite3
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.checks import MOST_SECONDS, MOST_TOKENS, as_amount, as_count, storable_text, unusable_counts
from partstream.codec.json_codec import dumps, loads
from rows import one_test_for

numbers = st.one_of(st.integers(), st.floats(), st.integers(-(10**400), 10**400), st.booleans(), st.text(), st.none())


@given(numbers)
def test_a_count_is_a_whole_number_that_json_and_sqlite_can_hold_or_unknown(value: object) -> None:
    count = as_count(value)
    if count is None:
        assert not (type(value) is int and 0 <= value <= MOST_TOKENS)
        return
    assert type(count) is int
    assert count == value
    assert 0 <= count <= MOST_TOKENS
    assert loads(dumps(count)) == count


@given(numbers)
def test_an_amount_is_finite_or_unknown(value: object) -> None:
    amount = as_amount(value, MOST_SECONDS)
    if amount is None:
        assert not (type(value) in (int, float) and 0 <= value <= MOST_SECONDS)  # type: ignore[operator]
        return
    assert type(amount) is float
    assert math.isfinite(amount)


NO_COUNTS = [2**63, 10**400, 10**5000, -1, 0.5, math.nan, math.inf, -math.inf, True, "7", None]


@one_test_for("value", NO_COUNTS, ids=range(len(NO_COUNTS)))
def test_what_cannot_be_a_count_is_unknown(value: object) -> None:
    assert as_count(value) is None


@given(st.text(st.characters(exclude_categories=())))
def test_a_text_that_is_stored_is_one_that_sqlite_takes(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute("SELECT ?", (storable_text(text),)).fetchone() == (storable_text(text),)


def test_a_name_without_end_is_stored_in_part() -> None:
    assert storable_text("é" * 10_000_000) == "é" * 1_000


def test_counts_that_cannot_be_are_named_with_their_place() -> None:
    reported = {
        "input_tokens": math.inf,
        "output_tokens": 7,
        "outputTokens": {"total": -1, "text": 3.0},
        "total_tokens": 10**5000,
        "cost": 1e300,
        "created": 1_763_800_000_000,
        "cached_tokens": None,
    }
    assert unusable_counts(reported) == (
        "input_tokens: inf",
        "outputTokens.total: -1",
        "total_tokens: an integer of 16610 bits",
    )


def test_a_report_full_of_nonsense_is_named_in_part() -> None:
    assert len(unusable_counts({f"tokens{number}": -1 for number in range(100_000)})) == 10
    nested: dict[str, object] = {"tokens": -1}
    for _ in range(100_000):
        nested = {"tokens": nested}
    assert unusable_counts(nested) == ()
