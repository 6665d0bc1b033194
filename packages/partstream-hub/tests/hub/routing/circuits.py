"""The state of a circuit, as a word."""

from __future__ import annotations
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream_hub.routing import Circuit


class CircuitState(StrEnum):
    """Whether an upstream is asked."""

    CLOSED = "closed"  # it is asked
    OPEN = "open"  # it is left alone
    HALF_OPEN = "half open"  # one request finds out whether it answers again


def state_of(circuit: Circuit, now: float) -> CircuitState:
    """What a circuit is now."""
    if circuit.opens_until is None:
        return CircuitState.CLOSED
    return CircuitState.OPEN if now < circuit.opens_until else CircuitState.HALF_OPEN
