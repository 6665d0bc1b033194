"""How many tokens a text takes, when nobody can say exactly: an estimate, and always called one.

A text's features (:mod:`partstream.tokens.text_features`) times coefficients that were fitted for its kind and
vocabulary (:mod:`partstream.tokens.estimator_table`). Of a long text only samples are read, evenly spread, so that it
costs a few nanoseconds a character.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Final

from partstream.json_codec import dumps
from partstream.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.tokens.estimator_table import COEFFICIENTS
from partstream.tokens.text_features import digits_in, kind_of, measure
from partstream.tokens.vocabularies import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.messages import ChatMessage
    from partstream.parts import MessagePart

__all__ = ["CHARACTERS_PER_TOKEN", "characters_of", "estimate_text", "estimate_tokens"]

CHARACTERS_PER_TOKEN: Final = 4
"""For English prose, when nothing is known but a length."""

_MESSAGE_TOKENS: Final = 3
"""Tokens of a message beside its parts, as Copilot itself reckons."""

# ---- how much of a text is read ----

_WHOLE: Final = 1024
"""Characters up to which a text is read whole."""

_SAMPLE: Final = 512
"""Characters of a sample."""

_DENSE_SAMPLES: Final = 16
"""So many samples are taken a stratum of 1,024 characters each: the first 16,384 are half read."""

_SPARSE_STRATUM: Final = 24_576
"""Characters for each sample beyond those."""

_LONGEST_WORD: Final = 32
"""How far a border of a sample moves to fall between two words."""


def estimate_text(text: str, vocabulary: Vocabulary) -> int:
    """About how many tokens of a vocabulary a text takes; 0 only for an empty one. Lone surrogates are allowed."""
    if not text:
        return 0
    if len(text) <= _WHOLE:
        return max(1, round(_estimate(text, vocabulary)))
    tokens = 0.0
    for sample, characters in _samples(text):
        tokens += _estimate(sample, vocabulary) * (characters / len(sample))
    return max(1, round(tokens))


def _estimate(text: str, vocabulary: Vocabulary) -> float:
    """The estimate of a text that is read whole.

    It is not below a token for 128 characters, nor for three digits, since the vocabularies hold no longer numbers; and
    not above one for each byte.
    """
    features = measure(text)
    tokens: float = sum(map(mul, COEFFICIENTS[vocabulary][kind_of(text, features)], features))
    length = len(text)
    return min(max(tokens, length / 128, digits_in(features) / 3), length if text.isascii() else length * 4)


def _samples(text: str) -> Iterator[tuple[str, float]]:
    """Samples of a long text, each with the number of characters that it stands for."""
    length = len(text)
    count = -(-length // _WHOLE)
    if count > _DENSE_SAMPLES:
        count = _DENSE_SAMPLES + -(-(length - _DENSE_SAMPLES * _WHOLE) // _SPARSE_STRATUM)
    stratum = length / count
    for number in range(count):
        start = round(number * stratum + (stratum - _SAMPLE) * (number / (count - 1)))
        sample = text[_word_border(text, start) : _word_border(text, start + _SAMPLE)]
        yield sample or text[start : start + _SAMPLE], stratum


def _word_border(text: str, place: int) -> int:
    """The first space at or after a place, or the place itself where words are longer than usual."""
    found = text.find(" ", place, place + _LONGEST_WORD)
    return place if found == -1 else found


# ---- without a model ----


def estimate_tokens(text: str | ChatMessage) -> int:
    """About how many tokens a text or a message takes, for callers without a model; data parts are left out."""
    if isinstance(text, str):
        return estimate_text(text, Vocabulary.O200K)
    return _MESSAGE_TOKENS + sum(
        estimate_text(words, Vocabulary.O200K) for part in text.content for words in _read(part)
    )


def characters_of(part: MessagePart) -> int:
    """How many characters of a part a model reads; none of a data part's."""
    return sum(map(len, _read(part)))


def _read(part: MessagePart) -> Iterator[str]:
    """The texts of a part that a model reads; none of a data part's."""
    if isinstance(part, TextPart | ThinkingPart):
        yield part.value
    elif isinstance(part, ToolCallPart):
        yield part.name
        yield dumps(part.input).decode()
    elif isinstance(part, ToolResultPart):
        for item in part.content:
            yield from _read(item)
