"""How many tokens a text takes, when nobody can say exactly: an estimate, and always called one.

Every pair of neighbouring characters has a weight (:mod:`partstream.tokens.counting.estimator_table`), by the classes
of the two (:mod:`partstream.tokens.counting.character_pairs`); the estimate is their sum. Of a long text only samples
are read, evenly spread. A text costs a few nanoseconds a character, and a long one less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import adler32

from partstream.json_codec import dumps
from partstream.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.tokens.counting.character_pairs import alphabet_of, classes_of, pairs_of
from partstream.tokens.counting.estimator_table import COMMON_HAN, MODELS
from partstream.tokens.counting.vocabularies import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.messages import ChatMessage
    from partstream.parts import MessagePart

__all__ = ["common_han", "estimate_text", "estimate_tokens"]

_MESSAGE_TOKENS: Final = 3
"""Tokens of a message beside its parts, as Copilot itself reckons."""

# ---- how much of a text is read ----

_BLOCK: Final = 1024
"""Characters of a block: as many as `_weigh` can add up."""

_WHOLE: Final = 2048
"""Characters up to which a text is read whole: of logs of such a length, half would be off by 6 %."""

_SAMPLE: Final = 256
"""Characters of a sample."""

_DENSE_STRATUM: Final = 512
_DENSE: Final = 16_384
"""Of so many characters at the most, a sample is read of each stratum of that length: half of them."""

_SPARSE_STRATUM: Final = 8_192
"""Characters for each sample beyond those."""

_HAN_READ: Final = 64
"""Characters that are looked at to tell how many of the Han ones are common."""


def estimate_text(text: str, vocabulary: Vocabulary) -> int:
    """About how many tokens of a vocabulary a text takes; 0 only for an empty one. Lone surrogates are allowed."""
    length = len(text)
    if length <= _BLOCK:
        return max(1, round(_estimate(text, vocabulary))) if text else 0
    read = text if length <= _WHOLE else _samples(text)
    blocks = [read[start : start + _BLOCK] for start in range(0, len(read), _BLOCK)]
    return round(sum([_estimate(block, vocabulary) for block in blocks]) * length / len(read))


def _estimate(text: str, vocabulary: Vocabulary) -> float:
    """The estimate of up to 1,024 characters: at least a token for 128 of them, at most one for each byte."""
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

    The lower half of a checksum of Adler is 1 and the sum of all bytes, modulo 65,521 (RFC 1950, 8.2): the quickest sum
    there is. It stays below that, since a weight is at most 127 and there are at most 512 pairs.
    """
    even, odd = pairs_of(classes)
    return (adler32(even.translate(weights)) & 0xFFFF) + (adler32(odd.translate(weights)) & 0xFFFF) - 2


def common_han(text: str) -> float:
    """About how many Han characters of a text are common ones; some evenly spread characters are looked at."""
    looked_at = text[:: max(1, len(text) // _HAN_READ)]
    return sum(map(COMMON_HAN.__contains__, looked_at)) * len(text) / len(looked_at)


def _samples(text: str) -> str:
    """Samples of a long text, evenly spread, the first at its beginning and the last at its end."""
    length = len(text)
    count = -(-min(length, _DENSE) // _DENSE_STRATUM) + max(0, length - _DENSE) // _SPARSE_STRATUM
    step = (length - _SAMPLE) / (count - 1)
    starts = [round(number * step) for number in range(count)]
    return "".join([text[start : start + _SAMPLE] for start in starts])


# ---- without a model ----


def estimate_tokens(text: str | ChatMessage) -> int:
    """About how many tokens a text or a message takes, for callers without a model; data parts are left out."""
    if isinstance(text, str):
        return estimate_text(text, Vocabulary.O200K)
    return _MESSAGE_TOKENS + sum(
        estimate_text(words, Vocabulary.O200K) for part in text.content for words in _read(part)
    )


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
