"""The legal order of OpenResponses events, and nothing else; a leniency is a row, with what needs it.

Source: OpenResponses specification 2026-04-24, state machines; the deviations of real servers are named where they are.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final, NamedTuple

__all__ = ["TRANSITIONS", "Action", "EventKind", "State", "Step"]


class State(IntEnum):
    """How far a response has come."""

    IDLE = auto()
    OPEN = auto()
    FAILING = auto()
    """An `error` event came; the specification promises a `response.failed` after it."""
    FINISHED = auto()
    ENDED = auto()


class EventKind(IntEnum):
    """What an event type means for the order of events."""

    LIFECYCLE = auto()
    CONTENT = auto()
    ERROR = auto()
    TERMINAL = auto()
    SILENT = auto()
    """Known to mean nothing."""


class Action(IntEnum):
    """What becomes of an event."""

    HANDLE = auto()
    IGNORE = auto()
    COUNT = auto()
    """It comes out as unmapped."""


class Step(NamedTuple):
    """What an event of some kind does in some state."""

    next_state: State
    action: Action


TRANSITIONS: Final[dict[State, dict[EventKind, Step]]] = {
    State.IDLE: {
        EventKind.LIFECYCLE: Step(State.OPEN, Action.HANDLE),
        # Servers leave `response.created` out, or everything up to the closing events: llama.cpp, gemini-web2api.
        EventKind.CONTENT: Step(State.OPEN, Action.HANDLE),
        EventKind.TERMINAL: Step(State.FINISHED, Action.HANDLE),
        EventKind.ERROR: Step(State.FAILING, Action.HANDLE),
        EventKind.SILENT: Step(State.IDLE, Action.IGNORE),
    },
    State.OPEN: {
        EventKind.LIFECYCLE: Step(State.OPEN, Action.HANDLE),
        EventKind.CONTENT: Step(State.OPEN, Action.HANDLE),
        EventKind.TERMINAL: Step(State.FINISHED, Action.HANDLE),
        EventKind.ERROR: Step(State.FAILING, Action.HANDLE),
        EventKind.SILENT: Step(State.OPEN, Action.IGNORE),
    },
    State.FAILING: {
        EventKind.LIFECYCLE: Step(State.FAILING, Action.HANDLE),
        EventKind.CONTENT: Step(State.FAILING, Action.COUNT),
        EventKind.TERMINAL: Step(State.FINISHED, Action.HANDLE),
        EventKind.ERROR: Step(State.FAILING, Action.HANDLE),
        EventKind.SILENT: Step(State.FAILING, Action.IGNORE),
    },
    # Nothing that comes after the terminal event can change the response.
    State.FINISHED: {kind: Step(State.FINISHED, Action.IGNORE) for kind in EventKind},
    State.ENDED: {},
}
