"""How long leases, heartbeats and the settling of answers take, on SQLite and on Postgres: one worker, one connection.

    python -m benchmarks.hub_store

Postgres is the one of the tests, on a Unix socket of this machine, but waits for the disk as it does by default.
"""

from __future__ import annotations
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from interop.servers.postgres import PostgresServer
from partstream_hub.directory import BudgetRule, BudgetUnit, Owner, OwnerKind, Period
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import Charge, LeaseAsk, LedgerRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream_hub.store.store import HubStore

LEASES = 1_000
BATCHES = 5
ROWS = 5_000
RULES = [
    BudgetRule(Owner(kind, name), BudgetUnit.MONEY, Period.MONTH, 10**15)
    for kind, name in ((OwnerKind.KEY, "k1"), (OwnerKind.PERSON, "ana"), (OwnerKind.TEAM, "core"))
]


def row(answer_id: str, windows: list[int]) -> LedgerRow:
    return LedgerRow(
        answer_id, time.time(), "k1", "ana", "core", "gpt-5", "openai", "gpt-5", "codex", "a-session", "responses",
        1_200, 300, 1_000, 0, 100, 4_200_000, False, 200, "completed", None, 3.2, 0.4,
        tuple(Charge(window, 4_200_000) for window in windows),
    )  # fmt: skip


def milliseconds(times: int, action: Callable[[int], object]) -> float:
    taken = []
    for number in range(times):
        begin = time.perf_counter()
        action(number)
        taken.append((time.perf_counter() - begin) * 1000)
    return median(taken)


def measured(store: HubStore) -> dict[str, float]:
    store.migrate()
    for number in range(4):
        store.heartbeat(f"w{number}")
    windows = [window.id for window in store.open_windows(RULES).values()]
    figures = {
        "a lease of one window": milliseconds(LEASES, lambda _: store.lease("w0", [LeaseAsk(windows[0], 10**9, 1)])),
        "a lease of three windows": milliseconds(
            LEASES, lambda _: store.lease("w0", [LeaseAsk(window, 10**9, 1) for window in windows])
        ),
        "a heartbeat": milliseconds(LEASES, lambda _: store.heartbeat("w0", windows)),
    }
    batches = [[row(f"{batch}-{number}", windows) for number in range(ROWS)] for batch in range(BATCHES)]
    figures[f"settling {ROWS:,} answers"] = milliseconds(BATCHES, lambda number: store.settle("w0", batches[number]))
    few = [[row(f"few-{batch}-{number}", windows) for number in range(10)] for batch in range(100)]
    figures["settling 10 answers"] = milliseconds(100, lambda number: store.settle("w0", few[number]))
    return figures


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = opened_store(Path(folder) / "hub.sqlite3")
        columns = {"SQLite": measured(store)}
        store.close()
    server = PostgresServer.made()
    with server.guard():
        server.start(fsync="on")
        store = opened_store(server.address())
        columns["Postgres"] = measured(store)
        store.close()
    for name in columns["SQLite"]:
        print(f"{name:28}", *(f"{column} {figures[name]:9.3f} ms" for column, figures in columns.items()), sep="  ")


if __name__ == "__main__":
    main()
