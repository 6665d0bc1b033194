"""What is in a hub's database, and the transaction in which it is read and written, on SQLite or Postgres.

Amounts are whole: nanodollars in a window of money, tokens in a window of tokens. Times are seconds since 1970. No
error holds an address with a password, a statement or a value. Statements are written in the words that both databases
share, with `?` for each parameter, and no value is ever a part of one.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

from partstream.codec.checks import dataclass, field, storable_text
from partstream.errors import CallerError, PartstreamError, UnexpectedValueError, to_install

_CALENDAR: Final = (0.0, 253_370_764_800.0)  # from 1970 to the end of 9998, in seconds


def calendar_time(time: float) -> float:
    """The time of a clock, or the nearest one in which windows can begin and end: a broken clock stops no hub."""
    first, last = _CALENDAR
    return min(max(time, first), last)


# ---- Values ----


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a budget, as the database has it."""

    id: int
    rule_id: str
    starts_at: float
    ends_at: float | None
    limit: int
    spent: int = 0  # what the ledger charges
    reserved: int = 0  # what answers have reserved that run now
    highest_limit: int = 0  # that it has had: `spent` exceeds it only where an answer cost more than its upper bound

    @property
    def free(self) -> int:
        """What answers can still reserve."""
        return max(0, self.limit - self.spent - self.reserved)

    def is_open(self, now: float) -> bool:
        """Whether it has begun and is not over: after a clock has gone back, a worker knows one that comes later."""
        return self.starts_at <= now and (self.ends_at is None or self.ends_at > now)

    @property
    def overrun(self) -> int:
        """What answers took beyond every limit that there was."""
        return max(0, self.spent - self.highest_limit)


class Charge(NamedTuple):
    """What an answer took of a window."""

    window: int
    amount: int


class Pulse(NamedTuple):
    """What a heartbeat brings."""

    time: float  # of the database
    version: int  # of the directory
    live_workers: int  # those that were heard of lately, the one that asks among them
    silent: Mapping[str, float]  # the workers that hold reservations and were last heard of at these times


@dataclass(slots=True)
class LedgerRow:
    """An answer, and once it is over, what it took: who asked for what. No word of a prompt or an answer, and no key.
    It is filled in as the answer goes on."""

    answer_id: str  # unique in the hub: the row is entered once, however often it is settled
    time: float  # when the request came, by the worker's clock
    key_id: str
    person: str
    team: str | None
    model: str
    provider: str = ""  # which answered
    upstream_model: str = ""  # the id of the model there
    client: str = ""
    session: str | None = None
    wire: str = ""
    input_tokens: int | None = None  # all of the prompt; None if they are not known
    output_tokens: int | None = None
    cached_tokens: int | None = None  # the part of the input that the upstream had in its cache
    cache_write_tokens: int | None = None  # the part of the input that it wrote there
    reasoning_tokens: int | None = None  # the part of the output that was thinking
    nanodollars: int | None = None  # None if the cost is unknown
    is_estimated: bool = False  # tokens and cost are our estimate, as of an answer that was cut
    status: int = 200
    outcome: str = ""  # such as `completed`, `cancelled` or `lost`
    error: str | None = None
    seconds: float | None = None
    first_part_after: float | None = None
    charges: tuple[Charge, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinCode:
    """A code with which a person gets a key, once."""

    digest: bytes = field(repr=False)
    person: str
    expires_at: float
    label: str = ""
    key_expires_at: float | None = None  # None for never
    key_models: tuple[str, ...] | None = None  # as of a key; `()` for one that shows the page and asks no model


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
    """Who changed what in the directory."""

    version: int
    time: float
    by: str  # the name of an admin, or how the command line calls its user
    action: str  # such as `add person ana`
    before: Mapping[str, Any] | None  # as JSON without digests; None if nothing was there
    after: Mapping[str, Any] | None


# ---- Errors ----


class StoreError(PartstreamError):
    """The database of a hub could not do what it was asked."""


class StoreUnreachableError(StoreError):
    """The database cannot be reached now; what was asked may or may not have been done. Ask again later."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(f"the hub's database cannot be reached: {reason}; ask again in {retry_after:g} s")
        self.reason = reason
        self.retry_after = retry_after


class HubStoreUnusableError(StoreError, CallerError, UnexpectedValueError):
    """The database is there and cannot be used as it is."""


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


# ---- Transactions ----


class Access(Enum):
    """What a transaction does to the database."""

    READ = auto()  # it changes nothing, and sees the database as it is at one moment
    WRITE = auto()  # its effect may be lost if the machine of the database fails before the next durable transaction
    WRITE_DURABLY = auto()  # its effect is on the disk when it is over


Rows: TypeAlias = list[tuple[Any, ...]]


class Query(NamedTuple):
    """A question to the tables; if it locks, its rows, of one table, stay as they are until the transaction is over."""

    statement: str
    parameters: Sequence[object] = ()
    is_locking: bool = False


class Transaction:
    """A transaction that runs, on a connection of either driver."""

    clock = "NULL"  # the time of the database in a question; :meth:`note_time` takes it

    def __init__(self, connection: Any, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._clock = clock

    def run(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """Runs a statement for its effect alone."""
        self._connection.execute(statement, tuple(parameters))

    def changed(self, statement: str, parameters: Sequence[object]) -> int:
        """How many rows an `UPDATE` has changed, where :meth:`whole` gives None."""
        return int(self._connection.execute(statement, parameters).rowcount)

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """The rows of a statement, also of one with `RETURNING`."""
        return self.rows_of(Query(statement, parameters))[0]

    def locked(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """The rows of a question about one table, locked in its `ORDER BY` until the transaction is over."""
        return self.rows_of(Query(statement, parameters, is_locking=True))[0]

    def rows_of(self, *questions: Query) -> list[Rows]:
        """The rows of several questions, asked one after the other, in the time of one."""
        return [self._connection.execute(one.statement, tuple(one.parameters)).fetchall() for one in questions]

    def whole(self, _statement: str, _parameters: Sequence[object], _meanwhile: Callable[[], object]) -> Rows | None:
        """The rows of a statement that changes several tables, as a transaction of itself; None if none can do that.
        While the event loop waits for them, something else is done, which must not raise."""

    def note_time(self, time: float | None) -> None:
        """Takes in what a question said of `clock`; SQLite has no clock but the machine's."""

    def now(self) -> float:
        """The time of the database at the beginning of the transaction, in seconds since 1970."""
        return calendar_time(self._clock())


def places(count: int) -> str:
    """Places for parameters: `?, ?, ?`."""
    return ", ".join("?" * count)
