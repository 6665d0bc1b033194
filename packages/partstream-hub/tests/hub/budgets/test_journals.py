"""Whatever kills a worker, and whatever is away when it ends: the journal has what the database does not have."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path

import pytest

from hub.budgets import journal_process
from hub.budgets.crowd import TEAM, abandon, new_worker, row
from hub.stores import HubDatabase
from partstream_hub import journal as journal_module
from partstream_hub.amounts import BudgetsUnreachableError, JournalError, Need, ReservationEndedError
from partstream_hub.journal import JournalFolder
from partstream_hub.leases import WorkerSettings
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Window

NEEDS = [Need(TEAM, 100, 100)]


def run(main: Coroutine[object, object, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await main

    asyncio.run(bounded())


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.01)


def window_of(store: HubStore) -> Window:
    return store.open_windows([TEAM])[TEAM.id]


def entered(store: HubStore) -> list[tuple[str, str, bool]]:
    return [
        (answer_id, outcome, bool(is_estimated))
        for answer_id, outcome, is_estimated in store.read(
            "SELECT answer_id, outcome, is_estimated FROM hub_ledger ORDER BY answer_id"
        )
    ]


@pytest.fixture
def database(tmp_path: Path) -> HubDatabase:
    return HubDatabase("sqlite", str(tmp_path / "hub.sqlite3"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journals"


def test_the_answers_of_a_killed_process_are_charged_once_and_the_rest_of_its_lease_is_free(
    database: HubDatabase, folder: Path
) -> None:
    store = database.migrated()
    command = [sys.executable, journal_process.__file__, database.address, str(folder)]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "admitted\n"
        assert window_of(store).leased >= 300

        async def adopt() -> None:
            worker = new_worker(database.store(), folder)
            await worker.start()
            assert entered(store) == []  # its worker lives
            process.kill()
            process.wait(10)
            await until(lambda: window_of(store).leased == 0)
            await worker.close()

        run(adopt())
    assert entered(store) == [("answer-0", "completed", False), ("answer-1", "lost", True), ("answer-2", "lost", True)]
    assert window_of(store).spent == 230
    assert store.check() == []
    assert not list(folder.iterdir())
    database.close()


def test_what_is_settled_twice_is_charged_once(database: HubDatabase, folder: Path) -> None:
    """The worker dies between the commit of the settlement and the removal from its journal."""
    store = database.migrated()

    async def main() -> None:
        worker = new_worker(database.store(), folder)
        await worker.start()
        reservation = await worker.reserve(row("a1"), NEEDS)
        worker._task.cancel()
        reservation.settle({TEAM.id: 40}, row("a1"))
        store.settle(worker.name, [one.row for one in worker._journal.rows(10)])
        await abandon(worker)
        other = new_worker(database.store(), folder)
        await other.start()
        await until(lambda: not list(folder.glob(f"{worker.name}*")))
        await other.close()

    run(main())
    assert (window_of(store).spent, window_of(store).leased) == (40, 0)
    assert store.check() == []
    database.close()


def test_an_end_without_the_database_leaves_the_journal_to_the_next_start(database: HubDatabase, folder: Path) -> None:
    store = database.migrated()
    engine = database.engine()

    async def main() -> None:
        worker = new_worker(database.store(), folder, WorkerSettings(heartbeat_seconds=0.05, stop_seconds=0.2))
        await worker.start()
        reservation = await worker.reserve(row("a1"), NEEDS)
        engine.run(lambda work: work.run("ALTER TABLE hub_ledger RENAME TO hub_ledger_away"))
        reservation.settle({TEAM.id: 40}, row("a1"))
        await worker.close()
        engine.run(lambda work: work.run("ALTER TABLE hub_ledger_away RENAME TO hub_ledger"))
        assert len(list(folder.glob("*.journal"))) == 1
        other = new_worker(database.store(), folder)
        await other.start()
        await until(lambda: not list(folder.glob(f"{worker.name}*")))
        await other.close()

    run(main())
    assert (window_of(store).spent, window_of(store).leased) == (40, 0)
    assert not list(folder.iterdir())
    database.close()


def test_no_answer_begins_while_the_journal_is_full(database: HubDatabase, folder: Path) -> None:
    database.migrated()

    async def main() -> None:
        worker = new_worker(database.store(), folder, WorkerSettings(heartbeat_seconds=0.05, journal_rows=2))
        await worker.start()
        first, _ = [await worker.reserve(row(f"a{number}"), NEEDS) for number in range(2)]
        with pytest.raises(BudgetsUnreachableError, match="full"):
            await worker.reserve(row("a3"), NEEDS)
        first.drop()
        (await worker.reserve(row("a4"), ())).settle({}, row("a4"))
        await worker.close()

    run(main())
    database.close()


def test_a_folder_that_cannot_be_used_is_named_at_the_start(database: HubDatabase, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="file"):
        run(new_worker(database.store(), tmp_path / "file").start())
    database.close()


def test_an_answer_that_cannot_be_written_down_is_not_begun_and_reserves_nothing(
    database: HubDatabase, folder: Path
) -> None:
    store = database.migrated()

    async def main() -> None:
        worker = new_worker(database.store(), folder)
        await worker.start()
        ended = await worker.reserve(row("a1"), NEEDS)
        worker._journal._loop_side.execute("PRAGMA query_only = ON")  # as on a disk that refuses
        with pytest.raises(BudgetsUnreachableError, match="cannot be written"):
            await worker.reserve(row("a2"), NEEDS)
        ended.settle({TEAM.id: 40}, row("a1"))
        assert worker.waiting_rows == 1
        worker._journal._loop_side.execute("PRAGMA query_only = OFF")
        await until(lambda: window_of(store).spent == 40)
        await worker.close()

    run(main())
    assert [answer_id for answer_id, *_ in entered(store)] == ["a1"]
    database.close()


def test_the_journal_of_another_database_is_left_alone(tmp_path: Path, folder: Path) -> None:
    old, new = (HubDatabase("sqlite", str(tmp_path / name)) for name in ("old.sqlite3", "new.sqlite3"))
    old.migrated()
    store = new.migrated()

    async def main() -> None:
        lost = new_worker(old.store(), folder)
        await lost.start()
        await lost.reserve(row("a1"), NEEDS)
        await abandon(lost)
        worker = new_worker(new.store(), folder)
        await worker.start()
        (await worker.reserve(row("a2"), NEEDS)).settle({TEAM.id: 1}, row("a2"))
        await until(lambda: window_of(store).spent == 1)
        await worker.close()

    run(main())
    assert [answer_id for answer_id, *_ in entered(store)] == ["a2"]
    assert len(list(folder.glob("*.journal"))) == 1
    old.close()
    new.close()


def test_after_a_crash_of_the_machine_what_the_journal_may_lack_counts_as_spent(
    database: HubDatabase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = database.migrated()

    async def main() -> None:
        lost = new_worker(database.store(), folder)
        await lost.start()
        await lost.reserve(row("a1"), NEEDS)
        await abandon(lost)
        held = window_of(store).leased
        monkeypatch.setattr(journal_module, "boot_of_machine", lambda: "after the crash")
        worker = new_worker(database.store(), folder)
        await worker.start()
        await until(lambda: window_of(store).leased == 0)
        assert window_of(store).spent == held
        await worker.close()

    run(main())
    assert store.check() == []
    database.close()


def test_a_journal_of_a_living_worker_is_adopted_by_nobody_and_its_name_is_taken(folder: Path) -> None:
    journals = JournalFolder(folder)
    own = journals.begin("w1")
    assert journals.abandoned(set()) is None
    with pytest.raises(JournalError):
        journals.begin("w1")
    own.close()
    found = journals.abandoned(set())
    assert found is not None
    assert found.journal.worker == "w1"
    assert journals.abandoned(set()) is None
    found.remove()
    assert not list(folder.iterdir())


def test_a_file_that_is_no_journal_is_put_aside(folder: Path) -> None:
    folder.mkdir()
    (folder / "w1.journal").write_bytes(b"no database at all" * 100)
    assert JournalFolder(folder).abandoned(set()) is None
    assert (folder / "w1.broken").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"answer_id": "a1", "charges": [], "of_a_later_version": 1}'])
def test_a_journal_with_a_row_that_cannot_be_read_is_put_aside_and_its_leases_count_as_spent(
    database: HubDatabase, folder: Path, text: str
) -> None:
    store = database.migrated()

    async def main() -> None:
        lost = new_worker(database.store(), folder)
        await lost.start()
        await lost.reserve(row("a1"), NEEDS)
        await abandon(lost)
        held = window_of(store).leased
        with closing(sqlite3.connect(folder / f"{lost.name}.journal")) as journal, journal:
            journal.execute("UPDATE answers SET row = ?", (text,))
        worker = new_worker(database.store(), folder)
        await worker.start()
        await until(lambda: window_of(store).leased == 0)
        assert window_of(store).spent == held
        await until((folder / f"{lost.name}.broken").exists)
        await worker.close()
        assert not list(folder.glob("*.journal"))

    run(main())
    assert store.check() == []
    database.close()


def test_a_reservation_ends_once(database: HubDatabase, folder: Path) -> None:
    store = database.migrated()

    async def main() -> None:
        worker = new_worker(database.store(), folder)
        await worker.start()
        reservation = await worker.reserve(row("a1"), NEEDS)
        assert reservation.top_up(TEAM, 20) or await worker.reserve(row("a2"), NEEDS)
        reservation.reduce(TEAM, 70)
        reservation.settle({TEAM.id: 10}, row("a1"))
        with pytest.raises(ReservationEndedError):
            reservation.settle({TEAM.id: 10}, row("a1"))
        reservation.drop()
        await until(lambda: window_of(store).spent == 10)
        await worker.close()

    run(main())
    database.close()


def test_a_client_that_leaves_while_it_waits_reserves_nothing(database: HubDatabase, folder: Path) -> None:
    store = database.migrated()

    async def main() -> None:
        worker = new_worker(database.store(), folder)
        await worker.start()
        everything = await worker.reserve(row("a1"), [Need(TEAM, TEAM.limit, 1)])
        waiting = asyncio.create_task(worker.reserve(row("a2"), NEEDS))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        everything.drop()
        await worker.close()

    run(main())
    assert window_of(store).spent == 0
    database.close()
