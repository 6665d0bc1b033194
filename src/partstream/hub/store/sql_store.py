"""The database of a hub on either engine: each method is one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.hub.store import contents as kept_contents
from partstream.hub.store import directory_rows, joining, leasing, settling, workers
from partstream.hub.store.engine import Access
from partstream.hub.store.invariants import broken_invariants
from partstream.hub.store.learned import exchange_learned
from partstream.hub.store.migrations import migrated

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from partstream.hub.directory import BudgetRule, Directory, Key
    from partstream.hub.directory_changes import DirectoryChange
    from partstream.hub.store.engine import Engine, Transaction
    from partstream.hub.store.invariants import BrokenInvariant
    from partstream.hub.store.values import (
        AnswerContent,
        Change,
        DirectoryRecord,
        GivenBack,
        JoinCode,
        LearnedBatch,
        LearnedRow,
        LeaseAsk,
        LeaseGrant,
        LedgerRow,
        Pulse,
        Settled,
        Window,
    )

__all__ = ["SqlStore"]


class SqlStore:
    """The database of a hub; see :class:`partstream.hub.store.store.HubStore`.

    Args:
        engine: SQLite or Postgres.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    # ---- the database itself ----

    def migrate(self) -> int:
        """Makes the tables, or brings older ones up to date; the version that they had."""
        return migrated(self._engine)

    def time(self) -> float:
        """The time of the database."""
        return self._engine.run(lambda work: work.now(), Access.READ)

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question of one's own."""
        return self._engine.run(lambda work: work.rows(statement, parameters), Access.READ)

    def check(self) -> list[BrokenInvariant]:
        """What does not hold of that which always holds."""
        return self._engine.run(broken_invariants, Access.READ)

    def another(self) -> SqlStore:
        """The same database over a connection of its own."""
        return SqlStore(self._engine.another())

    def close(self) -> None:
        """Closes the connection."""
        self._engine.close()

    # ---- the directory ----

    def directory(self, known_version: int | None = None) -> Directory | None:
        """All that there is; None if its version is known."""

        def read(work: Transaction) -> Directory | None:
            version = directory_rows.version_of(work)
            return None if version == known_version else directory_rows.read_directory(work, version)

        return self._engine.run(read, Access.READ)

    def change(self, changes: Sequence[DirectoryChange], by: str, expected_version: int | None = None) -> Change:
        """Changes the directory, all or nothing."""
        return self._engine.run(
            lambda work: directory_rows.change_directory(work, changes, by, expected_version), Access.WRITE_DURABLY
        )

    def records(self, most: int = 100, before_version: int | None = None) -> list[DirectoryRecord]:
        """Who changed what, the newest first."""
        return self._engine.run(lambda work: directory_rows.read_records(work, most, before_version), Access.READ)

    def add_join_code(self, code: JoinCode) -> None:
        """Keeps the digest of a code."""
        self._engine.run(lambda work: joining.add_join_code(work, code))

    def join(self, code_digest: bytes, key_id: str, key_digest: bytes) -> Key | None:
        """Makes a key for a code."""
        return self._engine.run(lambda work: joining.join(work, code_digest, key_id, key_digest), Access.WRITE_DURABLY)

    # ---- workers ----

    def heartbeat(self, worker: str, windows: Collection[int] = ()) -> Pulse:
        """Shows that a worker is alive, and brings what has changed."""
        return self._engine.run(lambda work: workers.heartbeat(work, worker, windows))

    def leave(self, worker: str) -> None:
        """Ends a worker that has settled everything."""
        self._engine.run(lambda work: settling.leave(work, worker))

    # ---- budgets ----

    def open_windows(self, rules: Sequence[BudgetRule]) -> dict[str, Window]:
        """The current windows of rules."""
        return self._engine.run(lambda work: leasing.open_windows(work, rules))

    def lease(self, worker: str, asks: Sequence[LeaseAsk]) -> dict[int, LeaseGrant]:
        """Leases as much as there is."""
        return self._engine.run(lambda work: leasing.lease(work, worker, asks))

    def give_back(self, worker: str, counter: int, amounts: Mapping[int, int], recalls: Mapping[int, int]) -> GivenBack:
        """Gives back what a worker does not need, and answers recalls."""
        return self._engine.run(lambda work: leasing.give_back(work, worker, counter, amounts, recalls))

    def ask_recall(self, windows: Mapping[int, int]) -> dict[int, int]:
        """Asks all workers for what they hold of windows and do not use."""
        return self._engine.run(lambda work: leasing.ask_recall(work, windows))

    def settle(self, worker: str, rows: Sequence[LedgerRow], contents: Sequence[AnswerContent] = ()) -> Settled:
        """Enters answers into the ledger and charges them, each once."""
        return self._engine.run(lambda work: settling.settle(work, worker, rows, contents), Access.WRITE_DURABLY)

    def forfeit(self, worker: str, counter: int | None = None) -> dict[int, int]:
        """Takes what a silent worker holds as spent."""
        return self._engine.run(lambda work: settling.forfeit(work, worker, counter))

    # ---- kept requests and answers ----

    def contents(self, answer_id: str) -> AnswerContent | None:
        """The request and the answer, if they are kept."""
        return self._engine.run(lambda work: kept_contents.read_content(work, answer_id), Access.READ)

    def forget_contents(self, before: float) -> int:
        """Deletes the requests and answers that are older than a time."""
        return self._engine.run(lambda work: kept_contents.forget_contents(work, before))

    def forget_contents_of(self, before: float, teams: Sequence[str]) -> int:
        """Deletes those of the people of some teams that are older than a time."""
        return self._engine.run(lambda work: kept_contents.forget_contents_of(work, before, teams))

    # ---- what workers learn of tokens ----

    def exchange_learned(self, worker: str, rows: Sequence[LearnedRow], since: int, most: int = 2_000) -> LearnedBatch:
        """Keeps what a worker has learned, and reads what others have since."""
        return self._engine.run(
            lambda work: exchange_learned(work, worker, rows, since, most), Access.WRITE if rows else Access.READ
        )
