"""Records the next answer whole, at somebody's wish: it stays in memory until it has ended, whatever else comes.

A host asks several models at once, such as one for the title of a chat. So what is recorded is every answer that begins
while another one is being recorded; the recording ends when none of them goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.capturing.last_answers import LastAnswers
    from partstream.devtools.capturing.capture import AnswerCapture

__all__ = ["NextAnswers"]


class NextAnswers:
    """The answers that somebody wants to be recorded.

    Args:
        answers: Tells when an answer begins and ends.
        on_recorded: Called with the answers of a recording that has ended.

    Attributes:
        is_armed: Whether the next answer is recorded.
    """

    def __init__(self, answers: LastAnswers, on_recorded: Callable[[Sequence[AnswerCapture]], object]) -> None:
        self.is_armed = False
        self._recorded: list[AnswerCapture] = []
        self._on_recorded = on_recorded
        answers.on_change(self._changed)

    def arm(self) -> None:
        """Has the next answer recorded."""
        self.is_armed = True

    def disarm(self) -> None:
        """Records nothing more, also not what is being recorded."""
        self.is_armed = False
        self._let_go()

    def _changed(self, answer: AnswerCapture) -> None:
        if answer.outcome is None and (self.is_armed or self._recorded):
            self.is_armed = False
            answer.is_wanted = True
            self._recorded.append(answer)
        elif self._recorded and all(one.outcome is not None for one in self._recorded):
            recorded = tuple(self._recorded)
            self._let_go()
            self._on_recorded(recorded)

    def _let_go(self) -> None:
        for answer in self._recorded:
            answer.is_wanted = False
        self._recorded.clear()
