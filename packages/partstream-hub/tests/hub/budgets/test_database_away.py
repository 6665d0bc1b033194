"""A database that is stopped and comes back: answers go on while leases last, and nothing is lost."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path

from hub.budgets.crowd import QUICK, TEAM, Crowd, Observer, new_worker, row
from hub.budgets.test_workers import charges_in_ledger
from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from interop.servers.postgres import PostgresServer
from partstream_hub.amounts import BudgetsUnreachableError, Need


def test_a_postgres_that_is_stopped_loses_nothing_and_refuses_nobody_with_a_lease(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    database = HubDatabase("postgres", own_postgres.address())
    store = database.migrated()
    note_overshoots(database)
    settings = replace(QUICK, wait_seconds=0.3)  # the one answer that is refused waits as long
    workers = [new_worker(database.store(), tmp_path / "journals", settings, 2.0 * number) for number in range(3)]
    observer = Observer(TEAM.limit)
    crowd = Crowd(observer, random.Random(1), most=8)  # noqa: S311
    told: list[BaseException] = []

    async def refused() -> None:
        try:
            await workers[0].reserve(row("too-much"), [Need(TEAM, TEAM.limit, TEAM.limit // 2)])
        except BudgetsUnreachableError as error:
            told.append(error)

    async def run() -> None:
        for worker in workers:
            await worker.start()
        everything = [
            await worker.reserve(row(f"first-{worker.name}"), [Need(TEAM, 1_500, 1_500)]) for worker in workers
        ]
        await asyncio.to_thread(own_postgres.stop)
        for reservation in everything:  # what they leave is free in the leases
            reservation.settle({TEAM.id: 0}, row(reservation.answer.answer_id))
        await asyncio.gather(crowd.run(300, workers, 0.1), refused())
        assert not any(worker.is_connected for worker in workers)
        assert sum(worker.waiting_rows for worker in workers) == 303
        await asyncio.to_thread(own_postgres.start)
        await crowd.run(30, workers, 0.1)
        while not all(worker.is_connected for worker in workers):
            await asyncio.sleep(0.01)
        for worker in workers:
            await worker.close()

    asyncio.run(asyncio.wait_for(run(), 40))
    assert observer.refused == []
    assert len(told) == 1
    charged = charges_in_ledger(store)
    assert {answer_id: charge for answer_id, charge in charged.items() if answer_id in observer.admitted} == (
        observer.admitted
    )
    assert len(charged) == 333
    assert overshoots(store) == []
    assert store.check() == []
    (window,) = store.open_windows([TEAM]).values()
    assert (window.leased, window.spent, window.overrun) == (0, observer.charged, 0)
    assert not list((tmp_path / "journals").iterdir())
    database.close()
