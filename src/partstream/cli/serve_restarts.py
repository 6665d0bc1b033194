"""How long to wait before a worker process that has died is started again; reads no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["LONGEST_DELAY", "Restarts"]

LONGEST_DELAY: Final = 30.0
"""Seconds; a machine on which every start fails is not kept busy by starting."""

_FIRST_DELAY: Final = 0.1
_SOUND_SECONDS: Final = 60.0
"""A worker that lived so long has not failed at starting."""


@dataclass(slots=True)
class Restarts:
    """The delays of one worker: the first is short, each further one twice as long, until one start has held."""

    _next: float = _FIRST_DELAY

    def delay_after(self, lived: float) -> float:
        """How many seconds to wait before the next start.

        Args:
            lived: How many seconds the worker lived that has just died.
        """
        delay = _FIRST_DELAY if lived >= _SOUND_SECONDS else self._next
        self._next = min(2 * delay, LONGEST_DELAY)
        return delay
