"""The short way of the lines that come by the thousand: a piece of text or of thinking, and nothing else.

docs/decisions/0006-the-sink.md tells how it works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import StreamOutput, ThinkingMode
from partstream.parts import text_part, thinking_part
from partstream.protocols.ollama.carried_items import CONTENT, THINKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.outputs import FastPath, StreamOptions
    from partstream.protocols.ollama.texts import Texts
    from partstream.protocols.ollama.thinking import Thinking

__all__ = ["FREQUENT", "LineFastPath"]

FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "message": "message",
        "done": "done?",
        "done_reason": "done_reason?",
        "error": "error?",
    }
}
"""The fields of a line that the short way reads: the message, and those that send a line the long way. Times and
models say the same in each line."""


class LineFastPath:
    """Offers a sink for more of what a line brought.

    Args:
        options: How the answer is rendered.
        texts: The text of the answer.
        thinking: The thinking of the answer.
    """

    __slots__ = ("_shows_thinking", "_texts", "_thinking")

    def __init__(self, options: StreamOptions, texts: Texts, thinking: Thinking) -> None:
        self._shows_thinking = options.thinking is not ThinkingMode.OFF
        self._texts = texts
        self._thinking = thinking

    def after(self, message: Any) -> FastPath | None:
        """The sink for more lines like the one with this message, or None."""
        if type(message) is not dict or not self._texts.is_settled:
            return None
        if message.get(CONTENT):
            return None if self._thinking.is_open else _read_text
        return self._read_thought if message.get(THINKING) else None

    def _read_thought(self, line: Any, outputs: list[StreamOutput]) -> bool:
        thought = _only(line, THINKING)
        if thought is None:
            return False
        self._thinking.keep(THINKING, thought)
        if self._shows_thinking:
            outputs.append(thinking_part(thought))
        return True


def _read_text(line: Any, outputs: list[StreamOutput]) -> bool:
    text = _only(line, CONTENT)
    if text is None:
        return False
    outputs.append(text_part(text))
    return True


def _only(line: Any, name: str) -> str | None:
    """The text in one field of the message of a line that says nothing else; None where the line needs the long way.

    Raises:
        KeyError: The message lacks the field.
    """
    message = line.message
    if line.done or line.done_reason or line.error or type(message) is not dict:
        return None
    for key, value in message.items():
        if value and key != name and key != "role":  # noqa: PLR1714 - a tuple of them takes twice as long
            return None
    value = message[name]
    return value if type(value) is str and value else None
