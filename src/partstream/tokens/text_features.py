"""What can be told of a text quickly and bears on its tokens: words by length, runs of digits and marks, scripts.

Every character becomes the letter of its class in one pass at the speed of C, and all else is counted in that string.
Knows no vocabulary and no coefficient.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["FEATURES", "Kind", "digits_in", "kind_of", "measure"]


class Kind(StrEnum):
    """What a text is, as far as its tokens are concerned."""

    SHORT = "short"
    CODE = "code"
    JSON = "json"
    LOG = "log"
    BLOB = "blob"
    ENGLISH = "english"
    GERMAN = "german"
    FRENCH = "french"
    SPANISH = "spanish"
    PROSE = "prose"
    CYRILLIC = "cyrillic"
    ARABIC = "arabic"
    CHINESE = "chinese"
    JAPANESE = "japanese"
    SCRIPT = "script"


_SHORT: Final = 40
"""Up to so many characters an ASCII text is a name or a phrase, whose kind nobody can tell."""

# ---- classes of characters ----

# A character outside of ASCII is known by the first byte of its UTF-8 form; the other bytes are left out.
_CLASSES: Final[tuple[tuple[str, Iterable[int]], ...]] = (
    ("x", range(256)),
    ("q", range(128)),
    ("a", range(ord("a"), ord("z") + 1)),
    ("A", range(ord("A"), ord("Z") + 1)),
    ("0", range(ord("0"), ord("9") + 1)),
    (" ", b" "),
    ("t", b"\t"),
    ("n", b"\n"),
    ("p", b".,;:!?'"),
    ("Q", b'"'),
    ("_", b"_"),
    ("u", (0xC2, 0xE2)),  # « ° ¿, – “ … €
    ("l", range(0xC3, 0xCE)),  # Latin with diacritics
    ("g", range(0xCE, 0xD0)),  # Greek
    ("c", range(0xD0, 0xD4)),  # Cyrillic
    ("h", range(0xD4, 0xD8)),  # Armenian, Hebrew
    ("r", range(0xD8, 0xDC)),  # Arabic
    ("d", (0xE0,)),  # the scripts of India, Thai
    ("v", (0xE1,)),  # Vietnamese, Georgian
    ("k", (0xE3,)),  # kana
    ("z", range(0xE4, 0xEA)),  # Han
    ("o", range(0xEA, 0xEE)),  # Hangul
    ("w", (0xEE, 0xEF)),  # full-width forms
    ("e", range(0xF0, 0x100)),  # emoji
)


def _class_table() -> bytes:
    table = bytearray(256)
    for letter, characters in _CLASSES:
        for character in characters:
            table[character] = ord(letter)
    return bytes(table)


def _unified(*groups: tuple[bytes, bytes]) -> bytes:
    """A table that makes each group of classes one letter, and all other classes a space."""
    table = bytearray(b" " * 256)
    for classes, letter in groups:
        for one in classes:
            table[one] = letter[0]
    return bytes(table)


_LETTERS: Final = b"aAlvgchrxd"
_TABLE: Final = _class_table()
_WORDS: Final = _unified((_LETTERS, b"a"))
_RUNS: Final = _unified((_LETTERS, b"a"), (b"0", b"0"), (b"pqQ_u", b"q"))
_LEFT_OUT: Final = bytes(range(0x80, 0xC0)) + b"\r"

# ---- features ----

_LONGEST: Final = 22
"""Up to so many letters, words are counted by their length."""

_LENGTHS: Final = tuple(bytes([length]) for length in range(1, _LONGEST + 1))
_COUNTED_LENGTHS: Final = b"".join(_LENGTHS)
_IN_RUNS: Final = (b"aq", b" q", b"0q", b" 0", b"a0", b"q0", b"0a", b"0000")
_IN_CLASSES: Final = (
    *(b"A", b"aA", b"0", b"p", b"q", b"Q", b"_", b"n", b"t"),
    *(b"qqqqqqqq", b"nn", b"n "),
)
_SCRIPTS: Final = (b"l", b"g", b"c", b"h", b"r", b"d", b"v", b"k", b"z", b"o", b"w", b"u", b"e", b"x")

FEATURES: Final[tuple[str, ...]] = (
    *(f"words of {length[0]}" for length in _LENGTHS),
    "letters in longer words",
    *(f"runs {pattern.decode()!r}" for pattern in _IN_RUNS),
    *(f"classes {pattern.decode()!r}" for pattern in _IN_CLASSES),
    *(f"classes {pattern.decode()!r}" for pattern in _SCRIPTS),
)
"""The names of what :func:`measure` counts, in its order.

A pattern of runs is one of `a` (a letter), `0` (a digit), `q` (a mark) and a space (all else); a pattern of classes one
of the letters of the table of classes.
"""

_PLACES: Final = {name: place for place, name in enumerate(FEATURES)}
_NO_SCRIPTS: Final = (0,) * len(_SCRIPTS)


def measure(text: str) -> tuple[int, ...]:
    """Counts the features of a text. Lone surrogates are allowed."""
    encoded = text.encode(errors="surrogatepass")
    classes = encoded.translate(_TABLE, _LEFT_OUT)
    runs = b" " + classes.translate(_RUNS)
    # A capital inside of a word begins another, since the vocabularies cut there.
    lengths, longer = _lengths(classes.replace(b"aA", b"a A").translate(_WORDS).split())
    return (
        *map(lengths.count, _LENGTHS),
        longer,
        *map(runs.count, _IN_RUNS),
        *map(classes.count, _IN_CLASSES),
        *(_NO_SCRIPTS if len(encoded) == len(text) else map(classes.count, _SCRIPTS)),
    )


def _lengths(words: list[bytes]) -> tuple[bytes, int]:
    """The lengths of all words, a byte each and at most 255; and the letters in words of more than the counted ones."""
    try:
        lengths = bytes(map(len, words))
    except ValueError:  # no word of a language
        lengths = bytes(min(len(word), 255) for word in words)
    longer = lengths.translate(None, _COUNTED_LENGTHS)
    return lengths, sum(len(word) for word in words if len(word) > _LONGEST) if longer else 0


# ---- kinds ----


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LANGUAGES: Final[dict[Kind, frozenset[str]]] = {
    Kind.ENGLISH: _words_of("the and of to is that it was for in with a you not on are be this"),
    Kind.GERMAN: _words_of("der die und das nicht ist mit ein eine den zu auf sich von dem"),
    Kind.FRENCH: _words_of("le la les des et est une que qui dans pour pas un du ne ce"),
    Kind.SPANISH: _words_of("el la los que y en se una por con no las del lo su un"),
}
"""Words that hardly a sentence of a language does without."""


def _adder(*names: str) -> Callable[[Sequence[int]], int]:
    """A function that adds up some of the features."""
    places = tuple(_PLACES[name] for name in names)
    return lambda features: sum(map(features.__getitem__, places))


def _of_classes(letters: str) -> Callable[[Sequence[int]], int]:
    return _adder(*(f"classes {letter!r}" for letter in letters))


_SCRIPT_KINDS: Final[tuple[tuple[Kind, Callable[[Sequence[int]], int], int], ...]] = (
    (Kind.CHINESE, _of_classes("z"), 1),
    (Kind.JAPANESE, _of_classes("k"), 3),  # a third of kana is enough: Chinese has none
    (Kind.CYRILLIC, _of_classes("c"), 1),
    (Kind.ARABIC, _of_classes("r"), 1),
    (Kind.SCRIPT, _of_classes("dhgovx"), 1),
)
"""A kind, how many characters speak for it, and how much each of them does."""

_characters_of_scripts: Final = _of_classes("gchrdvkzox")
_marks: Final = _of_classes("qQ_")
digits_in: Final = _of_classes("0")
_capitals: Final = _of_classes("A")
_switches: Final = _adder("classes 'aA'", "runs 'a0'", "runs '0a'")
"""Where letters and digits, small and capital ones alternate: as often as that only in base64 and hexadecimal."""

_READ_FOR_LANGUAGE: Final = 400
"""Characters that are read to tell a language."""


def kind_of(text: str, features: Sequence[int]) -> Kind:
    """What a text is; `features` are its own."""
    length = len(text)
    if length <= _SHORT and text.isascii():
        return Kind.SHORT
    if _switches(features) > 0.15 * length:
        return Kind.BLOB
    if _characters_of_scripts(features) > 0.2 * length:
        return max(_SCRIPT_KINDS, key=lambda row: row[1](features) * row[2])[0]
    digits = digits_in(features)
    if digits + _marks(features) > 0.06 * length or _capitals(features) > 0.12 * length:
        if text.count('":') > 0.008 * length:
            return Kind.JSON
        return Kind.LOG if digits > 0.06 * length else Kind.CODE
    return _language_of(text)


def _language_of(text: str) -> Kind:
    words = text[:_READ_FOR_LANGUAGE].lower().split()
    known = {kind: sum(map(common.__contains__, words)) for kind, common in _LANGUAGES.items()}
    best = max(known, key=known.__getitem__)
    return best if known[best] > 0.08 * len(words) else Kind.PROSE
