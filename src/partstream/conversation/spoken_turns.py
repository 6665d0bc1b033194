"""Brings turns into the order that many wires demand: one message a speaker, and results right after their calls.

Servers refuse a conversation in which a message of the user stands between a call and its result, and so does the AI
SDK since version 6 (`MissingToolResultsError`: recorded with `ai` 6.0.50). Hosts send it: text before a result in one
message, or a result that comes two messages later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from partstream.conversation.turns import Call, Result, TurnRole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.conversation.turns import Piece, Turn

__all__ = ["MergedTurn", "spoken_turns"]


@dataclass(slots=True)
class MergedTurn:
    """The words of one speaker, and the results of the calls in them.

    Attributes:
        role: Who speaks.
        turns: What is said, in the turns that hold it.
        results: The results, in the order they came; empty for all but the assistant, except for results whose calls
            are not in the conversation, which stand alone.
    """

    role: TurnRole
    turns: list[Turn] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def content(self) -> list[Piece]:
        """All pieces of what is said."""
        return [piece for turn in self.turns for piece in turn.content]


def spoken_turns(turns: Iterable[Turn]) -> list[MergedTurn]:
    """The turns, those of the assistant that follow each other as one."""
    said: list[MergedTurn] = []
    callers: dict[str, MergedTurn] = {}
    for turn in turns:
        if turn.role is TurnRole.TOOL:
            for piece in turn.content:
                if isinstance(piece, Result):
                    _caller(piece, callers, said).results.append(piece)
            continue
        last = said[-1] if said else None
        if last is None or turn.role is not TurnRole.ASSISTANT or last.role is not turn.role or last.results:
            last = MergedTurn(turn.role)
            said.append(last)
        last.turns.append(turn)
        callers |= {piece.call_id: last for piece in turn.content if isinstance(piece, Call)}
    return said


def _caller(result: Result, callers: dict[str, MergedTurn], said: list[MergedTurn]) -> MergedTurn:
    """The turn that made the call; one of its own for a result whose call stands before the turns."""
    if (caller := callers.get(result.call_id)) is not None:
        return caller
    if not said or said[-1].role is not TurnRole.TOOL:
        said.append(MergedTurn(TurnRole.TOOL))
    return said[-1]
