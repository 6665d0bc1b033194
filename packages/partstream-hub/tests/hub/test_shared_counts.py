"""The shared ledger: what the upstream of one worker reports, the other workers know after an exchange."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hub.stores import HubDatabase
from partstream import Usage
from partstream.server.demo_provider import DemoProvider
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import Ledger, open_ledger
from partstream.tokens.records import Sample
from partstream.upstream.requests import RefusedFields
from partstream_hub.app import SharedCounts, UseStore, hub_app
from partstream_hub.budgets import WorkerSettings
from partstream_hub.hub import HubSettings
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import LearnedRow, StoreUnreachableError
from tokens.ledgers import MODEL, answer, expect


def through(store: HubStore) -> UseStore:
    """The database without a thread: a test waits for it anyhow."""

    async def use(action: Callable) -> object:
        return action(store)

    return use


class Worker:
    """One worker, as far as it counts tokens."""

    def __init__(self, database: HubDatabase, folder: Path | None = None) -> None:
        self.ledger = Ledger() if folder is None else open_ledger(folder)
        self.accounting = TokenAccounting("upstream", self.ledger)
        self.refused = RefusedFields("upstream", self.ledger)
        self.shared = SharedCounts(self.ledger, through(database.migrated()))
        self.ledger.tell = self.shared.note


async def exchange(*workers: Worker) -> None:
    for worker in workers:
        while await worker.shared.exchange():
            pass


@pytest.fixture(params=["in memory", "in files"])
def workers(hub_database: HubDatabase, tmp_path: Path, request: pytest.FixtureRequest) -> list[Worker]:
    """Two workers, each with a ledger of its own."""
    folders = [None, None] if request.param == "in memory" else [tmp_path / "one", tmp_path / "two"]
    found = [Worker(hub_database, folder) for folder in folders]
    request.addfinalizer(lambda: [worker.ledger.close() for worker in found])  # noqa: PT021
    return found


def test_another_worker_knows_exactly_what_an_upstream_has_reported(workers: list[Worker]) -> None:
    first, second = workers
    answer(first.accounting, 777)
    assert expect(second.accounting).total.tokens != 777
    asyncio.run(exchange(first, second))
    estimate = expect(second.accounting)
    assert (estimate.total.tokens, estimate.reported_messages) == (777, 2)


def test_both_count_what_is_new_alike_after_either_has_learned(workers: list[Worker]) -> None:
    first, second = workers
    for number in range(6):
        answer(first.accounting, 900 + 400 * number, *("Something else again. " * 40 for _ in range(number)))
        answer(second.accounting, 1_300 + 500 * number, *("A word of another. " * 50 for _ in range(number + 1)))
        asyncio.run(exchange(first, second, first))
    new = "This was never asked before, and never reported. " * 30
    assert expect(first.accounting, new).total == expect(second.accounting, new).total
    assert first.ledger.samples(MODEL.family) == second.ledger.samples(MODEL.family) != ()


def test_limits_and_refused_fields_are_shared_and_a_wrong_limit_is_forgotten_by_all(workers: list[Worker]) -> None:
    first, second = workers
    first.accounting.overflowed(expect(first.accounting), limit=5_000, actual=None)
    assert second.refused.of("m") == frozenset()
    first.refused.keep("m", frozenset({"temperature", "seed=7"}))
    asyncio.run(exchange(first, second))
    assert second.accounting.learned_limits().get(MODEL.id) == 5_000
    assert not second.accounting.has_learned_limit(MODEL)  # not from its own upstream
    assert second.refused.of("m") == {"temperature"}  # a value may be a person's own
    assert second.accounting.took(MODEL, 6_000)
    asyncio.run(exchange(second, first))
    assert first.accounting.learned_limits().get(MODEL.id) is None
    assert second.accounting.learned_limits().get(MODEL.id) is None


def test_a_worker_that_starts_later_learns_all_of_before(hub_database: HubDatabase) -> None:
    first = Worker(hub_database)
    texts = [f"question {number} of many " * 20 for number in range(30)]
    for number in range(len(texts)):
        answer(first.accounting, 1_000 + 150 * number, *texts[: number + 1])
        asyncio.run(exchange(first))
    late = Worker(hub_database)
    asyncio.run(exchange(late))
    assert expect(late.accounting, *texts).total.tokens == 1_000 + 150 * 29
    assert expect(late.accounting, *texts[:10]).total.tokens == 1_000 + 150 * 9


def test_pages_of_what_is_new_leave_nothing_out(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    for number in range(25):
        rows = [LearnedRow(f"{number}-{one}", "count", "scope", "[]") for one in range(number % 4 + 1)]
        store.exchange_learned("w1", rows, 0)
    found, since = [], 0
    while True:
        batch = store.exchange_learned("w2", (), since, most=5)
        found += [row.key for row in batch.rows]
        since = batch.batch
        if not batch.has_more:
            break
    assert len(found) == len(set(found)) == sum(number % 4 + 1 for number in range(25))
    assert store.exchange_learned("w2", (), since).rows == ()
    assert store.exchange_learned("w1", (), 0).rows == ()  # a worker is not told what it has told


def test_a_series_keeps_the_newest_and_all_workers_read_it_in_one_order(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    for number in range(20):
        store.exchange_learned("w1", [LearnedRow(f"{number:012}-w1", "sample", "gpt", f"[{number}]")], 0)
    batch = store.exchange_learned("w1", (), 0)
    assert [row.value for row in batch.series["gpt"]] == [f"[{number}]" for number in range(8, 20)]


def test_while_the_database_is_away_facts_wait_in_bounded_memory(
    workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = workers
    reachable = first.shared._use_store

    async def away(_action: object) -> None:
        raise StoreUnreachableError("a test", 1.0)

    first.shared._use_store = away
    answer(first.accounting, 777)
    with pytest.raises(StoreUnreachableError):
        asyncio.run(first.shared.exchange())
    monkeypatch.setattr("partstream_hub.app._MOST_WAITING", 50)
    for number in range(200):
        first.ledger.keep_sample(f"family {number}", Sample(1.5, 500.0))
    with pytest.raises(StoreUnreachableError):
        asyncio.run(first.shared.exchange())
    assert len(first.shared._waiting) == 50
    first.shared._use_store = reachable
    asyncio.run(exchange(first, second))
    assert second.ledger.samples("family 199") == (Sample(1.5, 500.0),)
    assert second.ledger.samples("family 0") == ()


@pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)  # what is read is the same from either
@pytest.mark.parametrize(
    "row",
    [
        LearnedRow("k1", "count", "scope", "[]"),
        LearnedRow("k1", "count", "scope", '["AAAA", {"version": "1", "counted": 1e999, "source": "counted"}]'),
        LearnedRow("k1", "count", "scope", '["AAAA", {"version": "1", "counted": 5, "source": "a wish"}]'),
        LearnedRow("k1", "count", "scope", '["00", "1", 5, "counted", 5, true, null]'),  # of an older version
        LearnedRow("k1", "total", "scope", '["AAAA", {"tools": "AA==", "tools_tokens": -1, "reported": 5}]'),
        LearnedRow("k1", "limit", "upstream", '["m", {"tokens": 10000000000000000000, "learned": 5}]'),
        LearnedRow("k1", "limit", "upstream", '["m", {"tokens": 5}]'),
        LearnedRow("k1", "refusal", "upstream", "{}"),
        LearnedRow("k1", "of a newer version", "upstream", "[1]"),
        LearnedRow("k1", "sample", "gpt", "[NaN"),
        LearnedRow("k1", "sample", "gpt", '[{"ratio": -1, "weight": 500}]'),
        LearnedRow("k1", "sample", "gpt", '[{"ratio": 4, "weight": 500}]'),
    ],
)
def test_what_cannot_be_is_left_out(hub_database: HubDatabase, row: LearnedRow) -> None:
    hub_database.migrated().exchange_learned("w1", [row], 0)
    worker = Worker(hub_database)
    asyncio.run(exchange(worker))
    assert worker.ledger.samples("gpt") == ()
    assert worker.accounting.learned_limits() == {}


def test_it_runs_beside_the_answers_and_ends(workers: list[Worker]) -> None:
    first, second = workers

    async def run() -> None:
        heard = asyncio.Event()
        second.ledger.did_learn.event(lambda _: heard.set())
        shared = [SharedCounts(worker.ledger, worker.shared._use_store, seconds=0.01) for worker in workers]
        for one in shared:
            await one.start()
        answer(first.accounting, 777)
        async with asyncio.timeout(10):
            await heard.wait()
        for one in shared:
            await one.stop()
        assert first.ledger.tell is None

    asyncio.run(run())
    assert expect(second.accounting).total.tokens == 777


def test_an_answer_without_input_tokens_tells_nothing(workers: list[Worker]) -> None:
    first, _ = workers
    first.accounting.answered(expect(first.accounting), Usage(output_tokens=5))
    assert first.shared._waiting == {}


def test_the_workers_of_a_hub_share_what_their_providers_learn(
    hub_database: HubDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partstream_hub.app._SECONDS", 0.02)
    hub_database.migrated()
    ledgers = [Ledger(), Ledger()]
    settings = HubSettings(locks=tmp_path / "locks", worker=WorkerSettings(heartbeat_seconds=0.05))
    lives = [
        hub_app(DemoProvider(), hub_database.store(), replace(settings, token_ledger=ledger)) for ledger in ledgers
    ]

    async def run() -> None:
        heard = asyncio.Event()
        ledgers[1].did_learn.event(lambda _: heard.set())
        for life in lives:
            await life.start()
        answer(TokenAccounting("upstream", ledgers[0]), 777)
        async with asyncio.timeout(20):
            await heard.wait()
        for life in reversed(lives):
            await life.stop()

    asyncio.run(run())
    assert expect(TokenAccounting("upstream", ledgers[1])).total.tokens == 777
