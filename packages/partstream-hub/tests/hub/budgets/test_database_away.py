"""A database that is stopped and comes back: nothing is lost, and answers with a budget are refused in good time."""

import asyncio
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hub.budgets.crowd import QUICK, TEAM, Crowd, Observer, new_worker, row
from hub.budgets.test_workers import charges_in_ledger
from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from interop.servers.postgres import PostgresServer
from partstream_hub.budgets import BudgetsUnreachableError
from partstream_hub.directory import Need
from partstream_hub.store.store import HubStore


def test_a_postgres_that_is_stopped_loses_nothing_and_hangs_nobody(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    database = HubDatabase("postgres", own_postgres.address())
    store = database.migrated()
    note_overshoots(database)
    settings = replace(QUICK, wait_seconds=2.0)
    workers = [new_worker(database.store(), tmp_path / "locks", settings) for _ in range(3)]
    observer = Observer(TEAM.limit)
    crowd = Crowd(observer, random.Random(1), most=8)  # noqa: S311

    async def run() -> None:
        for worker in workers:
            await worker.start()
        running = [await worker.reserve(row(f"first-{worker.name}"), [Need(TEAM, 1_500, 1_500)]) for worker in workers]
        await crowd.run(30, workers, 0.1)
        await asyncio.to_thread(own_postgres.stop)
        for worker in workers:
            with pytest.raises(BudgetsUnreachableError) as raised:
                await worker.reserve(row("too-late"), [Need(TEAM, 1, 1)])
            assert 0 < raised.value.retry_after <= 5
            free = await worker.reserve(row(f"free-{worker.name}"), [])
            free.settle({}, row(f"free-{worker.name}"))
        for reservation in running:
            reservation.settle({TEAM.id: 500}, row(reservation.answer.answer_id))
            assert reservation._worker.waiting_rows
        await asyncio.to_thread(own_postgres.start)
        while any(worker.waiting_rows for worker in workers):
            await asyncio.sleep(0.01)
        await crowd.run(30, workers, 0.1)
        for worker in workers:
            await worker.stop()

    asyncio.run(asyncio.wait_for(run(), 50))
    assert observer.refused == []
    charged = charges_in_ledger(store)
    assert {answer_id: charge for answer_id, charge in charged.items() if answer_id in observer.admitted} == (
        observer.admitted
    )
    assert len(charged) == 60 + 3 + 3
    assert overshoots(store) == []
    assert store.check() == []
    (window,) = store.open_windows([TEAM]).values()
    assert (window.reserved, window.spent) == (0, observer.charged + 1_500)
    assert not list((tmp_path / "locks").iterdir())
    database.close()


def test_a_database_that_hangs_refuses_in_good_time_and_nothing_stays_reserved(tmp_path: Path) -> None:
    database = HubDatabase("sqlite", str(tmp_path / "hub.sqlite3"))
    store = database.migrated()
    worker = new_worker(database.store(), tmp_path / "locks", replace(QUICK, wait_seconds=0.2, heartbeat_seconds=60.0))
    holding, released = threading.Event(), threading.Event()

    def hold(_work: object) -> None:
        holding.set()
        released.wait(30)

    async def run() -> None:
        await worker.start()
        writing = asyncio.create_task(asyncio.to_thread(database.engine().run, hold))
        await asyncio.to_thread(holding.wait, 30)
        for name in ("first", "second"):
            with pytest.raises(BudgetsUnreachableError, match="does not answer"):
                await worker.reserve(row(name), [Need(TEAM, 10, 10)])
        released.set()
        await writing
        while worker._batch_began is not None:
            await asyncio.sleep(0.01)
        (await worker.reserve(row("third"), [Need(TEAM, 10, 10)])).settle({TEAM.id: 5}, row("third"))
        await worker.stop()

    asyncio.run(asyncio.wait_for(run(), 40))
    (window,) = store.open_windows([TEAM]).values()
    assert (window.reserved, window.spent) == (0, 5)
    assert store.check() == []
    database.close()


def test_a_full_disk_refuses_with_its_reason_and_what_has_ended_is_settled_when_there_is_room(tmp_path: Path) -> None:
    database = HubDatabase("sqlite", str(tmp_path / "hub.sqlite3"))
    store = database.migrated()
    worker = new_worker(database.store(), tmp_path / "locks")

    def pages(most: int) -> Callable[[HubStore], object]:
        return lambda used: used._connection.execute(f"PRAGMA max_page_count = {most}").fetchall()

    ended: list[str] = []

    async def fill() -> None:
        for number in range(TEAM.limit):
            reservation = await worker.reserve(row(f"a{number}"), [Need(TEAM, 1, 1)])
            reservation.settle({TEAM.id: 1}, row(f"a{number}"))
            ended.append(f"a{number}")

    async def run() -> None:
        await worker.start()
        await worker.use_store(pages(1))  # as many as there are
        with pytest.raises(BudgetsUnreachableError, match="disk is full"):
            await fill()
        assert worker.waiting_rows
        await worker.use_store(pages(2**30))
        await worker.stop()

    asyncio.run(asyncio.wait_for(run(), 40))
    (window,) = store.open_windows([TEAM]).values()
    assert (window.reserved, window.spent) == (0, len(ended))
    assert store.check() == []
    database.close()
