"""What was emitted of one text, by its length and checksum: memory does not grow with the answer.

What was emitted cannot be taken back. Where an upstream says the whole text again, only its missing suffix is emitted,
and to know that suffix the text itself is not needed.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

__all__ = ["FOLD_AT", "EmittedText", "checksum"]

FOLD_AT: Final = 64
"""How many pieces are kept before they are folded into length and checksum."""

_RECENT: Final = 4096


class EmittedText:
    """The part of one text that was emitted.

    Attributes:
        pieces: What was emitted since the last :meth:`fold`; whoever appends to it without :meth:`add` calls
            :meth:`fold` at times.
    """

    __slots__ = ("_checksum", "_length", "_recent", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._length = 0
        self._checksum = 0
        self._recent = ""

    def add(self, piece: str) -> None:
        """Adds the next piece."""
        self.pieces.append(piece)
        if len(self.pieces) >= FOLD_AT:
            self.fold()

    def begins(self, whole: str) -> bool:
        """Whether all that was emitted is the beginning of `whole`."""
        self.fold()
        return len(whole) >= self._length and checksum(whole[: self._length]) == self._checksum

    @property
    def summary(self) -> tuple[int, int]:
        """The length and the checksum of all that was emitted."""
        self.fold()
        return self._length, self._checksum

    @property
    def length(self) -> int:
        """How many characters were emitted."""
        self.fold()
        return self._length

    @property
    def is_empty(self) -> bool:
        """Whether nothing was emitted."""
        return not (self._length or self.pieces)

    def recently_said(self, words: str) -> bool:
        """Whether `words` stand in the last few thousand characters."""
        self.fold()
        return words in self._recent

    def fold(self) -> None:
        """Adds the pieces to length and checksum."""
        text = "".join(self.pieces)
        self.pieces.clear()
        self._length += len(text)
        self._checksum = checksum(text, self._checksum)
        self._recent = (self._recent + text)[-_RECENT:]


def checksum(text: str, before: int = 0) -> int:
    """The checksum of a text, given that of what stands before it."""
    # Lone surrogates are real: servers cut UTF-16 text between two deltas.
    return crc32(text.encode("utf-8", "surrogatepass"), before)
