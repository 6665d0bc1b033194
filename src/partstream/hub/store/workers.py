"""The workers of a hub and their heartbeats: each function is a part of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.hub.store.leasing import held_by, leases_in, pulse_windows, windows_in
from partstream.hub.store.settling import take_back
from partstream.hub.store.values import HeartbeatResult, Query, WorkerState

if TYPE_CHECKING:
    from collections.abc import Collection

    from partstream.hub.store.values import Transaction

__all__ = ["heartbeat"]

_KNOWN: Final = "SELECT is_gone FROM hub_workers WHERE name = ?"
_BEAT: Final = "UPDATE hub_workers SET counter = counter + 1, seen_at = ?, is_gone = FALSE WHERE name = ?"
_FIRST_BEAT: Final = (
    "INSERT INTO hub_workers (name, counter, started_at, seen_at, is_gone) VALUES (?, 1, ?, ?, FALSE)"
    " ON CONFLICT (name) DO UPDATE SET counter = hub_workers.counter + 1, seen_at = excluded.seen_at"
)
_WORKERS: Final = (
    "SELECT name, counter, started_at, seen_at, is_gone FROM hub_workers WHERE NOT is_gone OR seen_at > ? ORDER BY name"
)
_SHOWN_SECONDS: Final = 86_400.0
"""For how long a worker that is gone is told of. Its row stays until its journal is found, which may be never."""
_VERSION: Final = "SELECT version, identity FROM hub_directory"


def heartbeat(work: Transaction, worker: str, windows: Collection[int]) -> HeartbeatResult:
    """Shows that a worker is alive, and reads what has changed."""
    now = work.now()
    known = work.locked(_KNOWN, (worker,))
    if known:
        work.run(_BEAT, (now, worker))
    else:
        work.run(_FIRST_BEAT, (worker, now, now))
    if any(is_gone for (is_gone,) in known):
        take_back(work, worker)
    ((version, identity),), workers, found, leases = work.rows_of(
        Query(_VERSION), Query(_WORKERS, (now - _SHOWN_SECONDS,)), pulse_windows(worker, windows), held_by(worker)
    )
    return HeartbeatResult(
        now,
        version,
        {
            name: WorkerState(counter, started_at, seen_at, bool(is_gone))
            for name, counter, started_at, seen_at, is_gone in workers
        },
        windows_in(found),
        leases_in(leases),
        identity,
    )
