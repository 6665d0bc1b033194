"""Counts an answer while it is written, where nothing else keeps it within what is reserved; cheap for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps
from partstream.kept_answer import thinking_text
from partstream.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.serving.admission import StopAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.parts import ResponsePart

__all__ = ["BUDGET_SPENT", "AnswerMeter"]

BUDGET_SPENT: Final = StopAnswer("budget_spent")

_SAFE_CHARACTERS: Final = 3
"""Characters of a token of plain text at least, on average: until as many were written, nothing has to be counted."""
_BYTES_A_DATA_TOKEN: Final = 16
"""Bytes of an image or a file for one token."""


class AnswerMeter:
    """Says when an answer has used up what it has, and whether it gets more.

    The text is kept and counted from time to time, the more seldom the more is left.

    Args:
        tokens: The tokens of output that are reserved.
        step: How many tokens more it gets at a time.
        top_up: Reserves that many more; whether that was possible.
        count: Counts the tokens of a text.
        trusted: Until so many tokens were counted, the upstream is taken to keep its limit, which is reserved: a count
            by estimate must not cut an honest answer off before it reports its end. Behind that it plainly keeps none,
            and all that was counted has to be reserved. None for nothing beyond what is reserved.
    """

    __slots__ = ("_count", "_left", "_owed", "_step", "_texts", "_tokens", "_top_up")

    def __init__(
        self,
        tokens: int,
        step: int,
        top_up: Callable[[int], bool],
        count: Callable[[str], int],
        trusted: int | None = None,
    ) -> None:
        self._tokens = tokens if trusted is None else max(tokens, trusted)
        self._owed = self._tokens - tokens
        self._left = self._tokens * _SAFE_CHARACTERS
        self._step = step
        self._top_up = top_up
        self._count = count
        self._texts: list[str] = []

    def reported(self, part: ResponsePart) -> StopAnswer | None:
        """Takes a part; says that the answer must end behind it if nothing is left."""
        if isinstance(part, TextPart):  # nearly all are
            text = part.value
        elif isinstance(part, ThinkingPart):
            text = thinking_text(part)
        elif isinstance(part, ToolCallPart):
            text = part.name + bytes(dumps(part.input)).decode(errors="replace")
        else:
            self._tokens -= len(part.data) // _BYTES_A_DATA_TOKEN
            return self._look()
        self._texts.append(text)
        # Other letters than ASCII take a token each at most in the texts that there are.
        self._left -= len(text) if text.isascii() else _SAFE_CHARACTERS * len(text)
        return None if self._left > 0 else self._look()

    def _look(self) -> StopAnswer | None:
        """Counts what was written since the last look."""
        self._tokens -= self._count("".join(self._texts))
        self._texts.clear()
        # Asked before it is needed, so that what the worker has to lease first is there in time.
        if not self._owed and 0 < self._tokens < self._step and self._top_up(self._step):
            self._tokens += self._step
        if self._owed and self._tokens <= 0:
            if not self._top_up(self._owed):
                return BUDGET_SPENT
            self._owed = 0
        while self._tokens <= 0:
            if not self._top_up(self._step):
                return BUDGET_SPENT
            self._tokens += self._step
        self._left = self._tokens * _SAFE_CHARACTERS
        return None
