"""The life of a response: one table of states for all adapters and writers of all protocols.

A protocol says which :class:`EventKind` each of its events is; what an event does in which state stands here and
nowhere else. A row that real servers need, and that no specification allows, is lenient: an adapter takes it, a writer
never makes use of it (:func:`strict_step`).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

__all__ = ["TRANSITIONS", "Action", "EventKind", "State", "Step", "strict_step"]


class State(Enum):
    """How far a response has come."""

    IDLE = auto()
    """No event came."""
    OPEN = auto()
    """The answer is under way."""
    FAILING = auto()
    """The upstream reported an error, and may still say more about it."""
    ANSWERED = auto()
    """The answer is whole, and another one may follow: only the end of the stream is the end."""
    FINISHED = auto()
    """The :class:`partstream.outputs.Finish` is out."""
    ENDED = auto()
    """Nobody may feed anything more."""


class EventKind(Enum):
    """What an event means for the life of a response."""

    LIFECYCLE = auto()
    """It opens the response, or says that it goes on."""
    CONTENT = auto()
    REPORT = auto()
    """It says something of the response or of a part of it that is over: tokens, who answers; also behind an error."""
    ERROR = auto()
    """The upstream reports an error, and its end follows."""
    ANSWER_END = auto()
    """The answer is whole; the stream goes on behind it."""
    TERMINAL = auto()
    """The response ends."""
    SILENT = auto()
    """It is known to mean nothing."""


class Action(Enum):
    """What happens to an event."""

    HANDLE = auto()
    IGNORE = auto()
    COUNT = auto()
    """It comes out as :class:`partstream.outputs.Unmapped`."""


class Step(NamedTuple):
    """The effect of a kind of event in a state.

    Attributes:
        next_state: The state behind it.
        action: What becomes of the event.
        lenient: Whether only servers that break the rules need the row.
    """

    next_state: State
    action: Action
    lenient: bool = False


def _handled(state: State, *, lenient: bool = False) -> Step:
    return Step(state, Action.HANDLE, lenient)


TRANSITIONS: Final[dict[State, dict[EventKind, Step]]] = {
    State.IDLE: {
        EventKind.LIFECYCLE: _handled(State.OPEN),
        # Servers leave the opening event out, or everything up to the closing events: llama.cpp, gemini-web2api.
        EventKind.CONTENT: _handled(State.OPEN, lenient=True),
        EventKind.REPORT: _handled(State.OPEN, lenient=True),
        EventKind.ANSWER_END: _handled(State.ANSWERED, lenient=True),
        EventKind.TERMINAL: _handled(State.FINISHED, lenient=True),
        EventKind.ERROR: _handled(State.FAILING),
        EventKind.SILENT: Step(State.IDLE, Action.IGNORE),
    },
    State.OPEN: {
        EventKind.LIFECYCLE: _handled(State.OPEN),
        EventKind.CONTENT: _handled(State.OPEN),
        EventKind.REPORT: _handled(State.OPEN),
        EventKind.ANSWER_END: _handled(State.ANSWERED),
        EventKind.TERMINAL: _handled(State.FINISHED),
        EventKind.ERROR: _handled(State.FAILING),
        EventKind.SILENT: Step(State.OPEN, Action.IGNORE),
    },
    State.FAILING: {
        EventKind.LIFECYCLE: _handled(State.FAILING, lenient=True),
        EventKind.CONTENT: Step(State.FAILING, Action.COUNT, lenient=True),
        EventKind.REPORT: _handled(State.FAILING),
        EventKind.ANSWER_END: _handled(State.FINISHED),
        EventKind.TERMINAL: _handled(State.FINISHED),
        EventKind.ERROR: _handled(State.FAILING, lenient=True),
        EventKind.SILENT: Step(State.FAILING, Action.IGNORE),
    },
    State.ANSWERED: {
        EventKind.LIFECYCLE: _handled(State.OPEN),
        # Only a beginning begins another answer: applications append words of their own to a whole one.
        EventKind.CONTENT: _handled(State.ANSWERED, lenient=True),
        EventKind.REPORT: _handled(State.ANSWERED),
        EventKind.ANSWER_END: _handled(State.ANSWERED, lenient=True),
        EventKind.TERMINAL: _handled(State.FINISHED),
        EventKind.ERROR: _handled(State.FAILING),
        EventKind.SILENT: Step(State.ANSWERED, Action.IGNORE),
    },
    # Nothing that comes after the end can change the response.
    State.FINISHED: {kind: Step(State.FINISHED, Action.IGNORE, lenient=True) for kind in EventKind},
    State.ENDED: {},
}


def strict_step(state: State, kind: EventKind) -> Step | None:
    """The step of an event that keeps every rule; None if the rules do not allow the event."""
    step = TRANSITIONS[state].get(kind)
    return None if step is None or step.lenient else step
