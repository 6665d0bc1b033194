"""Opens files of SQLite that several processes use at the same time."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["closed_on_error", "use_write_ahead_log"]

_PAUSE: Final = 0.01


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Closes a connection if the block that prepares it raises: nobody has it then to close it."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Lets others read during a write, if the file system allows; otherwise SQLite's old journal is used.

    Args:
        connection: A connection to a file.
        seconds: How long to wait for another process that changes the mode: SQLite does not wait for it, whatever the
            timeout of the connection.

    Raises:
        sqlite3.Error: The mode cannot be changed.
    """
    ends = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
            time.sleep(_PAUSE)
        else:
            return
