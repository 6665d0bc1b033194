"""Estimates the tokens of a text that no exact counter can count; the result is always called an estimate.

Every pair of neighbouring characters has a weight (:mod:`partstream.tokens.estimator_table`), by the classes
of the two (:mod:`partstream.tokens.counting.character_pairs`); the estimate is the sum of the weights. Of a long text,
only evenly spread samples are read. A text takes a few nanoseconds per character, a long one less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import adler32

from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.tokens.counting.character_pairs import alphabet_of, classes_of, pairs_of
from partstream.tokens.counting.json_text import json_text
from partstream.tokens.estimator_table import COMMON_HAN, MODELS
from partstream.tokens.families import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.lm.messages import ChatMessage
    from partstream.lm.parts import MessagePart

__all__ = ["common_han", "estimate_text", "estimate_tokens"]

_MESSAGE_TOKENS: Final = 3
"""The tokens of a message in addition to its parts, as in Copilot's own counting."""

# ---- the samples of a text ----

_BLOCK: Final = 1024
"""The characters of a block: as many as `_weigh` can add up."""

_WHOLE: Final = 2048
"""The most characters of a text that is read as a whole: reading half of a log of this length would be off by 6 %."""

_SAMPLE: Final = 256
"""The characters of a sample."""

_DENSE_STRATUM: Final = 512
_DENSE: Final = 16_384
"""In the first `_DENSE` characters, each stratum of `_DENSE_STRATUM` characters gives a sample: half of the text."""

_SPARSE_STRATUM: Final = 8_192
"""The characters per sample after those."""

_HAN_READ: Final = 64
"""The characters that are read to estimate the share of common Han characters."""


def estimate_text(text: str, vocabulary: Vocabulary) -> int:
    """The estimated tokens of a text in a vocabulary; 0 only for an empty text. Lone surrogates are allowed."""
    length = len(text)
    if length <= _BLOCK:
        return max(1, round(_estimate(text, vocabulary))) if text else 0
    read = text if length <= _WHOLE else _samples(text)
    blocks = [read[start : start + _BLOCK] for start in range(0, len(read), _BLOCK)]
    return round(sum([_estimate(block, vocabulary) for block in blocks]) * length / len(read))


def _estimate(text: str, vocabulary: Vocabulary) -> float:
    """The estimate of up to 1,024 characters: at least one token per 128 characters, at most one per byte."""
    length = len(text)
    encoded = text.encode("utf-8", "surrogatepass")
    alphabet = alphabet_of(length, encoded)
    model = MODELS[vocabulary][alphabet]
    tokens = model.start + _weigh(classes_of(encoded, alphabet), model.weights) / model.parts
    if model.common_han:
        tokens += model.common_han * common_han(text)
    return min(max(tokens, length / 128), len(encoded))


def _weigh(classes: bytes, weights: bytes) -> int:
    """The sum of the weights of all pairs of up to 1,024 classes.

    The lower half of an Adler checksum is 1 plus the sum of all bytes, modulo 65,521 (RFC 1950, 8.2): the fastest sum
    in Python. The sum stays below the modulus, because a weight is at most 127 and there are at most 512 pairs.
    """
    even, odd = pairs_of(classes)
    return (adler32(even.translate(weights)) & 0xFFFF) + (adler32(odd.translate(weights)) & 0xFFFF) - 2


def common_han(text: str) -> float:
    """The estimated number of common Han characters in a text, from some evenly spread characters."""
    looked_at = text[:: max(1, len(text) // _HAN_READ)]
    return sum(map(COMMON_HAN.__contains__, looked_at)) * len(text) / len(looked_at)


def _samples(text: str) -> str:
    """Evenly spread samples of a long text, the first at its beginning and the last at its end."""
    length = len(text)
    count = -(-min(length, _DENSE) // _DENSE_STRATUM) + max(0, length - _DENSE) // _SPARSE_STRATUM
    step = (length - _SAMPLE) / (count - 1)
    starts = [round(number * step) for number in range(count)]
    return "".join([text[start : start + _SAMPLE] for start in starts])


# ---- without a model ----


def estimate_tokens(text: str | ChatMessage) -> int:
    """The estimated tokens of a text or a message, for callers without a model; data parts are left out."""
    if isinstance(text, str):
        return estimate_text(text, Vocabulary.O200K)
    return _MESSAGE_TOKENS + sum(
        estimate_text(words, Vocabulary.O200K) for part in text.content for words in _read(part)
    )


def _read(part: MessagePart) -> Iterator[str]:
    """The texts of a part that a model reads; none for a data part."""
    if isinstance(part, TextPart | ThinkingPart):
        yield part.value
    elif isinstance(part, ToolCallPart):
        yield part.name
        yield json_text(part.input)
    elif isinstance(part, ToolResultPart):
        for item in part.content:
            yield from _read(item)
