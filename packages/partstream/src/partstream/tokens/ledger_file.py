"""The ledger's SQLite file: its tables, its thread, and the rows of usage that are read from it.

`LedgerFile` belongs to one thread; other processes may use the same file at the same time. The file is opened when it
is needed, renamed if it is broken, and left alone if a newer version has written it. A problem with the file or its
folder never raises an error: reading then gives no rows, and rows to write are kept for the next time.

`FileThread` is that one thread, so that a slow disk delays no other. It writes in batches, because waking a thread and
ending a transaction for each answer takes a third of the processor time of a short answer. It writes what waits and
closes the file when its owner says so, when its owner is garbage, or when the interpreter ends; a crash loses the last
batch.
"""

from __future__ import annotations
import asyncio
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitTimeoutError
from contextlib import suppress
from datetime import date, datetime
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, as_amount, as_count, fields
from partstream.codec.system import (
    FileLock,
    LazyModule,
    close_to_others,
    closed_on_error,
    file_identity,
    open_private_database,
    transaction,
    use_write_ahead_log,
)
from partstream.tokens.records import AnswerRow, Completions, UsageRow

if TYPE_CHECKING:
    import sqlite3
else:
    sqlite3 = LazyModule("sqlite3")  # a megabyte

APPLICATION_ID: Final = 0x50535447
"""The mark in the header of the file that distinguishes it from other applications' files (`PRAGMA application_id`)."""

SCHEMA_VERSION: Final = 2
"""The version of the tables. A file of an older version is renamed: its contents are learned again in a few answers. A
file of a newer version is left alone, because two versions may be in use side by side."""

SCHEMA: Final = (
    # Digests are random, so row numbers would not help in these tables.
    """CREATE TABLE counts (
        digest BLOB, scope TEXT, version TEXT, counted REAL, source TEXT, reported REAL, is_alone INTEGER, size INTEGER,
        used INTEGER, PRIMARY KEY (digest, scope)
    ) WITHOUT ROWID""",
    """CREATE TABLE totals (
        digest BLOB, scope TEXT, tools BLOB, tools_tokens REAL, reported INTEGER, used INTEGER,
        PRIMARY KEY (digest, scope, tools)
    ) WITHOUT ROWID""",
    "CREATE TABLE samples (id INTEGER PRIMARY KEY, family TEXT, ratio REAL, weight REAL)",
    "CREATE INDEX samples_of_family ON samples (family)",
    """CREATE TABLE limits (
        upstream TEXT, model TEXT, tokens INTEGER, learned REAL, PRIMARY KEY (upstream, model)
    ) WITHOUT ROWID""",
    """CREATE TABLE usage (
        id INTEGER PRIMARY KEY, time REAL, model TEXT, upstream TEXT, conversation TEXT,
        input INTEGER, output INTEGER, cached INTEGER, reasoning INTEGER, cost REAL, process TEXT
    )""",
    "CREATE INDEX usage_by_time ON usage (time)",
)

ADDED_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS refusals (
        upstream TEXT, model TEXT, field TEXT, learned REAL, PRIMARY KEY (upstream, model, field)
    ) WITHOUT ROWID""",
    # What this machine served. Rows are only added, and deleted when they are old.
    """CREATE TABLE IF NOT EXISTS answers (
        id INTEGER PRIMARY KEY, time REAL, model TEXT, input INTEGER, output INTEGER, cached INTEGER,
        reasoning INTEGER, cost REAL, provider TEXT, wire TEXT, client TEXT, version TEXT, class TEXT, session TEXT,
        turn TEXT, kind TEXT, retry INTEGER, caller TEXT, request TEXT, status INTEGER, outcome TEXT, error TEXT,
        first_part REAL, duration REAL, bytes INTEGER, is_counted INTEGER, is_kept INTEGER
    )""",
    "CREATE INDEX IF NOT EXISTS answers_by_time ON answers (time)",
    "CREATE TABLE IF NOT EXISTS completions (day TEXT PRIMARY KEY, shown INTEGER, accepted INTEGER) WITHOUT ROWID",
)
"""Tables that a file of the same version may lack: they are added when it is opened, so that no file is renamed."""

CAPACITIES: Final[Mapping[str, tuple[int, str]]] = {
    "counts": (100_000, "used"),
    "totals": (20_000, "used"),
    "usage": (200_000, "time"),
    "refusals": (10_000, "learned"),
    "answers": (200_000, "time"),
    "completions": (4_000, "day"),
}
"""The most rows of each growing table, and the column that determines their age; together about 90 MB."""

MOST_PARAMETERS: Final = 900
"""The most parameters of a statement: SQLite before 3.32 allows 999 (`SQLITE_MAX_VARIABLE_NUMBER`)."""

READ_COUNTS: Final = (
    "SELECT digest, scope, version, counted, source, reported, is_alone, size, used FROM counts"
    " WHERE digest IN ({places})"
)
READ_TOTALS: Final = "SELECT digest, scope, tools, tools_tokens, reported, used FROM totals WHERE digest IN ({places})"
READ_SAMPLES: Final = "SELECT ratio, weight FROM samples WHERE family = ? ORDER BY id DESC LIMIT ?"
READ_LIMITS: Final = "SELECT model, tokens, learned FROM limits WHERE upstream = ?"
READ_REFUSALS: Final = "SELECT model, field, learned FROM refusals WHERE upstream = ?"
READ_ANSWERS: Final = (
    "SELECT time, model, input, output, cached, reasoning, cost, client, session, kind, retry, is_kept FROM answers"
    " WHERE time >= ? ORDER BY time"
)
READ_USAGE: Final = (
    "SELECT time, model, upstream, conversation, input, output, cached, reasoning, cost FROM usage"
    " WHERE time >= ? ORDER BY time"
)
READ_USAGE_OF_OTHERS: Final = (
    "SELECT id, time, model, upstream, conversation, input, output, cached, reasoning, cost FROM usage"
    " WHERE id > ? AND time >= ? AND process IS NOT ? ORDER BY id"
)
READ_COMPLETIONS: Final = "SELECT day, shown, accepted FROM completions WHERE day >= ?"
READ_LAST_USAGE: Final = "SELECT max(id) FROM usage"

# Another process may have written a report that this process does not know.
KEEP_COUNT: Final = (
    "INSERT INTO counts (digest, scope, version, counted, source, reported, is_alone, size, used)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (digest, scope) DO UPDATE SET version = excluded.version, counted = excluded.counted,"
    " source = excluded.source, size = excluded.size,"
    " is_alone = CASE WHEN excluded.reported IS NULL THEN is_alone ELSE excluded.is_alone END,"
    " reported = coalesce(excluded.reported, reported), used = excluded.used"
)
KEEP_TOTAL: Final = (
    "INSERT OR REPLACE INTO totals (digest, scope, tools, tools_tokens, reported, used) VALUES (?, ?, ?, ?, ?, ?)"
)
KEEP_SAMPLE: Final = "INSERT INTO samples (family, ratio, weight) VALUES (?, ?, ?)"
TRIM_SAMPLES: Final = (
    "DELETE FROM samples WHERE family = ? AND id NOT IN"
    " (SELECT id FROM samples WHERE family = ? ORDER BY id DESC LIMIT ?)"
)
KEEP_LIMIT: Final = "INSERT OR REPLACE INTO limits (upstream, model, tokens, learned) VALUES (?, ?, ?, ?)"
FORGET_LIMIT: Final = "DELETE FROM limits WHERE upstream = ? AND model = ?"
KEEP_REFUSAL: Final = "INSERT OR REPLACE INTO refusals (upstream, model, field, learned) VALUES (?, ?, ?, ?)"
KEEP_USAGE: Final = (
    "INSERT INTO usage (time, model, upstream, conversation, input, output, cached, reasoning, cost, process)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
KEEP_ANSWER: Final = (
    "INSERT INTO answers (time, model, input, output, cached, reasoning, cost, provider, wire, client, version, class,"
    " session, turn, kind, retry, caller, request, status, outcome, error, first_part, duration, bytes, is_counted,"
    " is_kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
COUNT_COMPLETIONS: Final = (
    "INSERT INTO completions (day, shown, accepted) VALUES (?, ?, ?) ON CONFLICT (day) DO UPDATE"
    " SET shown = shown + excluded.shown, accepted = accepted + excluded.accepted"
)
_FORGET_ANSWERS: Final = "DELETE FROM answers WHERE time < ?"
_ANSWER_SECONDS: Final = 400 * 86_400.0
"""How long an answer is kept: a year, and the month to compare with."""
CLEAR_ANSWERS: Final = "DELETE FROM answers"
CLEAR_COMPLETIONS: Final = "DELETE FROM completions"
CLEAR_USAGE: Final = "DELETE FROM usage"
CLEAR_USAGE_BEYOND: Final = "DELETE FROM usage WHERE id > ?"

TOUCH_COUNT: Final = "UPDATE counts SET used = ? WHERE digest = ?"
TOUCH_TOTAL: Final = "UPDATE totals SET used = ? WHERE digest = ?"

# Also deletes the rows at the border that have the same age, all of one day.
TRIM: Final = "DELETE FROM {table} WHERE {age} <= (SELECT {age} FROM {table} ORDER BY {age} LIMIT 1 OFFSET ?)"

_logger = logging.getLogger("partstream.tokens")

Statement = tuple[str, "Sequence[tuple[Any, ...]]"]
"""A statement in SQL, and the parameters of each of its executions."""

Result = TypeVar("Result")

_BUSY: Final = 1.0
"""The seconds to wait for another process, which normally holds the file for milliseconds."""

_REST: Final = 10.0
"""The seconds between two attempts to open a file that cannot be used."""

_PAUSE: Final = 0.05
"""The seconds that another process has to put a broken file aside, which takes it a millisecond."""

_KEPT: Final = 3
"""The most broken files that are kept under another name."""

_MOST_UNWRITTEN: Final = 20_000
"""The most rows that wait until the file can be written, beside those that are just written."""

_TRIMMED_EVERY: Final = 256
"""The number of writes between two checks of the size."""

_BROKEN: Final = frozenset({1, 11, 19, 26})
"""SQLite's error codes for a file with other content than ours: SQLITE_ERROR means a missing table or column,
SQLITE_CORRUPT, SQLITE_CONSTRAINT a rule or a trigger, of which our tables have none that our rows could break, and
SQLITE_NOTADB."""


def _unwritable() -> tuple[type[Exception], ...]:
    """The errors for a row with a value that SQLite cannot hold, such as an integer of more than 64 bits."""
    return ValueError, TypeError, OverflowError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError


_TOGETHER: Final = (32, 4)
"""The rows that one statement adds; those of the widest table stay below 999 values, the most of an old SQLite."""


def _execute_together(connection: sqlite3.Connection, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Runs a statement for rows. Where it only adds them, it adds several at once: with each execution the thread gives
    the interpreter up, and the event loop has to wait until it gets it back."""
    _, _, values = sql.partition(" VALUES ")
    at = 0
    if values and not values.strip("(?, )"):
        for size in _TOGETHER:
            several = ", ".join((sql, *[values] * (size - 1)))
            while len(rows) - at >= size:
                connection.execute(several, [*chain.from_iterable(rows[at : at + size])])
                at += size
    connection.executemany(sql, rows[at:])


class _ForeignFileError(Exception):
    """The file at the ledger's path is not a ledger of this version or of an older one."""


class _NewerFileError(Exception):
    """A newer version of Partstream has written the file."""


class LedgerFile:
    """The ledger's file, for the one thread that uses it, but for :meth:`add`; it and its folder are made when they are
    needed, for the user alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._rests_until = 0.0
        self._unwritten: deque[Statement] = deque()
        self._rows = self._lost = 0  # how many rows wait, and how many did in vain
        self._lock = Lock()
        self._writes = 0
        self._logged: set[str] = set()
        self._is_lenient = False

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; empty if the file cannot be read, or is not there: only a write makes it."""
        if self._connection is None and not os.path.lexists(self.path):
            return []
        return self._use(lambda connection: connection.execute(sql, parameters).fetchall()) or []

    def add(self, statements: Iterable[Statement]) -> int:
        """Has statements wait for the next :meth:`write`, in any thread and at once; returns how many wait. However
        slow or full the disk is, no more than :data:`_MOST_UNWRITTEN` rows do: the oldest go."""
        with self._lock:
            for statement in statements:
                self._unwritten.append(statement)
                self._rows += len(statement[1])
            while self._rows > _MOST_UNWRITTEN and len(self._unwritten) > 1:
                lost = len(self._unwritten.popleft()[1])
                self._rows, self._lost = self._rows - lost, self._lost + lost
            return len(self._unwritten)

    def write(self, statements: Iterable[Statement] = ()) -> bool:
        """Runs statements, after those that wait, in one transaction; returns whether it succeeded. If not, all go with
        the next write."""
        self.add(statements)
        with self._lock:
            taken, self._unwritten, self._rows = self._unwritten, deque(), 0
            lost, self._lost = self._lost, 0
        if lost:
            _logger.warning("%d rows are lost: the disk of the token ledger is too slow, or full", lost)
        if not taken or self._use(lambda connection: self._commit(connection, taken)) is not None:
            return True
        with self._lock:
            taken += self._unwritten
            self._unwritten, self._rows = deque(), 0
        self.add(taken)
        return False

    def note_damage(self, rows: int) -> None:
        """Logs how many rows of a query held values out of range."""
        if rows:
            self._log(f"{rows:,} rows hold values that cannot be; those values count as unknown")

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    # ---- use ----

    def _use(self, action: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """Runs an action on the file; None if the file cannot be used. Renames a broken file and tries again."""
        for _ in range(3):
            if time.monotonic() < self._rests_until:
                return None
            try:
                return action(self._opened())
            except (sqlite3.Error, _ForeignFileError, _NewerFileError, OSError) as error:
                if not self._is_mended_after(error):
                    return None
        return None

    def _is_mended_after(self, error: Exception) -> bool:
        """Handles an error; returns whether another attempt makes sense."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            self._log(f"another process has used it for more than {_BUSY:g} s")
            return False
        self.close()
        # A text in the file is not UTF-8: Python's own error, without a code of SQLite.
        if isinstance(error, sqlite3.OperationalError) and "decode" in str(error) and not self._is_lenient:
            self._is_lenient = True
            return True
        if code is not None and code & 0xFF == sqlite3.SQLITE_CANTOPEN and not os.path.lexists(self.path):
            return True  # another process has just renamed it
        is_broken = isinstance(error, _ForeignFileError) or (code is not None and code & 0xFF in _BROKEN)
        if is_broken and self._is_put_aside(error):
            return True
        self._log(f"it cannot be used, so learned numbers stay in memory: {error}")
        self._rests_until = time.monotonic() + _REST
        return False

    def _commit(self, connection: sqlite3.Connection, statements: Iterable[Statement]) -> bool:
        with transaction(connection):
            for sql, same in groupby(statements, key=itemgetter(0)):
                self._execute(connection, sql, [row for _, rows in same for row in rows])
            if self._writes % _TRIMMED_EVERY == 0:  # what is old goes, and the oldest tenth of each full table
                connection.execute(_FORGET_ANSWERS, (time.time() - _ANSWER_SECONDS,))
                for table, (capacity, age) in CAPACITIES.items():
                    (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - our own
                    if rows > capacity:
                        connection.execute(TRIM.format(table=table, age=age), (rows - capacity * 9 // 10 - 1,))
        self._writes += 1
        return True

    def _execute(self, connection: sqlite3.Connection, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Writes rows; one that SQLite cannot hold is dropped and logged, so that it does not hold up all others."""
        connection.execute("SAVEPOINT rows")
        try:
            _execute_together(connection, sql, rows)
        except _unwritable():
            connection.execute("ROLLBACK TO rows")
            for row in rows:
                try:
                    connection.execute(sql, row)
                except _unwritable() as error:
                    self._log(f"a row that it cannot hold was dropped: {error}")
        connection.execute("RELEASE rows")

    # ---- opening ----

    def _opened(self) -> sqlite3.Connection:
        found = file_identity(self.path)  # before it is opened: by the time it is found broken, another may be there
        if self._connection is not None and found != self._identity:  # a person or another process has taken it away
            self.close()
        if self._connection is None:
            self._identity = found
            if self.path.exists() and not self.path.is_file():
                raise _ForeignFileError("it is a folder" if self.path.is_dir() else "it is no file")
            with closed_on_error(open_private_database(self.path, _BUSY)) as connection:
                if self._is_lenient:
                    connection.text_factory = lambda text: text.decode(errors="replace")
                self._prepare(connection)
            self._connection = connection
            if found is None:
                self._identity = file_identity(self.path)
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Creates the tables if there are none; changes nothing in a file that is not ours.

        Raises:
            _ForeignFileError: The file belongs to another application or to an older version.
            _NewerFileError: The file belongs to a newer version.
        """
        connection.execute("PRAGMA cell_size_check = ON")  # finds damage before it is read as data
        is_made = _is_made(connection)
        close_to_others(self.path)
        use_write_ahead_log(connection, _BUSY)
        connection.execute("PRAGMA synchronous = NORMAL")
        if not is_made:
            with transaction(connection):
                if not _is_made(connection):  # otherwise another process was first
                    for statement in SCHEMA:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for statement in ADDED_TABLES:
            connection.execute(statement)

    # ---- renaming a broken file ----

    def _is_put_aside(self, error: Exception) -> bool:
        """Renames the file, unless another process has already done so; returns whether the file is out of the way."""
        lock = None
        try:
            lock = FileLock(self.path.with_name(f"{self.path.name}.lock"))
            if self._identity != file_identity(self.path):
                return True
            places = [self.path.with_name(f"{self.path.name}.aside-{number}") for number in range(1, _KEPT + 1)]
            free = next((place for place in places if not place.exists()), None)
            place = free or min(places, key=lambda place: place.stat().st_mtime)
            # Those beside it first: once it is gone, another process may begin the new one and its log.
            for beside in _files_beside(self.path):
                beside.unlink(missing_ok=True)
            self.path.replace(place)
        except BlockingIOError:  # another process renames it now
            time.sleep(_PAUSE)
            return True
        except FileNotFoundError:  # another process has renamed the file and not yet created the new one
            return True
        except OSError:
            return False
        finally:
            if lock is not None:
                lock.remove()
        self._log(f"it was renamed to {place.name} and replaced by an empty file: {error}")
        return True

    def _log(self, problem: str) -> None:
        """Logs each problem once, because it would occur with every answer."""
        if problem not in self._logged and len(self._logged) < 10:
            self._logged.add(problem)
            _logger.warning("problem with the token ledger %s: %s", self.path.name, problem)


def _files_beside(path: Path) -> list[Path]:
    """The files that SQLite puts beside a database."""
    return [Path(f"{path}{suffix}") for suffix in ("-wal", "-shm", "-journal")]


_STATE: Final = (
    "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
    " FROM pragma_application_id, pragma_user_version"
)


def _is_made(connection: sqlite3.Connection) -> bool:
    """Whether the file holds our tables; False if it is empty. Only reads.

    Raises:
        _ForeignFileError: The file belongs to another application or to an older version.
        _NewerFileError: The file belongs to a newer version.
    """
    # One question, and so one state of the file: between two, another process may have made the tables.
    ((application, version, tables),) = connection.execute(_STATE)
    if (application, version) == (APPLICATION_ID, SCHEMA_VERSION):
        return True
    if application == APPLICATION_ID and version > SCHEMA_VERSION:
        raise _NewerFileError(
            f"a newer version of Partstream has written it (tables {version}, this version knows {SCHEMA_VERSION})"
        )
    if (application, version) != (0, 0) or tables:
        raise _ForeignFileError(
            f"got application {application:#x}, version {version}, expected {APPLICATION_ID:#x}, {SCHEMA_VERSION}"
        )
    return False


# ---- The thread ----

_LAST_PATIENCE: Final = 2.0
"""The most seconds to wait for the last writes when the file is closed."""

Parameters = ParamSpec("Parameters")

BATCH_SECONDS: Final = 0.25
"""How long a row waits for others where an event loop runs."""


class FileThread:
    """One thread, which does one thing after the other.

    Args:
        owner: The object that uses the file. The thread does not keep it, and nothing that is submitted may.
        write: Writes all rows that wait, if there are any; runs in the thread.
    """

    def __init__(self, owner: object, file: LedgerFile, name: str, write: Callable[[], object] = lambda: None) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waits = False  # whether rows wait for the timer
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writing: Future[object] | None = None

        def write_all() -> None:
            try:
                write()
            except Exception:  # in the thread it would remain unseen
                _logger.exception("the token ledger was not written")

        def end() -> None:
            write_all()
            file.close()

        self._write = write_all
        self._ending = end
        self._end = weakref.finalize(owner, _close_uncalled, self._executor, end)

    @property
    def is_open(self) -> bool:
        """Whether the file is not closed yet: then something can be submitted."""
        return self._end.alive

    def write_soon(self, *, is_full: bool = False) -> None:
        """Has the thread write the rows that wait: in :data:`BATCH_SECONDS`, so that the answers that follow a rest do
        not share the processor with it; or now, where no more may wait or no event loop runs."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is None or is_full:
            self._write_now()
        elif not self._waits or self._loop is not loop:  # the timer of a loop that has ended never comes
            self._waits, self._loop = True, loop
            self._timer = loop.call_later(BATCH_SECONDS, self._write_now)

    def submit(
        self, action: Callable[Parameters, Result], *arguments: Parameters.args, **options: Parameters.kwargs
    ) -> Future[Result]:
        """Has the thread do something after all that was submitted before, and after the rows that wait are written."""
        if self._waits:
            self._write_now()
        return self._executor.submit(action, *arguments, **options)

    def close(self) -> None:
        """Writes the rows that wait, and closes the file after all that was submitted.

        Waits for a limited time, then lets the thread end when it can.
        """
        if self._end.detach() is None:
            return
        if (finished := _close(self._executor, self._ending)) is not None:
            with suppress(WaitTimeoutError):
                finished.result(_LAST_PATIENCE)

    def _write_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._waits, self._loop, self._timer = False, None, None
        # A write that has not begun takes these rows too: one transaction for all, however slow the disk is.
        if self._writing is None or self._writing.running() or self._writing.done():
            with suppress(RuntimeError):  # the thread was closed, and has written them
                self._writing = self._executor.submit(self._write)


def _close_uncalled(executor: ThreadPoolExecutor, ending: Callable[[], None]) -> None:
    """Closes the file for an owner that is garbage.

    Garbage is collected at any time, also within `submit` of any executor: to submit something then is to wait for a
    lock that the waiting thread itself holds. So another thread does it.
    """
    if threading.main_thread().is_alive():
        threading.Thread(target=_close, args=(executor, ending), name="partstream-close").start()
    else:  # the interpreter is ending and waits for no other thread any more
        _close(executor, ending)


def _close(executor: ThreadPoolExecutor, ending: Callable[[], None]) -> Future[None] | None:
    """Ends the thread after its remaining work."""
    try:
        closing = executor.submit(ending)
    except RuntimeError:  # the interpreter is ending, and has waited for the thread
        ending()
        return None
    executor.shutdown(wait=False)
    return closing


# ---- Rows of usage ----

_LAST_NUMBER: Final = 2**53
"""The largest number of a row. A row with the largest that SQLite has would make it number all further rows at random,
and new rows could not be told from old ones."""


def read_usage_rows(file: LedgerFile, since: date) -> list[UsageRow]:
    """The usage of the answers since a day of the local calendar, oldest first."""
    return _sound_rows(file, file.read(READ_USAGE, (_start_of(since),)))


def _start_of(day: date) -> float:
    return datetime(day.year, day.month, day.day).astimezone().timestamp()


class UsageOfOthers:
    """The usage that other processes write to the file while this process runs; each answer once."""

    def __init__(self) -> None:
        self._last = 0

    def read(self, file: LedgerFile, since: date, own: str | None) -> list[UsageRow]:
        """The answers since a day that have not been read before, without those of the ledger of this name."""
        last = _last_number(file)
        if last > _LAST_NUMBER:
            file.write([(CLEAR_USAGE_BEYOND, [(_LAST_NUMBER,)])])
            file.note_damage(1)
            last = _last_number(file)
        if last < self._last:  # another process has cleared the table, and its numbers start again
            self._last = 0
        rows = file.read(READ_USAGE_OF_OTHERS, (self._last, _start_of(since), own))
        self._last = max([self._last, last, *(number for number, *_ in rows)])
        return _sound_rows(file, [row[1:] for row in rows])


def _last_number(file: LedgerFile) -> int:
    return next((number for (number,) in file.read(READ_LAST_USAGE) if isinstance(number, int)), 0)


def read_answer_rows(file: LedgerFile, since: date) -> list[AnswerRow]:
    """The answers that this machine served since a day of the local calendar, oldest first."""
    rows = file.read(READ_ANSWERS, (_start_of(since),))
    answers = []
    for at, model, *numbers, client, session, kind, retry, is_kept in rows:
        usage = _sound_row((at, model, "", None, *numbers))
        if usage is not None:
            answers.append(
                AnswerRow(
                    usage,
                    client if isinstance(client, str) else "",
                    session if isinstance(session, str) else None,
                    kind if isinstance(kind, str) else "",
                    as_count(retry) or 0,
                    bool(is_kept),
                )
            )
    file.note_damage(len(rows) - len(answers))
    return answers


def read_completions(file: LedgerFile, since: date) -> Mapping[str, Completions]:
    """The completions in the editor since a day of the local calendar, by the day, as `2026-11-21`."""
    rows = file.read(READ_COMPLETIONS, (since.isoformat(),))
    return {str(day): Completions(as_count(shown) or 0, as_count(accepted) or 0) for day, shown, accepted in rows}


def _sound_rows(file: LedgerFile, read: Sequence[tuple[Any, ...]]) -> list[UsageRow]:
    """The rows of a query, without damaged ones; a number out of range is unknown. The log counts both."""
    rows = [_sound_row(values) for values in read]
    sound = [None if row is None else tuple(getattr(row, one.name) for one in fields(row)) for row in rows]
    file.note_damage(sum(kept != values for kept, values in zip(sound, read, strict=True)))
    return [row for row in rows if row is not None]


def _sound_row(values: tuple[Any, ...]) -> UsageRow | None:
    """The usage in the values of a file, which may be damaged; None without a time or a model."""
    at, model, upstream, conversation, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost = values
    ended = as_amount(at, LAST_TIME)
    if ended is None or not isinstance(model, str):
        return None
    return UsageRow(
        ended,
        model,
        upstream if isinstance(upstream, str) else "",
        conversation if isinstance(conversation, str) else None,
        as_count(input_tokens),
        as_count(output_tokens),
        as_count(cached_tokens),
        as_count(reasoning_tokens),
        as_amount(cost, MOST_DOLLARS),
    )


def clear_usage(file: LedgerFile) -> bool:
    """Deletes the usage of all answers and completions, and no other rows; returns whether the file was written."""
    return file.write([(statement, [()]) for statement in (CLEAR_USAGE, CLEAR_ANSWERS, CLEAR_COMPLETIONS)])
