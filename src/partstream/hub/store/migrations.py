"""Makes the tables of a hub, and brings older ones up to date, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.hub.store.schema import VERSIONS
from partstream.hub.store.values import HubStoreUnusableError

if TYPE_CHECKING:
    from partstream.hub.store.values import Engine, Transaction

__all__ = ["migrated"]

_TABLE = "hub_schema"


def migrated(engine: Engine, up_to: int = len(VERSIONS)) -> int:
    """Brings the tables to a version.

    Args:
        engine: The database.
        up_to: The version; an older one only for tests of the way from there.

    Returns:
        The version that they had; 0 if there were none.

    Raises:
        StoreUnusableError: They are of a newer version.
    """

    def migrate(work: Transaction) -> int:
        version = _version(engine, work)
        if version > len(VERSIONS):
            raise HubStoreUnusableError(
                engine.where, f"tables of version {version}", f"{len(VERSIONS)} or lower: update partstream"
            )
        for statements in VERSIONS[version:up_to]:
            for statement in statements:
                work.run(statement.format_map(engine.words))
        if version < up_to:
            work.run(f"UPDATE {_TABLE} SET version = ?", (up_to,))  # noqa: S608 - a name of our own
        return version

    return engine.run_alone(migrate)


def _version(engine: Engine, work: Transaction) -> int:
    if not engine.table_exists(work, _TABLE):
        work.run(f"CREATE TABLE {_TABLE} (version BIGINT NOT NULL)")
        work.run(f"INSERT INTO {_TABLE} (version) VALUES (0)")  # noqa: S608
        return 0
    ((version,),) = work.rows(f"SELECT version FROM {_TABLE}")  # noqa: S608
    return int(version)
