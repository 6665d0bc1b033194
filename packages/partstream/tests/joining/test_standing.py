"""A hub's facts about a person: read carefully, shown in a few words, and never more than there is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.errors import UpstreamProtocolError
from partstream.tokens.amounts import BudgetUnit
from partstream.upstream.hub import HubBudget, left_text, read_standing
from rows import one_test_for

DOLLAR = 10**9
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("money")
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner), max_leaves=8)
BUDGETS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("unit", "period", "limit", "remaining", "resets_at", "owner"), JSON)
)


def budget(**fields: Any) -> dict[str, Any]:
    whole = {"unit": "money", "period": "day", "limit": 5 * DOLLAR, "spent": 18 * DOLLAR // 10, "reserved": 0}
    return {**whole, "remaining": 32 * DOLLAR // 10, "resets_at": "2026-11-24T00:00:00+01:00"} | fields


def me(*budgets: Any, **fields: Any) -> dict[str, Any]:
    return {"person": "ada", "team": "engines", "models": ["gpt-5"], "budgets": [*budgets], **fields}


def test_a_standing_has_the_person_and_the_budgets_with_the_tightest_first(caplog: pytest.LogCaptureFixture):
    week = budget(unit="tokens", period="week", limit=2_000_000, remaining=100_000, resets_at="2026-11-18T11:06:40Z")
    standing = read_standing(me(budget(), week))
    assert (standing.person, caplog.messages) == ("ada", [])
    assert [one.period for one in standing.budgets] == ["week", "day"]
    assert [one.resets_at for one in standing.budgets] == [1_795_000_000, 1_795_474_800]
    assert [one.share_left for one in standing.budgets] == [0.05, 0.64]


@one_test_for(
    ("fields", "text"),
    [
        ({}, "$3.20 of $5.00 left today"),
        ({"period": "week"}, "$3.20 of $5.00 left this week"),
        ({"period": "month", "owner": "team engines"}, "$3.20 of $5.00 left this month for the team"),
        ({"owner": "person ada"}, "$3.20 of $5.00 left today"),
        ({"owner": "key k7m2q9x4ab"}, "$3.20 of $5.00 left today for this key"),
        ({"period": "total"}, "$3.20 of $5.00 left"),
        ({"period": "quarter"}, "$3.20 of $5.00 left (quarter)"),
        ({"remaining": 4_999_999_999}, "$4.99 of $5.00 left today"),
        ({"remaining": 0}, "$0.00 of $5.00 left today"),
        ({"remaining": 99_999_999}, "$0.0999 of $5.00 left today"),
        ({"remaining": 1}, "$0.0000 of $5.00 left today"),
        ({"limit": 12_345 * DOLLAR, "remaining": 12_344 * DOLLAR}, "$12,344.00 of $12,345.00 left today"),
        ({"unit": "tokens", "limit": 2_000_000, "remaining": 1_299_999}, "1.2M of 2M tokens left today"),
        ({"unit": "tokens", "limit": 42_000, "remaining": 950}, "950 of 42K tokens left today"),
    ],
)
def test_what_is_left_is_said_in_a_few_words_and_rounded_down(fields: dict[str, Any], text: str):
    (read,) = read_standing(me(budget(**fields))).budgets
    assert left_text(read) == text


@one_test_for(
    ("wrong", "says"),
    [
        ({"unit": "bananas"}, "budgets[0].unit: got 'bananas', expected one of money, tokens"),
        ({"limit": 5.0}, "budgets[0].limit: got 5.0, expected a whole number from 0"),
        ({"limit": True}, "budgets[0].limit"),
        ({"remaining": -1}, "budgets[0].remaining: got -1"),
        ({"remaining": 2**63}, "budgets[0].remaining"),
        ({"resets_at": "tomorrow"}, "budgets[0].resets_at: got 'tomorrow', expected a time with its offset"),
        ({"resets_at": "2026-11-24T00:00:00"}, "budgets[0].resets_at"),
        ({"resets_at": float("inf")}, "budgets[0].resets_at"),
        ({"period": "day\u001b[31m"}, "budgets[0].period"),
        ({"period": ["day"]}, "budgets[0].period"),
    ],
)
def test_a_budget_that_cannot_be_read_is_named_and_hides_no_other(
    wrong: dict[str, Any], says: str, caplog: pytest.LogCaptureFixture
):
    caplog.clear()
    standing = read_standing(me(budget(**wrong), budget(period="week")))
    assert [one.period for one in standing.budgets] == ["week"]
    (problem,) = caplog.messages
    assert says in problem


def test_no_more_budgets_are_read_than_a_person_can_have(caplog: pytest.LogCaptureFixture):
    standing = read_standing(me(*[budget()] * 100))
    assert (len(standing.budgets), len(caplog.messages)) == (20, 1)


@one_test_for("document", [None, [], "x", {}, {"person": 1}, {"person": ""}, {"person": "a\nb"}, me(budgets={})])
def test_what_is_no_standing_is_refused_with_what_was_got(document: Any):
    with pytest.raises(UpstreamProtocolError) as refused:
        read_standing(document)
    assert "/hub/v1/me" in str(refused.value)
    assert "expected" in str(refused.value)


@given(JSON | st.builds(me, BUDGETS, BUDGETS, person=JSON | st.just("ada"), models=JSON))
def test_nothing_that_a_hub_sends_breaks_the_reading(document: Any):
    try:
        standing = read_standing(document)
    except UpstreamProtocolError:
        return
    assert all(left_text(one) for one in standing.budgets)


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.sampled_from(BudgetUnit))
def test_what_is_shown_is_at_most_what_is_left(limit: int, remaining: int, unit: BudgetUnit):
    text = left_text(HubBudget(unit, "day", limit, remaining))
    number = text.partition(" ")[0].lstrip("$").replace(",", "")
    size = {"B": 10**9, "M": 10**6, "K": 10**3}.get(number[-1], 1)
    digits, _, fraction = number.rstrip("BMK").partition(".")
    nanos = int(digits) * DOLLAR + int(fraction.ljust(9, "0") or 0)
    shown = nanos if unit is BudgetUnit.MONEY else nanos * size // DOLLAR
    assert shown <= remaining
