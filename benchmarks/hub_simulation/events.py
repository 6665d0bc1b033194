"""Virtual time: things that happen at a time, in its order, and in the order in which they were planned."""

from __future__ import annotations
import heapq
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Events"]


class Events:
    """What is planned.

    Attributes:
        now: The time, in seconds since the beginning.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, time: float, happens: Callable[[], None]) -> None:
        """Plans something; what lies in the past happens next."""
        heapq.heappush(self._planned, (max(time, self.now), next(self._numbers), happens))

    def after(self, seconds: float, happens: Callable[[], None]) -> None:
        """Plans something for a time from now."""
        self.at(self.now + seconds, happens)

    def run_until(self, end: float) -> None:
        """Lets everything happen that is planned before a time."""
        while self._planned and self._planned[0][0] <= end:
            self.now, _, happens = heapq.heappop(self._planned)
            happens()
        self.now = end
