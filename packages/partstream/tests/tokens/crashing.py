"""Processes that use a ledger and come to harm; run as a script by the tests: `crashing.py WHAT FOLDER [NUMBER]`."""

import logging
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from partstream import Usage
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import open_ledger
from tokens.ledgers import expect, settle


def kill(folder: Path, times: int) -> None:
    """Forks a process that answers and answers, kills it in the middle of it, and does so again.

    Prints how many answers were surely written: those that a process saw written before it was killed.
    """
    written = 0
    chance = random.Random(1)  # noqa: S311 - the same every time
    for number in range(times):
        ours, theirs = os.pipe()
        process = os.fork()
        if process == 0:
            _answer_for_ever(folder, number, theirs)
        os.close(theirs)
        assert os.read(ours, 1) == b"."  # it has answered once, or has died, which closes the pipe
        time.sleep(chance.random() * 0.01)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        written += 1
        while dots := os.read(ours, 4096):
            written += len(dots)
        os.close(ours)
    print(written)  # noqa: T201


def _answer_for_ever(folder: Path, number: int, written: int) -> None:
    """Answers, and writes a dot for each answer that is surely in the file: one byte is there or is not."""
    try:
        accounting = TokenAccounting("upstream", open_ledger(folder))
        for turn in range(1_000_000):
            _answer(accounting, f"{number} {turn}")
            settle(accounting)
            os.write(written, b".")
    finally:
        os._exit(1)


def _answer(accounting: TokenAccounting, text: str) -> int:
    """One answer; gives back what was expected of the request, which is never 0."""
    estimate = expect(accounting, text)
    accounting.answered(estimate, Usage(input_tokens=500, output_tokens=3))
    return estimate.total.tokens


def write(folder: Path, answers: int) -> None:
    """Answers as fast as it can."""
    accounting = TokenAccounting("upstream", open_ledger(folder))
    for turn in range(answers):
        _answer(accounting, f"{os.getpid()} {turn}")
        settle(accounting)
    accounting.close()


def fill(folder: Path, most_bytes: int) -> None:
    """Answers while no file may become larger than `most_bytes`; what is known stays known all the time."""
    sys.dont_write_bytecode = True  # it would be cut as well, and kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    fill_up(folder)


def fill_up(folder: Path) -> None:
    """Answers until long after the disk is full."""
    accounting = TokenAccounting("upstream", open_ledger(folder))
    for turn in range(400):
        _answer(accounting, f"{turn} " * 20)
        estimate = expect(accounting, f"{turn} " * 20)
        assert (estimate.total.tokens, estimate.reported_messages) == (500, 3)
    settle(accounting)
    assert accounting._ledger._file._unwritten, "the disk did not become full"
    accounting.close()


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")  # the library writes nothing by itself
    what, place, number = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if what == "kill":
        kill(place, number)
    elif what == "write":
        write(place, number)
    elif what == "fill":
        fill(place, number)
    elif what == "fill_up":
        fill_up(place)
