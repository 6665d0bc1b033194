"""Databases of a hub for tests: everything that uses one runs on SQLite and on a real Postgres.

`hub_database` is an empty one, of which a test may open as many stores as there are workers; `hub_store` is one store
with tables. One server of Postgres serves all workers of a run, and ends with the last of them.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest

from interop.servers.postgres import NoPostgresError, PostgresServer, shared_server
from partstream_hub.directory import BudgetRule, Key, Need
from partstream_hub.store.opening import opened_store
from partstream_hub.store.rows import Batch, Granted, Reserve, Settle
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import AnswerContent, Charge, LedgerRow

KINDS = ("sqlite", "postgres")


@dataclass
class HubDatabase:
    """An empty database.

    Attributes:
        kind: `sqlite` or `postgres`.
        address: What `PARTSTREAM_HUB_DATABASE` would say.
    """

    kind: str
    address: str
    _stack: ExitStack = field(default_factory=ExitStack)

    def store(self, clock: Callable[[], float] | None = None) -> HubStore:
        """A store with a connection of its own, as one worker has it; closed with the test."""
        return self.engine(clock)

    def migrated(self, clock: Callable[[], float] | None = None) -> HubStore:
        """A store whose tables are made."""
        store = self.store(clock)
        store.migrate()
        return store

    def engine(self, clock: Callable[[], float] | None = None) -> HubStore:
        """What is below a store."""
        engine = opened_store(self.address, clock)
        self._stack.callback(engine.close)
        return engine

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The server of the run; of a worker of xdist, the one that all workers share."""
    folder = tmp_path_factory.getbasetemp()
    try:
        server, users = shared_server(folder.parent if folder.name.startswith("popen-") else folder)
    except NoPostgresError as error:
        pytest.skip(f"without a Postgres: {error}")
    with users:
        yield server


@pytest.fixture(scope="session")
def postgres_administration(postgres_server: PostgresServer) -> Iterator[psycopg.Connection]:
    """A connection that makes schemas."""
    with psycopg.connect(postgres_server.address(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def postgres_address(postgres_server: PostgresServer, postgres_administration: psycopg.Connection) -> Iterator[str]:
    """An address of Postgres where there is no table: a schema of its own, which is made faster than a database."""
    name = f"test_{uuid.uuid4().hex}"
    postgres_administration.execute(f"CREATE SCHEMA {name}")
    yield f"{postgres_server.address()}&options=-csearch_path%3D{name}"
    postgres_administration.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server of one test alone, which it may stop and start again."""
    try:
        server = PostgresServer.made()
    except NoPostgresError as error:
        pytest.skip(f"without a Postgres: {error}")
    with server.guard():
        server.start()
        yield server


@pytest.fixture(params=KINDS)
def hub_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HubDatabase]:
    """An empty database, of each kind."""
    is_file = request.param == "sqlite"
    address = str(tmp_path / "hub.sqlite3") if is_file else request.getfixturevalue("postgres_address")
    database = HubDatabase(request.param, address)
    yield database
    database.close()


@pytest.fixture
def hub_store(hub_database: HubDatabase) -> HubStore:
    """A store with tables, of each kind."""
    return hub_database.migrated()


def revoked(key: Key, at: float = 1.9e9) -> Key:
    """The change that revokes a key."""
    return replace(key, revoked_at=at)


def row(answer_id: str, *charges: Charge) -> LedgerRow:
    """An answer of ana."""
    return LedgerRow(answer_id, 1_700_000_000.0, "k1", "ana", "core", "gpt-5", charges=charges)


def reserve(
    store: HubStore, worker: str, answer_id: str, rule: BudgetRule, amount: int, least: int | None = None
) -> int | None:
    """Begins an answer; what is reserved of its one budget, or None."""
    need = Need(rule, amount, amount if least is None else least)
    (found,) = store.carry_out(worker, Batch([], reserves=[Reserve(row(answer_id), [need])])).reserved
    return found.amounts[rule.id] if isinstance(found, Granted) else None


def settle(store: HubStore, worker: str, rows: Sequence[LedgerRow], contents: Sequence[AnswerContent] = ()) -> None:
    """Ends answers, as a worker does."""
    kept = {one.answer_id: one for one in contents}
    store.carry_out(worker, Batch([Settle(one, kept.get(one.answer_id)) for one in rows]))
