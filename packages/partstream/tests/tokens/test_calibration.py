"""What is learned from reports, driven with ratios that are known."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import ChatMessage, LanguageModelChatInformation, Usage
from partstream.tokens import CountSource
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.counting import Counters
from partstream.tokens.ledger import Ledger
from partstream.tokens.records import (
    HIGHEST_FACTOR,
    LOWEST_FACTOR,
    MINIMUM_TOKENS,
    WINDOW,
    Sample,
    factor_of,
    sample_of,
)
from rows import one_test_for

MODEL = LanguageModelChatInformation("m", "M", "made-up", "1", 100_000, 1000)
WORDS = "the quick brown fox jumps over the lazy dog while seven wizards quietly judge boxing matches ".split()  # noqa: SIM905


def _text(number: int, words: int = 400) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=words))  # noqa: S311 - the same every time


def _samples(*ratios: float, size: float = 1_000) -> list[Sample]:
    samples = [sample_of(size, ratio * size) for ratio in ratios]
    return [sample for sample in samples if sample is not None]


def test_without_samples_nothing_is_corrected():
    assert factor_of([]) == 1


@one_test_for("truth", [0.5, 0.7, 0.999, 1.0, 1.2, 1.5, 2.0, 3.0])
@one_test_for("answers", [1, 2, 3, 50])
def test_reports_that_agree_are_believed_as_they_are(truth: float, answers: int):
    assert factor_of(_samples(*[truth] * answers)) == pytest.approx(truth)


@pytest.mark.parametrize("truth", [0.7, 1.5, 2.5])  # 0.6 is the ratio of an upstream that counts bytes
def test_a_conversation_is_corrected_by_the_ratio_itself_and_not_by_its_root(truth: float):
    """Through the whole accounting: what is reported is `truth` times what the counter says, turn for turn."""
    accounting, counting = TokenAccounting("u"), TokenAccounting("u")
    messages: list[ChatMessage] = []
    for turn in range(30):
        messages.append(ChatMessage.user(_text(turn)))
        uncorrected = counting.estimate_request(MODEL, messages).total.tokens
        estimate = accounting.estimate_request(MODEL, messages)
        if turn > 0:
            assert estimate.total.tokens == pytest.approx(truth * uncorrected, rel=0.01)
        accounting.answered(estimate, Usage(input_tokens=round(truth * uncorrected)))
        assert accounting.factor(MODEL.family) == pytest.approx(truth, rel=0.01)


@one_test_for("truth", [0.8, 1.0, 1.5])
@one_test_for("odd", [0.01, 0.5, 3.0, 1_000.0])
@one_test_for("place", range(3, 12))
def test_one_odd_request_moves_the_factor_by_a_few_per_cent(truth: float, odd: float, place: int):
    ratios = [truth] * place + [odd] + [truth] * 3
    for length in range(place, len(ratios) + 1):
        assert factor_of(_samples(*ratios[:length])) == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("odd", [0.01, 1_000.0])
def test_an_odd_request_at_the_very_beginning_is_outvoted_by_the_next_two(odd: float):
    assert factor_of(_samples(odd, 1.2, 1.2)) == pytest.approx(1.2, rel=0.1)


def test_a_model_that_changes_behind_its_name_is_learned_anew():
    ratios = [1.0] * 50 + [1.6] * WINDOW
    factors = [factor_of(_samples(*ratios[:length])) for length in range(50, len(ratios) + 1)]
    assert all(before <= after for before, after in pairwise(factors))
    assert factors[7] > 1.4
    assert factors[-1] == pytest.approx(1.6)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=40))
def test_whatever_is_reported_a_factor_stays_within_its_limits(reports: list[tuple[float, float]]):
    samples = [sample for report in reports if (sample := sample_of(*report)) is not None]
    assert LOWEST_FACTOR <= factor_of(samples) <= HIGHEST_FACTOR


@pytest.mark.parametrize(("estimated", "reported"), [(MINIMUM_TOKENS - 1, 1_000), (0, 1_000), (1_000, 0), (1_000, -5)])
def test_what_is_too_small_says_nothing(estimated: float, reported: float):
    assert sample_of(estimated, reported) is None


def test_a_small_first_answer_is_not_believed_alone():
    assert factor_of(_samples(3.0, size=MINIMUM_TOKENS)) <= 1.25


class _Words:
    def count(self, text: str) -> int:
        return len(text.split())


def _exact_after(*ratios: float, ledger: Ledger | None = None, upstream: str = "u") -> TokenAccounting:
    """One that counts words, and whose upstream has reported so many times as much in its answers."""
    counters = Counters(())
    counters.register_counter("made-up*", _Words())
    accounting = TokenAccounting(upstream, ledger, counters)
    for turn, ratio in enumerate(ratios):
        estimate = accounting.estimate_request(MODEL, [ChatMessage.user(_text(turn))])
        counted = sum(item.row.counted for item in estimate.items)
        accounting.answered(estimate, Usage(input_tokens=round(ratio * counted)))
    return accounting


@one_test_for(
    "ratios", [(), (1.0, 1.0, 1.0), (1.05, 1.06, 1.07, 1.07), (2.0,), (2.0, 1.0), (1.0, 1.0, 2.0), (1.3, 0.7, 1.3, 0.7)]
)
def test_exact_counts_are_right_as_long_as_answers_do_not_agree_that_they_are_not(ratios: tuple[float, ...]):
    text = _text(99)
    count = _exact_after(*ratios).count(MODEL, text)
    assert (count.tokens, count.source) == (len(text.split()), CountSource.COUNTED)


@pytest.mark.parametrize("ratio", [0.6, 0.85, 1.2, 2.0])
def test_exact_counts_become_estimates_where_two_answers_agree_that_the_upstream_counts_otherwise(ratio: float):
    accounting, text = _exact_after(ratio, ratio), _text(99)
    count = accounting.count(MODEL, text)
    assert count.source is CountSource.ESTIMATED
    assert count.tokens == pytest.approx(ratio * len(text.split()), rel=0.03)
    assert accounting.factor(MODEL.family) == pytest.approx(ratio, rel=0.03)


def test_another_model_of_an_upstream_that_counts_otherwise_is_believed_as_little():
    ledger, other, text = Ledger(), replace(MODEL, family="made-up-2"), _text(99)
    here = _exact_after(1.5, 1.5, ledger=ledger)
    assert here.count(other, text).tokens == pytest.approx(1.5 * len(text.split()), rel=0.03)
    elsewhere = _exact_after(ledger=ledger, upstream="v")
    assert elsewhere.count(other, text).tokens == len(text.split())
    assert elsewhere.count(MODEL, text).source is CountSource.COUNTED


def test_those_who_keep_counts_are_told_when_they_are_not_right_any_more():
    accounting, told = TokenAccounting("u"), list[str]()
    accounting.on_did_correct(told.append)
    for turn, ratio in enumerate([1.4, 1.4, 1.4, 1.4]):
        estimate = accounting.estimate_request(MODEL, [ChatMessage.user(_text(turn))])
        uncorrected = sum(item.row.counted for item in estimate.items)
        accounting.answered(estimate, Usage(input_tokens=round(ratio * uncorrected)))
    assert told == ["made-up"]


def test_families_learn_for_themselves():
    accounting = TokenAccounting("u")
    estimate = accounting.estimate_request(MODEL, [ChatMessage.user(_text(1))])
    accounting.answered(estimate, Usage(input_tokens=2 * estimate.total.tokens))
    assert accounting.factor("made-up") == pytest.approx(2, rel=0.01)
    assert accounting.factor("another") == 1
