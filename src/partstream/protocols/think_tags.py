"""Takes thinking in tags out of the text of an answer, however the text is cut into pieces; knows no protocol.

A tag is known only where it can be nothing else: the opening one as the first thing of the answer that is not blank,
the closing one once, at its first occurrence. Everywhere else a tag is text, as in an answer about tags.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from partstream.outputs import ThinkTags

__all__ = ["TaggedPiece", "ThinkTagSplitter"]

_TAGS: Final = {"<think>": "</think>", "<thought>": "</thought>"}
"""Opening and closing tags; the second pair is Gemini's, at its compatible endpoint."""
_USUAL: Final = "</think>"
_LINE_ENDS: Final = "\r\n"


class TaggedPiece(NamedTuple):
    """A piece of an answer.

    Attributes:
        is_thinking: Whether it is thinking, else text.
        value: The piece.
    """

    is_thinking: bool
    value: str


class _Place(Enum):
    """Where in the answer the next piece stands."""

    HEAD = auto()
    """Before anything that is not blank."""
    OPENED = auto()
    """Behind an opening tag."""
    THINKING = auto()
    CLOSED = auto()
    """Behind a closing tag."""
    TEXT = auto()


class ThinkTagSplitter:
    """The text of one answer, taken apart.

    Args:
        mode: Whether there are tags, and whether the answer begins inside of them.
    """

    __slots__ = ("_closing", "_held", "_inside", "_place", "_raw")

    def __init__(self, mode: ThinkTags) -> None:
        self._place = _Place.TEXT if mode is ThinkTags.OFF else _Place.HEAD
        self._inside = mode is ThinkTags.STARTS_INSIDE
        self._closing = _USUAL
        self._held = ""
        self._raw: list[str] = []

    @property
    def is_settled(self) -> bool:
        """Whether all that follows is text."""
        return self._place is _Place.TEXT

    @property
    def raw_thinking(self) -> str:
        """The beginning of the answer with its thinking and its tags, as it came; empty if it had none."""
        return "".join(self._raw)

    def push(self, text: str) -> list[TaggedPiece]:
        """Takes the next piece of the text; returns what is known of it now."""
        pieces: list[TaggedPiece] = []
        text, self._held = self._held + text, ""
        for step in (self._head, self._opened, self._thinking, self._closed):
            text = step(text, pieces)
        if text:
            pieces.append(TaggedPiece(False, text))
        return pieces

    def settle(self) -> list[TaggedPiece]:
        """Ends the search: the server says its thinking in a field of its own, or the answer is over.

        Returns:
            What was held back.
        """
        held, is_thinking = self._held, self._place is _Place.THINKING
        self._held = ""
        self._place = _Place.TEXT
        if is_thinking:
            self._raw.append(held)
        return [TaggedPiece(is_thinking, held)] if held else []

    # Each step takes what is its own from the beginning of the text and returns the rest, for the steps behind it.

    def _head(self, text: str, pieces: list[TaggedPiece]) -> str:
        if self._place is not _Place.HEAD:
            return text
        rest = text.lstrip()
        if blanks := text[: len(text) - len(rest)]:  # never held: only what may become a tag is
            pieces.append(TaggedPiece(self._inside, blanks))
        for opening, closing in _TAGS.items():
            if rest.startswith(opening):
                self._closing, self._place = closing, _Place.OPENED
                self._raw.append(opening)
                return rest.removeprefix(opening)
        if any(opening.startswith(rest) for opening in _TAGS):
            self._held = rest
            return ""
        self._place = _Place.THINKING if self._inside else _Place.TEXT
        return rest

    def _opened(self, text: str, _pieces: list[TaggedPiece]) -> str:
        return self._without_line_ends(text, _Place.THINKING) if self._place is _Place.OPENED else text

    def _thinking(self, text: str, pieces: list[TaggedPiece]) -> str:
        if self._place is not _Place.THINKING:
            return text
        thought, closing, rest = text.partition(self._closing)
        if closing:
            self._place = _Place.CLOSED
        else:
            self._held = _ending_in(thought, self._closing)
            thought = thought.removesuffix(self._held)
        self._raw.append(thought + closing)
        if thought:
            pieces.append(TaggedPiece(True, thought))
        return rest

    def _closed(self, text: str, _pieces: list[TaggedPiece]) -> str:
        return self._without_line_ends(text, _Place.TEXT) if self._place is _Place.CLOSED else text

    def _without_line_ends(self, text: str, next_place: _Place) -> str:
        """The text behind a tag and the one run of line ends that belongs to the tag."""
        rest = text.lstrip(_LINE_ENDS)
        self._raw.append(text[: len(text) - len(rest)])
        if rest:
            self._place = next_place
        return rest


def _ending_in(text: str, tag: str) -> str:
    """The longest end of a text that may be the beginning of a tag."""
    lengths = range(min(len(tag) - 1, len(text)), 0, -1)
    return next((text[-length:] for length in lengths if tag.startswith(text[-length:])), "")
