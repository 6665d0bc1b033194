"""The tables of a hub from version to version: older ones are brought up to date with all that is in them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hub.stores import HubDatabase, reserve, row, settle
from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.directory import BudgetRule, Owner, OwnerKind
from partstream_hub.store.store import VERSIONS
from partstream_hub.store.values import Charge, HubStoreUnusableError

RULE = BudgetRule(Owner(OwnerKind.TEAM, "core"), BudgetUnit.MONEY, Period.TOTAL, 1_000)

# What a hub of version 1 had: a team with a person and a key, a budget of which one worker holds 300, one answer.
FIRST_DATA = (
    "UPDATE hub_directory SET version = 7",
    "INSERT INTO hub_teams (name, is_disabled, settings) VALUES ('core', FALSE, '{\"models\":[\"gpt-*\"]}')",
    "INSERT INTO hub_people (name, team, is_admin, is_disabled, settings) VALUES ('ana', 'core', TRUE, FALSE, '{}')",
    (
        "INSERT INTO hub_budgets (id, owner_kind, owner, unit, period, budget_limit, time_zone)"
        " VALUES ('team/core/money/total', 'team', 'core', 'money', 'total', 1000, 'UTC')"
    ),
    (
        "INSERT INTO hub_windows (id, budget, starts_at, ends_at, budget_limit, spent, leased)"
        " VALUES (1, 'team/core/money/total', 0, NULL, 1000, 250, 300)"
    ),
    "INSERT INTO hub_workers (name, counter, started_at, seen_at) VALUES ('w1', 12, 1700000000, 1700000100)",
    "INSERT INTO hub_leases (window_id, worker, amount) VALUES (1, 'w1', 300)",
    (
        "INSERT INTO hub_ledger (answer_id, time, settled_at, key_id, person, team, model, provider, upstream_model,"
        " client, session, wire, input_tokens, output_tokens, nanodollars, is_estimated, status, outcome, worker,"
        " charges)"
        " VALUES ('a1', 1700000000, 1700000001, 'k1', 'ana', 'core', 'gpt-5', '', '', 'codex', NULL, 'responses', 10,"
        " 5, 250, FALSE, 200, 'completed', 'w1', '{\"1\":250}')"
    ),
    (
        "INSERT INTO hub_changes (version, time, by_whom, action, value_before, value_after)"
        " VALUES (7, 1700000000, 'ana', 'add team core', NULL, '{\"name\":\"core\"}')"
    ),
)


@pytest.fixture
def first_database(hub_database: HubDatabase) -> HubDatabase:
    """A database of version 1, in use."""
    engine = hub_database.engine()
    assert engine.migrate(up_to=1) == 0
    for statement in FIRST_DATA:
        engine.run(lambda work, statement=statement: work.run(statement))
    engine.run(lambda work: work.run("INSERT INTO hub_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)", KEY))
    return hub_database


KEY = ("k1", b"d" * 32, "ana", "laptop", 1_700_000_000.0, None, None, "{}")


def test_there_are_three_upgrades(hub_database: HubDatabase) -> None:
    assert len(VERSIONS) == 4
    assert [hub_database.store().migrate() for _ in range(2)] == [0, 4]


@pytest.mark.parametrize("stops", [(), (2, 3)], ids=["at once", "one after the other"])
def test_a_database_of_the_first_version_works_on_with_all_that_is_in_it(
    first_database: HubDatabase, stops: tuple[int, ...]
) -> None:
    for version in stops:
        assert first_database.engine().migrate(up_to=version) == version - 1
    store = first_database.store()
    assert store.migrate() == (stops[-1] if stops else 1)

    directory = store.directory()
    assert directory is not None
    assert (directory.version, directory.teams["core"].models) == (7, ("gpt-*",))
    assert directory.people["ana"].is_admin
    assert directory.keys["k1"].digest == b"d" * 32
    assert directory.budgets_of(directory.keys["k1"]) == (RULE,)
    assert [record.action for record in store.records()] == ["add team core"]
    # What a worker had leased counts as spent: what its answers took is unknown.
    assert store.read("SELECT answer_id, nanodollars, outcome, charges FROM hub_ledger ORDER BY answer_id") == [
        ("a1", 250, "completed", '{"1":250}'),
        ("lease-w1-1", None, "lost", '{"1":300}'),
    ]
    assert store.read("SELECT day FROM hub_ledger WHERE answer_id = 'a1'") == [(19_675,)]
    assert store.check() == []

    # What is new works with what is old.
    assert store.heartbeat("w1").live_workers == 1
    assert reserve(store, "w1", "a2", RULE, 10_000, 1) == 450
    settle(store, "w1", [row("a1", Charge(1, 250)), row("a2", Charge(1, 100))])
    assert store.open_windows([RULE])[RULE.id].spent == 650
    assert store.check() == []


def test_what_was_leased_and_forfeited_before_reservations_counts_as_spent(hub_database: HubDatabase) -> None:
    engine = hub_database.engine()
    engine.migrate(up_to=3)
    for statement in (
        (
            "INSERT INTO hub_windows (id, budget, starts_at, ends_at, budget_limit, spent, leased, overrun,"
            " highest_limit) VALUES (1, 'team/core/money/total', 0, NULL, 1000, 250, 300, 70, 1000)"
        ),
        "INSERT INTO hub_leases (window_id, worker, amount, forfeited) VALUES (1, 'w1', 100, 250), (1, 'w2', 200, 0)",
        (
            "INSERT INTO hub_ledger (answer_id, time, settled_at, key_id, person, model, provider, upstream_model,"
            " client, wire, is_estimated, status, outcome, worker, charges) VALUES ('a1', 1, 2, 'k1', 'ana', 'm', '',"
            " '', '', '', FALSE, 200, 'completed', 'w1', '{\"1\":70}')"
        ),
    ):
        engine.run(lambda work, statement=statement: work.run(statement))
    store = hub_database.store()
    store.migrate()
    window = store.open_windows([RULE])[RULE.id]
    assert (window.spent, window.reserved, window.overrun) == (620, 0, 0)
    assert store.check() == []


def test_tables_of_a_newer_version_are_left_alone(hub_database: HubDatabase) -> None:
    store = hub_database.migrated()
    hub_database.engine().run(lambda work: work.run("UPDATE hub_schema SET version = 99"))
    with pytest.raises(HubStoreUnusableError, match="got tables of version 99, expected 4 or lower: update partstream"):
        store.migrate()


def test_an_upgrade_that_fails_leaves_everything_as_it_was(first_database: HubDatabase) -> None:
    engine = first_database.engine()
    engine.run(lambda work: work.run("CREATE TABLE hub_contents (mine TEXT)"))  # which the second version makes
    with pytest.raises(HubStoreUnusableError):
        first_database.store().migrate()
    engine.run(lambda work: work.run("DROP TABLE hub_contents"))
    assert first_database.store().migrate() == 1


def test_workers_that_start_at_once_make_the_tables_once(hub_database: HubDatabase) -> None:
    barrier = threading.Barrier(4)

    def start() -> int:
        store = hub_database.store()
        barrier.wait(10)
        return store.migrate()

    with ThreadPoolExecutor(4) as threads:
        found = [one.result(30) for one in [threads.submit(start) for _ in range(4)]]
    assert sorted(found) == [0, 4, 4, 4]


def test_a_file_that_is_no_database_is_refused_with_its_name_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database at all, but a text of some length " * 20)
    before = path.read_bytes()
    database = HubDatabase("sqlite", str(path))
    with pytest.raises(HubStoreUnusableError, match=r"notes\.txt: got file is not a database, expected"):
        database.store().migrate()
    database.close()
    assert path.read_bytes() == before


def test_a_hub_that_cannot_be_read_is_no_hub_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "hub.sqlite3"
    database = HubDatabase("sqlite", str(path))
    assert database.store().version() == 0
    database.migrated()
    database.close()
    content = path.read_bytes()
    for damaged in (
        content[:5000],
        content.replace(b"CREATE TABLE hub_", b"CREATE \xffABLE hub_"),
        b"no database" * 99,
    ):
        path.write_bytes(damaged)
        with pytest.raises(HubStoreUnusableError, match=r"hub\.sqlite3: got .*(malformed|not a database)"):
            database.store().version()
        database.close()


def test_a_new_file_is_for_its_user_alone(tmp_path: Path) -> None:
    database = HubDatabase("sqlite", str(tmp_path / "folder" / "hub.sqlite3"))
    database.migrated().heartbeat("w1")
    files = sorted((tmp_path / "folder").iterdir())
    assert [path.name for path in files] == ["hub.sqlite3", "hub.sqlite3-shm", "hub.sqlite3-wal"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700
    database.close()
