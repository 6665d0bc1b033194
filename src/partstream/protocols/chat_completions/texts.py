"""Reads the visible text of an answer: content, refusals, transcripts, and thinking that stands in the content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import StreamOutput, Unmapped
from partstream.parts import text_part
from partstream.protocols.chat_completions.carried_items import CONTENT
from partstream.protocols.read_response import EmittedPrefix, Wire, identifier, objects, text
from partstream.protocols.thinking import TaggedPiece, ThinkTagSplitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import StreamOptions
    from partstream.protocols.chat_completions.images import Images
    from partstream.protocols.chat_completions.thinking import Thinking

__all__ = ["Texts"]


class Texts:
    """The text of one answer.

    Args:
        options: Where the text holds thinking.
        thinking: Takes the thinking in it, and is told where text begins.
        images: Takes the images in it.

    Attributes:
        said: The content that came, with its tags.
    """

    __slots__ = ("_any", "_images", "_refused", "_splitter", "_tags_carried", "_thinking", "said")

    def __init__(self, options: StreamOptions, thinking: Thinking, images: Images) -> None:
        self.said = EmittedPrefix()
        self._refused = EmittedPrefix()
        self._splitter = ThinkTagSplitter(options.think_tags)
        self._thinking = thinking
        self._images = images
        self._tags_carried = False
        self._any = False

    @property
    def any_shown(self) -> bool:
        """Whether any text was emitted."""
        return self._any

    @property
    def is_settled(self) -> bool:
        """Whether all further content is text."""
        return self._splitter.is_settled

    def content(self, value: Any, outputs: list[StreamOutput]) -> None:
        """Takes the `content` of a delta: a text, or Mistral's list of parts."""
        if isinstance(value, str):
            if value:
                self._push(value, outputs)
        elif isinstance(value, list):
            for part in value:
                self._take_part(part, outputs)
        elif value:
            outputs.append(Unmapped("content (of an unknown form)", {"content": value}))

    def refusal(self, value: Any, outputs: list[StreamOutput]) -> None:
        """Takes the `refusal` of a delta: what the model says in place of an answer."""
        if isinstance(value, str) and value:
            self._refused.add(value)
            self._show(value, outputs)

    def audio(self, value: Any, outputs: list[StreamOutput]) -> None:
        """Takes the `audio` of a delta: its transcript is the text of an answer that has no other."""
        if self.said.is_empty and (transcript := text(value, "transcript")):
            self._show(transcript, outputs)

    def read_whole(self, message: Wire, outputs: list[StreamOutput]) -> None:
        """Takes the text of a whole message, as far as no delta has brought it."""
        content = message.get("content")
        if isinstance(content, list) and not self.said.is_empty:
            content = "".join(_text_of(part) for part in content)
        if isinstance(content, str):
            content = _missing(self.said, content)
        self.content(content, outputs)
        refused = message.get("refusal")
        self.refusal(_missing(self._refused, refused) if isinstance(refused, str) else None, outputs)
        if message.get("audio"):
            self.audio(message["audio"], outputs)

    def settle(self, outputs: list[StreamOutput]) -> None:
        """Takes all further content as text: thinking comes in a field of its own, or the answer is over."""
        if not self._splitter.is_settled:
            self._emit(self._splitter.settle(), outputs)
        self._carry_tags()

    def _push(self, value: str, outputs: list[StreamOutput]) -> None:
        self.said.add(value)
        if self._splitter.is_settled:
            self._show(value, outputs)
        else:
            self._emit(self._splitter.push(value), outputs)

    def _emit(self, pieces: list[TaggedPiece], outputs: list[StreamOutput]) -> None:
        for is_thinking, value in pieces:
            if is_thinking:
                self._thinking.show(value, outputs)
            else:
                self._show(value, outputs)

    def _show(self, value: str, outputs: list[StreamOutput]) -> None:
        if self._splitter.is_settled:
            self._carry_tags()
            self._thinking.close(outputs)
        self._any = True
        outputs.append(text_part(value))

    def _carry_tags(self) -> None:
        if not self._tags_carried:
            self._tags_carried = True
            if (raw := self._splitter.raw_thinking) and self._thinking.state.wanted:
                self._thinking.state.pieces(CONTENT).append(raw)

    def _take_part(self, part: Any, outputs: list[StreamOutput]) -> None:
        if isinstance(part, str):
            self.content(part, outputs)
            return
        kind = identifier(part, "type")
        take = _PARTS.get(kind or "")
        if take is None:
            outputs.append(Unmapped(f"content:{kind or 'unknown'}", part if isinstance(part, dict) else {"part": part}))
        else:
            take(self, part, outputs)

    def text_part(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a part of text."""
        self.content(text(part, "text"), outputs)

    def thinking_part(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a part of thinking."""
        self.settle(outputs)
        thought = part.get("thinking")
        said = thought if isinstance(thought, str) else "".join(_text_of(one) for one in objects(part, "thinking"))
        if said:
            self._thinking.state.add_part(said)
            self._thinking.show(said, outputs)

    def image_part(self, part: Wire, outputs: list[StreamOutput]) -> None:
        """Takes an image."""
        self._images.show(part, outputs)


_PARTS: Final[dict[str, Callable[[Texts, Wire, list[StreamOutput]], None]]] = {
    "text": Texts.text_part,
    "output_text": Texts.text_part,
    "thinking": Texts.thinking_part,
    "image_url": Texts.image_part,
}
"""What becomes of a part of a content that is a list: Mistral's, and those of gateways."""


def _text_of(part: Any) -> str:
    return part if isinstance(part, str) else text(part, "text")


def _missing(said: EmittedPrefix, whole: str) -> str:
    """What a whole text adds to what was said of it; nothing where it says something else."""
    return whole[said.length :] if said.begins(whole) else ""
