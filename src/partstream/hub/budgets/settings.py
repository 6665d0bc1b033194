"""How a worker keeps its budgets: the times between what it does, and the bounds of what it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.arguments import NUMBER, Expectation, check_fields
from partstream.hub.budgets.sizes import LEASE_SECONDS

__all__ = ["LONGEST_LEASE_SECONDS", "SHORTEST_LEASE_SECONDS", "WorkerSettings"]

SHORTEST_LEASE_SECONDS: Final = 1.0
LONGEST_LEASE_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker keeps its budgets. All times are seconds.

    Attributes:
        heartbeat_seconds: The time between two heartbeats, which also bring recalls and changes of the directory.
        wait_seconds: The most that an answer waits for what other workers hold and do not use.
        silent_seconds: The time of this worker's own connected time after which a worker without a heartbeat is taken
            for gone.
        upload_seconds: The time between two uploads of ended answers.
        upload_rows: The most rows of an upload; also the most that are in memory.
        lease_seconds: How long what the worker leases should last at the rate at which its answers reserve, which is
            how long answers go on without the database. If its machine is lost with its journal, so much is forfeited.
        idle_seconds: The time after which what nobody uses of a lease is given back, or `lease_seconds` if that is
            longer.
        journal_rows: The most answers that the journal holds; while it is full, no answer is begun.
        journal_bytes: The most bytes of kept requests and answers in it, likewise.
        journals_seconds: The time between two looks for journals of workers of this machine that are gone.
        stop_seconds: The most that the end waits for the last uploads; the journal keeps the rest.
    """

    heartbeat_seconds: float = 1.0
    wait_seconds: float = 2.0
    silent_seconds: float = 30.0
    upload_seconds: float = 0.5
    upload_rows: int = 200
    lease_seconds: float = LEASE_SECONDS
    idle_seconds: float = 60.0
    journal_rows: int = 500_000
    journal_bytes: int = 1024 * 1024 * 1024
    journals_seconds: float = 2.0
    stop_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self, _EXPECTED)


def _is_lease_time(value: object) -> bool:
    return NUMBER.fits(value) and SHORTEST_LEASE_SECONDS <= value <= LONGEST_LEASE_SECONDS  # type: ignore[operator] # a number


_EXPECTED: Final = {
    "lease_seconds": Expectation(
        f"a number from {SHORTEST_LEASE_SECONDS:g} to {LONGEST_LEASE_SECONDS:g}", _is_lease_time
    )
}
