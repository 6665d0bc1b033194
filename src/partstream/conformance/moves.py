"""Moves: what the consumer of a conversation does, one after the other; short texts, so that a person reads them.

A list of moves is a whole conversation: it is generated, shrunk, and replayed from JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.errors import CallerError

__all__ = ["MOVES", "Move", "read_moves"]

MOVES: Final = {
    "send": "Sends the conversation, with the text behind the word as a new message of the user; does not wait.",
    "send_cancelled": "The same, with a token that is already cancelled.",
    "cancel_after": "Cancels the running answer once it has so many parts, or has ended before.",
    "cancel_quiet": "Cancels the running answer once nothing has come of it for so many milliseconds.",
    "answer_call": "Adds a result for a call of the last answer, by its number from 0: `answer_call 0 [KIND]`.",
    "answer_calls": "Adds a result for every call of the last answer that has none yet: `answer_calls [KIND]`.",
    "wait": "Waits for the end of the running answer.",
    "cancel_ended": "Waits for the end of the running answer, and then cancels its token.",
    "retry": "Sends the last request once more, without its answer.",
}
"""Every move by name, with its meaning. Each one but `cancel_...` first waits for the end of the running answer."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move.

    Attributes:
        name: A name in :data:`MOVES`.
        argument: The text behind the name; may be empty.

    Raises:
        CallerError: The name is unknown.
    """

    name: str
    argument: str = ""

    def __post_init__(self) -> None:
        if self.name not in MOVES:
            raise CallerError(f"move: got {self.name!r}, expected one of {', '.join(MOVES)}")

    @classmethod
    def read(cls, text: str) -> Move:
        """Reads a move such as `cancel_after 3`.

        Raises:
            CallerError: The name is unknown.
        """
        name, _, argument = text.partition(" ")
        return cls(name, argument)

    def __str__(self) -> str:
        return f"{self.name} {self.argument}" if self.argument else self.name


def read_moves(*texts: str) -> tuple[Move, ...]:
    """Reads moves, in order.

    Raises:
        CallerError: A name is unknown.
    """
    return tuple(map(Move.read, texts))
