"""The ledger's SQLite file: opened when needed, renamed if it is broken, left alone if it cannot be used.

Belongs to one thread; other processes may use the same file at the same time. A problem with the file or its folder
never raises an error: reading then gives no rows, and rows to write are kept for the next time.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.codec.system import closed_on_error, use_write_ahead_log
from partstream.tokens.ledger.schema import (
    ADDED_TABLES,
    APPLICATION_ID,
    CAPACITIES,
    SCHEMA,
    SCHEMA_VERSION,
    TRIM,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LedgerFile", "Statement"]

_logger = logging.getLogger("partstream.tokens")

Statement = tuple[str, "Sequence[tuple[Any, ...]]"]
"""A statement in SQL, and the parameters of each of its executions."""

Result = TypeVar("Result")

_BUSY: Final = 1.0
"""The seconds to wait for another process, which normally holds the file for milliseconds."""

_REST: Final = 10.0
"""The seconds between two attempts to open a file that cannot be used."""

_KEPT: Final = 3
"""The most broken files that are kept under another name."""

_MOST_UNWRITTEN: Final = 20_000
"""The most rows that wait until the file can be written; the oldest are dropped first."""

_TRIMMED_EVERY: Final = 256
"""The number of writes between two checks of the size."""

_BROKEN: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT}
)
"""SQLite's error codes for a file with other content than ours. SQLITE_ERROR stands for a missing table or column,
SQLITE_CONSTRAINT for a rule or a trigger, of which our tables have none that our rows could break."""

_UNWRITABLE: Final = (
    ValueError,
    OverflowError,
    TypeError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.DataError,
)
"""The errors for a row with a value that SQLite cannot hold, such as an integer of more than 64 bits."""


class _ForeignFileError(Exception):
    """The file at the ledger's path is not a ledger of this version or of an older one."""


class _NewerFileError(Exception):
    """A newer version of Partstream has written the file."""


class LedgerFile:
    """The ledger's file, for the one thread that uses it.

    Args:
        path: The path of the file; the file and its folder are created when needed, readable only by the user.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._rests_until = 0.0
        self._unwritten: list[Statement] = []
        self._writes = 0
        self._logged: set[str] = set()
        self._is_lenient = False

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; empty if the file cannot be read."""
        return self._use(lambda connection: connection.execute(sql, parameters).fetchall()) or []

    def write(self, statements: Sequence[Statement]) -> bool:
        """Runs statements in one transaction; returns whether it succeeded. If not, they go with the next write."""
        self._unwritten = _bounded([*self._unwritten, *statements])
        if not self._unwritten:
            return True
        is_written = self._use(self._commit) is not None
        if is_written:
            self._unwritten = []
        return is_written

    def note_damage(self, rows: int) -> None:
        """Logs how many rows of a query held values that cannot be."""
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
        if _is_undecodable(error) and not self._is_lenient:
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

    def _commit(self, connection: sqlite3.Connection) -> bool:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in ADDED_TABLES:
                connection.execute(statement)
            for sql, rows in self._unwritten:
                self._execute(connection, sql, rows)
            if self._writes % _TRIMMED_EVERY == 0:
                _trim(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # SQLite itself rolls back after some errors
                connection.execute("ROLLBACK")
            raise
        self._writes += 1
        return True

    def _execute(self, connection: sqlite3.Connection, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Writes rows; one that SQLite cannot hold is dropped and logged, so that it does not hold up all others."""
        connection.execute("SAVEPOINT rows")
        try:
            connection.executemany(sql, rows)
        except _UNWRITABLE:
            connection.execute("ROLLBACK TO rows")
            for row in rows:
                try:
                    connection.execute(sql, row)
                except _UNWRITABLE as error:
                    self._log(f"a row that it cannot hold was dropped: {error}")
        connection.execute("RELEASE rows")

    # ---- opening ----

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._prepare_place()
            # SQLite must not create the file: it would give everybody the right to read it.
            address = f"{self.path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(
                address, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
            with closed_on_error(connection):
                if self._is_lenient:
                    connection.text_factory = _decoded
                self._prepare(connection)
            self._connection, self._identity = connection, _identity(self.path)
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Creates the tables if there are none; changes nothing in a file that is not ours.

        Raises:
            _ForeignFileError: The file belongs to another application or to an older version.
            _NewerFileError: The file belongs to a newer version.
        """
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")  # finds damage before it is read as data
        is_made = _is_made(connection)
        self._keep_private()
        use_write_ahead_log(connection, _BUSY)
        connection.execute("PRAGMA synchronous = NORMAL")
        if is_made:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            _make_tables(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def _keep_private(self) -> None:
        """Takes the rights of others away from an existing ledger; the files beside it have the same content."""
        for path in (self.path, *_files_beside(self.path)):
            with suppress(OSError):  # there is none, or it is another user's
                mode = path.stat().st_mode
                if mode & 0o077:
                    path.chmod(mode & 0o700)

    def _prepare_place(self) -> None:
        """Creates folder and file for the user alone; SQLite gives its other files the same permissions."""
        if self.path.exists() and not self.path.is_file():
            raise _ForeignFileError("it is a folder" if self.path.is_dir() else "it is no file")
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # An existing file is not opened here: closing it would release this process's locks on it
        # (sqlite.org/howtocorrupt.html, 2.2).
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    # ---- renaming a broken file ----

    def _is_put_aside(self, error: Exception) -> bool:
        """Renames the file, unless another process has already done so; returns whether the file is out of the way."""
        try:
            if self._identity not in ((0, 0), _identity(self.path)):
                self._identity = (0, 0)
                return True
            place = self._free_place()
            self.path.replace(place)
            for beside in _files_beside(self.path):
                beside.unlink(missing_ok=True)
        except FileNotFoundError:  # another process has renamed the file and not yet created the new one
            return True
        except OSError:
            return False
        self._identity = (0, 0)
        self._log(f"it was renamed to {place.name} and replaced by an empty file: {error}")
        return True

    def _free_place(self) -> Path:
        places = [self.path.with_name(f"{self.path.name}.aside-{number}") for number in range(1, _KEPT + 1)]
        free = next((place for place in places if not place.exists()), None)
        return free or min(places, key=lambda place: place.stat().st_mtime)

    def _log(self, problem: str) -> None:
        """Logs each problem once, because it would occur with every answer."""
        if problem not in self._logged and len(self._logged) < 10:
            self._logged.add(problem)
            _logger.warning("problem with the token ledger %s: %s", self.path.name, problem)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _files_beside(path: Path) -> list[Path]:
    """The files that SQLite puts beside a database."""
    return [Path(f"{path}{suffix}") for suffix in ("-wal", "-shm", "-journal")]


def _is_undecodable(error: Exception) -> bool:
    """Whether a text in the file is not UTF-8: Python's own error, without a code of SQLite."""
    return isinstance(error, sqlite3.OperationalError) and "decode" in str(error)


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def _is_made(connection: sqlite3.Connection) -> bool:
    """Whether the file holds our tables; False if it is empty. Only reads.

    Raises:
        _ForeignFileError: The file belongs to another application or to an older version.
        _NewerFileError: The file belongs to a newer version.
    """
    application, version = head = _head(connection)
    if head == (APPLICATION_ID, SCHEMA_VERSION):
        return True
    if application == APPLICATION_ID and version > SCHEMA_VERSION:
        raise _NewerFileError(
            f"a newer version of Partstream has written it (tables {version}, this version knows {SCHEMA_VERSION})"
        )
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if head != (0, 0) or tables:
        raise _ForeignFileError(
            f"got application {application:#x}, version {version}, expected {APPLICATION_ID:#x}, {SCHEMA_VERSION}"
        )
    return False


def _make_tables(connection: sqlite3.Connection) -> None:
    if _is_made(connection):  # another process was first
        return
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _head(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _trim(connection: sqlite3.Connection) -> None:
    """Deletes the oldest tenth of each full table."""
    for table, (capacity, age) in CAPACITIES.items():
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a name of our own
        if rows > capacity:
            connection.execute(TRIM.format(table=table, age=age), (rows - capacity * 9 // 10 - 1,))


def _bounded(statements: list[Statement]) -> list[Statement]:
    rows = sum(len(parameters) for _, parameters in statements)
    while rows > _MOST_UNWRITTEN and len(statements) > 1:
        rows -= len(statements.pop(0)[1])
    return statements
