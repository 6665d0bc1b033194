"""One text that arrives as deltas and is repeated whole by closing events.

What was emitted cannot be taken back, so a closing text only ever adds its missing suffix.
"""

from __future__ import annotations

from typing import Final

from partstream.protocols.citations import FOLD_AT
from partstream.protocols.read_response import EmittedPrefix

__all__ = ["HELD_ENDINGS", "StreamedText"]

_CLOSING_MARKS: Final = ".!?…"
HELD_ENDINGS: Final = frozenset((*_CLOSING_MARKS, ""))
"""The last characters of deltas that need :meth:`StreamedText.push`; others are only added to the pieces."""


class StreamedText(EmittedPrefix):
    """The part of one text that was emitted.

    The marks that close a sentence are held back until the next event: a server may say in its closing event that
    the sentence went on (recording `openai-shell-container.1`: "…successfully." becomes "…successfully in the
    container."), and a full stop that was shown cannot be taken back. A delta that follows, of whatever letters, is
    such an event: of a long row of marks, only those of the last delta wait.

    Attributes:
        held: Marks that are not emitted yet.
        closed: Whether a closing event has said the whole text.
    """

    __slots__ = ("closed", "held")

    def __init__(self) -> None:
        super().__init__()
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

    @property
    def is_empty(self) -> bool:
        """Whether nothing was emitted or held."""
        return super().is_empty and not self.held
