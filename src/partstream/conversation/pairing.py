"""Pairs every result with its call, and adds the missing half of incomplete pairs.

Servers refuse a conversation with a result without an earlier call, or with a call without a later result; hosts send
both, after a summary has removed the other half or an answer was stopped. Nothing is left out: the added half tells
that it was missing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.conversation.turns import Call, Note, Result, Text, Turn, TurnRole

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from partstream.conversation.call_ids import CallIds
    from partstream.conversation.tool_names import ToolNames
    from partstream.conversation.turns import Piece

__all__ = ["MISSING_RESULT", "UNKNOWN_TOOL", "pair"]

MISSING_RESULT: Final = "[The result of this call is missing: it was not given back.]"
UNKNOWN_TOOL: Final = "unknown_tool"
"""The tool name of an added call, if only the result is left."""


def pair(
    turns: Sequence[Turn],
    ids: CallIds,
    names: ToolNames,
    foreign: Collection[int] = (),
) -> tuple[list[Turn], list[Note]]:
    """The turns with the ids and names to send, with a result for every call and a call for every result; and notes.

    Args:
        turns: The turns with the given ids and names.
        ids: Assigns the ids to send.
        names: Gives the names to send.
        foreign: The numbers of messages that another upstream is known to have given.
    """
    pairing = _Pairing(_answers(turns), ids, names, foreign)
    for turn in turns:
        pairing.add(turn)
    return pairing.end(), pairing.notes


def _answers(turns: Sequence[Turn]) -> dict[int, int]:
    """The first pass: for the number of each result, the number of the call that it answers."""
    answers: dict[int, int] = {}
    waiting: dict[str, deque[tuple[int, Turn]]] = {}
    calls = results = 0
    for turn in turns:
        for piece in turn.content:
            if isinstance(piece, Call):
                queue = waiting.setdefault(piece.call_id, deque())
                # Some servers restart their ids in each answer: calls of older answers no longer wait.
                while queue and queue[0][1].message != turn.message:
                    queue.popleft()
                queue.append((calls, turn))
                calls += 1
            elif isinstance(piece, Result):
                if queue := waiting.get(piece.call_id, deque()):
                    answers[results] = queue.popleft()[0]
                results += 1
    return answers


class _Pairing:
    """The second pass: assigns ids and names, and adds missing halves."""

    def __init__(self, answers: dict[int, int], ids: CallIds, names: ToolNames, foreign: Collection[int]) -> None:
        self.notes: list[Note] = []
        self._turns: list[Turn] = []
        self._answers = answers
        self._answered = set(answers.values())
        self._ids = ids
        self._names = names
        self._foreign = foreign
        self._calls: list[Call] = []
        self._results = 0
        self._tool_of: dict[str, str] = {}
        self._run: list[Result] = []
        self._run_message = 0
        self._orphans: list[Call] = []

    def add(self, turn: Turn) -> None:
        if turn.role is TurnRole.TOOL:
            for piece in turn.content:
                if isinstance(piece, Result):
                    self._add_result(piece, turn.message)
            return
        self._end_run()
        first = len(self._calls)
        self._turns.append(replace(turn, content=tuple(self._piece(piece, turn) for piece in turn.content)))
        for number in range(first, len(self._calls)):
            if number not in self._answered:
                call = self._calls[number]
                self.notes.append(Note("a tool call without a result", call.where))
                missing = Result(call.call_id, call.name, (Text(MISSING_RESULT),), False, call.where, is_added=True)
                self._append(missing, turn.message + 1)

    def end(self) -> list[Turn]:
        self._end_run()
        return self._turns

    def _piece(self, piece: Piece, turn: Turn) -> Piece:
        if not isinstance(piece, Call):
            return piece
        self._tool_of[piece.call_id] = piece.name
        call_id = self._ids.open(piece.call_id, is_foreign=turn.message in self._foreign)
        call = replace(piece, call_id=call_id, name=self._names.to_upstream(piece.name))
        self._calls.append(call)
        return call

    def _add_result(self, result: Result, message: int) -> None:
        number = self._answers.get(self._results)
        self._results += 1
        call = self._orphan(result) if number is None else self._calls[number]
        self._append(replace(result, call_id=call.call_id, name=call.name), message)

    def _orphan(self, result: Result) -> Call:
        """The missing call of a result, to be added before it."""
        self.notes.append(Note("a tool result without a call", result.where))
        name = self._names.to_upstream(self._tool_of.get(result.call_id, UNKNOWN_TOOL))
        self._orphans.append(Call(self._ids.open(result.call_id), name, {}, result.where, is_added=True))
        return self._orphans[-1]

    def _append(self, result: Result, message: int) -> None:
        if not self._run:
            self._run_message = message
        self._run.append(result)

    def _end_run(self) -> None:
        """Adds the consecutive results as one turn, after the calls that some of them lack."""
        if self._orphans:
            self._turns.append(Turn(TurnRole.ASSISTANT, tuple(self._orphans), self._run_message))
        if self._run:
            self._turns.append(Turn(TurnRole.TOOL, tuple(self._run), self._run_message))
        self._run, self._orphans = [], []
