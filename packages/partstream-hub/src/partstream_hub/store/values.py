"""The values and the interfaces of a hub's database, SQLite or Postgres: one interface, one set of statements.

Amounts are whole: nanodollars in a window of money, tokens in a window of tokens. Times are seconds since 1970. No
error holds an address with a password, a statement or a value. What the two databases do differently (transactions,
locks, time, types of columns) is in an :class:`Engine`; statements are written in the words that both share, with `?`
for each parameter, and no value is ever a part of one.
"""

from __future__ import annotations
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from partstream.codec.checks import dataclass, field, storable_text
from partstream.errors import CallerError, PartstreamError, to_install

_CALENDAR: Final = (0.0, 253_370_764_800.0)
"""From 1970 to the end of 9998, in seconds."""


def calendar_time(time: float) -> float:
    """The time of a clock, or the nearest one in which windows can begin and end: a broken clock stops no hub."""
    first, last = _CALENDAR
    return min(max(time, first), last)


# ---- Values ----


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a budget, as the database has it.

    Attributes:
        spent: What the ledger charges.
        reserved: What answers have reserved that run now.
        highest_limit: The highest limit that the window has had: `spent` exceeds it only where an answer cost more
            than its upper bound.
    """

    id: int
    rule_id: str
    starts_at: float
    ends_at: float | None
    limit: int
    spent: int = 0
    reserved: int = 0
    highest_limit: int = 0

    @property
    def free(self) -> int:
        """What answers can still reserve."""
        return max(0, self.limit - self.spent - self.reserved)

    @property
    def overrun(self) -> int:
        """What answers took beyond every limit that there was."""
        return max(0, self.spent - self.highest_limit)


class Charge(NamedTuple):
    """What an answer took of a window."""

    window: int
    amount: int


class Pulse(NamedTuple):
    """What a heartbeat brings.

    Attributes:
        time: The time of the database.
        version: The version of the directory.
        live_workers: How many workers were heard of lately, the one that asks among them.
        silent: The workers that hold reservations and were last heard of at these times, other than lately.
    """

    time: float
    version: int
    live_workers: int
    silent: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """An answer that is over: who asked for what, and what it took. No word of a prompt or an answer, and no key.

    Attributes:
        answer_id: Its id, unique in the hub: the row is entered once, however often it is settled.
        time: When the request came, by the worker's clock.
        provider: The provider that answered, or "".
        upstream_model: The id of the model there, or "".
        input_tokens: All tokens of the prompt; None if they are not known.
        cached_tokens: The part of the input that the upstream had in its cache.
        cache_write_tokens: The part of the input that it wrote there.
        reasoning_tokens: The part of the output that was thinking.
        nanodollars: What it cost; None if it is unknown.
        is_estimated: Whether tokens and cost are our estimate, as of an answer that was cut.
        outcome: How it ended, such as `completed`, `cancelled` or `lost`.
        charges: What it is charged in each window.
    """

    answer_id: str
    time: float
    key_id: str
    person: str
    team: str | None
    model: str
    provider: str = ""
    upstream_model: str = ""
    client: str = ""
    session: str | None = None
    wire: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    nanodollars: int | None = None
    is_estimated: bool = False
    status: int = 200
    outcome: str = ""
    error: str | None = None
    seconds: float | None = None
    first_part_after: float | None = None
    charges: tuple[Charge, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinCode:
    """A code with which a person gets a key, once.

    Attributes:
        key_expires_at: From when on the key is not accepted; None for never.
        key_models: The models that the key may use, as :attr:`Key.models` says them; `()` for a key that shows the page
            of the hub and asks no model.
    """

    digest: bytes = field(repr=False)
    person: str
    expires_at: float
    label: str = ""
    key_expires_at: float | None = None
    key_models: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class AnswerContent:
    """A request and its answer, which are kept only if the policy of the team says so."""

    answer_id: str
    time: float
    person: str
    request: str = field(repr=False)
    response: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DirectoryRecord:
    """Who changed what in the directory.

    Attributes:
        by: Who did it: the name of an admin, or how the command line calls its user.
        action: What was done, such as `put person ana`.
        before: What was there, as JSON without digests; None if nothing was.
        after: What is there now; None if nothing is.
    """

    version: int
    time: float
    by: str
    action: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


class LearnedRow(NamedTuple):
    """A fact about tokens that one worker has learned and all use; `shared_counts.py` knows what is in it.

    Attributes:
        key: What it is about: a later fact with the same key takes its place.
        owner: Whose it is, such as a family of models.
    """

    key: str
    kind: str
    owner: str
    value: str


class LearnedBatch(NamedTuple):
    """What other workers have learned.

    Attributes:
        batch: The number to ask with the next time.
        rows: The facts, the oldest first; without those that are kept in a series.
        series: The newest facts of each series that has grown, of all workers, the oldest first, by their owner.
    """

    batch: int
    rows: tuple[LearnedRow, ...]
    series: Mapping[str, tuple[LearnedRow, ...]]
    has_more: bool


class Change(NamedTuple):
    """A version of the directory as :meth:`HubStore.change` has made it."""

    version: int
    records: tuple[DirectoryRecord, ...]


# ---- Errors ----


class StoreError(PartstreamError):
    """The database of a hub could not do what it was asked."""


class StoreUnreachableError(StoreError):
    """The database cannot be reached now; what was asked may or may not have been done. Ask again later."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(f"the hub's database cannot be reached: {reason}; ask again in {retry_after:g} s")
        self.reason = reason
        self.retry_after = retry_after


class HubStoreUnusableError(StoreError, CallerError):
    """The database is there and cannot be used as it is."""

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class DriverMissingError(StoreError, CallerError):
    """The package is not installed that speaks to the database."""

    def __init__(self) -> None:
        super().__init__(f"a hub on Postgres needs one more package: {to_install('postgres')}")


class DirectoryConflictError(StoreError, CallerError):
    """A change does not fit what is there, such as a person of a team that does not exist; nothing was changed."""

    def __init__(self, change: str, reason: str) -> None:
        super().__init__(f"{change}: {reason}")
        self.change = change
        self.reason = reason


class DirectoryChangedError(StoreError):
    """Another has changed the directory since it was read; nothing was changed."""

    def __init__(self, expected: int, version: int) -> None:
        super().__init__(f"the hub has been changed meanwhile: got version {version}, expected {expected}; look again")
        self.expected = expected
        self.version = version


# ---- Texts ----


def name_text(text: str) -> str:
    """The first thousand characters of a name; Postgres has no text with a zero byte, and UTF-8 no half of a pair."""
    return storable_text(text).replace("\0", "?")


def content_text(text: str) -> str:
    """A whole text."""
    return text.encode(errors="replace").decode().replace("\0", "?")


# ---- Engines ----

Result = TypeVar("Result")


class Access(Enum):
    """What a transaction does to the database."""

    READ = auto()
    """It changes nothing, and sees the database as it is at one moment."""
    WRITE = auto()
    """Its effect may be lost if the machine of the database fails before the next durable transaction."""
    WRITE_DURABLY = auto()
    """Its effect is on the disk when it is over."""


class Query(NamedTuple):
    """A question to the tables.

    Attributes:
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
        """Runs an action in one transaction, which is committed after it and taken back if it raises.

        An action may run a second time, if the first did not have any effect.

        Raises:
            StoreUnreachableError: The database cannot be reached, or takes too long.
            StoreUnusableError: The database is not as it should be.
        """
        ...

    def run_at_once(self, action: Callable[[Transaction], Result]) -> Result | None:
        """Like :meth:`run`, where nothing and nobody has to be waited for; None elsewhere, or where it fails: then
        nothing has happened."""
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
