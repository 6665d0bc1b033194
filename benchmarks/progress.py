"""How far a run has come: one line that is written over in a terminal, and a line now and then in a log."""

from __future__ import annotations
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["Progress"]

_BETWEEN_LINES: Final = 15.0
"""Seconds between two lines of a log."""


class Progress:
    """Counts steps that take about the same time each, and says from those that are done how long the others take."""

    def __init__(self, output: TextIO = sys.stderr) -> None:
        self._output = output
        self._began = self._said_at = time.monotonic()
        self._done = self._steps = 0

    def expect(self, steps: int) -> None:
        """So many steps follow, and time is counted from here on; before, it only says what is done."""
        self._began, self._done, self._steps = time.monotonic(), 0, steps

    def say(self, what: str) -> None:
        """A step begins: everything that began before it is done."""
        now = time.monotonic()
        if self._steps:
            left = (now - self._began) / self._done * (self._steps - self._done) if self._done else 0
            share = f"{self._done / self._steps:.0%}" + (f", about {left / 60:.0f} min left" if left > 90 else "")
            what = f"{what} ({share})"
            self._done = min(self._done + 1, self._steps)
        if self._output.isatty():
            self._output.write(f"\r\x1b[K{what}")
        elif now - self._said_at > _BETWEEN_LINES or not self._steps:
            self._said_at = now
            self._output.write(f"{what}\n")
        self._output.flush()

    def end(self) -> None:
        """Removes the line from a terminal."""
        if self._output.isatty():
            self._output.write("\r\x1b[K")
            self._output.flush()
