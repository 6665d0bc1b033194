"""Replaces text character by character: the class and the length in UTF-8 stay, the letter goes.

The number of bytes, the borders of chunks and the rhythm stay. White space, punctuation, combining marks, joiners and
bidirectional controls stay too, because bugs depend on them (docs/wires/practice.md#stand-ins-that-keep-the-shape).
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

__all__ = ["EMOJI", "HIDDEN", "hide", "stand_in"]

HIDDEN: Final = "R"
"""What stands for each character of a key: a stand-in that kept classes would still show its form."""

EMOJI: Final = "\U0001f600"

_LETTERS: Final = ("", "x", "é", "字", EMOJI)
"""By the number of bytes in UTF-8."""
_CAPITALS: Final = ("", "X", "É", "字", EMOJI)
_DIGITS: Final = ("", "0", "\u0660", "\u0966", "\U0001d7ce")
_OTHER_NUMBERS: Final = ("", "0", "²", "①", "\U0001f100")
_SIGNS: Final = ("", "x", "©", "☆", EMOJI)
_PRIVATE: Final = ("", "x", "é", "\ue000", "\U000f0000")

_BY_CATEGORY: Final = {
    "Lu": _CAPITALS,
    "Lt": _CAPITALS,
    "Ll": _LETTERS,
    "Lm": _LETTERS,
    "Lo": _LETTERS,
    "Nd": _DIGITS,
    "Nl": _OTHER_NUMBERS,
    "No": _OTHER_NUMBERS,
    "So": _SIGNS,
    "Co": _PRIVATE,
    "Cn": _LETTERS,
}
"""Categories of Unicode whose characters say something; those of all others stay."""

_INVISIBLE: Final = {0xE0000: 0x80, 0xE0100: 0xF0}
"""Tags, and variation selectors of the second block: whole texts are hidden in them. By the first: how many."""


_BYTE_CLASSES: Final = (
    (0x80, 0x8F), (0x90, 0x9F), (0xA0, 0xBF), (0xC0, 0xC1), (0xC2, 0xDF), (0xE0, 0xE0), (0xE1, 0xEC), (0xED, 0xED),
    (0xEE, 0xEF), (0xF0, 0xF0), (0xF1, 0xF3), (0xF4, 0xF4), (0xF5, 0xFF),
)  # fmt: skip
"""Bytes that every decoder of UTF-8 treats alike where they are wrong (Unicode 17, table 3-7)."""
_BYTES: Final = tuple(first for first, last in _BYTE_CLASSES for _ in range(first, last + 1))
"""The stand-in of each byte from 0x80 on: text in another encoding is made of them."""


def _stand_in_of(code: int) -> int:
    """The code point that stands for another."""
    for first, count in _INVISIBLE.items():
        if first <= code < first + count:
            return first + (0x78 if first == 0xE0000 else 0)
    if 0xDC80 <= code <= 0xDCFF:
        return 0xDC00 + _BYTES[code - 0xDC80]
    character = chr(code)
    row = _BY_CATEGORY.get(category(character))
    return code if row is None else ord(row[len(character.encode())])


class _StandIns(dict[int, int]):
    """The table for `str.translate`; a row is made when it is first needed."""

    def __missing__(self, code: int) -> int:
        self[code] = stand_in = _stand_in_of(code)
        return stand_in


_TABLE: Final = _StandIns()
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_EMOJI_PAIR: Final = "\ud83d\ude00"
_KEPT: Final = re.compile(
    r"""
      R (?: [/\\"'\s%:.,;&=-]{0,2} R){3,}    # the stand-in of a key
    | \\+ u0052                              # the same in JSON in a text
    | (?<=\\) [bfnrt]                        # an escape of JSON in a text: what holds it stays JSON
    | (?P<escape> (?<=\\) u [0-9a-fA-F]{4} )
    | (?P<pair> [\ud800-\udbff] [\udc00-\udfff] )
    """,
    re.VERBOSE,
)
_MAY_KEEP: Final = re.compile(r"RR|R.{1,2}R|\\|[\ud800-\udbff]", re.DOTALL)


def stand_in(text: str) -> str:
    """The text with a stand-in for each character that says something; of the same length, also in UTF-8.

    A lone surrogate stays: it is no character; a byte that is no UTF-8, which stands there as one, becomes another of
    its class. Stand-ins of keys stay too, so that nothing changes in a text that was redacted before.
    """
    if _MAY_KEEP.search(text) is None:
        return text.translate(_TABLE)
    pieces, end = [], 0
    for kept in _KEPT.finditer(text):
        pieces.append(text[end : kept.start()].translate(_TABLE))
        end = kept.end()
        pieces.append(_kept(kept))
    pieces.append(text[end:].translate(_TABLE))
    return "".join(pieces)


def _kept(match: re.Match[str]) -> str:
    if match["pair"]:  # a character of UTF-16 in two pieces, joined
        return _EMOJI_PAIR
    return "u0078" if match["escape"] else match[0]


_HELD: Final = re.compile(
    r"""
      (?P<escape> (?<=\\) u [0-9a-fA-F]{4} )
    | (?<=\\) [bfnrt]
    | (?P<plain> [!#-&(-\[\]-~]+ )              # ASCII without blanks, quotation marks and backslashes
    """,
    re.VERBOSE,
)


def hide(text: str) -> str:
    """The text with the stand-in for keys: every character of ASCII is hidden, except what JSON around it needs."""
    return _HELD.sub(_hidden, stand_in(text) if not text.isascii() else text)


def _hidden(match: re.Match[str]) -> str:
    if match["plain"]:
        return HIDDEN * len(match[0])
    return "u0052" if match["escape"] else match[0]
