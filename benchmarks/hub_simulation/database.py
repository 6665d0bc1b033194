"""The database of a simulated hub: the real statements in SQLite in memory, at the times of a Postgres.

Every transaction is carried out for real; how long it takes is a model. A question is one round trip, and what has no
answer travels with the next, as the driver sends it. A transaction that locks windows holds them from that statement
until its end, and others wait for them, as for the processors of the database. The costs are those of Postgres on the
machine of the measurements: 50 us for a statement (`benchmarks/hub_store.py`: 263 ms for 5,000 rows of the ledger), and
170 us for a commit that waits for the disk (docs/wires/serving.md#cost-of-a-database-per-request).
"""

from __future__ import annotations
import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from partstream_hub.store.opening import SqliteEngine
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Access, StoreUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.hub_simulation.events import Events
    from partstream_hub.store.values import Query, Transaction

__all__ = ["DatabaseModel", "DatabaseUse", "SimulatedDatabase"]

Result = TypeVar("Result")

_STARTS_AT = 1_795_478_280.0
"""The time of the database at the beginning, in seconds since 1970: 23:58 on a Monday, so that windows of a day end."""


@dataclass(frozen=True, slots=True)
class DatabaseModel:
    """How long the database takes.

    Attributes:
        round_trip: The seconds between a worker and the database, there and back.
        statement: The seconds of a processor for a statement.
        row: The seconds of a processor for a row that is read or written.
        flush: The seconds until a commit is on the disk.
        processors: The processors of the database.
        away_after: The seconds after which a worker knows that it does not answer.
    """

    round_trip: float = 0.000_5
    statement: float = 0.000_05
    row: float = 0.000_001
    flush: float = 0.000_17
    processors: int = 8
    away_after: float = 1.0


@dataclass(slots=True)
class DatabaseUse:
    """What the database had to do.

    Attributes:
        transactions: How many, by the name of the operation.
        statements: How many in all, the beginnings and ends of transactions with them.
        rows: The rows that were read or written.
        busy: The seconds of processors.
        waited: The seconds that transactions waited for windows that others had locked.
        longest_wait: The longest of these waits.
        seconds: How long each operation took, by its name: their sum.
    """

    transactions: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    rows: int = 0
    busy: float = 0.0
    waited: float = 0.0
    longest_wait: float = 0.0
    seconds: Counter[str] = field(default_factory=Counter)


class _Counted:
    """A transaction whose statements are counted."""

    def __init__(self, work: Transaction) -> None:
        self._work = work
        self.statements = 0
        self.round_trips = 0
        self.rows_seen = 0
        self.trips_before_lock = 0
        self.locks: list[Any] = []

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        found = self._work.rows(statement, parameters)
        return self._seen(found)

    def locked(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        self._note_lock(statement, parameters)
        found = self._work.locked(statement, parameters)
        return self._seen(found)

    def rows_of(self, *questions: Query) -> list[list[tuple[Any, ...]]]:
        for question in questions:
            if question.is_locking:
                self._note_lock(question.statement, question.parameters)
        answers = self._work.rows_of(*questions)
        self.statements += len(questions)
        self.round_trips += 1
        self.rows_seen += sum(map(len, answers))
        return answers

    def run(self, statement: str, parameters: Sequence[object] = ()) -> None:
        self.statements += 1
        self.rows_seen += 1
        self._work.run(statement, parameters)

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        given = list(rows)
        self.statements += len(given)
        self.rows_seen += len(given)
        self._work.run_many(statement, given)

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> set[object]:
        self.statements += len(rows)
        self.round_trips += bool(rows)
        self.rows_seen += len(rows)
        return self._work.insert_new(table, columns, rows)

    def now(self) -> float:
        return self._work.now()

    def _seen(self, found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        self.statements += 1
        self.round_trips += 1
        self.rows_seen += len(found)
        return found

    def _note_lock(self, statement: str, parameters: Sequence[object]) -> None:
        if "FROM hub_windows" in statement:
            self.trips_before_lock = self.trips_before_lock if self.locks else self.round_trips
            self.locks += parameters


class _CountingEngine(SqliteEngine):
    """SQLite in memory, which tells what each transaction was."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(None, clock)
        self.done: list[tuple[_Counted, Access]] = []

    def run(self, action: Callable[[Transaction], Result], access: Access = Access.WRITE) -> Result:
        def counted(work: Transaction) -> Result:
            one = _Counted(work)
            self.done.append((one, access))
            return action(one)

        return super().run(counted, access)


class SimulatedDatabase:
    """The database of all workers.

    Args:
        events: The virtual time.
        model: How long it takes.
        prepare: Statements that are run once its tables are there.

    Attributes:
        store: The real store, for questions that take no time.
        use: What it had to do.
        is_away: Whether it does not answer.
    """

    def __init__(self, events: Events, model: DatabaseModel, prepare: Sequence[str] = ()) -> None:
        self._events = events
        self._model = model
        self._engine = _CountingEngine(self.time)
        self.store = HubStore(self._engine)
        self.store.migrate()
        for statement in prepare:
            self._engine.run(lambda work, statement=statement: work.run(statement))
        self._engine.done.clear()
        self.use = DatabaseUse()
        self.is_away = False
        self._processors = [0.0] * model.processors
        self._free_at: dict[Any, float] = {}

    def close(self) -> None:
        """Forgets all that it holds."""
        self._engine.close()

    def time(self) -> float:
        """Its clock."""
        return _STARTS_AT + self._events.now

    def carry_out(
        self, name: str, operation: Callable[[], Any], done: Callable[[Any], None], failed: Callable[[float], None]
    ) -> None:
        """Carries an operation out, and brings its result when Postgres would have.

        Args:
            name: The name of the operation.
            operation: Does it.
            done: Takes the result.
            failed: Is told that the database is away, with the seconds after which to ask again.
        """
        if self.is_away:
            self._events.after(self._model.away_after, lambda: failed(1.0))
            return
        self._engine.done.clear()
        try:
            result = operation()
        except StoreUnreachableError as error:
            self._events.after(self._model.away_after, lambda given=error: failed(given.retry_after))
            return
        ends = self._events.now + self._model.round_trip / 2
        for work, access in self._engine.done:
            ends = self._duration(work, access, ends)
        if self._engine.done:
            self.use.transactions[name] += 1
            self.use.seconds[name] += ends - self._events.now
        self._events.at(ends, lambda: done(result))

    def _duration(self, work: _Counted, access: Access, begins: float) -> float:
        model = self._model
        statements, round_trips = work.statements + 2, work.round_trips + 1
        own = statements * model.statement + work.rows_seen * model.row
        begins = max(begins, self._processors[0])
        heapq.heapreplace(self._processors, begins + own)
        before = (work.trips_before_lock + 0.5) / round_trips
        locked_at = begins + before * (round_trips * model.round_trip + own)
        ends_of_others = max((self._free_at.get(window, 0.0) for window in work.locks), default=0.0)
        waited = max(0.0, ends_of_others - locked_at) if work.locks else 0.0
        flush = 0.0 if access is Access.READ else model.flush
        ends = begins + waited + round_trips * model.round_trip + own + flush
        for window in work.locks:
            self._free_at[window] = ends - model.round_trip / 2
        use = self.use
        use.statements += statements
        use.rows += work.rows_seen
        use.busy += own
        use.waited += waited
        use.longest_wait = max(use.longest_wait, waited)
        return ends
