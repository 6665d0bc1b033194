"""Reads the visible text of an answer, and thinking that stands in it in tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.parts import text_part
from partstream.protocols.ollama.carried_items import CONTENT
from partstream.protocols.thinking import ThinkTagSplitter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.outputs import StreamOptions, StreamOutput
    from partstream.protocols.ollama.thinking import Thinking
    from partstream.protocols.thinking import TaggedPiece

__all__ = ["Texts"]


class Texts:
    """The text of one answer, sometimes with its thinking in tags (docs/wires/ollama.md#thinking).

    Args:
        options: Where the text holds thinking.
        thinking: Takes the thinking in it, and is told where text begins.
    """

    __slots__ = ("_splitter", "_tags_kept", "_thinking")

    def __init__(self, options: StreamOptions, thinking: Thinking) -> None:
        self._splitter = ThinkTagSplitter(options.think_tags)
        self._thinking = thinking
        self._tags_kept = False

    @property
    def is_settled(self) -> bool:
        """Whether all further content is text."""
        return self._splitter.is_settled

    def push(self, content: str, outputs: list[StreamOutput]) -> None:
        """Takes a piece of the content."""
        if self._splitter.is_settled:
            self._show(content, outputs)
        else:
            self._emit(self._splitter.push(content), outputs)

    def settle(self, outputs: list[StreamOutput]) -> None:
        """Takes all further content as text: thinking comes in a field of its own, or the answer is over."""
        if not self._splitter.is_settled:
            self._emit(self._splitter.settle(), outputs)
        self._keep_tags()

    def _emit(self, pieces: Iterable[TaggedPiece], outputs: list[StreamOutput]) -> None:
        for is_thinking, value in pieces:
            if is_thinking:
                self._thinking.show(value, outputs)
            else:
                self._show(value, outputs)

    def _show(self, value: str, outputs: list[StreamOutput]) -> None:
        if self._splitter.is_settled:
            self._keep_tags()
            self._thinking.close(outputs)
        outputs.append(text_part(value))

    def _keep_tags(self) -> None:
        if not self._tags_kept:
            self._tags_kept = True
            if raw := self._splitter.raw_thinking:
                self._thinking.keep(CONTENT, raw)
