"""Tells whether a JSON object that arrives in pieces has come to its end, in one pass over its characters."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["OpenJson"]

_SIGNS: Final = re.compile(r'[\\"{}\[\]]')
_STEP: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


class OpenJson:
    """The pieces of a JSON text, and how deep the last one ends.

    Attributes:
        pieces: All pieces; whoever appends to it asks :attr:`is_complete` only where it matters.
    """

    __slots__ = ("_depth", "_in_string", "_read", "_skips", "_was_open", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._read = 0
        self._depth = 0
        self._in_string = False
        self._skips = False  # whether a backslash hides the next character
        self._was_open = False

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self.pieces)

    @property
    def is_begun(self) -> bool:
        """Whether anything but blanks has come."""
        return any(piece and not piece.isspace() for piece in self.pieces)

    @property
    def is_complete(self) -> bool:
        """Whether an object has begun and has ended."""
        for piece in self.pieces[self._read :]:
            self._scan(piece)
        self._read = len(self.pieces)
        return self._was_open and self._depth == 0 and not self._in_string

    def _scan(self, piece: str) -> None:
        hidden = 0 if self._skips and piece else -1  # the place of a character that a backslash hides
        self._skips = self._skips and not piece
        for sign in _SIGNS.finditer(piece):
            letter, place = sign[0], sign.start()
            if place == hidden:
                continue
            if letter == "\\":
                hidden = place + 1
                self._skips = hidden == len(piece)
            elif letter == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += _STEP[letter]
                self._was_open = True
