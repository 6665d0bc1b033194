"""Several workers over one database, hundreds of answers at once: never over the limit, never refused without need."""

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path

from hub.budgets.crowd import QUICK, TEAM, Crowd, Observer, new_worker, row, spent_refusals
from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from partstream_hub.directory import Need
from partstream_hub.store.store import HubStore


def charges_in_ledger(store: HubStore) -> dict[str, int]:
    """What each answer was charged in its one window; every answer once, because its id is the key."""
    rows = store.read("SELECT answer_id, charges FROM hub_ledger")
    return {answer_id: sum(json.loads(charges).values()) for answer_id, charges in rows}


def test_three_workers_share_a_budget_to_the_last_unit(hub_database: HubDatabase, tmp_path: Path) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    workers = [new_worker(hub_database.store(), tmp_path / "locks") for _ in range(3)]
    observer = Observer(TEAM.limit)
    crowd = Crowd(observer, random.Random(1))  # noqa: S311

    async def run() -> None:
        for worker in workers:
            await worker.start()
        await crowd.run(200, workers, 0.2)
        victim = workers.pop()
        await asyncio.gather(crowd.run(120, [victim, *workers], 0.2), crowd.kill(victim, 0.1))
        async with asyncio.timeout(20):
            while store.open_windows([TEAM])[TEAM.id].reserved:  # a worker of the machine finds the free lock
                await asyncio.sleep(0.01)
        assert observer.refused
        observer.refused.clear()
        while not observer.refused:  # one after the other, of each worker in turn, to the last unit
            workers.reverse()
            await crowd.answer(workers[0], 0.0)
        (window,) = store.open_windows([TEAM]).values()
        assert spent_refusals(observer)[0].need.least > window.free
        for worker in workers:
            await worker.stop()

    asyncio.run(asyncio.wait_for(run(), 50))
    charged = charges_in_ledger(store)
    assert observer.admitted.items() <= charged.items()
    # The worker was killed before these heard that they may ask.
    unheard = charged.keys() - observer.admitted.keys()
    assert unheard <= {
        answer_id for (answer_id,) in store.read("SELECT answer_id FROM hub_ledger WHERE outcome = 'lost'")
    }
    assert overshoots(store) == []
    assert store.check() == []
    (window,) = store.open_windows([TEAM]).values()
    assert (window.reserved, window.spent) == (0, sum(charged.values()))
    assert not list((tmp_path / "locks").iterdir())


def test_an_answer_that_begins_takes_rows_of_others_along_only_where_it_needs_their_room(
    hub_database: HubDatabase, tmp_path: Path
) -> None:
    store = hub_database.migrated()
    patient = replace(QUICK, batch_seconds=60.0)
    worker = new_worker(hub_database.store(), tmp_path / "locks", patient)
    small, all_of_it = Need(TEAM, 1_000, 1_000), Need(TEAM, TEAM.limit - 100, TEAM.limit - 100)

    async def run() -> None:
        await worker.start()
        for number in range(3):
            reserved = await worker.reserve(row(f"a{number}"), [small], is_whole=True)
            reserved.settle({TEAM.id: 10}, row(f"a{number}"))
        assert charges_in_ledger(store) == {}
        (await worker.reserve(row("b"), [all_of_it], is_whole=True)).drop()
        assert charges_in_ledger(store) == {f"a{number}": 10 for number in range(3)}
        await worker.stop()

    asyncio.run(asyncio.wait_for(run(), 30))
    assert store.check() == []
    (window,) = store.open_windows([TEAM]).values()
    assert (window.reserved, window.spent) == (0, 30)
