"""A database that goes away and comes back: errors that say when to ask again, and no restart of a worker."""

import builtins
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg import conninfo

from hub.stores import HubDatabase, reserve, row, settle
from hub.test_reservations import RULE
from interop.servers.postgres import PostgresServer
from partstream_hub.directory import Team
from partstream_hub.store.opening import opened_store
from partstream_hub.store.values import (
    Charge,
    DriverMissingError,
    HubStoreUnusableError,
    StoreUnreachableError,
)

SECRET = "correct-horse-battery"  # noqa: S105


def eventually(action: Callable[[], object]) -> object:
    """What an action gives once the store connects again, asked when the store says so."""
    ends = time.monotonic() + 20
    while True:
        try:
            return action()
        except StoreUnreachableError as error:
            assert time.monotonic() < ends
            time.sleep(error.retry_after)


def test_a_database_that_was_stopped_is_used_again_when_it_is_back(own_postgres: PostgresServer) -> None:
    store = opened_store(own_postgres.address())
    store.migrate()
    store.heartbeat("w1")
    window = store.open_windows([RULE])[RULE.id].id
    reserve(store, "w1", "a1", RULE, 600)

    own_postgres.stop()
    for _ in range(3):
        with pytest.raises(StoreUnreachableError) as raised:
            settle(store, "w1", [row("a1", Charge(window, 100))])
        assert 0 < raised.value.retry_after <= 5
    own_postgres.start()

    eventually(lambda: settle(store, "w1", [row("a1", Charge(window, 100))]))
    found = store.open_windows([RULE])[RULE.id]
    assert (found.spent, found.reserved) == (100, 0)
    assert store.check() == []
    store.close()


def test_a_connection_that_was_cut_while_nobody_used_it_costs_nobody_an_error(
    postgres_address: str, postgres_administration: psycopg.Connection
) -> None:
    database = HubDatabase("postgres", postgres_address)
    store = database.migrated()
    store.heartbeat("w1")
    ((backend,),) = store.read("SELECT pg_backend_pid()")
    postgres_administration.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    assert store.heartbeat("w1").live_workers == 1
    assert store.read("SELECT pg_backend_pid()") != [(backend,)]
    database.close()


def test_after_a_failed_attempt_the_next_waits(tmp_path: Path) -> None:
    store = opened_store(f"postgresql://ana:{SECRET}@/hub?host={tmp_path}")
    with pytest.raises(StoreUnreachableError, match=r"check that it runs; ask again in 0\.25 s"):
        store.time()
    with pytest.raises(StoreUnreachableError, match="the last attempt to connect failed"):
        store.time()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dbname": "nowhere"}, "it has no database of this name: `createdb` makes one"),
        ({"user": "nobody"}, "it has no user of this name: `createuser` makes one"),
        ({"host": "127.0.0.1", "port": "1"}, "nothing takes connections there"),
        ({"host": "nowhere.invalid"}, "no host of this name is known; in a password, write @ as %40"),
    ],
)
def test_an_administrator_reads_which_database_cannot_be_reached_and_why(
    postgres_address: str, change: dict[str, str], said: str
) -> None:
    known = conninfo.conninfo_to_dict(postgres_address)
    query = urlencode({"host": known["host"], "user": known["user"], "dbname": known["dbname"]} | change)
    with pytest.raises(StoreUnreachableError) as raised:
        opened_store(f"postgresql://?{query}").migrate()
    assert raised.value.reason.startswith("Postgres at ")
    assert said in raised.value.reason


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ana:{SECRET}@127.0.0.1:1/hub",
        f"postgresql://ana@127.0.0.1:1/hub?password={SECRET}",
        f"postgresql://ana:{SECRET}@127.0.0.1:99999/hub",
        f"postgresql://ana:{SECRET}@[half/hub",
        f"postgresql://ana:4@{SECRET}@127.0.0.1:1/hub",
        f"postgresql://ana:4/{SECRET}@127.0.0.1:1/hub",
        f"postgresql://ana@127.0.0.1/hub?nothing={SECRET}",
    ],
)
def test_a_password_is_in_no_error(address: str) -> None:
    with pytest.raises((StoreUnreachableError, HubStoreUnusableError)) as raised:
        opened_store(address).migrate()
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in f"{error} {error!r} {vars(error)}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_a_question_that_takes_too_long_is_given_up(postgres_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partstream_hub.store.postgres._STATEMENT_SECONDS", 0.1)
    monkeypatch.setattr("partstream_hub.store.postgres._LIMITS", "-c statement_timeout=100")
    database = HubDatabase("postgres", postgres_address)
    with pytest.raises(StoreUnreachableError, match="QueryCanceled"):
        database.store().read("SELECT pg_sleep(20)")
    database.close()


def test_a_file_that_another_process_holds_for_too_long_is_unreachable_and_then_reachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partstream_hub.store.opening._BUSY_SECONDS", 0.05)
    database = HubDatabase("sqlite", str(tmp_path / "hub.sqlite3"))
    first, second = database.migrated(), database.store()

    def meanwhile(_work: object) -> None:
        with pytest.raises(StoreUnreachableError, match="database is locked; ask again in 1 s"):
            second.heartbeat("w2")

    first.run(meanwhile)
    assert second.heartbeat("w2").live_workers == 1
    database.close()


def test_a_file_that_is_taken_away_is_unreachable_and_the_one_in_its_place_is_used(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite3"
    database = HubDatabase("sqlite", str(path))
    store = database.migrated()
    store.change([Team("old")], "ana")
    for found in list(tmp_path.glob(f"{path.name}*")):
        found.rename(tmp_path / f"old-{found.name}")
    for _ in range(2):
        assert store.run_at_once(lambda work: work.rows("SELECT 1")) is None
        with pytest.raises(StoreUnreachableError, match="its file was taken away") as raised:
            store.directory()
        assert str(tmp_path) not in raised.value.reason
    assert not path.exists()
    database.migrated().change([Team("new")], "ana")
    directory = store.directory()
    assert directory is not None
    assert set(directory.teams) == {"new"}
    store.change([Team("newer")], "ana")
    database.close()
    with closing(HubDatabase("sqlite", str(path)).store()) as again:
        assert {name for (name,) in again.read("SELECT name FROM hub_teams")} == {"new", "newer"}


def test_without_the_driver_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_driver(name: str, *rest: object, **more: object) -> object:
        if name.split(".", maxsplit=1)[0] == "psycopg":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "partstream_hub.store.postgres", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_driver)
    with pytest.raises(DriverMissingError, match=r"pip install 'psycopg\[binary\]"):
        opened_store("postgresql://ana@127.0.0.1/hub")
