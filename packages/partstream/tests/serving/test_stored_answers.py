"""Stored answers: kept by their owner's name for a bounded time and size, and found after a restart."""

import asyncio
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from partstream.protocols.serve import StoredAnswer
from partstream.server import stored_answers
from partstream.server.requests import ChainTooLargeError, StoreFailedError
from partstream.server.stored_answers import SQLiteAnswers, StoreUnusableError

FRAMES = (b'event: a\ndata: {"n":0}\n\n', b'event: b\ndata: {"n":1}\n\n')


def answer(name: str, previous: str | None = None, frames: tuple[bytes, ...] | None = None) -> StoredAnswer:
    return StoredAnswer(name, previous, {"input": [name]}, {"id": name, "output": [f"said {name}"]}, frames)


def run(path: Path, use: Callable[[SQLiteAnswers], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
    """Opens the store, uses it and closes it, as a process does."""

    async def main() -> Any:
        store = SQLiteAnswers(path, **settings)
        try:
            return await use(store)
        finally:
            await store.close()

    return asyncio.run(main())


def test_an_answer_is_found_after_a_restart_with_its_frames(tmp_path: Path) -> None:
    path = tmp_path / "state" / "answers.sqlite"
    run(path, lambda store: store.save("ann", answer("r1", frames=FRAMES), ()))
    assert run(path, lambda store: store.chain("ann", "r1")) == (answer("r1"),)
    assert run(path, lambda store: store.frames("ann", "r1")) == FRAMES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_chain_is_read_from_its_oldest_answer(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        for name, previous in (("r1", None), ("r2", "r1"), ("r3", "r2"), ("other", "r1")):
            await store.save("", answer(name, previous), ())
        return await store.chain("", "r3")

    assert [one.id for one in run(tmp_path / "a", use)] == ["r1", "r2", "r3"]


def test_nobody_else_finds_or_deletes_an_answer(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        await store.save("ann", answer("r1", frames=FRAMES), ["i1"])
        await store.save("bob", answer("r2", "r1"), ())
        return [
            await store.chain("bob", "r1"),
            await store.frames("bob", "r1"),
            await store.answers_with("bob", ["i1"]),
            await store.delete("bob", "r1"),
            [one.id for one in await store.chain("bob", "r2")],  # not after another person's answer
            [one.id for one in await store.chain("ann", "r1")],
        ]

    assert run(tmp_path / "a", use) == [(), None, (), False, ["r2"], ["r1"]]


def test_items_lead_to_the_answers_that_have_them(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        await store.save("", answer("r1"), ["i1", "i2"])
        await store.save("", answer("r2"), ["i3"])
        return [one.id for one in await store.answers_with("", ["i1", "i2", "i3", "i4"])]

    assert run(tmp_path / "a", use) == ["r1", "r2"]


def test_what_is_deleted_is_gone_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    secret = StoredAnswer("r1", None, {"input": "the secret word"}, {"id": "r1"})

    async def use(store: SQLiteAnswers) -> Any:
        await store.save("", secret, ["i1"])
        return [await store.delete("", "r1"), await store.delete("", "r1"), await store.answers_with("", ["i1"])]

    assert run(path, use) == [True, False, ()]
    assert b"the secret word" not in path.read_bytes()


def test_an_answer_is_over_after_its_time_and_its_chain_lasts_as_long(tmp_path: Path) -> None:
    day = [0.0]

    async def use(store: SQLiteAnswers) -> Any:
        await store.save("", answer("r1"), ["i1"])
        day[0] = 20
        await store.save("", answer("r2", "r1"), ())
        await store.save("", answer("lonely"), ())
        day[0] = 40
        found = [[one.id for one in await store.chain("", "r2")], [one.id for one in await store.chain("", "lonely")]]
        day[0] = 50.1
        return [*found, await store.chain("", "r2"), await store.answers_with("", ["i1"])]

    now = lambda: day[0] * 86_400  # noqa: E731
    assert run(tmp_path / "a", use, now=now) == [["r1", "r2"], ["lonely"], (), ()]
    run(tmp_path / "a", lambda store: store.chain("", "r2"), now=now)  # opening deletes what is over
    assert b"said r1" not in (tmp_path / "a").read_bytes()


def test_the_oldest_answers_give_way_where_the_file_is_too_large(tmp_path: Path) -> None:
    second = [0.0]

    async def fill(store: SQLiteAnswers) -> None:
        for number in range(300):
            second[0] = float(number)
            row = StoredAnswer(f"r{number}", None, {"input": "x" * 4000}, {"id": f"r{number}"})
            await store.save("", row, ())

    async def look(store: SQLiteAnswers) -> list[bool]:
        return [bool(await store.chain("", f"r{number}")) for number in (0, 1, 299)]

    run(tmp_path / "a", fill, now=lambda: second[0], most_bytes=500_000)
    assert run(tmp_path / "a", look, now=lambda: second[0]) == [False, False, True]


def test_the_log_says_how_many_answers_went_before_their_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def fill(store: SQLiteAnswers) -> None:
        for number in range(40):
            await store.save("", StoredAnswer(f"r{number}", None, {"input": "x" * 20_000}, {}), ())

    run(tmp_path / "a", fill, most_bytes=500_000)
    with closing(sqlite3.connect(tmp_path / "a")) as connection:
        (left,) = connection.execute("SELECT count(*) FROM answers").fetchone()
    gone = [record.args[2] for record in caplog.records if "500,000 bytes" in record.getMessage()]  # type: ignore
    assert sum(gone) == 40 - left > 0


def test_the_log_says_that_by_the_clock_all_answers_are_over_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fill(store: SQLiteAnswers) -> None:
        for number in range(3):
            await store.save("", answer(f"r{number}"), ())

    run(tmp_path / "a", fill, now=lambda: 1_800_000_000.0)
    assert not caplog.records
    run(tmp_path / "a", lambda store: store.chain("", "r1"), now=lambda: 2_000_000_000.0)
    (said,) = caplog.messages
    assert said.endswith("all 3 answers are over by the clock of this machine (2033-05-18), and deleted")


def test_large_answers_never_make_the_file_much_larger_than_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / "a"

    async def use(store: SQLiteAnswers) -> list[bool]:
        for number in range(60):
            await store.save("", StoredAnswer(f"r{number}", None, {"input": "x" * 50_000}, {}), ())
        return [bool(await store.chain("", name)) for name in ("r0", "r59")]

    assert run(path, use, most_bytes=1_000_000) == [False, True]
    assert path.stat().st_size < 1_500_000


TAKES_ROOM: dict[str, tuple[StoredAnswer, list[str]]] = {
    "a large request": (StoredAnswer("", None, {"input": "x" * 40_000}, {}), []),
    "a large response": (StoredAnswer("", None, {}, {"output": "x" * 40_000}), []),
    "a long stream": (StoredAnswer("", None, {}, {}, tuple(os.urandom(100).hex().encode() for _ in range(300))), []),
    "many items": (StoredAnswer("", None, {}, {}), [f"item-{number}" for number in range(1000)]),
}


@pytest.mark.parametrize("name", TAKES_ROOM)
def test_who_fills_the_file_loses_his_own_answers_and_nobody_elses(tmp_path: Path, name: str) -> None:
    large, items = TAKES_ROOM[name]

    async def use(store: SQLiteAnswers) -> Any:
        await store.save("ana", answer("r1"), ["i1"])
        await store.save("ben", StoredAnswer("r1", None, {"input": "x" * 200_000}, {}), ["i1"])
        for number in range(60):
            await store.save("zoe", replace(large, id=f"r{number}"), [f"{number}-{one}" for one in items])
        return [
            [bool(await store.chain(owner, "r1")) for owner in ("ana", "ben", "zoe")],
            len(await store.answers_with("ana", ["i1"])),
            bool(await store.chain("zoe", "r59")),
        ]

    assert run(tmp_path / "a", use, most_bytes=1_000_000) == [[True, True, False], 1, True]


@pytest.mark.parametrize(
    "ask", [lambda store, owner: store.chain(owner, "r1"), lambda store, owner: store.save(owner, answer("r1"), ())]
)
def test_who_asks_for_much_waits_for_himself(tmp_path: Path, ask: Callable[[SQLiteAnswers, str], Any]) -> None:
    async def use(store: SQLiteAnswers) -> int:
        many = [asyncio.ensure_future(ask(store, "zoe")) for _ in range(300)]
        await asyncio.sleep(0)
        await ask(store, "ana")
        done = sum(one.done() for one in many)
        await asyncio.gather(*many)
        return done

    assert run(tmp_path / "a", use) < 100  # in the order of asking, it would be all 300


def test_who_reads_a_long_chain_again_and_again_holds_up_nobody_else(tmp_path: Path, monkeypatch: Any) -> None:
    may_end = threading.Event()

    def slowly(*row: Any) -> StoredAnswer:
        assert row[0] != "long" or may_end.wait(20)
        return StoredAnswer(*row)

    async def use(store: SQLiteAnswers) -> list[bool]:
        await store.save("zoe", answer("long"), ())
        await store.save("ana", answer("r1"), ())
        monkeypatch.setattr(stored_answers, "StoredAnswer", slowly)
        many = [asyncio.ensure_future(store.chain("zoe", "long")) for _ in range(5)]
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            assert [len(await store.chain("ana", "r1")) for _ in range(3)] == [1, 1, 1]
        done = [one.done() for one in many]
        may_end.set()
        await asyncio.gather(*many)
        return done

    try:
        assert run(tmp_path / "a", use) == [False] * 5
    finally:
        may_end.set()


def test_an_id_that_is_no_text_of_unicode_leads_to_nothing(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        await store.save("", answer("r1"), ["i\ud800"])
        broken = "r\ud800"
        found = [await store.chain("", broken), await store.frames("", broken), await store.answers_with("", [broken])]
        return [*found, await store.delete("", broken), len(await store.answers_with("", ["i\ud800"]))]

    assert run(tmp_path / "a", use) == [(), None, (), False, 1]


def test_items_of_too_many_or_too_large_answers_are_not_read_into_memory(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        for name in ("r1", "r2"):
            await store.save("", answer(name), [f"i of {name}"])
        assert len(await store.answers_with("", ["i of r1"])) == 1
        with pytest.raises(ChainTooLargeError, match="more than 60 bytes"):
            await store.answers_with("", ["i of r1", "i of r2"])
        with pytest.raises(ChainTooLargeError, match="names 10,001 items"):
            await store.answers_with("", [str(number) for number in range(10_001)])

    run(tmp_path / "a", use, chain_bytes=60)


def test_a_write_that_sqlite_takes_back_itself_is_named_and_the_next_one_works(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> int:
        with pytest.raises(StoreFailedError, match="the disk is full"):
            await store.save("", answer("r1"), ())
        await store.save("", answer("r2"), ())
        return len(await store.chain("", "r2"))

    path = tmp_path / "a"
    run(path, lambda store: store.close())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON answers WHEN new.id = 'r1'"
            " BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END"
        )
    connection.close()
    assert run(path, use) == 1


def test_a_chain_that_is_too_large_is_not_read_into_memory(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        await store.save("", answer("r1"), ())
        await store.save("", answer("r2", "r1"), ())
        assert len(await store.chain("", "r1")) == 1
        with pytest.raises(ChainTooLargeError, match="more than 60 bytes"):
            await store.chain("", "r2")

    run(tmp_path / "a", use, chain_bytes=60)


def test_two_processes_may_share_a_file(tmp_path: Path) -> None:
    async def use(store: SQLiteAnswers) -> Any:
        other = SQLiteAnswers(tmp_path / "a")
        try:
            await asyncio.gather(*(one.save("", answer(f"r{n}"), ()) for n in range(40) for one in (store, other)))
            return [len(await other.chain("", f"r{number}")) for number in range(40)]
        finally:
            await other.close()

    assert run(tmp_path / "a", use) == [1] * 40


@pytest.mark.parametrize("content", [b"no database, but a text that is longer than a hundred bytes " * 4, None])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(StoreUnusableError, match="expected a file for stored answers") as caught:
        SQLiteAnswers(path)
    assert caught.value.path == path


def test_the_database_of_another_program_is_refused_and_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusableError, match="got tables of another program"):
        SQLiteAnswers(path)
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_copy_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "a"

    async def use(store: SQLiteAnswers) -> None:
        await store.save("", answer("r1"), ())
        names = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
        assert names == {"a": 0o600, "a-shm": 0o600, "a-wal": 0o600}

    path.touch()
    path.chmod(0o646)
    run(path, use)
