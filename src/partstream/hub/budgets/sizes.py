"""How much a worker leases of a window at a time: enough to ask seldom, and never so much that others go without.

Source: docs/hub-budgets.md, "How large a lease is".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["LEASE_SECONDS", "SHARES", "Rate", "is_low", "lease_size", "spare_size"]

LEASE_SECONDS: Final = 5.0
"""The seconds for which a lease should last at the rate at which its worker reserves, unless the settings say else."""

SHARES: Final = 4
"""Each worker takes at most this fraction of an equal share of what is left at once."""

_RENEW_BELOW: Final = 5
"""A lease is renewed when less than a fifth of its size is free: 20 %."""
_RENEW_SECONDS: Final = LEASE_SECONDS - LEASE_SECONDS / _RENEW_BELOW
"""A longer lease is renewed as often as one of :data:`LEASE_SECONDS`: it is to be nearly whole at any time."""

_GROWTH: Final = 4
"""By which part an answer may need more than the one before it, so that what was kept for it is enough."""


def lease_size(rate: float, left: int, workers: int, seconds: float = LEASE_SECONDS) -> int:
    """How much a worker should have free of a window, beside what its answers have reserved.

    Args:
        rate: How much of it the worker reserves in a second.
        left: What of the limit is neither spent nor leased.
        workers: The workers that live.
        seconds: How long it should last.
    """
    return max(0, min(math.ceil(rate * seconds), left // (SHARES * max(1, workers))))


def is_low(free: int, size: int, seconds: float, age: float) -> bool:
    """Whether a lease is to be renewed.

    Args:
        free: What is free of it.
        size: What was free when it was renewed last.
        seconds: How long it should last.
        age: How many seconds ago it was renewed.
    """
    return free * _RENEW_BELOW < size or (seconds > LEASE_SECONDS and free < size and age >= _RENEW_SECONDS)


def spare_size(answer: int, unspent: int, leased: int) -> int:
    """How much a worker should have free for the next answer, where nobody would miss it.

    A budget of which little is used in a second would else be leased anew for each answer, as the simulation in
    docs/scaling.md shows. What all workers hold together stays below the part of what is left that :data:`SHARES` says.

    Args:
        answer: What the last answer needed; the next one of a conversation needs a little more.
        unspent: What of the limit is not spent.
        leased: What is leased, without this.
    """
    spare = answer + answer // _GROWTH
    return spare if SHARES * (leased + spare) <= unspent else 0


@dataclass(slots=True)
class Rate:
    """How much is reserved in a second, as an average that forgets evenly.

    Attributes:
        seconds: About how many seconds count: as many as a lease should last.
        weight: The sum of what was reserved, each with the part of it that is not forgotten.
        at: The time of `weight`, in seconds of any clock.
        last: The amount that was reserved last.
    """

    seconds: float = LEASE_SECONDS
    weight: float = 0.0
    at: float = 0.0
    last: int = 0

    def add(self, amount: int, now: float) -> None:
        """Counts an amount that was reserved."""
        self.weight = self.weight * self._kept(now) + amount
        self.at = now
        self.last = amount

    def a_second(self, now: float) -> float:
        """The rate."""
        return self.weight * self._kept(now) / self.seconds

    def _kept(self, now: float) -> float:
        return math.exp((self.at - now) / self.seconds) if now > self.at else 1.0
