"""The database of a hub by its address: a path is SQLite, `postgresql://...` is Postgres."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.hub.store.sqlite import SqliteEngine
from partstream.hub.store.store import HubStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.hub.store.values import Engine

__all__ = ["is_postgres", "opened_engine", "opened_store"]

_SCHEMES: Final = ("postgresql://", "postgres://")


def is_postgres(address: str) -> bool:
    """Whether an address is one of Postgres."""
    return address.startswith(_SCHEMES)


def opened_store(address: str | Path, clock: Callable[[], float] | None = None) -> HubStore:
    """The database at an address; nothing is opened or made before it is first asked.

    Args:
        address: The path of a file of SQLite, or `postgresql://USER:PASSWORD@HOST/DATABASE`.
        clock: What takes the place of the database's own clock, in seconds since 1970: for tests and simulations.

    Raises:
        DriverMissingError: It is Postgres, and its package is not installed.
    """
    return HubStore(opened_engine(address, clock))


def opened_engine(address: str | Path, clock: Callable[[], float] | None = None) -> Engine:
    """The engine of a database, for what is beside the store."""
    if isinstance(address, str) and is_postgres(address):
        from partstream.hub.store.postgres import PostgresEngine  # noqa: PLC0415 - the driver is an extra

        return PostgresEngine(address, clock)
    path = None if str(address) == ":memory:" else Path(address)
    return SqliteEngine(path, time.time if clock is None else clock)
