"""Where the database of a hub is: what `PARTSTREAM_HUB_DATABASE` names, else a file in the data folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.hub.store.opening import is_postgres
from partstream.hub.store.values import HubStoreUnusableError
from partstream.user_folders import DATA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hub.store.store import HubStore

__all__ = ["DATABASE_VARIABLE", "database_address", "shown_address", "tables_version"]

DATABASE_VARIABLE: Final = "PARTSTREAM_HUB_DATABASE"
_FILE_NAME: Final = "hub.sqlite"
_NO_PATH: Final = re.compile(
    r"postgres(ql)?:(?!//)|(host|hostaddr|port|user|password|passfile|dbname|service)\s*=", re.IGNORECASE
)
"""How an address of Postgres begins that is not written as a URL. It may hold a password, which no path may."""


def database_address(environment: Mapping[str, str]) -> str | Path:
    """The address of the database, for :func:`~partstream.hub.store.opening.opened_store`.

    An address of Postgres may hold a password, so it is a secret.

    Raises:
        StoreUnusableError: It is no address of a database that a hub can use; nothing of it is shown.
    """
    given = environment.get(DATABASE_VARIABLE, "").strip()
    if not given:
        return DATA.path() / _FILE_NAME
    if is_postgres(given):
        return given
    if _NO_PATH.match(given):
        raise HubStoreUnusableError(
            DATABASE_VARIABLE, "something else that looks like an address of Postgres", _EXPECTED
        )
    if "://" in given:
        raise HubStoreUnusableError(
            DATABASE_VARIABLE, f"an address that begins with {given.partition('://')[0][:20]}://", _EXPECTED
        )
    return Path(given).expanduser()


def tables_version(store: HubStore, address: str | Path) -> int:
    """The version of the tables in a database; 0 if there are none. Nothing is made by asking.

    Args:
        store: The database.
        address: Its address.

    Raises:
        StoreUnreachableError: It cannot be reached.
    """
    if isinstance(address, Path) and not address.exists():
        return 0
    try:
        ((version,),) = store.read("SELECT version FROM hub_schema")
    except HubStoreUnusableError:
        return 0
    return int(version)


_EXPECTED: Final = "the path of a SQLite file, or postgresql://USER:PASSWORD@HOST/DATABASE"


def shown_address(address: str | Path) -> str:
    """An address as people are shown it: without user, password and parameters."""
    if isinstance(address, Path):
        return str(address)
    url = urlsplit(address)
    host = url.netloc.rpartition("@")[2] or "the socket of this machine"
    return f"Postgres at {host}, database {url.path.lstrip('/') or 'of the user'}"
