"""How long an answer waits for the hub's budgets, on SQLite and on Postgres: clients that reserve, wait, and settle.

    python -m benchmarks.hub_store

One or two workers, each a process; 1, 16 or 64 clients, each of which reserves in three windows, waits as long as a
short answer takes, and settles. Postgres is the one of the tests, on a Unix socket of this machine, but its durable
transactions wait for the disk, as they do by default.
"""

from __future__ import annotations
import asyncio
import multiprocessing
import tempfile
import time
from pathlib import Path

from interop.servers.postgres import PostgresServer
from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.budgets import HubWorker
from partstream_hub.directory import BudgetRule, Need, Owner, OwnerKind
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import LedgerRow

SECONDS = 4.0
ANSWER_SECONDS = 0.02
RULES = [
    BudgetRule(Owner(kind, name), BudgetUnit.MONEY, Period.MONTH, 10**15)
    for kind, name in ((OwnerKind.KEY, "k1"), (OwnerKind.PERSON, "ana"), (OwnerKind.TEAM, "core"))
]


def row(answer_id: str) -> LedgerRow:
    return LedgerRow(
        answer_id, time.time(), "k1", "ana", "core", "gpt-5", "openai", "gpt-5", "codex", "a-session", "responses",
        1_200, 300, 1_000, 0, 100, 4_200_000, False, 200, "completed", None, 3.2, 0.4,
    )  # fmt: skip


async def work(address: str | Path, folder: str, clients: int) -> tuple[list[float], float]:
    """What each answer waited, and the processor time of one."""
    worker = HubWorker(opened_store(address), Path(folder))
    await worker.start()
    waits: list[float] = []
    ends, used = time.perf_counter() + SECONDS, time.process_time()

    async def client(number: int) -> None:
        await asyncio.sleep(ANSWER_SECONDS * number / clients)
        count = 0
        while time.perf_counter() < ends:
            count += 1
            name = f"{worker.name}-{number}-{count}"
            begin = time.perf_counter()
            reservation = await worker.reserve(row(name), [Need(rule, 5_000_000, 1) for rule in RULES])
            waits.append(time.perf_counter() - begin)
            await asyncio.sleep(ANSWER_SECONDS)
            reservation.settle({rule.id: 4_200_000 for rule in RULES}, row(name))

    await asyncio.gather(*(client(number) for number in range(clients)))
    used = time.process_time() - used
    await worker.stop()
    return waits, used / len(waits)


def process(address: str | Path, folder: str, clients: int, results: multiprocessing.Queue) -> None:
    results.put(asyncio.run(work(address, folder, clients)))


def measure(name: str, address: str | Path, folder: str) -> None:
    """Prints the figures of one database."""
    store = opened_store(address)
    store.migrate()
    spawned = multiprocessing.get_context("spawn")
    for workers in (1, 2):
        for clients in (1, 16, 64):
            results = spawned.Queue()
            each = max(1, clients // workers)
            processes = [spawned.Process(target=process, args=(address, folder, each, results)) for _ in range(workers)]
            for one in processes:
                one.start()
            found = [results.get(timeout=60) for _ in processes]
            for one in processes:
                one.join(60)
            waits = sorted(1000 * wait for some, _ in found for wait in some)
            cpu = 1000 * sum(used for _, used in found) / len(found)
            print(
                f"{name:9} {workers} worker(s), {clients:2} client(s): median {waits[len(waits) // 2]:6.2f} ms,"
                f" p99 {waits[len(waits) * 99 // 100]:6.2f} ms, processor {cpu:5.2f} ms,"
                f" {len(waits) / SECONDS:6.0f} answers/s",
                flush=True,
            )
    faults = store.check()
    store.close()
    if faults:
        raise SystemExit(f"the books do not add up: {faults}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure("SQLite", Path(folder) / "hub.sqlite3", folder)
        server = PostgresServer.made()
        with server.guard():
            server.start(fsync="on")
            measure("Postgres", server.address(), folder)


if __name__ == "__main__":
    main()
