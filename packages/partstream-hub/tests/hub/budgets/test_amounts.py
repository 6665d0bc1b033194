"""Amounts as people write them, in whole nanodollars and tokens."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.errors import UnexpectedValueError
from partstream.tokens.amounts import (
    DOLLAR,
    MOST_AMOUNT,
    BudgetAmount,
    BudgetUnit,
    Period,
    amount_text,
    budget_text,
    nanodollars,
    parsed_budget,
)
from rows import one_test_for

MONEY, TOKENS = BudgetUnit.MONEY, BudgetUnit.TOKENS


@one_test_for(
    ("text", "expected"),
    [
        ("5 USD/day", BudgetAmount(MONEY, Period.DAY, 5 * DOLLAR)),
        ("250.50 USD/month", BudgetAmount(MONEY, Period.MONTH, 250_500_000_000)),
        ("$0.000000001 per week", BudgetAmount(MONEY, Period.WEEK, 1)),
        ("100 USD", BudgetAmount(MONEY, Period.TOTAL, 100 * DOLLAR)),
        ("1,000 usd a month", BudgetAmount(MONEY, Period.MONTH, 1_000 * DOLLAR)),
        ("2M tokens/week", BudgetAmount(TOKENS, Period.WEEK, 2_000_000)),
        ("1.5k tokens/day", BudgetAmount(TOKENS, Period.DAY, 1_500)),
        ("0 tokens", BudgetAmount(TOKENS, Period.TOTAL, 0)),
    ],
)
def test_a_budget_is_read_as_people_write_it(text: str, expected: BudgetAmount) -> None:
    assert parsed_budget(text) == expected


@one_test_for(
    "text",
    ["", "5", "5/day", "$5 USD", "5 EUR/day", "-1 USD", "1e3 USD", "0.0000000001 USD", "1.5 tokens", "5 USD/year",
     "2000000000 USD", "\N{ARABIC-INDIC DIGIT FIVE} USD"],
)  # fmt: skip
def test_what_is_no_budget_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(UnexpectedValueError, match="expected"):
        parsed_budget(text)


@given(st.sampled_from(BudgetUnit), st.sampled_from(Period), st.integers(0, MOST_AMOUNT))
def test_a_budget_is_shown_in_the_form_that_is_read(unit: BudgetUnit, period: Period, limit: int) -> None:
    budget = BudgetAmount(unit, period, limit)
    assert parsed_budget(budget_text(budget)) == budget


@one_test_for(
    ("unit", "amount", "expected"),
    [
        (MONEY, 4_200_000_000, "4.20 USD"),
        (MONEY, 31_000, "0.000031 USD"),
        (MONEY, 1_234_000_000_000, "1,234.00 USD"),
        (TOKENS, 1_200, "1,200 tokens"),
        (TOKENS, 1, "1 token"),
    ],
)
def test_an_amount_is_shown_to_people(unit: BudgetUnit, amount: int, expected: str) -> None:
    assert amount_text(unit, amount) == expected


@pytest.mark.parametrize(("dollars", "expected"), [(0.1, 10**8), ("0.3", 3 * 10**8), (Decimal("1e-9"), 1), (1e-10, 0)])
def test_dollars_become_whole_nanodollars(dollars: float | str | Decimal, expected: int) -> None:
    assert nanodollars(dollars) == expected


@one_test_for("dollars", [-1, "x", float("nan"), float("inf"), 10**10])
def test_what_is_no_amount_of_dollars_is_refused(dollars: float | str) -> None:
    with pytest.raises(UnexpectedValueError):
        nanodollars(dollars)
