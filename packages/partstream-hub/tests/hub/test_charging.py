"""What an answer is charged: what was reported, or what was seen of it."""

from __future__ import annotations
from dataclasses import replace
from typing import Any

import pytest

from partstream import ChatMessage
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import InboundRequest, Outcome
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, Usage
from partstream.server.settings import AnswerObservation, EndedAnswer
from partstream.tokens.amounts import DOLLAR
from partstream.tokens.records import UsageRow
from partstream_hub.directory import ModelPrice
from partstream_hub.pricing import ChargedPrice, RequestBound, cost_of_usage, taken_by
from rows import one_test_for

PRICE = ModelPrice(1 * DOLLAR, 10 * DOLLAR)
LISTED = ChargedPrice(PRICE, PRICE, is_of_route=False)
OF_ROUTE = ChargedPrice(PRICE, PRICE, is_of_route=True)
OBSERVED = AnswerObservation(1.0, "openresponses", "m", "p", 200, 2.0, "req_1", first_part_after=0.1)
ASKED = InboundRequest("m", (ChatMessage.user("word " * 100),), RequestOptions())


def ended(text: str = "", *, usage: Usage | None = None, kept: tuple[UsageRow, ...] = (), length=1.0, **observed):
    observation = replace(OBSERVED, **{"outcome": Outcome.COMPLETED, **observed})
    return EndedAnswer(observation, ASKED, True, usage, kept, lambda: ChatMessage.assistant(text), length)


def row(given: int | None, written: int | None, cost: float | None = None) -> UsageRow:
    return UsageRow(1.0, "m", "u", None, given, written, 0, 0, cost)


def test_reported_tokens_are_charged_by_the_price():
    taken = taken_by(ended(usage=Usage(1000, 100)), "f", LISTED)
    assert (taken.tokens, taken.nanodollars, taken.is_estimated) == (1100, 2_000_000, False)
    finish = ended()
    finish = replace(finish, observation=replace(finish.observation, usage=Usage(1000, 100)))
    assert taken_by(finish, "f", LISTED) == taken


def test_the_bill_of_the_upstream_counts_unless_the_hub_says_its_own_price():
    answer = ended(usage=Usage(1000, 100), cost=0.5)
    assert taken_by(answer, "f", LISTED).nanodollars == DOLLAR // 2
    assert taken_by(answer, "f", None).nanodollars == DOLLAR // 2
    assert taken_by(answer, "f", OF_ROUTE).nanodollars == 2_000_000


def test_without_a_price_and_a_bill_nobody_knows_the_cost():
    taken = taken_by(ended(usage=Usage(1000, 100)), "f", None)
    assert (taken.tokens, taken.nanodollars) == (1100, None)


def test_all_upstreams_that_were_asked_for_one_answer_are_charged():
    answer = ended(usage=Usage(10, 1), kept=(row(1000, 50), row(500, 50)))
    assert taken_by(answer, "f", LISTED).usage.input_tokens == 1500
    unknown = ended(usage=Usage(10, 1), kept=(row(1000, 50), row(None, None)))
    assert taken_by(unknown, "f", LISTED).usage.input_tokens == 10


def test_tokens_that_were_counted_here_are_an_estimate():
    answer = ended("Hello", is_usage_counted=True)
    answer = replace(answer, observation=replace(answer.observation, usage=Usage(90, 7)))
    taken = taken_by(answer, "f", LISTED)
    assert (taken.tokens, taken.is_estimated) == (97, True)


@pytest.mark.parametrize("outcome", [None, Outcome.TRUNCATED, Outcome.FAILED, Outcome.INCOMPLETE])
def test_an_answer_that_was_cut_is_charged_for_the_request_and_what_was_seen(outcome):
    short = taken_by(ended("seen " * 50, outcome=outcome), "f", LISTED)
    assert short.is_estimated
    assert 90 <= (short.usage.input_tokens or 0) <= 200
    assert 40 <= (short.usage.output_tokens or 0) <= 100
    long = taken_by(ended("seen " * 50, outcome=outcome, length=10.0), "f", LISTED)
    assert (long.usage.output_tokens or 0) == pytest.approx(10 * (short.usage.output_tokens or 0), abs=10)
    assert (long.nanodollars or 0) > (short.nanodollars or 0)


def test_an_answer_whose_client_left_before_its_first_part_is_charged_for_the_request():
    taken = taken_by(ended(outcome=None, first_part_after=None, is_cancelled=True), "f", LISTED)
    assert taken.usage.output_tokens == 0
    assert (taken.nanodollars or 0) >= 90_000


@pytest.mark.parametrize(("error", "is_free"), [("UpstreamHTTPError", True), ("UpstreamTimeoutError", False)])
def test_what_an_upstream_refused_costs_nothing_and_what_it_read_in_silence_does(error: str, is_free: bool):
    taken = taken_by(ended(outcome=Outcome.FAILED, first_part_after=None, error=error), "f", LISTED)
    assert (taken.nanodollars == 0) is is_free


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        ((), 1000),
        ((TextPart("seen " * 50),), 1050),
        ((ToolCallPart("c", "f", {"a": "word " * 598}),), 630),
        ((ThinkingPart("", "t", {"signature": "x" * 1478}),), 500),
    ],
    ids=["nothing else", "text", "a whole call", "a signature"],
)
def test_what_came_of_an_answer_that_failed_is_charged_also_where_it_became_no_part(said, tokens: int):
    answer = ended(outcome=Outcome.FAILED, first_part_after=None, error="ToolArgumentsError")
    answer = replace(answer, held=3000, answer=lambda: ChatMessage.assistant(said))
    taken = taken_by(answer, "f", LISTED)
    assert taken.is_estimated
    assert taken.usage.output_tokens == pytest.approx(tokens, abs=30)
    assert (taken.usage.input_tokens or 0) >= 90


BOUND = RequestBound(500, 100, PRICE)
FAR: list[tuple[str, dict[str, Any], tuple[int, int]]] = [
    ("input", {"usage": Usage(10**9, 5)}, (500, 5)),
    ("output", {"usage": Usage(50, 10**9)}, (50, 350)),
    ("both, in the row of an upstream", {"usage": Usage(1, 1), "kept": (row(10**7, 10**7),)}, (500, 350)),
    ("a bill", {"usage": Usage(50, 5), "cost": 100.0}, (50, 5)),
]
NEAR: list[tuple[str, dict[str, Any]]] = [
    ("a little more input", {"usage": Usage(1500, 5), "kept": (row(1500, 5),)}),
    ("a prompt of the server", {"usage": Usage(30_000, 5), "kept": (row(30_000, 5),)}),
    ("hidden thinking beyond the limit", {"usage": Usage(50, 5000), "kept": (row(50, 5000),)}),
    ("an agent that asked often", {"usage": Usage(3_000_000, 50_000), "kept": (row(100_000, 2000),) * 30}),
    ("an agent that tells its sum", {"usage": Usage(3_000_000, 50_000)}),
]


@one_test_for("case", FAR, ids=lambda case: case[0])
def test_a_report_far_above_what_a_request_can_take_is_not_believed(case):
    _, said, charged = case
    answer = ended("seen " * 50, **{"kept": (row(10, 5, said.get("cost")),), **said})
    taken = taken_by(answer, "f", LISTED, BOUND)
    assert (taken.usage.input_tokens, taken.usage.output_tokens) == charged
    assert taken.nanodollars == cost_of_usage(PRICE, taken.usage)
    assert (taken.is_unbelievable, taken.is_estimated) == (True, True)


@one_test_for("case", NEAR, ids=lambda case: case[0])
def test_a_report_that_a_request_can_explain_is_believed(case):
    taken = taken_by(ended("seen", **case[1]), "f", LISTED, BOUND)
    assert taken.usage.input_tokens == case[1]["usage"].input_tokens
    assert not taken.is_unbelievable


def test_a_bill_for_a_part_of_an_answer_that_was_cut_is_no_bill_for_all_that_was_seen():
    taken = taken_by(ended("seen " * 500, outcome=None, cost=0.000001), "f", LISTED)
    assert (taken.nanodollars or 0) > 1_000_000


@one_test_for("count", [-5, 10**12, float("nan"), float("inf"), 0.5, "many", True])
@one_test_for("is_input", [True, False])
@one_test_for("is_part", [True, False])
def test_a_report_of_tokens_that_no_answer_has_is_none(count: Any, is_input: bool, is_part: bool):
    usage = Usage(count, 10) if is_input else Usage(10, count)
    answer = ended("seen " * 50, usage=usage if is_part else None)
    if not is_part:
        answer = replace(answer, observation=replace(answer.observation, usage=usage))
    taken = taken_by(answer, "f", LISTED)
    assert taken.is_estimated
    assert 10 <= taken.tokens <= 300
    assert taken.nanodollars == cost_of_usage(PRICE, taken.usage) > 0


@one_test_for("cost", [-1.0, float("nan"), float("inf"), 1e300, 10**400])
def test_a_bill_that_no_answer_has_is_none(cost: float):
    assert taken_by(ended(usage=Usage(1000, 100), cost=cost), "f", LISTED).nanodollars == 2_000_000
    assert taken_by(ended(usage=Usage(1000, 100), cost=cost), "f", None).nanodollars is None


@one_test_for("cached", [-(10**6), 10**6, 10**12])
@one_test_for("reasoning", [-5000, 0, 5000])
def test_details_of_tokens_that_cannot_be_make_nothing_cheaper(cached: int, reasoning: int):
    price = replace(PRICE, cached_input=DOLLAR // 10)
    listed = ChargedPrice(price, price, is_of_route=False)
    odd = Usage(1000, 100, cached_tokens=cached, reasoning_tokens=reasoning)
    taken = taken_by(ended("seen " * 50, usage=odd), "f", listed)
    least = cost_of_usage(price, Usage(1000, 100, cached_tokens=1000))
    assert least <= (taken.nanodollars or 0) <= 10 * 2_000_000
