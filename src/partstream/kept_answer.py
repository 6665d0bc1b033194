"""What is kept of an answer, to count its tokens where its provider reports none: the beginning, and how long it is."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, cast

from partstream.lm.messages import ChatMessage
from partstream.lm.parts import TextPart, ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.parts import ResponsePart

__all__ = ["KeptAnswer", "thinking_text"]

_KEPT: Final = 32_768
"""The characters of an answer that are kept for counting, to bound the memory; the rest is assumed to be like them."""


def thinking_text(part: ThinkingPart) -> str:
    """The text of a thinking part. A provider may report an array of strings, as in VS Code; they are joined."""
    value: object = part.value
    return value if isinstance(value, str) else "".join(cast("list[str]", value))


class KeptAnswer:
    """The parts of one answer, as far as they are kept."""

    __slots__ = ("_kept", "_left_out", "_parts")

    def __init__(self) -> None:
        self._parts: list[ResponsePart] = []
        self._kept = self._left_out = 0

    def keep(self, part: ResponsePart) -> None:
        """Takes the next part."""
        if part.__class__ is TextPart:  # nearly all are
            length = len(part.value)
        elif isinstance(part, TextPart | ThinkingPart):
            length = len(part.value) if isinstance(part, TextPart) else len(thinking_text(part))
        else:
            self._parts.append(part)
            return
        if self._kept < _KEPT:
            self._parts.append(part)
            self._kept += length
        else:
            self._left_out += length

    def message(self) -> ChatMessage:
        """The answer so far, as the message in the next request; only the beginning of a long answer."""
        return ChatMessage.assistant(_joined(self._parts))

    @property
    def length(self) -> float:
        """The ratio of the whole answer's text length to that of :meth:`message`; 1 except for a long answer."""
        return (self._kept + self._left_out) / self._kept if self._kept else 1.0


def _joined(parts: Sequence[ResponsePart]) -> list[ResponsePart]:
    """The parts, with consecutive texts joined: a token may span the border between two."""
    joined: list[ResponsePart] = []
    for kind, group in groupby(parts, type):
        if kind is TextPart:
            joined.append(TextPart("".join(part.value for part in group if isinstance(part, TextPart))))
        elif kind is ThinkingPart:
            thoughts = [part for part in group if isinstance(part, ThinkingPart)]
            joined += [part for part in thoughts if not part.value]  # they may carry hidden reasoning of an upstream
            joined.append(ThinkingPart("".join(map(thinking_text, thoughts))))
        else:
            joined += group
    return joined
