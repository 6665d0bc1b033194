"""Breaks text at the width of a terminal: streamed text between words, commands before options; knows no terminal."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

__all__ = ["WordWrap", "broken_command"]

_PIECES: Final = re.compile(r"\n|[^\S\n]+|\S+")


def broken_command(command: str, width: int) -> str:
    """A command of a POSIX shell on as many lines as it needs, each but the last with a backslash at its end."""
    first, *options = re.split(r" (?=--)", command)
    lines = [first]
    for option in options:
        if cell_len(f"{lines[-1]} {option}") > width - 2:  # the backslash and the blank before it
            lines.append(f"    {option}")
        else:
            lines[-1] += f" {option}"
    return " \\\n".join(lines)


class WordWrap:
    """Takes text in fragments and returns it broken into lines that fit.

    The last word is held back until its end is known.

    Args:
        width: The columns of a line; with 0, lines have any length and nothing is held back.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._blank = ""
        self._word = ""

    @property
    def at_line_start(self) -> bool:
        """Whether the current line is empty."""
        return self._column == 0

    def feed(self, text: str) -> str:
        """Takes the next fragment; returns the text that can be written now."""
        if not self._width:
            self._column = 0 if text.endswith("\n") else self._column + len(text)
            return text
        written = []
        for piece in _PIECES.findall(text):
            if piece.isspace():
                written.append(self.flush())
                written.append(self._space(piece))
            else:
                self._word += piece
                if cell_len(self._word) >= self._width:  # no words: a URL, or a script without blanks
                    written.append(self.flush())
        return "".join(written)

    def flush(self) -> str:
        """Returns the text that was held back."""
        word, self._word = self._word, ""
        if not word:
            return ""
        blank, self._blank = self._blank, ""
        if self._column and self._column + cell_len(blank + word) > self._width:
            self._column = cell_len(word)
            return "\n" + word
        self._column += cell_len(blank + word)
        return blank + word

    def _space(self, piece: str) -> str:
        if piece != "\n":
            self._blank += piece
            return ""
        self._blank, self._column = "", 0
        return piece
