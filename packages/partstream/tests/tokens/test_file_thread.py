"""The thread of a ledger's file: what was submitted is done, and the file is closed, even where a caller forgets to."""

import asyncio
import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from partstream.tokens.ledger_file import KEEP_SAMPLE, READ_SAMPLES, FileThread, LedgerFile

NAME = "partstream-file-thread-of-a-test"
LONGEST = 30.0


class Owner:
    """Uses a ledger's file, and closes it or not."""

    def __init__(self, path: Path) -> None:
        self.file = LedgerFile(path)
        self.thread = FileThread(self, self.file, NAME)
        self.thread.submit(self.file.write, [(KEEP_SAMPLE, [("family", 1.5, 1.0)])])


def samples(path: Path) -> list[tuple[object, ...]]:
    file = LedgerFile(path)
    try:
        return file.read(READ_SAMPLES, ("family", 10))
    finally:
        file.close()


def threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith((NAME, "partstream-close"))]


def wait_for_threads() -> None:
    for one in threads():
        one.join(LONGEST)
    assert threads() == []


def test_what_was_submitted_is_done_before_the_file_is_closed_and_nothing_after(tmp_path: Path):
    owner = Owner(tmp_path / "ledger")
    assert owner.thread.is_open
    owner.thread.close()
    assert not owner.thread.is_open
    owner.thread.close()
    wait_for_threads()
    assert samples(tmp_path / "ledger") == [(1.5, 1.0)]


def test_a_file_whose_owner_is_gone_is_closed(tmp_path: Path):
    Owner(tmp_path / "ledger")
    gc.collect()
    wait_for_threads()
    assert samples(tmp_path / "ledger") == [(1.5, 1.0)]


FORGOTTEN = {
    "at the end of the interpreter": "",
    "in the middle of a submit": """
with executors._global_shutdown_lock:  # as submit() of every executor holds it
    del owner
    gc.collect()
""",
}


@pytest.mark.parametrize("forgotten", FORGOTTEN.values(), ids=FORGOTTEN)
def test_an_owner_that_is_forgotten_holds_nobody_up_and_its_file_is_closed(tmp_path: Path, forgotten: str):
    code = f"""
import asyncio
import gc
import sys
from concurrent.futures import thread as executors
from pathlib import Path
sys.path[:0] = {sys.path!r}
from tokens.test_file_thread import Owner
owner = Owner(Path(sys.argv[1]))
{forgotten}
"""
    path = tmp_path / "ledger"
    command = [sys.executable, "-W", "error", "-c", code, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [one.name for one in tmp_path.iterdir()] == ["ledger"]
    assert samples(path) == [(1.5, 1.0)]


class Batches:
    """Notes what its thread does."""

    def __init__(self, path: Path) -> None:
        self.done: list[str] = []
        done = self.done
        self.thread = FileThread(self, LedgerFile(path), NAME, lambda: done.append("write"))

    def read(self) -> None:
        """Waits for a read."""
        self.thread.submit(self.done.append, "read").result(LONGEST)


def test_rows_wait_for_others_also_the_first_ones_and_a_read_comes_after_them(tmp_path: Path):
    batches = Batches(tmp_path / "ledger")

    async def three_answers() -> None:
        batches.thread.write_soon()
        batches.thread._executor.submit(int).result(LONGEST)  # what the thread was given before is done
        assert batches.done == []
        batches.read()
        for _ in range(3):
            batches.thread.write_soon()
        assert batches.done == ["write", "read"]
        batches.read()
        batches.read()

    asyncio.run(three_answers())
    assert batches.done == ["write", "read", "write", "read", "read"]
    batches.thread.close()
    wait_for_threads()


def test_rows_that_are_too_many_to_wait_are_written_at_once(tmp_path: Path):
    batches = Batches(tmp_path / "ledger")

    async def answers() -> None:
        batches.thread.write_soon()
        batches.read()
        batches.thread.write_soon()
        batches.thread.write_soon(is_full=True)
        batches.read()

    asyncio.run(answers())
    assert batches.done == ["write", "read", "write", "read"]
    batches.thread.close()
    wait_for_threads()


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "garbage"])
def test_rows_that_wait_when_their_event_loop_ends_are_written_at_the_end(tmp_path: Path, *, closes: bool):
    batches = Batches(tmp_path / "ledger")
    done = batches.done

    async def answer(thread: FileThread) -> None:
        thread.write_soon()
        thread.submit(done.append, "read").result(LONGEST)
        thread.write_soon()

    asyncio.run(answer(batches.thread))
    assert done == ["write", "read"]
    if closes:
        batches.thread.close()
    del batches
    gc.collect()
    wait_for_threads()
    assert done == ["write", "read", "write"]
