"""The lines about an agent's own work between the pieces of its answer: as what they are shown, and in which block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.agents.markdown import inline_code
from partstream.agents.options import ToolActivity
from partstream.parts import TextPart, ThinkingPart, thinking_part

if TYPE_CHECKING:
    from partstream.parts import ResponsePart

__all__ = ["BLANK_LINE", "ActivityLines"]

BLANK_LINE: Final = "\n\n"


class ActivityLines:
    """The lines of one answer.

    Lines of thinking have the id of the model's own thinking of their step, so that both form one block, and no
    metadata: a host keeps the last metadata of an answer, which is the model's (facts on agents, section 3).

    Args:
        shown: How the lines are shown.
    """

    def __init__(self, shown: ToolActivity) -> None:
        self._shown = shown
        self._step = 1
        self._ids: dict[int, str] = {}

    def next_step(self) -> None:
        """The next inner request to the model begins."""
        self._step += 1

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
            return [TextPart(f"{BLANK_LINE}{inline_code(text)}{BLANK_LINE}")]
        return [ThinkingPart(f"{BLANK_LINE}{text}{BLANK_LINE}", self._id(step or self._step))]

    def said_below(self, text: str) -> list[ResponsePart]:
        """The parts of what an agent below the asked one says: thinking, because it is not the answer."""
        return [] if self._shown is ToolActivity.OFF or not text else [ThinkingPart(text, self._id(self._step))]

    def _id(self, step: int) -> str:
        return self._ids.get(step) or f"step-{step}"
