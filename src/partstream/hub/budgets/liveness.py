"""Which other workers are alive, by the time during which this one was connected; no clocks are ever compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.hub.store.values import WorkerState

__all__ = ["Liveness"]


class Liveness:
    """For how long which workers have been silent.

    A worker's silence grows only between two heartbeats of our own that reached the database, and by no more than a
    stopped process or a database that was away could make it seem: what a heartbeat adds is bounded. So a database that
    comes back after an hour, and a worker that was suspended, declare nobody dead.

    Args:
        worker: The name of this worker.
        most_step: The most seconds that one heartbeat adds to a silence.
    """

    def __init__(self, worker: str, most_step: float) -> None:
        self._worker = worker
        self._most_step = most_step
        self._seen_at: float | None = None
        self._counters: dict[str, int] = {}
        self._silences: dict[str, float] = {}

    def seen(self, workers: Mapping[str, WorkerState], now: float) -> None:
        """Notes what a heartbeat has brought."""
        step = 0.0 if self._seen_at is None else min(max(0.0, now - self._seen_at), self._most_step)
        self._seen_at = now
        silences = {}
        for name, state in workers.items():
            if not state.is_gone and name != self._worker:
                is_silent = self._counters.get(name) == state.counter
                silences[name] = self._silences.get(name, 0.0) + step if is_silent else 0.0
        self._silences = silences
        self._counters = {name: workers[name].counter for name in silences}

    def disconnected(self) -> None:
        """Notes that the database was not reached: until it is, nobody's silence means anything."""
        self._seen_at = None

    def alive(self, seconds: float) -> int:
        """How many workers, this one among them, have been silent for less than a time."""
        return 1 + sum(silence < seconds for silence in self._silences.values())

    def silent(self, seconds: float) -> Iterator[tuple[str, int]]:
        """The workers that have been silent for a time, with the counters of their last heartbeats."""
        return ((name, self._counters[name]) for name, silence in self._silences.items() if silence >= seconds)
