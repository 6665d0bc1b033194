"""What SQLite and Postgres do differently, behind one interface: transactions, locks, time, types of columns.

Statements are written in the words that both share, with `?` for each parameter; no value is ever a part of one.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Access", "Engine", "Query", "Transaction", "places"]

Result = TypeVar("Result")


class Access(Enum):
    """What a transaction does to the database."""

    READ = auto()
    """It changes nothing, and sees the database as it is at one moment."""
    WRITE = auto()
    """Its effect may be lost if the machine of the database loses its power and all workers with it."""
    WRITE_DURABLY = auto()
    """Its effect is on the disk when it is over."""


class Query(NamedTuple):
    """A question to the tables.

    Attributes:
        statement: The statement, with `?` for each parameter.
        parameters: The parameters.
        is_locking: Whether the rows, of one table, are not changed by others before the transaction is over.
    """

    statement: str
    parameters: Sequence[object] = ()
    is_locking: bool = False


class Transaction(Protocol):
    """A transaction that runs."""

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question, or of a statement with `RETURNING`."""
        ...

    def locked(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question about one table, which no other transaction changes before this one is over.

        They are locked in the order of the statement's `ORDER BY`.
        """
        ...

    def rows_of(self, *questions: Query) -> list[list[tuple[Any, ...]]]:
        """The rows of several questions, asked one after the other, in the time of one."""
        ...

    def run(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """Runs a statement without rows."""
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Runs a statement once for each row of parameters."""
        ...

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> set[object]:
        """Inserts rows whose first column, which is the table's key, is not there yet.

        Args:
            table: The table, a name of ours.
            columns: The columns, names of ours; the first is the key.
            rows: The values of the columns, in the order of their keys, each key once.

        Returns:
            The keys that were new.
        """
        ...

    def now(self) -> float:
        """The time of the database at the beginning of the transaction, in seconds since 1970."""
        ...


class Engine(Protocol):
    """A database.

    Attributes:
        where: What errors call it; without a password.
        words: The words that differ in statements that make tables, by their name there.
    """

    where: str
    words: Mapping[str, str]

    def run(self, action: Callable[[Transaction], Result], access: Access = Access.WRITE) -> Result:
        """Runs an action in one transaction, which is committed behind it and taken back if it raises.

        An action may run a second time, if the first did not have any effect.

        Args:
            action: What is done.
            access: What it does to the database.

        Raises:
            StoreUnreachableError: The database cannot be reached, or takes too long.
            StoreUnusableError: The database is not as it should be.
        """
        ...

    def run_alone(self, action: Callable[[Transaction], Result]) -> Result:
        """Like :meth:`run`, while no other process does so: for the making of tables."""
        ...

    def table_exists(self, work: Transaction, table: str) -> bool:
        """Whether there is a table."""
        ...

    def another(self) -> Engine:
        """The same database over a connection of its own; one in memory has no other."""
        ...

    def close(self) -> None:
        """Closes the connection; the next transaction opens it again."""
        ...


def places(count: int) -> str:
    """Places for parameters: `?, ?, ?`."""
    return ", ".join("?" * count)
