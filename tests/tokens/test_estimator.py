"""Estimates: how good they are on texts that the fit never saw, and what holds for any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.tokens import Vocabulary, characters_of, estimate_text, estimate_tokens
from partstream.tokens.estimator_table import COEFFICIENTS
from partstream.tokens.text_features import FEATURES, Kind, kind_of, measure

vocabularies = pytest.mark.parametrize("vocabulary", Vocabulary)

# ---- any text ----


@given(st.text(st.characters(exclude_categories=[]), max_size=3000), st.sampled_from(Vocabulary))
def test_an_estimate_is_between_one_token_and_one_for_every_byte_whatever_the_text(text, vocabulary):
    tokens = estimate_text(text, vocabulary)
    assert (0 if text == "" else 1) <= tokens <= 4 * len(text)


@given(st.text(max_size=400), st.text(max_size=400), st.sampled_from(Vocabulary))
def test_a_text_takes_no_more_than_twice_its_halves_and_no_less_than_an_eighth(first, second, vocabulary):
    halves = estimate_text(first, vocabulary) + estimate_text(second, vocabulary)
    whole = estimate_text(first + second, vocabulary)
    assert halves / 8 - 10 <= whole <= 2 * halves + 10


@vocabularies
@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfff" * 900, "\x00", " ", "\n" * 5000, "a" * 100_000, "=" * 3000, "🦊" * 700]
)
def test_odd_texts_have_an_estimate(text, vocabulary):
    assert 0 < estimate_text(text, vocabulary) <= 4 * len(text)


@vocabularies
def test_a_long_text_takes_as_much_as_its_like_many_times_over(vocabulary, corpus):
    text = "\n".join(corpus["held_out", "prose-english"])
    once = estimate_text(text, vocabulary)
    for times in (10, 100, 1000):
        assert estimate_text(text * times, vocabulary) == pytest.approx(once * times, rel=0.06)


@vocabularies
def test_texts_put_together_take_what_they_take_alone(vocabulary, corpus):
    texts = [text for (split, _), found in corpus.items() if split == "held_out" for text in found]
    alone = sum(estimate_text(text, vocabulary) for text in texts)
    assert estimate_text("\n".join(texts), vocabulary) == pytest.approx(alone, rel=0.08)


def test_what_is_read_of_a_text_grows_no_faster_than_the_text(monkeypatch):
    read = []

    def measure_and_note(text):
        read.append(len(text))
        return measure(text)

    monkeypatch.setattr("partstream.tokens.estimator.measure", measure_and_note)
    for length in (1_000, 10_000, 100_000, 1_000_000, 4_000_000):
        read.clear()
        estimate_text("word " * (length // 5), Vocabulary.O200K)
        assert 0 < sum(read) <= min(length, 9_000 + length // 20)


@vocabularies
@pytest.mark.parametrize("digits", [30, 300, 3000])
def test_three_digits_are_at_least_a_token(digits, vocabulary):
    assert digits / 3 <= estimate_text("0123456789" * (digits // 10), vocabulary) <= digits / 2


# ---- features and kinds ----


def test_every_kind_has_a_coefficient_for_every_feature():
    for vocabulary in Vocabulary:
        assert set(COEFFICIENTS[vocabulary]) == set(Kind)
        assert {len(row) for row in COEFFICIENTS[vocabulary].values()} == {len(FEATURES)}


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("", {}),
        ("a bc", {"words of 1": 1, "words of 2": 1}),
        ("camelCase", {"words of 4": 1, "words of 5": 1, "classes 'A'": 1, "classes 'aA'": 1}),
        ("x" * 30, {"letters in longer words": 30}),
        ("x" * 300, {"letters in longer words": 300}),
        ("12", {"classes '0'": 2, "runs ' 0'": 1}),
        ("é", {"words of 1": 1, "classes 'l'": 1}),
        ("字", {"classes 'z'": 1}),
        ("\r\n\n", {"classes 'n'": 2, "classes 'nn'": 1}),
    ],
)
def test_features_are_counted_by_classes_of_characters(text, features):
    found = dict(zip(FEATURES, measure(text), strict=True))
    assert {name: count for name, count in found.items() if count} == features


@pytest.mark.parametrize(
    ("file", "kinds"),
    [
        ("prose-english", {Kind.ENGLISH}),
        ("prose-german", {Kind.GERMAN}),
        ("prose-french", {Kind.FRENCH}),
        ("prose-spanish", {Kind.SPANISH}),
        ("prose-russian", {Kind.CYRILLIC}),
        ("prose-chinese", {Kind.CHINESE}),
        ("prose-japanese", {Kind.JAPANESE}),
        ("prose-arabic", {Kind.ARABIC}),
        ("json", {Kind.JSON}),
        ("schemas", {Kind.JSON}),
        ("base64", {Kind.BLOB}),
        ("code-java", {Kind.CODE}),
        ("code-python", {Kind.CODE}),
        ("logs", {Kind.LOG, Kind.CODE}),
    ],
)
def test_the_kind_of_a_text_is_told(file, kinds, corpus):
    assert {kind_of(text, measure(text)) for text in corpus["held_out", file]} <= kinds


# ---- without a model ----


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", []),
        ("read_file", ["read_file"]),
        (ChatMessage.user("one two three"), ["one two three"]),
        (ChatMessage.user([DataPart(b"x" * 1000, "image/png")]), []),
        (ChatMessage.assistant([ThinkingPart("hm"), ToolCallPart("c", "name", {"a": 1})]), ["hm", "name", '{"a":1}']),
        (ChatMessage.user([ToolResultPart("c", (TextPart("found it"), DataPart(b"1", "image/png")))]), ["found it"]),
    ],
)
def test_without_a_model_the_texts_of_a_message_are_estimated_and_data_is_left_out(text, read):
    around = 0 if isinstance(text, str) else 3
    assert estimate_tokens(text) == around + sum(estimate_text(one, Vocabulary.O200K) for one in read)
    if not isinstance(text, str):
        assert sum(map(characters_of, text.content)) == sum(map(len, read))
