"""What a worker asks of the database, one thing at a time: values that a thread carries out.

The worker's decisions are made elsewhere (`keeper.py`), without I/O; whoever drives it carries an operation out and
gives it the result, a worker in its thread as much as a simulation in its virtual time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.hub.budgets.journal import JournalRow
    from partstream.hub.directory import BudgetRule, Directory
    from partstream.hub.store.store import HubStore
    from partstream.hub.store.values import GivenBack, HeartbeatResult, LeaseAsk, LeaseGrant, Window

__all__ = [
    "Adopt",
    "Adopter",
    "ExpireLease",
    "Heartbeat",
    "Leave",
    "OpenWindows",
    "Operation",
    "ReadDirectory",
    "RequestRecall",
    "ReturnLease",
    "TakeLease",
    "Tools",
    "Upload",
    "UploadSource",
    "Uploaded",
    "uploaded",
]


class UploadSource(Protocol):
    """Where ended answers wait to be uploaded: the journal of a worker, or what a simulation has in its place."""

    def rows(self, most: int, *, with_running: bool = False) -> list[JournalRow]:
        """The oldest rows."""
        ...

    def remove(self, answer_ids: Sequence[str]) -> None:
        """Removes rows that the database has."""
        ...


class Adopter(Protocol):
    """Settles what dead workers of this machine have left; a simulation has an adopter without files."""

    def adopt(self, store: HubStore, most: int) -> bool:
        """Settles a batch; returns whether there is more to do at once."""
        ...


class Tools(NamedTuple):
    """With what operations are carried out.

    Attributes:
        store: The hub's database.
        journal: Where this worker's ended answers wait.
        adopter: Who settles the journals of others.
    """

    store: HubStore
    journal: UploadSource
    adopter: Adopter


class Uploaded(NamedTuple):
    """What an upload has come to.

    Attributes:
        rows: How many rows the journal no longer has.
        content_bytes: The length of the requests and answers with them.
        charges: What they were charged, by the number of the window.
        held: What the worker holds now of these windows.
    """

    rows: int
    content_bytes: int
    charges: Mapping[int, int]
    held: Mapping[int, int]


def uploaded(store: HubStore, source: UploadSource, worker: str, most: int, *, with_running: bool = False) -> Uploaded:
    """Settles a batch of rows and then removes them from the journal.

    If anything breaks off in between, the rows are settled once more, which the database knows by their ids; they are
    counted as uploaded only when they have left the journal, which happens once.

    Raises:
        StoreUnreachableError: The database cannot be reached; the rows stay.
        JournalError: The journal cannot be read or written; the rows stay.
    """
    batch = source.rows(most, with_running=with_running)
    if not batch:
        return Uploaded(0, 0, {}, {})
    contents = [one.content for one in batch if one.content is not None]
    settled = store.settle(worker, [one.row for one in batch], contents)
    source.remove([one.row.answer_id for one in batch])
    charges: Counter[int] = Counter()
    for one in batch:
        for window, amount in one.row.charges:
            charges[window] += amount
    return Uploaded(len(batch), sum(one.content_bytes for one in batch), charges, settled.held)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Shows that the worker is alive, and brings what has changed."""

    worker: str
    windows: tuple[int, ...] = ()

    def run(self, tools: Tools) -> HeartbeatResult:
        """Carries it out."""
        return tools.store.heartbeat(self.worker, self.windows)


@dataclass(frozen=True, slots=True)
class ReadDirectory:
    """Reads the directory, which has another version."""

    known: int | None

    def run(self, tools: Tools) -> Directory | None:
        """Carries it out."""
        return tools.store.directory(self.known)


@dataclass(frozen=True, slots=True)
class OpenWindows:
    """Finds the current windows of rules."""

    rules: tuple[BudgetRule, ...]

    def run(self, tools: Tools) -> dict[str, Window]:
        """Carries it out."""
        return tools.store.open_windows(self.rules)


@dataclass(frozen=True, slots=True)
class TakeLease:
    """Leases more of windows."""

    worker: str
    asks: tuple[LeaseAsk, ...]

    def run(self, tools: Tools) -> dict[int, LeaseGrant]:
        """Carries it out."""
        return tools.store.lease(self.worker, self.asks)


@dataclass(frozen=True, slots=True)
class RequestRecall:
    """Asks all workers for what they do not use; by window, the recall that was seen last."""

    windows: Mapping[int, int]

    def run(self, tools: Tools) -> dict[int, int]:
        """Carries it out."""
        return tools.store.ask_recall(self.windows)


@dataclass(frozen=True, slots=True)
class ReturnLease:
    """Gives back what is not used, and answers recalls."""

    worker: str
    counter: int
    amounts: Mapping[int, int]
    recalls: Mapping[int, int] = field(default_factory=dict)

    def run(self, tools: Tools) -> GivenBack:
        """Carries it out."""
        return tools.store.give_back(self.worker, self.counter, self.amounts, self.recalls)


@dataclass(frozen=True, slots=True)
class Upload:
    """Uploads ended answers."""

    worker: str
    most: int

    def run(self, tools: Tools) -> Uploaded:
        """Carries it out."""
        return uploaded(tools.store, tools.journal, self.worker, self.most)


@dataclass(frozen=True, slots=True)
class ExpireLease:
    """Takes what a silent worker holds as spent."""

    worker: str
    counter: int

    def run(self, tools: Tools) -> dict[int, int]:
        """Carries it out."""
        return tools.store.forfeit(self.worker, self.counter)


@dataclass(frozen=True, slots=True)
class Adopt:
    """Settles a batch of what workers of this machine have left behind."""

    most: int

    def run(self, tools: Tools) -> bool:
        """Carries it out."""
        return tools.adopter.adopt(tools.store, self.most)


@dataclass(frozen=True, slots=True)
class Leave:
    """Ends the worker: what it holds can be leased by others."""

    worker: str

    def run(self, tools: Tools) -> None:
        """Carries it out."""
        tools.store.leave(self.worker)


Operation: TypeAlias = (
    Heartbeat
    | ReadDirectory
    | OpenWindows
    | TakeLease
    | RequestRecall
    | ReturnLease
    | Upload
    | ExpireLease
    | Adopt
    | Leave
)
