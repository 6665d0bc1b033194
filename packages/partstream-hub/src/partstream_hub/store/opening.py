"""The database of a hub by its address: a path is a file of SQLite, `postgresql://...` is Postgres.

The processes of one machine may share a file. In WAL mode readers wait for no writer; writers wait for each other, for
the whole of a transaction, which `BEGIN IMMEDIATE` says from its beginning: none of them finds late that another has
been faster. Without an address, the file is in the data folder. An address of Postgres may hold a password, so no error
shows anything of it.
"""

from __future__ import annotations
import errno
import logging
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from partstream.codec.system import DATA, closed_on_error, file_identity, open_private_database, use_write_ahead_log
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Access, HubStoreUnusableError, StoreUnreachableError, Transaction

# ---- SQLite ----

_logger = logging.getLogger("partstream.hub")
Result = TypeVar("Result")
_BUSY_SECONDS: Final = 5.0
_RETRY_AFTER: Final = 1.0
_LOG_PAGES: Final = 1000
"""The pages of the log with which a transaction copies it into the file, as SQLite has it by default."""
_UNREACHABLE: Final = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL}
)
"""What may pass: another process that writes for long, a full disk."""
_AROUND: Final = {
    Access.READ: ({"query_only": "ON"}, "BEGIN"),
    Access.WRITE: ({"query_only": "OFF", "synchronous": "NORMAL"}, "BEGIN IMMEDIATE"),
    Access.WRITE_DURABLY: ({"query_only": "OFF", "synchronous": "FULL"}, "BEGIN IMMEDIATE"),
}
"""What is set before a transaction, and what begins it. A power cut may take the last transactions of a file that is
written without waiting for the disk. It ends all workers of a file too, whose heartbeats are durable where answers were
settled: these are on the disk within a second, and in the file itself, should its log be cut."""
_PATIENT: Final = {"busy_timeout": f"{_BUSY_SECONDS * 1000:.0f}", "wal_autocheckpoint": str(_LOG_PAGES)}
_AT_ONCE: Final = {"busy_timeout": "0", "wal_autocheckpoint": "0"}
"""What is set where nothing may be waited for: the log is not copied into the file meanwhile, which would wait for the
disk; a heartbeat does that."""
_WORDS: Final = {
    "counted": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "real": "REAL",
    "bytes": "BLOB",
    "chance": "lower(hex(randomblob(16)))",
    "day_of_time": "CAST(time / 86400 AS INTEGER)",
    "now": "CAST(strftime('%s', 'now') AS INTEGER)",
}


class _Sqlite(HubStore):
    """A file of SQLite. Its clock is the machine's own, which all processes share."""

    words = _WORDS
    alone = "SELECT 1"  # writers wait for each other anyway
    has_table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self.where = str(path)
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None  # of the file that was opened last
        self._set: dict[str, str] = {}  # the pragmas of the connection: mostly, a transaction is like the one before

    def run(self, action: Callable[[Transaction], Result], access: Access = Access.WRITE) -> Result:
        with self._lock:
            try:
                self._connect()
                return self._run(action, access, _PATIENT)
            except (sqlite3.Error, OSError) as error:
                raise self._explained(error) from error

    def run_at_once(self, action: Callable[[Transaction], Result]) -> Result | None:
        # Unless another thread or process writes now.
        if self._connection is None or not self._lock.acquire(blocking=False):
            return None
        try:
            return self._run(action, Access.WRITE, _AT_ONCE) if self._is_in_its_place() else None
        except (sqlite3.Error, OSError):
            return None
        finally:
            self._lock.release()

    def version(self) -> int:
        try:
            return 0 if file_identity(self._path) is None else super().version()
        except OSError as error:
            raise self._explained(error) from error

    def another(self) -> HubStore:
        return _Sqlite(self._path, self._clock)

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _run(self, action: Callable[[Transaction], Result], access: Access, waits: Mapping[str, str]) -> Result:
        connection: Any = self._connection
        of_access, begin = _AROUND[access]
        for name, value in (*waits.items(), *of_access.items()):
            if self._set.get(name) != value:
                connection.execute(f"PRAGMA {name} = {value}")
                self._set[name] = value
        try:
            connection.execute(begin)
            result = action(Transaction(connection, self._clock))
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # SQLite itself takes back what met some errors
                connection.execute("ROLLBACK")
            raise
        if access is Access.WRITE_DURABLY:
            with suppress(sqlite3.Error):  # what is not copied now is copied with the next one
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return result

    def _is_in_its_place(self) -> bool:
        return file_identity(self._path) == self._identity

    def _connect(self) -> None:
        if self._connection is not None and not self._is_in_its_place():
            # SQLite would go on with the file that has no name any more: what it charges would be lost with the
            # process, and what the new one says, such as a key that is revoked, would not hold.
            _logger.warning("the hub's database %s was taken away or replaced; it is opened anew", self.where)
            self._connection.close()
            self._connection = None
        if self._connection is None:
            if self._identity is not None and file_identity(self._path) is None:
                raise FileNotFoundError(errno.ENOENT, "its file was taken away")
            connection = open_private_database(self._path, _BUSY_SECONDS)
            with closed_on_error(connection):
                connection.execute("PRAGMA foreign_keys = ON")
                use_write_ahead_log(connection, _BUSY_SECONDS)
                self._identity = file_identity(self._path)
            self._connection, self._set = connection, {}

    def _explained(self, error: sqlite3.Error | OSError) -> StoreUnreachableError | HubStoreUnusableError:
        """An error of SQLite in our words; its own hold names of tables and columns, and no value."""
        code = getattr(error, "sqlite_errorcode", None)
        reason = getattr(error, "strerror", None) or str(error)  # without the path: callers read it too
        if isinstance(error, FileNotFoundError) or (code is not None and code & 0xFF in _UNREACHABLE):
            return StoreUnreachableError(reason, _RETRY_AFTER)
        return HubStoreUnusableError(self.where, reason, "a database of a hub that can be read and written")


# ---- Opening ----

_SCHEMES: Final = ("postgresql://", "postgres://")


def opened_store(address: str | Path, clock: Callable[[], float] | None = None) -> HubStore:
    """The database at an address; nothing is opened or made before it is first asked. The clock takes the place of the
    database's own, in seconds since 1970: for tests and simulations. A `DriverMissingError` names the package that is
    missing for Postgres."""
    if str(address).startswith(_SCHEMES):
        from partstream_hub.store.postgres import PostgresStore  # noqa: PLC0415 - the driver is an extra

        return PostgresStore(str(address), clock)
    return _Sqlite(Path(address), clock or time.time)


# ---- Where the database is ----

DATABASE_VARIABLE: Final = "PARTSTREAM_HUB_DATABASE"
_FILE_NAME: Final = "hub.sqlite"
_NO_PATH: Final = re.compile(
    r"postgres(ql)?:(?!//)|(host|hostaddr|port|user|password|passfile|dbname|service)\s*=", re.IGNORECASE
)
"""How an address of Postgres begins that is not written as a URL. It may hold a password, which no path may."""
_EXPECTED: Final = "the path of a SQLite file, or postgresql://USER:PASSWORD@HOST/DATABASE"


def database_address(environment: Mapping[str, str]) -> str | Path:
    """The address of the database: of Postgres it may hold a password, so it is a secret. Nothing of one that a hub
    cannot use is in the `HubStoreUnusableError` for it."""
    given = environment.get(DATABASE_VARIABLE, "").strip()
    if not given:
        return DATA.path() / _FILE_NAME
    if given.startswith(_SCHEMES):
        return given
    if _NO_PATH.match(given):
        raise HubStoreUnusableError(
            DATABASE_VARIABLE, "something else that looks like an address of Postgres", _EXPECTED
        )
    scheme, separator, _ = given.partition("://")
    if separator:
        raise HubStoreUnusableError(DATABASE_VARIABLE, f"an address that begins with {scheme[:20]}://", _EXPECTED)
    return Path(given).expanduser()
