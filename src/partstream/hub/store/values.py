"""The database of a hub, SQLite or Postgres: one interface, one set of statements, the same tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from partstream.codec.checks import storable_text
from partstream.errors import CallerError, PartstreamError, to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


# ---- values ----
# What goes into the database of a hub and comes out of it, beside the directory: windows, leases, ledger rows.
#
# Amounts are whole: nanodollars in a window of money, tokens in a window of tokens. Times are seconds since 1970.

SCARCE_SECONDS: Final = 5.0
"""For how long after a recall nobody leases more than answers need, nor keeps what they leave."""


@dataclass(frozen=True, slots=True)
class Window:
    """One window of a budget, as the database has it.

    Always `spent + leased <= limit`, unless the limit was lowered below what was in use: then it only falls.

    Attributes:
        id: Its number.
        rule_id: The rule that it belongs to.
        starts_at: When it begins.
        ends_at: When it is over; None for one without an end.
        limit: The most that may be used.
        spent: What was charged, and what was taken from workers that are gone.
        leased: What workers hold, in free parts and in reservations: the sum of their leases.
        overrun: What answers took beyond lease and limit. 0, or an upper bound of a request was none.
        recall: How often somebody has asked the others to give back what they hold and do not use.
        recalled_at: When that was last.
    """

    id: int
    rule_id: str
    starts_at: float
    ends_at: float | None
    limit: int
    spent: int
    leased: int
    overrun: int = 0
    recall: int = 0
    recalled_at: float = 0.0

    @property
    def free(self) -> int:
        """What can still be leased."""
        return max(0, self.limit - self.spent - self.leased)


class AnswerPart(NamedTuple):
    """What one answer needs of one window.

    Attributes:
        answer: The place of the answer in the order in which they are served; the same in each of its windows.
        amount: How much it needs.
        least: The least that helps it.
    """

    answer: int
    amount: int
    least: int


class LeaseAsk(NamedTuple):
    """What a worker wants of a window.

    Attributes:
        window: The number of the window.
        amount: How much its answers need.
        least: The least that helps; less than that is not granted.
        recall: The recall whose answers it waits for; 0 for none.
        surplus: How much it wants beside that for the next seconds; nothing of it is granted for
            :data:`SCARCE_SECONDS` after a recall.
        answered: The last recall that it has answered.
        parts: What each of its answers needs, in the order in which they are served. Where not all is there, only what
            whole answers need of all their windows is granted: of a rest that helps none of them, others would be told
            that it is in use. Empty where the amount may be granted in part.
        free: What it has free already, for the first of them; less than 0 if it has used more than it holds.
    """

    window: int
    amount: int
    least: int
    recall: int = 0
    surplus: int = 0
    answered: int = 0
    parts: tuple[AnswerPart, ...] = ()
    free: int = 0


class LeaseGrant(NamedTuple):
    """What a worker got of a window, and how the window is after it.

    Attributes:
        granted: What was leased to it now; 0 for nothing.
        held: All that it holds of the window.
        window: The window.
        unanswered: What each other worker holds that has not answered the recall of the ask; what each of them holds,
            if the ask names none.
        is_over: Whether the window is over, by the clock of the database.
    """

    granted: int
    held: int
    window: Window
    unanswered: Mapping[str, int] = MappingProxyType({})
    is_over: bool = False


class GivenBack(NamedTuple):
    """What giving back has come to.

    Attributes:
        is_done: False if the worker has had another heartbeat: nothing was given back.
        held: What the worker holds now, by the number of the window.
    """

    is_done: bool
    held: Mapping[int, int]


class Settled(NamedTuple):
    """What settling has come to.

    Attributes:
        answer_ids: The ids of all rows, which are in the ledger now.
        held: What the worker holds now of the windows that were charged, by their numbers.
    """

    answer_ids: frozenset[str]
    held: Mapping[int, int]


class Lease(NamedTuple):
    """What a worker holds of a window.

    Attributes:
        amount: What it may use: the sum of its free part, its reservations, and what it has not settled yet.
        forfeited: What was taken from it as spent while it was silent; its next heartbeat takes it back.
        answered: The last recall of the window that it has answered.
    """

    amount: int
    forfeited: int = 0
    answered: int = 0


class Charge(NamedTuple):
    """What an answer took of a window.

    Attributes:
        window: The number of the window.
        amount: How much.
    """

    window: int
    amount: int


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker that has not left.

    Attributes:
        counter: Grows with each heartbeat. A worker is alive if it has changed lately, by the clock of who looks.
        started_at: When its first heartbeat came, by the clock of the database.
        seen_at: When its last one came.
        is_gone: Whether its leases were forfeited and it has not come back.
    """

    counter: int
    started_at: float
    seen_at: float
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """What a heartbeat brings.

    Attributes:
        time: The time of the database.
        version: The version of the directory.
        workers: All workers that have not left, by name; the one that asks too. One that has been gone for a day is not
            told of any more.
        windows: The windows that it asked for, and those with a recall that it has not answered, by number.
        leases: All that the worker holds, by the number of the window.
        hub: Which database it is, for ever: numbers of windows mean nothing in another one.
    """

    time: float
    version: int
    workers: Mapping[str, WorkerState]
    windows: Mapping[int, Window]
    leases: Mapping[int, Lease]
    hub: str = ""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """An answer that is over: who asked for what, and what it took. No word of a prompt or an answer, and no key.

    Attributes:
        answer_id: Its id, unique in the hub: the row is entered once, however often it is settled.
        time: When the request came, by the worker's clock.
        key_id: The public id of the key.
        person: Who asked.
        team: The person's team then, or None.
        model: The model that was asked for.
        provider: The provider that answered, or "".
        upstream_model: The id of the model there, or "".
        client: The name of the client, or "".
        session: The client's id of the conversation, or None.
        wire: The protocol in which it was asked.
        input_tokens: All tokens of the prompt; None if they are not known.
        output_tokens: All tokens of the answer.
        cached_tokens: The part of the input that the upstream had in its cache.
        cache_write_tokens: The part of the input that it wrote there.
        reasoning_tokens: The part of the output that was thinking.
        nanodollars: What it cost; None if nobody knows.
        is_estimated: Whether tokens and cost are our estimate, as of an answer that was cut.
        status: The HTTP status of the reply.
        outcome: How it ended, such as `completed`, `cancelled` or `lost`.
        error: The class of the error that ended it, or None.
        seconds: How long it took.
        first_part_after: The seconds until its first part, or None.
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
        digest: The digest of the code, 32 bytes.
        person: Who joins with it.
        expires_at: From when on it is worth nothing.
        label: What the key will be called.
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
    """A request and its answer, which are kept only if the policy of the team says so.

    Attributes:
        answer_id: The id of the answer.
        time: When the request came.
        person: Who asked.
        request: The request.
        response: The answer.
    """

    answer_id: str
    time: float
    person: str
    request: str = field(repr=False)
    response: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DirectoryRecord:
    """Who changed what in the directory.

    Attributes:
        version: The version that the change made.
        time: When, by the clock of the database.
        by: Who did it: the name of an admin, or how the command line calls whoever ran it.
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
        kind: What kind of fact it is.
        owner: Whose it is, such as a family of models.
        value: The fact, as JSON.
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
        has_more: Whether there are more of them now.
    """

    batch: int
    rows: tuple[LearnedRow, ...]
    series: Mapping[str, tuple[LearnedRow, ...]]
    has_more: bool


class Change(NamedTuple):
    """A version of the directory as :meth:`HubStore.change` has made it.

    Attributes:
        version: The new version.
        records: What was changed.
    """

    version: int
    records: tuple[DirectoryRecord, ...]


# ---- errors ----
# What can be wrong with the database of a hub. No error holds an address with a password, a statement or a value.


class StoreError(PartstreamError):
    """The database of a hub could not do what it was asked."""


class StoreUnreachableError(StoreError):
    """The database cannot be reached now; what was asked may or may not have been done. Ask again later.

    Attributes:
        reason: Why, in a few words.
        retry_after: After how many seconds it makes sense to ask again.
    """

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(f"the hub's database cannot be reached: {reason}; ask again in {retry_after:g} s")
        self.reason = reason
        self.retry_after = retry_after


class HubStoreUnusableError(StoreError, CallerError):
    """The database is there and cannot be used as it is.

    Attributes:
        where: The database, without a password.
        got: What is wrong with it.
        expected: What it should be.
    """

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
    """A change does not fit what is there, such as a person of a team that does not exist; nothing was changed.

    Attributes:
        change: The change, in a few words.
        reason: Why it does not fit.
    """

    def __init__(self, change: str, reason: str) -> None:
        super().__init__(f"{change}: {reason}")
        self.change = change
        self.reason = reason


class DirectoryChangedError(StoreError):
    """Somebody else has changed the directory since it was read; nothing was changed.

    Attributes:
        expected: The version that the changes were made for.
        version: The version that is there.
    """

    def __init__(self, expected: int, version: int) -> None:
        super().__init__(f"the hub has been changed meanwhile: got version {version}, expected {expected}; look again")
        self.expected = expected
        self.version = version


# ---- texts ----
# Texts from outside in a form that both databases take.


def name_text(text: str) -> str:
    """The first thousand characters of a name; Postgres has no text with a zero byte, and UTF-8 no half of a pair."""
    return storable_text(text).replace("\0", "?")


def content_text(text: str) -> str:
    """A whole text."""
    return text.encode(errors="replace").decode().replace("\0", "?")


# ---- engine ----
# What SQLite and Postgres do differently, behind one interface: transactions, locks, time, types of columns.
#
# Statements are written in the words that both share, with `?` for each parameter; no value is ever a part of one.

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
