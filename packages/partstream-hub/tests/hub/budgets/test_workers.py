"""Several workers over one database, hundreds of answers at once: never over the limit, never refused without need."""

import asyncio
import json
import random
from pathlib import Path

from hub.budgets.crowd import TEAM, Crowd, Observer, new_worker
from hub.overshoots import note_overshoots, overshoots
from hub.stores import HubDatabase
from partstream_hub.store.store import HubStore


def charges_in_ledger(store: HubStore) -> dict[str, int]:
    """What each answer was charged in its one window; every answer once, because its id is the key."""
    rows = store.read("SELECT answer_id, charges FROM hub_ledger")
    assert len(rows) == len({answer_id for answer_id, _ in rows})
    return {answer_id: sum(json.loads(charges).values()) for answer_id, charges in rows}


def test_three_workers_share_a_budget_to_the_last_unit(hub_database: HubDatabase, tmp_path: Path) -> None:
    store = hub_database.migrated()
    note_overshoots(hub_database)
    workers = [new_worker(hub_database.store(), tmp_path / "journals", seconds_ahead=2.0 * n) for n in range(3)]
    observer = Observer(TEAM.limit)
    crowd = Crowd(observer, random.Random(1))  # noqa: S311

    async def run() -> None:
        for worker in workers:
            await worker.start()
        await crowd.run(200, workers, 0.2)
        victim = workers.pop()
        await asyncio.gather(crowd.run(120, [victim, *workers], 0.2), crowd.kill(victim, 0.1))
        for worker in workers:
            await worker.close()

    asyncio.run(run())
    assert observer.false_refusals == []
    assert observer.refused
    assert charges_in_ledger(store) == observer.admitted
    assert overshoots(store) == []
    assert store.check() == []
    (window,) = store.open_windows([TEAM]).values()
    assert (window.leased, window.spent, window.overrun) == (0, observer.charged + observer.live, 0)
    assert not list((tmp_path / "journals").iterdir())
