"""The journal of one worker: a local SQLite file of the answers that run, and of those whose rows are not uploaded yet.

An answer is entered before its provider is asked, with the row that is charged if nothing more becomes known: all that
is reserved, as an estimate. Its end replaces that row by the real one, and the upload removes it. So whatever kills the
worker, the journal holds the row of each answer that the database does not have.

A commit is in the file when the call returns, which survives the death of the process. It is not forced to the disk,
which would stop the event loop: after a crash of the machine the last moments may be missing, and `boot` tells whoever
adopts the journal that it may be so.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from partstream.codec.json_codec import dumps, loads
from partstream.hub.amounts import JournalError, UnreadableRowError
from partstream.hub.store.values import AnswerContent, Charge, LedgerRow
from partstream.write_ahead_log import closed_on_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["Journal", "JournalRow", "boot_of_machine"]

Result = TypeVar("Result")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS about (worker TEXT NOT NULL, boot TEXT NOT NULL, hub TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, answer_id TEXT NOT NULL UNIQUE, has_ended INTEGER NOT NULL, row TEXT NOT NULL,
    content TEXT
);
CREATE INDEX IF NOT EXISTS ended ON answers (number) WHERE has_ended;
"""
_BUSY: Final = 5.0
"""The seconds that the thread and the event loop wait for each other, who hold the file for a millisecond."""
_MOST_LOG: Final = 4 * 1024 * 1024
"""The bytes of the write-ahead log from which on it is moved into the file."""
_MOST_CONTENT: Final = 8 * 1024 * 1024
"""The bytes of requests and answers after which an upload takes no further row."""
_FIELDS: Final = {kind: tuple(field.name for field in fields(kind)) for kind in (LedgerRow, AnswerContent)}
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_of_machine() -> str:
    """What differs after the machine has started again; "" where the system does not say."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


class JournalRow(NamedTuple):
    """An answer as the journal has it.

    Attributes:
        row: Its row for the ledger.
        content: The request and the answer, if they are kept.
        content_bytes: The length of these.
    """

    row: LedgerRow
    content: AnswerContent | None
    content_bytes: int


class Journal:
    """The journal of one worker. The event loop writes, and the thread of the database uploads.

    Args:
        path: The file, which is made if there is none; None keeps the journal in memory, for simulations.
        worker: The name of the worker, for a new file.

    Attributes:
        worker: The name of the worker whose journal it is.
        hub: Which database its numbers of windows belong to; "" as long as none has been reached.
        is_whole: Whether nothing can be missing in it: the machine has not crashed since it was begun.
        answers: How many answers it holds.
        ended: How many of them have ended.
        content_bytes: The length of the requests and answers that are kept with them.

    Raises:
        JournalError: The file cannot be opened, or it is no journal.
    """

    def __init__(self, path: Path | None, worker: str = "") -> None:
        self._path = path
        self._loop_side = self._opened()
        with closed_on_error(self._loop_side):
            self._thread_side = self._loop_side if path is None else self._opened()
            with closed_on_error(self._thread_side):
                self._prepare(worker)

    def _prepare(self, worker: str) -> None:
        def prepare() -> tuple[Any, ...]:
            self._loop_side.executescript(_SCHEMA)
            about = self._loop_side.execute("SELECT worker, boot, hub FROM about").fetchone()
            if about is None:
                about = (worker, boot_of_machine(), "")
                self._loop_side.execute("INSERT INTO about VALUES (?, ?, ?)", about)
            counts = self._loop_side.execute(
                "SELECT count(*), coalesce(sum(has_ended), 0), coalesce(sum(length(content)), 0) FROM answers"
            ).fetchone()
            return (*about, *counts)

        self.worker: str
        self.hub: str
        self.answers: int
        self.ended: int
        self.content_bytes: int
        self.worker, boot, self.hub, self.answers, self.ended, self.content_bytes = self._tried(prepare)
        self.is_whole = boot == boot_of_machine()

    def belongs_to(self, hub: str) -> None:
        """Notes which database the numbers of windows belong to.

        Raises:
            JournalError: The file cannot be written.
        """
        self._tried(lambda: self._loop_side.execute("UPDATE about SET hub = ?", (hub,)))
        self.hub = hub

    def admitted(self, row: LedgerRow) -> None:
        """Enters an answer that begins, with the row that is charged if nothing more becomes known.

        Raises:
            JournalError: The disk is full, or the file cannot be written.
        """
        text = _text(row)
        self._tried(
            lambda: self._loop_side.execute(
                "INSERT INTO answers (answer_id, has_ended, row) VALUES (?, 0, ?)", (row.answer_id, text)
            )
        )
        self.answers += 1

    def changed(self, row: LedgerRow) -> None:
        """Replaces the row of an answer that runs: more is reserved for it.

        Raises:
            JournalError: As of :meth:`admitted`.
        """
        self._replace(row, has_ended=False)

    def completed(self, row: LedgerRow, content: AnswerContent | None = None) -> None:
        """Replaces the row of an answer by that of its end.

        Args:
            row: The row.
            content: The request and the answer, where they are kept.

        Raises:
            JournalError: As of :meth:`admitted`; the answer still stands there as one that runs.
        """
        text = None if content is None else _text(content)
        self._replace(row, has_ended=True, content=text)
        self.ended += 1
        self.content_bytes += len(text or "")

    def dropped(self, answer_id: str) -> None:
        """Removes an answer for which no provider was asked.

        Raises:
            JournalError: As of :meth:`admitted`.
        """
        self._tried(lambda: self._loop_side.execute("DELETE FROM answers WHERE answer_id = ?", (answer_id,)))
        self.answers -= 1

    def _replace(self, row: LedgerRow, *, has_ended: bool, content: str | None = None) -> None:
        values = (has_ended, _text(row), content, row.answer_id)
        statement = "UPDATE answers SET has_ended = ?, row = ?, content = ? WHERE answer_id = ?"
        self._tried(lambda: self._loop_side.execute(statement, values))

    # ---- in the thread of the database ----

    def rows(self, most: int, *, with_running: bool = False) -> list[JournalRow]:
        """The oldest rows that can be uploaded; fewer where long requests and answers are kept with them.

        Args:
            most: The most rows.
            with_running: Whether answers count that have not ended, because their worker is gone.

        Raises:
            JournalError: The file cannot be read.
            UnreadableRowError: It can, but not a row in it.
        """
        which = "" if with_running else "WHERE has_ended "
        question = f"SELECT row, content FROM answers {which}ORDER BY number"  # noqa: S608 - words of our own

        def read() -> list[JournalRow]:
            found: list[JournalRow] = []
            length = 0
            with closing(self._thread_side.execute(question)) as answers:
                for row, content in answers:
                    found.append(
                        JournalRow(_row(row), None if content is None else _content(content), len(content or ""))
                    )
                    length += found[-1].content_bytes
                    if len(found) == most or length > _MOST_CONTENT:
                        break
            return found

        try:
            return self._tried(read)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnreadableRowError(str(self._path), f"a row that cannot be read ({type(error).__name__})") from error

    def remove(self, answer_ids: Collection[str]) -> None:
        """Removes what the database has.

        Raises:
            JournalError: The file cannot be written; the rows stay and are uploaded again, which changes nothing.
        """

        def remove() -> None:
            with _transaction(self._thread_side):
                self._thread_side.executemany(
                    "DELETE FROM answers WHERE answer_id = ?", [(answer_id,) for answer_id in answer_ids]
                )

        self._tried(remove)

    def removed(self, count: int, content_bytes: int) -> None:
        """Counts rows that were removed; called by the event loop, which owns the counts."""
        self.answers -= count
        self.ended -= count
        self.content_bytes -= content_bytes

    def tidy(self) -> None:
        """Moves the write-ahead log into the file once it is long; the event loop never waits for that.

        Raises:
            JournalError: The disk refuses.
        """
        if self._path is None:
            return
        log = Path(f"{self._path}-wal")
        with suppress(OSError):
            if log.stat().st_size < _MOST_LOG:
                return
        self._tried(lambda: self._thread_side.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())

    def close(self) -> None:
        """Closes the file, which stays."""
        for connection in {self._loop_side, self._thread_side}:
            with suppress(sqlite3.Error):
                connection.close()

    # ---- the file ----

    def _opened(self) -> sqlite3.Connection:
        def opened() -> sqlite3.Connection:
            if self._path is None:
                return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            # SQLite must not create the file: it would give everybody the right to read it.
            # An existing file is not opened here: closing it would release this process's locks on it
            # (sqlite.org/howtocorrupt.html, 2.2).
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            address = f"{self._path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(
                address, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            with closed_on_error(connection):
                for setting in ("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 0"):
                    connection.execute(f"PRAGMA {setting}")
            return connection

        return self._tried(opened)

    def _tried(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except (sqlite3.Error, OSError) as error:
            raise JournalError(str(self._path), str(error)) from error


class _transaction:  # noqa: N801 - used like a function
    """A transaction that is committed, or rolled back on an error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _text(value: LedgerRow | AnswerContent) -> str:
    return dumps({name: getattr(value, name) for name in _FIELDS[type(value)]}).decode()


def _content(text: str) -> AnswerContent:
    return AnswerContent(**loads(text))


def _row(text: str) -> LedgerRow:
    values = loads(text)
    values["charges"] = tuple(Charge(*charge) for charge in values["charges"])
    return LedgerRow(**values)
