"""An exercise: what the model says and what the consumer does, as one value that a failure is made of.

An exercise is generated, made smaller and replayed; it is plain data, and JSON in a file. It knows no target.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from partstream.devtools.conformance.scripts import Call, Echo, Move, Script, pieces
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.devtools.conformance.scripts import Block, ScriptedAnswer
    from partstream.devtools.conformance.transcript import Transcript

__all__ = ["DEFAULT_PROMPT", "Exercise", "Relation", "exercise_of"]

DEFAULT_PROMPT = "Go on."
"""What the user of a generated conversation says."""


class Relation(StrEnum):
    """Another conversation that has to bring the same parts."""

    NONE = "none"
    CUT = "cut"
    """The same, with the bytes of the model server cut everywhere."""
    AGAIN = "again"
    """The same once more, in a new conversation."""
    OTHER = "other"
    """The same over another protocol."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One conversation before it happens.

    Attributes:
        moves: What the consumer does.
        script: What the model says, or None for a target that cannot be given a script.
        prompt: What the user says.
        relation: The other conversation that has to bring the same parts.
    """

    moves: tuple[Move, ...]
    script: Script | None
    prompt: str = DEFAULT_PROMPT
    relation: Relation = Relation.NONE

    @property
    def size(self) -> int:
        """How much a reader has to follow: moves, and events and faults of the upstream."""
        answers = () if self.script is None else self.script.answers
        return len(self.moves) + sum(map(_size_of_answer, answers))

    def to_json(self) -> dict[str, Any]:
        """The exercise as JSON values, in the fields of a transcript."""
        return {
            "prompt": self.prompt,
            "script": None if self.script is None else self.script.to_json(),
            "moves": [str(move) for move in self.moves],
            "relation": self.relation.value,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Exercise:
        """Reads an exercise from a transcript or from :meth:`to_json`.

        Raises:
            CallerError: The value holds no exercise; the message says what is wrong with it.
        """
        moves, script, prompt = value.get("moves"), value.get("script"), value.get("prompt", DEFAULT_PROMPT)
        if not isinstance(moves, list) or not all(isinstance(one, str) for one in moves):
            raise CallerError(f"moves: got {str(moves)[:80]}, expected a list of texts such as 'send'")
        if not isinstance(prompt, str):
            raise CallerError(f"prompt: got {str(prompt)[:80]}, expected a text")
        if script is not None and not isinstance(script, dict):
            raise CallerError(f"script: got {str(script)[:80]}, expected an object or null")
        relation = value.get("relation", Relation.NONE.value)
        if relation not in {one.value for one in Relation}:
            raise CallerError(f"relation: got {str(relation)[:80]!r}, expected one of {', '.join(Relation)}")
        played = None if script is None else Script.from_json(script)
        return cls(tuple(map(Move.read, moves)), played, prompt, Relation(relation))


def exercise_of(transcript: Transcript) -> Exercise:
    """The exercise that a transcript came of."""
    return Exercise(transcript.moves, transcript.script, transcript.prompt)


def _size_of_answer(answer: ScriptedAnswer) -> int:
    return sum(map(_size_of_block, answer.blocks)) + len([*filter(None, answer.fault.split(","))])


def _size_of_block(block: Block) -> int:
    return 1 if isinstance(block, Call | Echo) else len(pieces(block.text))
