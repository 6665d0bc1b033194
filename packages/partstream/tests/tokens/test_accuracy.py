"""What the page of token counts promises of estimates, on texts that no coefficient was fitted to."""

import sys
from functools import cache
from pathlib import Path

import pytest

from partstream.tokens import Vocabulary

sys.path.append(str(Path(__file__).resolve().parents[4]))
from benchmarks import fresh_texts
from benchmarks.token_accuracy import COLUMNS, held_out_texts, measure

measured = cache(measure)
vocabularies = pytest.mark.parametrize("vocabulary", Vocabulary)

KINDS = {
    *(f"prose-{name}" for name in "english german french spanish russian chinese japanese arabic".split()),  # noqa: SIM905
    *(f"code-{name}" for name in "python typescript rust go java c sql shell".split()),  # noqa: SIM905
    "json",
    "schemas",
    "logs",
    "base64",
}


def test_all_kinds_are_judged_by_texts_that_the_fit_never_saw(corpus):
    assert set(held_out_texts()) == KINDS
    trained = {text for (split, _), texts in corpus.items() if split == "train" for text in texts}
    for texts in held_out_texts().values():
        assert len(texts) >= 4
        assert not trained & set(texts)


@vocabularies
def test_an_uncalibrated_estimate_is_off_by_less_than_8_per_cent_for_every_kind(vocabulary):
    assert {row.kind: row.ours for row in measured(vocabulary) if row.ours >= 0.08} == {}


@vocabularies
def test_after_three_answers_the_next_request_is_off_by_less_than_4_per_cent(vocabulary):
    assert {row.kind: row.calibrated for row in measured(vocabulary) if row.calibrated >= 0.04} == {}


@vocabularies
def test_the_estimate_is_better_than_any_number_of_characters_a_token(vocabulary):
    rows = measured(vocabulary)
    ours = sum(row.ours for row in rows)
    for characters in (3, 4, 5):
        assert ours < sum(row.characters[characters] for row in rows) / 4
    assert [name for name, _ in COLUMNS][:1] == ["ours"]


@vocabularies
@pytest.mark.parametrize("kind", fresh_texts.KINDS)
def test_texts_that_did_not_exist_when_the_estimate_was_fitted_keep_both_bounds(vocabulary, kind):
    assert fresh_texts.measure(kind, vocabulary, size=1).plain < 0.08
    assert fresh_texts.measure(kind, vocabulary, size=4).calibrated < 0.04
