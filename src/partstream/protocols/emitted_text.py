"""What was emitted of one text, by its length and checksum: memory does not grow with the answer.

What was emitted cannot be taken back. Where an upstream says the whole text again, only its missing suffix is emitted,
and to know that suffix the text itself is not needed.
"""

from __future__ import annotations

from zlib import crc32

from partstream.protocols.citations import RecentText

__all__ = ["EmittedPrefix", "checksum"]


class EmittedPrefix(RecentText):
    """The part of one text that was emitted."""

    __slots__ = ("_checksum", "_length")

    def __init__(self) -> None:
        super().__init__()
        self._length = 0
        self._checksum = 0

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

    def fold(self) -> None:
        """Adds the pieces to length and checksum."""
        text = "".join(self.pieces)
        self._length += len(text)
        self._checksum = checksum(text, self._checksum)
        super().fold()


def checksum(text: str, before: int = 0) -> int:
    """The checksum of a text, given that of what stands before it."""
    # Lone surrogates are real: servers cut UTF-16 text between two deltas.
    return crc32(text.encode("utf-8", "surrogatepass"), before)
