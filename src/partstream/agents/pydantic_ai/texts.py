"""The texts that the model streams, step by step: what was said cannot be taken back, so only the rest follows."""

from __future__ import annotations

from typing import Final

__all__ = ["StepTexts"]

_PARAGRAPH: Final = "\n\n"


class StepTexts:
    """The texts of one run. A step is one answer of the model; its texts are known by the index of their part.

    Attributes:
        of_step: What was said in the current step.
    """

    def __init__(self) -> None:
        self._said: dict[int, str] = {}
        self._last = ""

    @property
    def of_step(self) -> str:
        """The text of the current step, without a paragraph that was put before it."""
        return "".join(self._said[index] for index in sorted(self._said))

    def begin_step(self) -> None:
        """Notes that the next answer of the model begins."""
        self._last = self.of_step or self._last
        self._said = {}

    def more(self, index: int, text: str) -> list[str]:
        """What to say of a further piece of a text."""
        if not text:
            return []
        pieces = [*self._paragraph(), text]
        self._said[index] = self._said.get(index, "") + text
        return pieces

    def whole(self, index: int, text: str) -> list[str]:
        """What to say of a text that is whole, or replaces what came of it: the part that was not said yet.

        A part that starts a second time replaces its first start (docs/wires/agents.md#events-of-pydantic-ai). If its
        text differs, it follows as a paragraph of its own.
        """
        said = self._said.get(index, "")
        if text.startswith(said):
            return self.more(index, text[len(said) :])
        self._said[index] = ""
        return [_PARAGRAPH, *self.more(index, text)]

    def another(self, text: str) -> list[str]:
        """What to say of a text that no event held, behind all that was said."""
        self.begin_step()
        return self.more(0, text)

    def _paragraph(self) -> list[str]:
        """What keeps the first text of a step apart from the text of the steps before it."""
        is_first = not any(self._said.values())
        return [_PARAGRAPH] if is_first and self._last and not self._last.endswith("\n") else []
