"""The life of a response: one table of states for all adapters and writers of all protocols.

A protocol says which :class:`LifecycleEvent` each of its events is; what an event does in which state stands here and
nowhere else. A row that real servers need, and that no specification allows, is lenient: an adapter takes it, a writer
never makes use of it (:func:`strict_step`).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

__all__ = ["TRANSITIONS", "Action", "LifecycleEvent", "LifecycleState", "Transition", "strict_step"]


class LifecycleState(Enum):
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


class LifecycleEvent(Enum):
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


class Transition(NamedTuple):
    """The effect of a kind of event in a state.

    Attributes:
        next_state: The state behind it.
        action: What becomes of the event.
        lenient: Whether only servers that break the rules need the row.
    """

    next_state: LifecycleState
    action: Action
    lenient: bool = False


def _handled(state: LifecycleState, *, lenient: bool = False) -> Transition:
    return Transition(state, Action.HANDLE, lenient)


TRANSITIONS: Final[dict[LifecycleState, dict[LifecycleEvent, Transition]]] = {
    LifecycleState.IDLE: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.OPEN),
        # Servers leave the opening event out, or everything up to the closing events: llama.cpp, gemini-web2api.
        LifecycleEvent.CONTENT: _handled(LifecycleState.OPEN, lenient=True),
        LifecycleEvent.REPORT: _handled(LifecycleState.OPEN, lenient=True),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.ANSWERED, lenient=True),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED, lenient=True),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING),
        LifecycleEvent.SILENT: Transition(LifecycleState.IDLE, Action.IGNORE),
    },
    LifecycleState.OPEN: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.OPEN),
        LifecycleEvent.CONTENT: _handled(LifecycleState.OPEN),
        LifecycleEvent.REPORT: _handled(LifecycleState.OPEN),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.ANSWERED),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING),
        LifecycleEvent.SILENT: Transition(LifecycleState.OPEN, Action.IGNORE),
    },
    LifecycleState.FAILING: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.FAILING, lenient=True),
        LifecycleEvent.CONTENT: Transition(LifecycleState.FAILING, Action.COUNT, lenient=True),
        LifecycleEvent.REPORT: _handled(LifecycleState.FAILING),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.FINISHED),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING, lenient=True),
        LifecycleEvent.SILENT: Transition(LifecycleState.FAILING, Action.IGNORE),
    },
    LifecycleState.ANSWERED: {
        LifecycleEvent.LIFECYCLE: _handled(LifecycleState.OPEN),
        # Only a beginning begins another answer: applications append words of their own to a whole one.
        LifecycleEvent.CONTENT: _handled(LifecycleState.ANSWERED, lenient=True),
        LifecycleEvent.REPORT: _handled(LifecycleState.ANSWERED),
        LifecycleEvent.ANSWER_END: _handled(LifecycleState.ANSWERED, lenient=True),
        LifecycleEvent.TERMINAL: _handled(LifecycleState.FINISHED),
        LifecycleEvent.ERROR: _handled(LifecycleState.FAILING),
        LifecycleEvent.SILENT: Transition(LifecycleState.ANSWERED, Action.IGNORE),
    },
    # Nothing that comes after the end can change the response.
    LifecycleState.FINISHED: {
        kind: Transition(LifecycleState.FINISHED, Action.IGNORE, lenient=True) for kind in LifecycleEvent
    },
    LifecycleState.ENDED: {},
}


def strict_step(state: LifecycleState, kind: LifecycleEvent) -> Transition | None:
    """The step of an event that keeps every rule; None if the rules do not allow the event."""
    step = TRANSITIONS[state].get(kind)
    return None if step is None or step.lenient else step
