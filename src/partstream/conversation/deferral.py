"""Moves images and files that a protocol does not accept at their place into a following message of the user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from partstream.conversation.turns import Attachment, Result, Text, Turn, TurnRole
from partstream.conversation.wording import SHOWN_BY_ASSISTANT, in_next_user_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.conversation.turns import Piece, ResultContent

__all__ = ["shown_by_user"]


def shown_by_user(turns: Iterable[Turn], *, of_results: bool, of_assistant: bool) -> Iterator[Turn]:
    """The turns, with images and files moved into a user turn after the consecutive results.

    Args:
        turns: The conversation.
        of_results: Whether to move the images and files of results.
        of_assistant: Whether to move the images and files of the assistant.
    """
    deferral = _Deferral(of_results=of_results, of_assistant=of_assistant)
    last = 0
    for turn in turns:
        if turn.role is not TurnRole.TOOL:
            yield from deferral.release(last)
        yield deferral.take_from(turn)
        last = turn.message
    yield from deferral.release(last)


class _Deferral:
    """The pieces that wait for the next user turn."""

    def __init__(self, *, of_results: bool, of_assistant: bool) -> None:
        self._of_results = of_results
        self._of_assistant = of_assistant
        self._waiting: list[Piece] = []

    def take_from(self, turn: Turn) -> Turn:
        if turn.role is TurnRole.ASSISTANT and self._of_assistant:
            return replace(turn, content=tuple(piece for piece in turn.content if not self._takes(piece)))
        if turn.role is TurnRole.TOOL and self._of_results:
            return replace(turn, content=tuple(map(self._result, turn.content)))
        return turn

    def release(self, message: int) -> Iterator[Turn]:
        if self._waiting:
            yield Turn(TurnRole.USER, tuple(self._waiting), message)
        self._waiting = []

    def _takes(self, piece: Piece) -> bool:
        if isinstance(piece, Attachment):
            self._waiting += [Text(SHOWN_BY_ASSISTANT), piece]
        return isinstance(piece, Attachment)

    def _result(self, piece: Piece) -> Piece:
        if not isinstance(piece, Result):
            return piece
        return replace(piece, content=tuple(map(self._without_attachment, piece.content)))

    def _without_attachment(self, piece: ResultContent) -> ResultContent:
        if not isinstance(piece, Attachment):
            return piece
        self._waiting.append(piece)
        number = sum(isinstance(waiting, Attachment) for waiting in self._waiting)
        return Text(in_next_user_message(piece.kind, number))
