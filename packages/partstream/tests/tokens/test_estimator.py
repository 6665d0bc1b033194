"""Estimates: how good they are on texts that the fit never saw, and what holds for any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.tokens import Vocabulary, estimate_text, estimate_tokens
from partstream.tokens import counting as estimator
from partstream.tokens.counting import CLASSES, Alphabet, alphabet_of, classes_of, common_han, pairs_of

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

    def estimate_and_note(text, vocabulary):
        read.append(len(text))
        return estimated(text, vocabulary)

    estimated = estimator._estimate
    monkeypatch.setattr(estimator, "_estimate", estimate_and_note)
    for length in (1_000, 1_100, 10_000, 100_000, 1_000_000, 4_000_000):
        read.clear()
        estimate_text("word " * (length // 5), Vocabulary.O200K)
        assert 0 < sum(read) <= min(length, 8_192 + length // 30)


@vocabularies
@pytest.mark.parametrize("digits", [30, 300, 3000])
def test_three_digits_are_at_least_a_token(digits, vocabulary):
    assert digits / 3 <= estimate_text("0123456789" * (digits // 10), vocabulary) <= digits / 2


@vocabularies
@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("0123456789abcdef" * 64, 250, 700),
        ("-" * 1000, 5, 400),
        (" " * 1000, 5, 100),
        ("\n" * 1000, 5, 500),
        ("🦊" * 300, 300, 1200),
        ("\udead" * 300, 30, 300),
    ],
)
def test_texts_of_one_character_or_none_that_is_a_word_take_a_number_that_can_be(text, least, most, vocabulary):
    assert least <= estimate_text(text, vocabulary) <= most


# ---- sums of weights ----


@given(st.text("0123456789abcdef", min_size=1, max_size=1024), st.binary(min_size=256, max_size=256))
def test_the_weights_of_all_pairs_are_added_up(classes, random):
    weights = bytes(one % 128 for one in random)
    pairs = [int(classes[place : place + 2], 16) for place in range(len(classes) - 1)]
    assert estimator._weigh(classes.encode(), weights) == sum(weights[pair] for pair in pairs)


def test_as_many_of_the_heaviest_pairs_as_are_weighed_at_once_do_not_overflow():
    assert estimator._weigh(b"f" * 1024, bytes([127]) * 256) == 1023 * 127


def test_no_weight_is_too_heavy_to_be_added_up_so():
    assert set(estimator._MODELS) == set(Vocabulary)
    for models in estimator._MODELS.values():
        assert len(models) == len(Alphabet)
        for model in models:
            assert len(model.weights) == CLASSES**2
            assert max(model.weights) <= 127


# ---- pairs ----


@pytest.mark.parametrize(
    ("text", "alphabet", "classes"),
    [
        ("a b", Alphabet.LATIN, b"408"),
        ("Max 12\n", Alphabet.LATIN, b"3480221"),
        ("né", Alphabet.LATIN, b"6c"),
        ("ok: — да", Alphabet.LATIN, b"58f0e0dd"),
        ("да, мир", Alphabet.TWO_BYTES, b"6620667"),
        ("字か。", Alphabet.THREE_BYTES, b"977"),
        ("\ud800", Alphabet.THREE_BYTES, b"d"),
    ],
)
def test_every_character_has_a_class_in_the_alphabet_of_its_text(text, alphabet, classes):
    encoded = text.encode(errors="surrogatepass")
    assert alphabet_of(len(text), encoded) is alphabet
    assert classes_of(encoded, alphabet) == classes


@given(st.text(st.characters(exclude_categories=[])), st.sampled_from(Alphabet))
def test_there_is_one_class_a_character_whatever_the_text(text, alphabet):
    assert len(classes_of(text.encode(errors="surrogatepass"), alphabet)) == len(text)


@pytest.mark.parametrize(
    ("classes", "pairs"),
    [
        (b"1", (b"", b"")),
        (b"1f", (b"\x1f", b"")),
        (b"123", (b"\x12", b"\x23")),
        (b"1234", (b"\x12\x34", b"\x23")),
    ],
)
def test_pairs_are_all_neighbours(classes, pairs):
    assert pairs_of(classes) == pairs


@vocabularies
def test_common_characters_make_a_chinese_text_take_less(vocabulary):
    common, rare = "的一是不了人我在有他" * 10, "龘靐齉龗麤鱻灪爩籲鸞" * 10
    assert common_han(common) == 100
    assert common_han(rare) == 0
    assert estimate_text(common, vocabulary) < estimate_text(rare, vocabulary)


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
