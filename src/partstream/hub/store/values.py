"""What goes into the database of a hub and comes out of it, beside the directory: windows, leases, ledger rows.

Amounts are whole: nanodollars in a window of money, tokens in a window of tokens. Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "SCARCE_SECONDS",
    "AnswerContent",
    "AnswerPart",
    "Change",
    "Charge",
    "DirectoryRecord",
    "GivenBack",
    "HeartbeatResult",
    "JoinCode",
    "LearnedBatch",
    "LearnedRow",
    "Lease",
    "LeaseAsk",
    "LeaseGrant",
    "LedgerRow",
    "Settled",
    "Window",
    "WorkerState",
]


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
