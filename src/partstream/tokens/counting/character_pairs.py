"""The pairs of neighbouring characters in a text, by class of character: the basis of token estimates.

Every character becomes a hexadecimal digit, its class in the alphabet of the text. Read as hexadecimal, two digits are
one byte: a pair. Everything runs at the speed of C. Knows no vocabulary and no weights.
"""

from __future__ import annotations

from binascii import unhexlify
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CLASSES", "Alphabet", "alphabet_of", "classes_of", "pairs_of"]


class Alphabet(IntEnum):
    """The script that most of a text is written in, by the bytes of a character in UTF-8.

    Two kinds of texts in Latin letters that hardly hold words are kept apart: those without spaces and quotation marks,
    such as base64 and hexadecimal, and those with many digits, such as logs.
    """

    LATIN = 0
    UNBROKEN = 1
    FIGURES = 2
    TWO_BYTES = 3
    THREE_BYTES = 4


_TWO_BYTES_FROM: Final = 1.5
_THREE_BYTES_FROM: Final = 2.2
"""The bytes per character from which a text belongs to that alphabet."""

_LOOKED_AT: Final = 256
"""The number of bytes in the middle of a text in Latin letters that decide its kind."""

_SHORT: Final = 100
"""The most bytes of a text that is too short for a decision."""

_FIGURES_FROM: Final = 0.04
"""The share of digits from which a text counts as figures."""

_QUOTED_FROM: Final = 0.08
"""The share of quotation marks above which a text is JSON, which counts like words, whatever its digits."""


def _between(first: int, last: int) -> bytes:
    return bytes(range(first, last + 1))


_UPPER: Final = _between(ord("A"), ord("Z"))
_DIGITS: Final = b"0123456789"
_WORDS: Final = _DIGITS + _UPPER + _UPPER.lower()
_BLANK: Final = _between(0, 32)
_MARKS: Final = bytes(set(_between(33, 127)) - set(_WORDS))

# The first byte of its UTF-8 form determines the class of a character outside ASCII; its other bytes are left out. A
# character without a class belongs to the last one. Letters are classed by their frequency in English: rare letters
# make rare words, which take more tokens.
_LATIN: Final[tuple[Iterable[int], ...]] = (
    *(b" ", b"\n\r\t", _DIGITS, _UPPER, b"eia", b"ou", b"tnsr", b"ldhcmp", b"bfgkvwjqxzy"),
    *(b".,_", b"\"'`", b"()[]{};"),
    _between(0xC3, 0xC5),  # Latin with diacritics
    b"\xc2" + _between(0xC6, 0xDF),  # « ° ¿, scripts of two bytes
    _between(0xE0, 0xFF),  # – “ … €, scripts of three bytes, emoji
    b"",
)
_BY_ALPHABET: Final[dict[Alphabet, tuple[Iterable[int], ...]]] = {
    Alphabet.LATIN: _LATIN,
    Alphabet.UNBROKEN: _LATIN,
    Alphabet.FIGURES: _LATIN,
    Alphabet.TWO_BYTES: (
        *(_BLANK, _WORDS, _MARKS, _between(0xC2, 0xCD)),
        *(b"\xce", b"\xcf"),  # Greek
        *(b"\xd0", b"\xd1"),  # Cyrillic
        *(_between(0xD2, 0xD6), b"\xd7"),  # Armenian, Hebrew
        *(b"\xd8", b"\xd9", _between(0xDA, 0xDF)),  # Arabic
        *(_between(0xE0, 0xE2), _between(0xE3, 0xEF), _between(0xF0, 0xFF)),
    ),
    Alphabet.THREE_BYTES: (
        *(_BLANK, _WORDS, _MARKS, _between(0xC2, 0xDF)),
        *(b"\xe0", b"\xe1", b"\xe2"),  # scripts of India, Thai; Vietnamese, Georgian; “ … €
        b"\xe3",  # kana
        *(b"\xe4", b"\xe5\xe6", b"\xe7\xe8", b"\xe9"),  # Han
        *(b"\xea\xeb", b"\xec\xed"),  # Hangul
        *(b"\xee\xef", _between(0xF0, 0xFF)),  # full-width forms, emoji
    ),
}

CLASSES: Final = 16
"""The number of classes in an alphabet, so that a class is a hexadecimal digit."""


def _table(classes: Iterable[Iterable[int]]) -> bytes:
    digits = [*"0123456789abcdef"]
    table = bytearray(digits[-1].encode() * 256)
    for digit, members in zip(digits, classes, strict=True):
        for member in members:
            table[member] = ord(digit)
    return bytes(table)


_TABLES: Final = tuple(_table(_BY_ALPHABET[alphabet]) for alphabet in Alphabet)
_LEFT_OUT: Final = _between(0x80, 0xBF)


def alphabet_of(characters: int, encoded: bytes) -> Alphabet:
    """The alphabet of a text by its number of characters and its UTF-8 form."""
    size = len(encoded)
    if size <= characters * _TWO_BYTES_FROM:
        return Alphabet.LATIN if size <= _SHORT else _kind_of_latin(encoded)
    return Alphabet.TWO_BYTES if size <= characters * _THREE_BYTES_FROM else Alphabet.THREE_BYTES


def _kind_of_latin(encoded: bytes) -> Alphabet:
    start = max(0, len(encoded) - _LOOKED_AT) // 2
    middle = encoded[start : start + _LOOKED_AT]
    if b" " not in middle and b'"' not in middle:
        return Alphabet.UNBROKEN
    if middle.count(b'"') > len(middle) * _QUOTED_FROM:
        return Alphabet.LATIN
    digits = len(middle) - len(middle.translate(None, _DIGITS))
    return Alphabet.FIGURES if digits >= len(middle) * _FIGURES_FROM else Alphabet.LATIN


def classes_of(encoded: bytes, alphabet: Alphabet) -> bytes:
    """A hexadecimal digit for each character of a text in UTF-8."""
    return encoded.translate(_TABLES[alphabet], _LEFT_OUT)


def pairs_of(classes: bytes) -> tuple[bytes, bytes]:
    """All pairs of neighbours, one byte each: the pairs that start at even indices, and those at odd indices."""
    if len(classes) % 2:
        return unhexlify(classes[:-1]), unhexlify(classes[1:])
    return unhexlify(classes), unhexlify(classes[1:-1])
