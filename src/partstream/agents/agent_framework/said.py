"""What an agent says: pieces of text and thinking, and the sources that they cite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.agents.adapter import Paragraphs, ResultObject
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.parts import TextPart, ThinkingPart
from partstream.protocols.citations import markdown_link

if TYPE_CHECKING:
    from partstream.agents.adapter import AgentOutput

__all__ = ["Said"]

_CITATION = "citation"


class Said:
    """The text of one run.

    Args:
        is_structured: Whether the text is a JSON document for a form that the agent was given; it is held then until
            it is known whether it is the result.
    """

    def __init__(self, *, is_structured: bool) -> None:
        self._is_structured = is_structured
        self._text = ""
        self._thinking = ""
        self._sources: set[str] = set()
        self._paragraphs = Paragraphs()

    def text(self, content: Any) -> list[AgentOutput]:
        """Takes a piece of text, or all of it once more: what was shown cannot be taken back."""
        new = _new(content, self._text)
        self._text += new
        if self._is_structured:
            return []
        return [*self._paragraphs.of(new), *self._links(content.annotations or ())]

    def thinking(self, content: Any) -> list[AgentOutput]:
        """Takes a piece of thinking. What a server wants back of it is in the state of the run."""
        new = _new(content, self._thinking)
        self._thinking += new
        return [ThinkingPart(new, content.id)] if new else []

    def end_step(self) -> list[AgentOutput]:
        """Another response follows: the held text was not the result."""
        held, self._text, self._thinking = self._text, "", ""
        outputs: list[AgentOutput] = [*self._paragraphs.of(held)] if self._is_structured else []
        self._paragraphs.begin_step()
        return outputs

    def end(self) -> list[AgentOutput]:
        """The run is over: the held text is its result."""
        if not self._is_structured or not self._text:
            return []
        try:
            return [ResultObject(loads(self._text))]
        except JSONDecodeError:
            return [*self._paragraphs.of(self._text)]

    def _links(self, annotations: Any) -> list[AgentOutput]:
        parts: list[AgentOutput] = []
        for annotation in annotations:
            url = annotation.get("url") if annotation.get("type") == _CITATION else None
            if not url or url in self._sources or url in self._text:
                continue
            self._sources.add(url)
            if (link := markdown_link(url, annotation.get("title"))) is not None:
                parts.append(TextPart(f" ({link})"))
        return parts


def _new(content: Any, before: str) -> str:
    """What a piece adds: all of it, unless it says all that was said once more (`merge_mode`)."""
    text: str = content.text or ""
    if getattr(content, "merge_mode", None) != "replace":
        return text
    return text.removeprefix(before) if text.startswith(before) else ""
