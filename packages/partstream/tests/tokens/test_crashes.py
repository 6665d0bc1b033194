"""Harm that comes to a ledger: nothing is lost but the last answer, and no caller gets an error."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from partstream.tokens.ledger import LEDGER_NAME
from partstream.tokens.ledger_file import READ_USAGE, LedgerFile
from tokens.ledgers import accounting_in, answer, expect, integrity_of, rows_of, settle

SCRIPT = Path(__file__).with_name("crashing.py")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs the processes of POSIX")


def _start(what: str, folder: Path, number: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", str(SCRIPT), what, str(folder), str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    with process:
        try:
            output, errors = process.communicate(timeout=55)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    return output, errors


# ---- killed ----


@posix
def test_killed_200_times_in_the_middle_of_writing_nothing_is_lost_that_was_written(tmp_path: Path):
    output, errors = _ended(_start("kill", tmp_path, 200))
    assert errors == ""
    written = int(output)
    assert written >= 200
    assert written <= rows_of(tmp_path, "usage") <= written + 200  # the last answer of each process may be there
    assert rows_of(tmp_path, "totals") == rows_of(tmp_path, "usage")  # an answer is there whole or not at all
    assert integrity_of(tmp_path) == "ok"
    assert [path.name for path in tmp_path.iterdir() if "aside" in path.name] == []
    with accounting_in(tmp_path) as accounting:
        assert expect(accounting, "0 0").total.tokens == 500


# ---- several at once ----


@posix
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path):
    processes = [_start("write", tmp_path, 300) for _ in range(3)]
    for process in processes:
        assert _ended(process) == ("", "")
    assert rows_of(tmp_path, "usage") == rows_of(tmp_path, "totals") == 900
    assert integrity_of(tmp_path) == "ok"


def test_what_one_window_learned_the_next_one_knows_while_both_are_open(tmp_path: Path):
    with accounting_in(tmp_path) as one, accounting_in(tmp_path) as other:
        answer(one, 600)
        settle(one)
        assert expect(other).total.tokens == 600


def test_a_file_that_another_process_keeps_locked_holds_nobody_up_and_is_written_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with accounting_in(tmp_path) as accounting:
        answer(accounting, 600)
    with accounting_in(tmp_path) as accounting:
        with closing(sqlite3.connect(tmp_path / LEDGER_NAME, isolation_level=None)) as locking:
            locking.execute("PRAGMA locking_mode = EXCLUSIVE")
            locking.execute("BEGIN EXCLUSIVE")
            estimates = [expect(accounting, "0")]
            waiting = accounting._ledger._late
            estimates += [expect(accounting, str(number)) for number in range(1, 20)]
            assert accounting._ledger._late is waiting  # one wait, not twenty
            assert not waiting.done()
            assert all(estimate.total.tokens > 0 for estimate in estimates)
            answer(accounting, 600, "new")
            settle(accounting)
        answer(accounting, 601, "newer")
        settle(accounting)
        assert rows_of(tmp_path, "usage") == 3
    assert [record.levelname for record in caplog.records] == ["WARNING"]


# ---- full ----


@posix
def test_on_a_disk_that_is_full_it_works_in_memory(tmp_path: Path):
    """A file that may not grow is what a full disk looks like to SQLite."""
    output, errors = _ended(_start("fill", tmp_path, 128 * 1024))
    assert output == ""
    assert errors.count("\n") == 1
    assert "it cannot be used, so learned numbers stay in memory" in errors
    assert integrity_of(tmp_path) == "ok"


@posix
def test_a_disk_that_is_really_full_is_no_error_and_what_was_written_is_there(tmp_path: Path):
    mounted = ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", str(tmp_path)]
    may_mount = sys.platform == "linux" and os.geteuid() == 0
    if not may_mount or subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
        pytest.skip("a file system of a given size cannot be mounted here")
    try:
        _, errors = _ended(_start("fill_up", tmp_path))
        assert errors.count("\n") == 1
        assert "learned numbers stay in memory" in errors
        assert integrity_of(tmp_path) == "ok"
        with accounting_in(tmp_path) as accounting:
            assert expect(accounting, "0 " * 20).total.tokens == 500
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_once_there_is_space_again_what_was_kept_in_memory_is_written(tmp_path: Path):
    """A folder in the way of SQLite's log stands for the disk: it cannot be written, then it can."""
    file = LedgerFile(tmp_path / "missing" / LEDGER_NAME)
    (tmp_path / "missing").write_text("a file instead of the folder")
    keep = "INSERT INTO limits (upstream, model, tokens) VALUES (?, ?, ?)"
    assert not file.write([(keep, [("u", "m", 1)])])
    (tmp_path / "missing").unlink()
    file._rests_until = 0  # it looks again after a while
    assert file.write([(keep, [("u", "n", 2)])])
    assert file.read("SELECT model, tokens FROM limits ORDER BY model") == [("m", 1), ("n", 2)]
    file.close()


# ---- broken ----


def _ledger(folder: Path) -> bytes:
    """A file with something in it."""
    with accounting_in(folder) as accounting:
        for number in range(50):
            answer(accounting, 600, str(number))
    return (folder / LEDGER_NAME).read_bytes()


def _random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(50_000))  # noqa: S311 - the same every time


def _truncated(path: Path) -> None:
    path.write_bytes(_ledger(path.parent)[:5_000])


def _without_head(path: Path) -> None:
    path.write_bytes(bytes(100) + _ledger(path.parent)[100:])


def _other_application(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE counts (id INTEGER)")


def _older_version(path: Path) -> None:
    _ledger(path.parent)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")


def _no_text_in_its_schema(path: Path) -> None:
    path.write_bytes(_ledger(path.parent).replace(b"CREATE TABLE counts", b"CREATE \xffABLE counts"))


def _without_a_table(path: Path) -> None:
    _ledger(path.parent)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE totals")


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("precious")


def _empty(path: Path) -> None:
    path.touch()


def _strange_log(path: Path) -> None:
    _ledger(path.parent)
    path.with_name(f"{path.name}-wal").write_bytes(random.Random(2).randbytes(20_000))  # noqa: S311


BROKEN: dict[str, tuple[Callable[[Path], None], bool]] = {
    "random bytes": (_random_bytes, True),
    "cut in the middle": (_truncated, True),
    "without its head": (_without_head, True),
    "another application's": (_other_application, True),
    "an older version's": (_older_version, True),
    "without text in its schema": (_no_text_in_its_schema, True),
    "without a table": (_without_a_table, True),
    "a folder in its place": (_folder, True),
    "empty": (_empty, False),
    "with another program's log": (_strange_log, False),
}


@pytest.mark.parametrize(("broken", "is_put_aside"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_used_is_put_aside_and_begun_anew(
    broken: Callable[[Path], None], is_put_aside: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / LEDGER_NAME
    broken(path)
    for _ in range(2):  # and it is not put aside again
        with accounting_in(tmp_path) as accounting:
            assert 0 < expect(accounting).total.tokens < 10_000
            answer(accounting, 600)
        with accounting_in(tmp_path) as accounting:
            assert expect(accounting).total.tokens == 600
    assert [one.name for one in tmp_path.iterdir() if "aside" in one.name] == [
        f"{LEDGER_NAME}.aside-1" for _ in range(is_put_aside)
    ]
    assert len(caplog.records) == is_put_aside
    if broken is _folder:
        assert (tmp_path / f"{LEDGER_NAME}.aside-1" / "mine.txt").read_text() == "precious"


def test_of_files_that_were_put_aside_three_stay(tmp_path: Path):
    for number in range(6):
        (tmp_path / LEDGER_NAME).write_bytes(b"broken %d" % number * 500)
        with accounting_in(tmp_path) as accounting:
            answer(accounting, 600)
        assert rows_of(tmp_path, "usage") == 1
    assert len([path for path in tmp_path.iterdir() if "aside" in path.name]) == 3


def test_damage_anywhere_in_the_file_is_no_error(tmp_path: Path):
    content, chance = _ledger(tmp_path), random.Random(3)  # noqa: S311 - the same every time
    for _ in range(40):
        damaged = bytearray(content)
        start = chance.randrange(len(content))
        damaged[start : start + 300] = chance.randbytes(min(300, len(content) - start))
        (tmp_path / LEDGER_NAME).write_bytes(damaged)
        with accounting_in(tmp_path) as accounting:
            for number in range(0, 50, 7):
                assert expect(accounting, str(number)).total.tokens > 0
                answer(accounting, 600, str(number), "more")
            assert expect(accounting, "0", "more").total.tokens == 600


def test_a_window_whose_file_another_one_has_put_aside_goes_on_with_the_new_one(tmp_path: Path):
    path = tmp_path / LEDGER_NAME
    one, other = LedgerFile(path), LedgerFile(path)
    keep = "INSERT INTO limits (upstream, model, tokens) VALUES (?, ?, ?)"
    assert one.write([(keep, [("u", "m", 1)])])
    assert other.write([(keep, [("u", "n", 2)])])
    assert one._is_put_aside(ValueError("broken"))
    one.close()
    assert one.write([(keep, [("u", "o", 3)])])
    assert other._is_put_aside(ValueError("broken"))  # it looks at the file first
    other.close()
    assert other.write([(keep, [("u", "p", 4)])])
    assert [model for (model,) in one.read("SELECT model FROM limits")] == ["o", "p"]
    assert len([found for found in tmp_path.iterdir() if "aside" in found.name]) == 1
    one.close()
    other.close()


def test_who_is_late_to_find_a_broken_file_leaves_the_new_one_of_another_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / LEDGER_NAME
    path.write_bytes(b"broken" * 2000)
    one, other = LedgerFile(path), LedgerFile(path)
    keep = "INSERT INTO limits (upstream, model, tokens) VALUES (?, ?, ?)"
    put_aside = LedgerFile._is_put_aside

    def put_aside_late(self: LedgerFile, error: Exception) -> bool:
        if self is other:  # it has found the broken file, and meanwhile another process begins a new one
            monkeypatch.setattr(LedgerFile, "_is_put_aside", put_aside)
            assert one.write([(keep, [("u", "m", 1)])])
        return put_aside(self, error)

    monkeypatch.setattr(LedgerFile, "_is_put_aside", put_aside_late)
    assert other.write([(keep, [("u", "n", 2)])])
    assert one.write([(keep, [("u", "o", 3)])])
    assert [model for (model,) in other.read("SELECT model FROM limits")] == ["m", "n", "o"]
    one.close()
    other.close()
    assert [found.name for found in tmp_path.iterdir() if found.name != LEDGER_NAME] == [f"{LEDGER_NAME}.aside-1"]


@posix
def test_a_file_that_is_taken_away_while_it_is_open_is_begun_anew(tmp_path: Path):
    path = tmp_path / LEDGER_NAME
    keep = "INSERT INTO limits (upstream, model, tokens) VALUES (?, ?, ?)"
    with closing(LedgerFile(path)) as file:
        assert file.write([(keep, [("u", "m", 1)])])
        for found in list(tmp_path.iterdir()):
            found.unlink()
        assert file.write([(keep, [("u", "n", 2)])])
    with closing(LedgerFile(path)) as file:
        assert file.read("SELECT model FROM limits") == [("n",)]


def test_a_reader_that_opens_a_file_while_its_tables_are_made_leaves_it_in_its_place(tmp_path: Path):
    for number in range(40):
        path = tmp_path / str(number) / LEDGER_NAME
        path.parent.mkdir()
        path.touch(0o600)
        files = [LedgerFile(path) for _ in range(4)]
        both = Barrier(len(files))

        def opens(file: LedgerFile, both: Barrier = both) -> None:
            both.wait(10)
            file.read(READ_USAGE, (0.0,))
            file.close()

        with ThreadPoolExecutor(len(files)) as pool:
            list(pool.map(opens, files))
        assert not [one.name for one in path.parent.iterdir() if "aside" in one.name]


def test_a_place_where_nothing_can_be_made_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").touch()
    with accounting_in(tmp_path / "file" / "below") as accounting:
        answer(accounting, 600)
        assert expect(accounting).total.tokens == 600
    assert len(caplog.records) == 1


@posix
def test_a_folder_that_may_only_be_read_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    _ledger(tmp_path)
    tmp_path.chmod(0o500)
    try:
        with accounting_in(tmp_path) as accounting:
            answer(accounting, 600)
            assert expect(accounting).total.tokens == 600
    finally:
        tmp_path.chmod(0o700)
    assert len(caplog.records) <= 1


def test_usage_is_read_back_as_it_was_written(tmp_path: Path):
    with accounting_in(tmp_path) as accounting:
        answer(accounting, 600)
    file = LedgerFile(tmp_path / LEDGER_NAME)
    ((_, model, upstream, conversation, *numbers),) = file.read(READ_USAGE, (0,))
    assert (model, upstream, conversation, numbers) == ("m", "upstream", None, [600, 7, None, None, None])
    file.close()
