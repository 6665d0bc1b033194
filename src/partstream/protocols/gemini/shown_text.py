"""The visible text of an answer, as far as something has to be found in it again."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from partstream.protocols.citations import RecentText

__all__ = ["ShownText"]

_BLOCK: Final = 4096
"""Bytes between two places of which the number of characters before them is kept."""
_CONTINUES: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""


class ShownText:
    """What the answer shows: what the model said, and blocks that stand between it.

    Args:
        keeps_all: Whether places in the text will be asked for, so that all of it is kept.
    """

    __slots__ = ("_keeps_all", "_map", "_recent", "_runs")

    def __init__(self, *, keeps_all: bool) -> None:
        self._recent = RecentText()
        self._keeps_all = keeps_all
        self._runs: list[tuple[bool, list[str]]] = []
        self._map: _Map | None = None

    def add(self, piece: str, *, is_said: bool) -> None:
        """Takes the next piece.

        Args:
            piece: The text.
            is_said: Whether the model said it.
        """
        self._recent.add(piece)
        if self._keeps_all:
            self._map = None
            if not self._runs or self._runs[-1][0] is not is_said:
                self._runs.append((is_said, []))
            self._runs[-1][1].append(piece)

    def recently_said(self, words: str) -> bool:
        """Whether `words` stand in the last few thousand characters."""
        return self._recent.recently_said(words)

    def place(self, start: int, end: int, words: str) -> tuple[int, int] | None:
        """Where words of the model stand in all that is shown, in characters from 0; None where they are not found.

        Args:
            start: Their first byte of UTF-8 in all that the model said.
            end: The byte behind them.
            words: The words themselves, or an empty text: servers count differently (docs/wires/gemini.md#grounding).
        """
        if not self._runs:
            return None
        if self._map is None:
            self._map = _map(self._runs)
        begin, behind = self._map.character_at(start), self._map.character_at(end)
        if words and self._map.said[begin:behind] != words:
            begin = self._map.said.find(words)
            behind = begin + len(words)
        if begin < 0 or behind <= begin:
            return None
        return self._map.shown_at(begin), self._map.shown_at(behind - 1) + 1


class _Map(NamedTuple):
    """The places of what the model said.

    Attributes:
        said: All of it.
        raw: The same in UTF-8.
        characters: The number of characters before each block of bytes.
        said_starts: Where each run of it begins in `said`.
        shown_starts: Where each run begins in all that is shown.
    """

    said: str
    raw: bytes
    characters: list[int]
    said_starts: list[int]
    shown_starts: list[int]

    def character_at(self, place: int) -> int:
        """The number of characters before a byte."""
        place = min(max(place, 0), len(self.raw))
        block = place // _BLOCK
        return self.characters[block] + _count(self.raw[block * _BLOCK : place])

    def shown_at(self, place: int) -> int:
        """The place of a character in all that is shown."""
        run = bisect_right(self.said_starts, place) - 1
        return self.shown_starts[run] + place - self.said_starts[run]


def _map(runs: list[tuple[bool, list[str]]]) -> _Map:
    said: list[str] = []
    said_starts, shown_starts = [0], [0]
    said_length = shown_length = 0
    for is_said, pieces in runs:
        text = "".join(pieces)
        if is_said:
            said_starts.append(said_length)
            shown_starts.append(shown_length)
            said.append(text)
            said_length += len(text)
        shown_length += len(text)
    whole = "".join(said)
    raw = whole.encode("utf-8", "surrogatepass")
    characters = [0]
    for start in range(0, len(raw), _BLOCK):
        characters.append(characters[-1] + _count(raw[start : start + _BLOCK]))
    return _Map(whole, raw, characters, said_starts, shown_starts)


def _count(raw: bytes) -> int:
    """The number of characters that begin in bytes of UTF-8."""
    return len(raw.translate(None, _CONTINUES))
