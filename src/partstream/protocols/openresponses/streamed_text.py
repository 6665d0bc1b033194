"""One text that arrives as deltas and is repeated whole by closing events.

What was emitted cannot be taken back, so a closing text only ever adds its missing suffix. To know that suffix
without keeping the text, its length and checksum are kept: memory does not grow with the answer.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

__all__ = ["FOLD_AT", "HELD_ENDINGS", "StreamedText", "checksum"]

_CLOSING_MARKS: Final = ".!?…"
FOLD_AT: Final = 64
"""How many pieces are kept before they are folded into length and checksum."""

HELD_ENDINGS: Final = frozenset((*_CLOSING_MARKS, ""))
"""The last characters of deltas that need :meth:`StreamedText.push`; others are only added to the pieces."""

_RECENT: Final = 4096


class StreamedText:
    """The part of one text that was emitted.

    The marks that close a sentence are held back until the next event: a server may say in its closing event that
    the sentence went on (recording `openai-shell-container.1`: "…successfully." becomes "…successfully in the
    container."), and a full stop that was shown cannot be taken back. A delta that follows, of whatever letters, is
    such an event: of a long row of marks, only those of the last delta wait.

    Attributes:
        pieces: What was emitted since the last :meth:`fold`.
        held: Marks that are not emitted yet.
        closed: Whether a closing event has said the whole text.
    """

    __slots__ = ("_checksum", "_length", "_recent", "closed", "held", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._length = 0
        self._checksum = 0
        self._recent = ""
        self.held = ""
        self.closed = False

    def push(self, delta: str) -> str:
        """Adds a delta; returns the text to emit now."""
        if not delta:
            return ""
        words = delta.rstrip(_CLOSING_MARKS)
        said = self.held + words
        self.held = delta[len(words) :]
        if said:
            self.pieces.append(said)
        if len(self.pieces) >= FOLD_AT:
            self.fold()
        return said

    def release(self) -> str:
        """Releases the held text; returns it for emission."""
        held, self.held = self.held, ""
        if held:
            self.pieces.append(held)
        return held

    def close(self, whole: str) -> tuple[str, bool]:
        """Takes the whole text from a closing event.

        Returns:
            What to emit now, and whether the whole text agrees with what was emitted before. An empty one says
            nothing: several servers leave it out.
        """
        self.closed = True
        if not whole:
            return self.release(), True
        if not self.begins(whole):
            return self.release(), False
        missing = whole[self._length :]
        self.held = ""
        if missing:
            self.pieces.append(missing)
        return missing, True

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
        """Whether nothing was emitted or held."""
        return not (self._length or self.pieces or self.held)

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
