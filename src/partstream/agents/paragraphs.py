"""Keeps the texts of an agent's steps apart: each request to its model begins a paragraph of the answer."""

from __future__ import annotations

from partstream.parts import TextPart

__all__ = ["Paragraphs"]

_BLANK_LINE = "\n\n"


class Paragraphs:
    """The text of one run, step by step."""

    def __init__(self) -> None:
        self._end = ""
        self._is_new_step = False

    def begin_step(self) -> None:
        """Another request to the model begins."""
        self._is_new_step = bool(self._end)

    def of(self, text: str) -> list[TextPart]:
        """The parts of a piece of text; before the first of a step a blank line, unless the model has one there."""
        if not text:
            return []
        parts = [TextPart(text)]
        if self._is_new_step and not self._end.endswith(_BLANK_LINE) and not text.startswith(_BLANK_LINE):
            parts.insert(0, TextPart(_BLANK_LINE))
        self._is_new_step = False
        self._end = f"{self._end}{text}"[-len(_BLANK_LINE) :]
        return parts
