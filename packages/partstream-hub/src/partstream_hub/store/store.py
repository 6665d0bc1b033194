"""The database of a hub on either engine: a synchronous interface, for one thread of each worker.

A version of the tables is never changed once it was released; a new one follows it. `{words}` differ between the
databases. `limit` is a word of SQL, so the column is called `budget_limit`.

Each method is one transaction; the functions of the other modules of this package are parts of one. After
:class:`StoreUnreachableError` it is not known whether a method was carried out: all can be repeated as they are, but
for answers that a batch begins; the worker drops these.
"""

from __future__ import annotations
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from partstream_hub.directory import BudgetRule
from partstream_hub.store import rows as tables
from partstream_hub.store import values

# ---- Tables, version by version ----

_FIRST: Final = (
    "CREATE TABLE hub_directory (version BIGINT NOT NULL)",
    "INSERT INTO hub_directory (version) VALUES (0)",
    """CREATE TABLE hub_teams (
        name TEXT PRIMARY KEY, is_disabled BOOLEAN NOT NULL, settings TEXT NOT NULL
    )""",
    """CREATE TABLE hub_people (
        name TEXT PRIMARY KEY, team TEXT REFERENCES hub_teams (name), is_admin BOOLEAN NOT NULL,
        is_disabled BOOLEAN NOT NULL, settings TEXT NOT NULL
    )""",
    """CREATE TABLE hub_keys (
        id TEXT PRIMARY KEY, digest {bytes} NOT NULL, person TEXT NOT NULL REFERENCES hub_people (name),
        label TEXT NOT NULL, created_at {real} NOT NULL, expires_at {real}, revoked_at {real}, settings TEXT NOT NULL
    )""",
    """CREATE TABLE hub_budgets (
        id TEXT PRIMARY KEY, owner_kind TEXT NOT NULL, owner TEXT NOT NULL, unit TEXT NOT NULL, period TEXT NOT NULL,
        budget_limit BIGINT NOT NULL CHECK (budget_limit >= 0), time_zone TEXT NOT NULL
    )""",
    "CREATE TABLE hub_models (name TEXT PRIMARY KEY, settings TEXT NOT NULL)",
    """CREATE TABLE hub_changes (
        id {counted}, version BIGINT NOT NULL, time {real} NOT NULL, by_whom TEXT NOT NULL, action TEXT NOT NULL,
        value_before TEXT, value_after TEXT
    )""",
    """CREATE TABLE hub_windows (
        id {counted}, budget TEXT NOT NULL, starts_at {real} NOT NULL, ends_at {real},
        budget_limit BIGINT NOT NULL, spent BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0),
        leased BIGINT NOT NULL DEFAULT 0 CHECK (leased >= 0), overrun BIGINT NOT NULL DEFAULT 0 CHECK (overrun >= 0),
        recall BIGINT NOT NULL DEFAULT 0, UNIQUE (budget, starts_at)
    )""",
    """CREATE TABLE hub_workers (
        name TEXT PRIMARY KEY, counter BIGINT NOT NULL, started_at {real} NOT NULL, seen_at {real} NOT NULL
    )""",
    """CREATE TABLE hub_leases (
        window_id BIGINT NOT NULL REFERENCES hub_windows (id), worker TEXT NOT NULL,
        amount BIGINT NOT NULL CHECK (amount >= 0), PRIMARY KEY (window_id, worker)
    )""",
    "CREATE INDEX hub_leases_by_worker ON hub_leases (worker)",
    """CREATE TABLE hub_ledger (
        answer_id TEXT PRIMARY KEY, time {real} NOT NULL, settled_at {real} NOT NULL, key_id TEXT NOT NULL,
        person TEXT NOT NULL, team TEXT, model TEXT NOT NULL, provider TEXT NOT NULL, upstream_model TEXT NOT NULL,
        client TEXT NOT NULL, session TEXT, wire TEXT NOT NULL, input_tokens BIGINT, output_tokens BIGINT,
        cached_tokens BIGINT, cache_write_tokens BIGINT, reasoning_tokens BIGINT, nanodollars BIGINT,
        is_estimated BOOLEAN NOT NULL, status BIGINT NOT NULL, outcome TEXT NOT NULL, error TEXT, seconds {real},
        first_part_after {real}, worker TEXT NOT NULL, charges TEXT NOT NULL
    )""",
    "CREATE INDEX hub_ledger_by_time ON hub_ledger (time)",
    "CREATE INDEX hub_ledger_by_person ON hub_ledger (person, time)",
)
"""People, budgets and the ledger."""

_SECOND: Final = (
    "ALTER TABLE hub_directory ADD COLUMN identity TEXT NOT NULL DEFAULT ''",
    "UPDATE hub_directory SET identity = {chance}",
    "ALTER TABLE hub_workers ADD COLUMN is_gone BOOLEAN NOT NULL DEFAULT FALSE",
    "ALTER TABLE hub_leases ADD COLUMN forfeited BIGINT NOT NULL DEFAULT 0 CHECK (forfeited >= 0)",
    "ALTER TABLE hub_leases ADD COLUMN answered BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE hub_windows ADD COLUMN recalled_at {real} NOT NULL DEFAULT 0",
    "ALTER TABLE hub_windows ADD COLUMN highest_limit BIGINT NOT NULL DEFAULT 0",
    (
        "UPDATE hub_windows SET highest_limit = CASE WHEN spent + leased > budget_limit THEN spent + leased"
        " ELSE budget_limit END"
    ),
    """CREATE TABLE hub_join_codes (
        digest {bytes} PRIMARY KEY, person TEXT NOT NULL REFERENCES hub_people (name) ON DELETE CASCADE,
        expires_at {real} NOT NULL, label TEXT NOT NULL, key_expires_at {real},
        key_models TEXT
    )""",
    """CREATE TABLE hub_contents (
        answer_id TEXT PRIMARY KEY, time {real} NOT NULL, person TEXT NOT NULL, request TEXT NOT NULL,
        response TEXT NOT NULL
    )""",
    "CREATE INDEX hub_contents_by_time ON hub_contents (time)",
)
"""Workers that are gone, codes to join with, kept requests and answers."""

_THIRD: Final = (
    "ALTER TABLE hub_ledger ADD COLUMN day BIGINT NOT NULL DEFAULT 0",
    "UPDATE hub_ledger SET day = {day_of_time}",
    "CREATE INDEX hub_ledger_by_day ON hub_ledger (day, person)",
    "CREATE TABLE hub_learned_batch (batch BIGINT NOT NULL)",
    "INSERT INTO hub_learned_batch (batch) VALUES (0)",
    """CREATE TABLE hub_learned (
        key TEXT PRIMARY KEY, kind TEXT NOT NULL, owner TEXT NOT NULL, batch BIGINT NOT NULL, worker TEXT NOT NULL,
        value TEXT NOT NULL
    )""",
    "CREATE INDEX hub_learned_by_batch ON hub_learned (batch)",
    "CREATE INDEX hub_learned_by_owner ON hub_learned (kind, owner, batch)",
)
"""The day of an answer, for figures of a month; what the workers learn of tokens."""

_FOURTH: Final = (
    # What workers held and have not settled is charged in full: it is unknown what their answers took.
    """INSERT INTO hub_ledger (
        answer_id, time, settled_at, key_id, person, model, provider, upstream_model, client, wire, is_estimated,
        status, outcome, worker, charges, day
    )
    SELECT 'lease-' || worker || '-' || window_id, {now}, {now}, '', '', '', '', '', '', '', TRUE, 200, 'lost', worker,
        '{{"' || window_id || '":' || (amount + forfeited) || '}}', CAST({now} / 86400 AS BIGINT)
    FROM hub_leases WHERE amount + forfeited > 0""",
    "UPDATE hub_windows SET spent = spent + leased + overrun, leased = 0",
    "DROP TABLE hub_leases",
    "ALTER TABLE hub_windows RENAME COLUMN leased TO reserved",
    "ALTER TABLE hub_windows DROP COLUMN overrun",
    "ALTER TABLE hub_windows DROP COLUMN recall",
    "ALTER TABLE hub_windows DROP COLUMN recalled_at",
    "DELETE FROM hub_workers",
    "ALTER TABLE hub_workers DROP COLUMN is_gone",
    """CREATE TABLE hub_reservations (
        answer_id TEXT PRIMARY KEY, worker TEXT NOT NULL, amounts TEXT NOT NULL, money BIGINT, lost TEXT NOT NULL
    )""",
    "CREATE INDEX hub_reservations_by_worker ON hub_reservations (worker)",
)
"""Reservations of single answers, in place of what workers had leased."""

VERSIONS: Final = (_FIRST, _SECOND, _THIRD, _FOURTH)


# ---- Migrations ----

_TABLE: Final = "hub_schema"


def migrated(engine: values.Engine, up_to: int = len(VERSIONS)) -> int:
    """Brings the tables to a version.

    Args:
        up_to: The version; an older one only for tests of the way from there.

    Returns:
        The version that they had; 0 if there were none.

    Raises:
        StoreUnusableError: They are of a newer version.
    """

    def migrate(work: values.Transaction) -> int:
        version = _version(engine, work)
        if version > len(VERSIONS):
            raise values.HubStoreUnusableError(
                engine.where, f"tables of version {version}", f"{len(VERSIONS)} or lower: update partstream"
            )
        for statements in VERSIONS[version:up_to]:
            for statement in statements:
                work.run(statement.format_map(engine.words))
        if version < up_to:
            work.run(f"UPDATE {_TABLE} SET version = ?", (up_to,))  # noqa: S608 - a name of our own
        return version

    return engine.run_alone(migrate)


def _version(engine: values.Engine, work: values.Transaction) -> int:
    if not engine.table_exists(work, _TABLE):
        work.run(f"CREATE TABLE {_TABLE} (version BIGINT NOT NULL)")
        work.run(f"INSERT INTO {_TABLE} (version) VALUES (0)")  # noqa: S608
        return 0
    ((version,),) = work.rows(f"SELECT version FROM {_TABLE}")  # noqa: S608
    return int(version)


# ---- The store ----

_ATTEMPTS: Final = 3
"""How often a batch is begun, each time with the windows that have ended meanwhile."""
_CONTENT: Final = "SELECT answer_id, time, person, request, response FROM hub_contents WHERE answer_id = ?"
_FORGET_OF_TEAMS: Final = (
    "DELETE FROM hub_contents WHERE time < ? AND person IN (SELECT name FROM hub_people WHERE team IN ({teams})) "
    "RETURNING answer_id"
)
_FORGET_OF_OTHERS: Final = (
    "DELETE FROM hub_contents WHERE time < ? AND person NOT IN (SELECT name FROM hub_people WHERE team IS NOT NULL) "
    "RETURNING answer_id"
)


P = ParamSpec("P")
R = TypeVar("R")


def _transaction(
    part: Callable[Concatenate[values.Transaction, P], R], access: values.Access
) -> Callable[Concatenate[HubStore, P], R]:
    """The method that runs a part of a transaction as a whole one."""

    @wraps(part)
    def method(store: HubStore, /, *given: P.args, **named: P.kwargs) -> R:
        return store.run(lambda work: part(work, *given, **named), access)

    return method


class HubStore:
    """The database of a hub. Used by one thread at a time.

    Every method may raise :class:`~partstream_hub.store.values.StoreUnreachableError`; the next call connects again.
    Those that are one part of a transaction have its description.

    Args:
        engine: SQLite or Postgres.
    """

    def __init__(self, engine: values.Engine) -> None:
        self._engine = engine

    # ---- the database itself ----

    def run(self, action: Callable[[values.Transaction], R], access: values.Access = values.Access.WRITE) -> R:
        """Runs an action as one transaction."""
        return self._engine.run(action, access)

    def migrate(self) -> int:
        """Makes the tables, or brings those of an older version up to date, with all that is in them.

        Several processes may do so at once.

        Returns:
            The version that the tables had: 0 if there were none.

        Raises:
            StoreUnusableError: A newer version of Partstream has made the tables, or they are not ours.
        """
        return migrated(self._engine)

    def time(self) -> float:
        """The time of the database, in seconds since 1970."""
        return self.run(lambda work: work.now(), values.Access.READ)

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question of one's own about the tables; it cannot change anything.

        Args:
            statement: A SELECT in the words that SQLite and Postgres share, with `?` for each parameter.
            parameters: The parameters. What comes from outside is never a part of the statement.
        """
        return self.run(lambda work: work.rows(statement, parameters), values.Access.READ)

    check = _transaction(tables.broken_invariants, values.Access.READ)

    def another(self) -> HubStore:
        """The same database over a connection of its own, so that what takes long delays no worker."""
        return HubStore(self._engine.another())

    def close(self) -> None:
        """Closes the connection; the next call opens it again."""
        self._engine.close()

    # ---- the directory ----

    directory = _transaction(tables.directory_since, values.Access.READ)
    change = _transaction(tables.change_directory, values.Access.WRITE_DURABLY)
    records = _transaction(tables.read_records, values.Access.READ)
    add_join_code = _transaction(tables.add_join_code, values.Access.WRITE)
    join_codes = _transaction(tables.join_codes, values.Access.READ)
    join = _transaction(tables.join, values.Access.WRITE_DURABLY)

    # ---- workers ----

    def heartbeat(self, worker: str, silent_seconds: float = 30.0, *, is_durable: bool = False) -> values.Pulse:
        """Shows that a worker is alive, and brings what has changed. The first one makes it known.

        Args:
            worker: The name of the worker, new for each process.
            silent_seconds: Since when a worker must not have been heard of to be named as silent.
            is_durable: Whether the disk is waited for, and with it all that was written before.
        """
        access = values.Access.WRITE_DURABLY if is_durable else values.Access.WRITE
        return self.run(lambda work: tables.heartbeat(work, worker, silent_seconds), access)

    expire = _transaction(tables.expire, values.Access.WRITE_DURABLY)

    # ---- budgets ----

    open_windows = _transaction(tables.open_windows, values.Access.WRITE_DURABLY)
    """What the ledger charges refers to windows, so that a new one is on the disk before anything is."""

    def carry_out(self, worker: str, batch: tables.Batch) -> tables.BatchResult:
        """Ends answers, extends those that run, and begins new ones, in this order and in one transaction.

        * What an answer had reserved is released, its row enters the ledger, and what it took is spent, each exactly
          once: a row that is there already changes nothing, unless it says that the answer was lost.
        * More is reserved for an answer that runs if all of it is free.
        * What an answer needs is reserved in all its windows or in none, and `spent + reserved <= limit` afterwards.

        Can be repeated as it is for what has ended. The disk is not waited for; see :meth:`heartbeat`.
        """
        windows = dict(batch.windows)
        rules = {need.rule.id: need.rule for one in batch.reserves for need in one.needs}
        missing: Sequence[BudgetRule] = [rule for rule in rules.values() if rule.id not in windows]
        also: set[int] = set()
        for _ in range(_ATTEMPTS):
            if missing:
                windows |= {name: window.id for name, window in self.open_windows(missing).items()}
            known = replace(batch, windows=windows)
            try:
                return self.run(partial(tables.carry_out, worker=worker, batch=known, also=also))
            except tables.IncompleteBatchError as error:
                missing = error.rules
                also |= set(error.windows)
        raise values.StoreUnreachableError("windows of budgets end before they are used", 1.0)

    def carry_out_at_once(self, worker: str, batch: tables.Batch) -> tables.BatchResult | None:
        """Like :meth:`carry_out`, where nothing has to be waited for; None elsewhere: then nothing has happened."""
        if any(need.rule.id not in batch.windows for one in batch.reserves for need in one.needs):
            return None
        try:
            return self._engine.run_at_once(partial(tables.carry_out, worker=worker, batch=batch, also=set()))
        except tables.IncompleteBatchError:
            return None

    # ---- kept requests and answers ----

    def contents(self, answer_id: str) -> values.AnswerContent | None:
        """The request and the answer, if they are kept."""
        return next((values.AnswerContent(*row) for row in self.read(_CONTENT, (answer_id,))), None)

    def forget_contents_of(self, before: float, teams: Sequence[str]) -> int:
        """Deletes the requests and answers of the people who are in some teams now; how many they were.

        Args:
            teams: The teams; none for people in no team, and for those who are gone.
        """
        statement = _FORGET_OF_TEAMS.format(teams=values.places(len(teams))) if teams else _FORGET_OF_OTHERS
        return len(self.run(lambda work: work.rows(statement, (before, *teams))))

    # ---- what workers learn of tokens ----

    def exchange_learned(
        self, worker: str, rows: Sequence[values.LearnedRow], since: int, most: int = 2_000
    ) -> values.LearnedBatch:
        """Keeps what a worker has learned, and brings what others have.

        Can be repeated as it is. Facts are read whole batch by whole batch, so that there may be more than `most`.

        Args:
            rows: What it has learned.
            since: The batch up to which it has read; 0 for a new worker.
        """
        return self.run(
            lambda work: tables.exchange_learned(work, worker, rows, since, most),
            values.Access.WRITE if rows else values.Access.READ,
        )
