"""Kept requests and answers are deleted when the policy of their team says so, on both databases."""

import asyncio

import pytest

from hub.stores import HubDatabase, settle
from partstream_hub.app import Retention, forget_old
from partstream_hub.directory import AuditLevel, Person, Policy, Remove, Team
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import AnswerContent, LedgerRow, StoreUnreachableError

DAY = 86_400.0
NOW = 1_700_000_000.0
PEOPLE = {"ana": "short", "ben": "long", "cy": None, "di": "long"}
AGES = (2, 8, 29, 31, 91)
"""Days."""


@pytest.fixture
def store(hub_database: HubDatabase) -> HubStore:
    """A hub with what was kept of four people, one of whom is gone."""
    store = hub_database.migrated(lambda: NOW)
    teams = [Team(name, policy=Policy(AuditLevel.CONTENT, days)) for name, days in (("short", 7), ("long", 90))]
    people = [Person(name, team) for name, team in PEOPLE.items()]
    store.change([*teams, *people], "tests")
    store.heartbeat("w1")
    for name, team in PEOPLE.items():
        times = {f"{name}-{days}": NOW - days * DAY for days in AGES}
        rows = [LedgerRow(answer, time, "k1", name, team, "m") for answer, time in times.items()]
        kept = [AnswerContent(answer, time, name, "request", "answer") for answer, time in times.items()]
        settle(store, "w1", rows, kept)
    store.change([Remove("person", "di")], "tests")
    return store


def _kept(store: HubStore) -> dict[str, list[int]]:
    rows = store.read("SELECT answer_id FROM hub_contents")
    return {name: sorted(int(answer.split("-")[1]) for (answer,) in rows if answer.startswith(name)) for name in PEOPLE}


def test_each_team_has_its_texts_deleted_after_its_own_days(store: HubStore) -> None:
    assert forget_old(store) == 4 + 1 + 2 + 2
    assert _kept(store) == {"ana": [2], "ben": [2, 8, 29, 31], "cy": [2, 8, 29], "di": [2, 8, 29]}
    assert forget_old(store) == 0
    ((rows,),) = store.read("SELECT COUNT(*) FROM hub_ledger")
    assert rows == len(PEOPLE) * len(AGES)  # what was spent stays


def test_a_worker_deletes_them_again_and_again_also_after_the_database_was_away(store: HubStore) -> None:
    async def test() -> None:
        looks = 0
        done = asyncio.Event()

        async def use_store(action):
            nonlocal looks
            looks += 1
            if looks == 1:
                raise StoreUnreachableError("stopped", 1.0)
            forgotten = action(store)
            if looks == 3:
                done.set()
            return forgotten

        retention = Retention(use_store, pause=0.001)
        await retention.start()
        async with asyncio.timeout(10):
            await done.wait()
        await retention.stop()

    asyncio.run(test())
    assert _kept(store)["ana"] == [2]
