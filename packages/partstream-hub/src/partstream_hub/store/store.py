"""The database of a hub: a synchronous interface, for one thread of each worker.

`schema.sql` has the tables. Each method is one transaction, of which functions in `rows.py` are parts. After
:class:`StoreUnreachableError` it is not known whether a method was carried out: all can be repeated as they are, but
for answers that a batch begins; the worker drops these. What SQLite and Postgres do differently is in a subclass each.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from partstream_hub.directory import BudgetRule
from partstream_hub.store import rows as tables
from partstream_hub.store import values

_SCHEMA: Final = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
VERSIONS: Final = tuple(
    tuple(filter(str.strip, version.split(";\n"))) for version in re.split(r"(?m)^-- Version .*\n", _SCHEMA)[1:]
)
"""The statements that make each version of the tables from the one before."""
_ATTEMPTS: Final = 3  # how often a batch is begun, each time with the windows that have ended meanwhile
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
    """The database of a hub, used by one thread at a time.

    Every method may raise :class:`~partstream_hub.store.values.StoreUnreachableError`; the next call connects again.
    Those that are one part of a transaction have its description.
    """

    where: str  # what errors call it; without a password
    words: Mapping[str, str]  # those that differ in statements that make tables, by their names there
    alone: str  # a question for a transaction that others of its kind wait for
    has_table: str  # a question for a table, which has a row if it is there

    # ---- what the two databases do differently ----

    def run(self, action: Callable[[values.Transaction], R], access: values.Access = values.Access.WRITE) -> R:
        """Runs an action in one transaction, which is committed after it and taken back if it raises; a second time if
        the first did not have any effect.

        Raises:
            StoreUnreachableError: The database cannot be reached, or takes too long.
            HubStoreUnusableError: The database is not as it should be.
        """
        raise NotImplementedError

    def run_at_once(self, action: Callable[[values.Transaction], R]) -> R | None:
        """Like :meth:`run`, where there is little to wait for; None, with no effect, elsewhere or where it fails."""
        raise NotImplementedError

    def another(self) -> HubStore:
        """The same database over another connection, so that what takes long delays no worker."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the connection; the next call opens it again."""
        raise NotImplementedError

    # ---- the database itself ----

    def migrate(self, up_to: int = len(VERSIONS)) -> int:
        """Makes the tables, or brings those of an older version up to date, with all that is in them; which version
        they had, or 0. Several processes may do so at once. An older version is only for tests of the way from there.

        Raises:
            HubStoreUnusableError: A newer version of Partstream has made the tables, or they are not ours.
        """

        def migrate(work: values.Transaction) -> int:
            work.rows(self.alone)
            if not work.rows(self.has_table, ("hub_schema",)):
                work.run("CREATE TABLE hub_schema (version BIGINT NOT NULL)")
                work.run("INSERT INTO hub_schema (version) VALUES (0)")
            ((version,),) = work.rows("SELECT version FROM hub_schema")
            if version > len(VERSIONS):
                raise values.HubStoreUnusableError(
                    self.where, f"tables of version {version}", f"{len(VERSIONS)} or lower: update partstream"
                )
            for statement in (one for made in VERSIONS[version:up_to] for one in made):
                work.run(statement.format_map(self.words))
            if version < up_to:
                work.run("UPDATE hub_schema SET version = ?", (up_to,))
            return int(version)

        return self.run(migrate, values.Access.WRITE_DURABLY)

    def version(self) -> int:
        """The version of the tables; 0 if there are none. Nothing is made by asking.

        Raises:
            HubStoreUnusableError: The database cannot be read, or is damaged.
        """

        def version(work: values.Transaction) -> int:
            if not work.rows(self.has_table, ("hub_schema",)):
                return 0
            ((found,),) = work.rows("SELECT version FROM hub_schema")
            return int(found)

        return self.run(version, values.Access.READ)

    def time(self) -> float:
        """The time of the database, in seconds since 1970."""
        return self.run(lambda work: work.now(), values.Access.READ)

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT, with `?` for each parameter: what comes from outside is never a part of it."""
        return self.run(lambda work: work.rows(statement, parameters), values.Access.READ)

    check = _transaction(tables.broken_invariants, values.Access.READ)

    # ---- the directory ----

    directory = _transaction(tables.directory_since, values.Access.READ)
    change = _transaction(tables.change_directory, values.Access.WRITE_DURABLY)
    records = _transaction(tables.read_records, values.Access.READ)
    add_join_code = _transaction(tables.add_join_code, values.Access.WRITE)
    join_codes = _transaction(tables.join_codes, values.Access.READ)
    join = _transaction(tables.join, values.Access.WRITE_DURABLY)

    # ---- workers ----

    heartbeat = _transaction(tables.heartbeat, values.Access.WRITE)
    heartbeat_durably = _transaction(tables.heartbeat, values.Access.WRITE_DURABLY)
    """Waits for the disk, and with it for all that was written before."""
    expire = _transaction(tables.expire, values.Access.WRITE_DURABLY)

    # ---- budgets ----

    open_windows = _transaction(tables.open_windows, values.Access.WRITE_DURABLY)
    """What the ledger charges refers to windows, so that a new one is on the disk before anything is."""

    def carry_out(self, worker: str, batch: tables.Batch) -> tables.BatchResult:
        """Ends answers, extends those that run, and begins new ones, in this order and in one transaction.

        What an answer took is spent exactly once: a row that is there already changes nothing, unless it says that the
        answer was lost. More is reserved for an answer that runs if all of it is free. What an answer needs is reserved
        in all its windows or in none, and `spent + reserved <= limit` afterwards.

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
            return self.run_at_once(partial(tables.carry_out, worker=worker, batch=batch, also=set()))
        except tables.IncompleteBatchError:
            return None

    # ---- kept requests and answers ----

    contents = _transaction(tables.contents, values.Access.READ)
    forget_contents_of = _transaction(tables.forget_contents_of, values.Access.WRITE)
