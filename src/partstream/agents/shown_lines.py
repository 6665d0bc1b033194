"""The lines about an agent's own work between the pieces of its answer: as what they are shown, and in which block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.agents.options import ToolActivity
from partstream.markdown import inline_code
from partstream.parts import TextPart, ThinkingPart, thinking_part

if TYPE_CHECKING:
    from partstream.parts import ResponsePart

__all__ = ["ActivityLines"]

_BLANK_LINE: Final = "\n\n"


class ActivityLines:
    """The lines of one answer.

    Lines of thinking have the id of the model's own thinking of their step, so that both form one block. They have no
    metadata, because a host keeps only the last of an answer (docs/wires/agents.md#metadata-of-inner-activity).

    Args:
        shown: How the lines are shown.
        block: What the ids of blocks begin with that the model has not named; unique in the conversation.
    """

    def __init__(self, shown: ToolActivity, block: str) -> None:
        self._shown = shown
        self._block = block
        self._step = 1
        self._ids: dict[int, str] = {}
        self._ends: dict[type[ResponsePart], str] = {}

    def begin_step(self, step: int) -> None:
        """The answer to an inner request to the model begins."""
        self._step = step

    def next_step(self) -> None:
        """The next inner request to the model begins."""
        self._step += 1

    def saw(self, part: TextPart | ThinkingPart) -> None:
        """Takes a part of the answer, in order: a line begins a paragraph of its own behind it."""
        if part.value:
            self._ends[type(part)] = f"{self._ends.get(type(part), '')}{part.value}"[-len(_BLANK_LINE) :]

    def in_step(self, part: ThinkingPart) -> ThinkingPart:
        """The model's own thinking, with the id of its step if it has none."""
        if part.id:
            self._ids[self._step] = part.id
            return part
        return thinking_part(part.value, self._id(self._step), part.metadata)

    def line(self, text: str, step: int | None = None) -> list[ResponsePart]:
        """The parts of a line, in the block of a step; by default, of the one that runs."""
        if self._shown is ToolActivity.OFF:
            return []
        if self._shown is ToolActivity.TEXT:
            return [TextPart(f"{self._break(TextPart)}{inline_code(text)}{_BLANK_LINE}")]
        return [ThinkingPart(f"{self._break(ThinkingPart)}{text}{_BLANK_LINE}", self._id(step or self._step))]

    def paragraph(self, text: str) -> list[ResponsePart]:
        """The parts of a text that is a paragraph of its own."""
        return [TextPart(f"{self._break(TextPart)}{text}")] if text else []

    def said_below(self, text: str) -> list[ResponsePart]:
        """The parts of what an agent below the asked one says: thinking, because it is not the answer."""
        return [] if self._shown is ToolActivity.OFF or not text else [ThinkingPart(text, self._id(self._step))]

    def _break(self, kind: type[ResponsePart]) -> str:
        """What sets a paragraph apart from what stands before it."""
        return "" if self._ends.get(kind, _BLANK_LINE) == _BLANK_LINE else _BLANK_LINE

    def _id(self, step: int) -> str:
        return self._ids.get(step) or f"{self._block}-{step}"
