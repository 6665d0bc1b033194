"""Ledgers for tests: what an answer leaves in one, and what is in its file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from partstream import ChatMessage, LanguageModelChatInformation, Usage
from partstream.tokens.accounting import RequestEstimate, TokenAccounting
from partstream.tokens.ledger import LEDGER_NAME, open_ledger

MODEL = LanguageModelChatInformation("m", "M", "made-up", "1", 100_000, 1000)
CONVERSATION = [ChatMessage.system("Be brief. " * 100), ChatMessage.user("What is new? " * 20)]


@contextmanager
def accounting_in(folder: Path) -> Iterator[TokenAccounting]:
    """What a process with its ledger in `folder` has."""
    accounting = TokenAccounting("upstream", open_ledger(folder))
    try:
        yield accounting
    finally:
        accounting.close()


def expect(accounting: TokenAccounting, *more: str) -> RequestEstimate:
    """What the conversation is expected to take, with `more` messages behind it."""
    return accounting.estimate_request(MODEL, [*CONVERSATION, *(ChatMessage.user(text) for text in more)])


def answer(accounting: TokenAccounting, reported: int, *more: str) -> None:
    """One answer to the conversation."""
    accounting.answered(expect(accounting, *more), Usage(input_tokens=reported, output_tokens=7))


def settle(accounting: TokenAccounting) -> None:
    """Waits until the thread behind a ledger has done all that it was given."""
    thread = accounting._ledger._thread
    assert thread is not None
    thread.submit(int).result(10)


def rows_of(folder: Path, table: str) -> int:
    """How many rows a table holds, read without the code that is tested."""
    with closing(sqlite3.connect(folder / LEDGER_NAME)) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(count)


def integrity_of(folder: Path) -> str:
    """SQLite's verdict on the whole file."""
    with closing(sqlite3.connect(folder / LEDGER_NAME)) as connection:
        (found,) = connection.execute("PRAGMA integrity_check").fetchone()
    return str(found)
