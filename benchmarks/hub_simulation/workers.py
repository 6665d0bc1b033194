"""The workers of a simulated hub: the real decisions (`BudgetManager`), and a journal that outlives its process."""

from __future__ import annotations
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from partstream_hub.journal import JournalRow, Tools, uploaded
from partstream_hub.leases import BudgetGrant
from partstream_hub.store.values import Charge, LedgerRow
from partstream_hub.worker import BudgetManager

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.hub_simulation.database import SimulatedDatabase
    from benchmarks.hub_simulation.events import Events
    from benchmarks.hub_simulation.people import Prompt
    from benchmarks.hub_simulation.truth import Truth
    from partstream_hub.journal import Operation
    from partstream_hub.leases import BudgetRequest, Outcome, WorkerSettings
    from partstream_hub.store.store import HubStore

__all__ = ["Clock", "Disk", "Journal", "Worker"]


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a worker, which is wrong.

    Attributes:
        ahead: The seconds by which it is ahead at the beginning.
        fast: By which part it runs too fast.
    """

    ahead: float = 0.0
    fast: float = 0.0

    def shows(self, time: float) -> float:
        return self.ahead + time * (1 + self.fast)

    def time_of(self, shown: float) -> float:
        return (shown - self.ahead) / (1 + self.fast)


class Journal:
    """What a worker has written to its disk: answers that run, and rows that are not uploaded."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.most = 0
        self._running: dict[str, LedgerRow] = {}
        self._ended: dict[str, LedgerRow] = {}

    def __len__(self) -> int:
        return len(self._running) + len(self._ended)

    def admitted(self, row: LedgerRow) -> None:
        self._running[row.answer_id] = row
        self.most = max(self.most, len(self))

    def completed(self, row: LedgerRow) -> None:
        del self._running[row.answer_id]
        self._ended[row.answer_id] = row

    def rows(self, most: int, *, with_running: bool = False) -> list[JournalRow]:
        found = [*self._ended.values(), *(self._running.values() if with_running else ())]
        return [JournalRow(row, None, 0) for row in found[:most]]

    def remove(self, answer_ids: Sequence[str]) -> None:
        for answer_id in answer_ids:
            self._ended.pop(answer_id, None)
            self._running.pop(answer_id, None)


@dataclass(slots=True)
class Disk:
    """The disk of a machine, with the journals that its dead workers have left.

    Attributes:
        left: The journals of dead workers.
    """

    left: list[Journal] = field(default_factory=list)

    def adopt(self, store: HubStore, most: int) -> bool:
        """Settles a batch of what a dead worker has left, then ends it; as `Adopter`."""
        if not self.left:
            return False
        journal = self.left[0]
        if not uploaded(store, journal, journal.worker, most, with_running=True).rows:
            store.leave(journal.worker)
            self.left.pop(0)
        return bool(self.left)


@dataclass(slots=True)
class _Running:
    row: LedgerRow
    amounts: Mapping[int, int]
    cost: int


class Worker:
    """One process.

    Args:
        name: Its name.
        events: The virtual time.
        database: The database.
        settings: How it keeps its budgets.
        clock: Its clock.
        disk: The disk of its machine.
        truth: What is really used.

    Attributes:
        is_dead: Whether the process is gone.
        journal: What it has written to its disk.
    """

    def __init__(
        self,
        name: str,
        events: Events,
        database: SimulatedDatabase,
        settings: WorkerSettings,
        clock: Clock,
        disk: Disk,
        truth: Truth,
    ) -> None:
        self.name = name
        self.is_dead = False
        self.journal = Journal(name)
        self.disk = disk
        self._events = events
        self._database = database
        self._clock = clock
        self._truth = truth
        self._keeper = BudgetManager(name, settings, self._now())
        self._tools = Tools(database.store, self.journal, disk)
        self._running: dict[str, _Running] = {}
        self._is_busy = False
        self._wakes = 0
        self._numbers = 0
        self._events.after(0.0, self._work)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def live_workers(self) -> int:
        return self._keeper.live_workers

    def ask(self, prompt: Prompt, decided: Callable[[Outcome, str], None]) -> BudgetRequest | None:
        """Asks for an answer; `decided` gets what has become of it, and the answer's id, at once or later."""
        self._numbers += 1
        answer_id = f"{self.name}-{self._numbers}"
        granted = self._keeper.try_reserve(prompt.needs, self._now())
        if granted is not None:
            decided(self._begun(prompt, answer_id, granted), answer_id)
            self._work_if_urgent()
            return None

        def told(outcome: Outcome) -> None:
            if isinstance(outcome, BudgetGrant):
                self._begun(prompt, answer_id, outcome)
            decided(outcome, answer_id)

        ask = self._keeper.ask(prompt.needs, self._now(), told)
        self._work_if_urgent()
        return ask

    def end(self, answer_id: str) -> None:
        """An answer is over; what it costs more than was reserved for it, it was not allowed to say."""
        one = self._running.pop(answer_id, None)
        if one is None or self.is_dead:
            return
        charges = {window: min(one.cost, amount) for window, amount in one.amounts.items()}
        row = replace(one.row, nanodollars=one.cost, is_estimated=False, charges=_charges(charges))
        self._truth.ended(one.amounts, charges)
        self.journal.completed(row)
        self._keeper.end(one.amounts, charges, self._now())
        self._work_if_urgent()

    def die(self, *, disk_is_there: bool) -> int:
        """The process is killed; its answers are charged in full. Returns how many there were."""
        self.is_dead = True
        for one in self._running.values():
            self._truth.ended(one.amounts, one.amounts)
        lost = len(self._running)
        self._running.clear()
        if disk_is_there:
            self.disk.left.append(self.journal)
        return lost

    def close(self) -> None:
        """The process is asked to end."""
        self._keeper.close(self._now())
        self._work_if_urgent()

    @property
    def has_left(self) -> bool:
        return self._keeper.has_left

    def _begun(self, prompt: Prompt, answer_id: str, granted: BudgetGrant) -> BudgetGrant:
        amounts = granted.amounts
        cost = min([prompt.cost, *amounts.values()])
        now = self._now()
        row = LedgerRow(answer_id, now, "k", f"p{prompt.person}", None, "m", charges=_charges(amounts))
        self.journal.admitted(replace(row, is_estimated=True))
        self._running[answer_id] = _Running(row, amounts, cost)
        self._truth.granted(prompt.needs, granted.windows, amounts)
        return granted

    # ---- the thread of the database ----

    def _now(self) -> float:
        return self._clock.shows(self._events.now)

    def _work_if_urgent(self) -> None:
        if self._keeper.has_urgent_work:
            self._work()

    def _work(self) -> None:
        if self._is_busy or self.is_dead:
            return
        now = self._now()
        operation = self._keeper.next_operation(now)
        if operation is None:
            self._sleep(now)
            return
        self._is_busy = True
        self._database.carry_out(
            type(operation).__name__,
            lambda: operation.run(self._tools),
            lambda result: self._done(operation, result),
            self._failed,
        )

    def _sleep(self, now: float) -> None:
        self._wakes += 1
        number = self._wakes
        wakes_at = max(self._clock.time_of(self._keeper.wakes_at(now)), self._events.now + 0.000_1)
        self._events.at(wakes_at, lambda: self._work() if number == self._wakes else None)

    def _done(self, operation: Operation, result: object) -> None:
        self._is_busy = False
        if not self.is_dead:
            self._keeper.done(operation, result, self._now())
            self._work()

    def _failed(self, retry_after: float) -> None:
        self._is_busy = False
        if not self.is_dead:
            self._keeper.failed(retry_after, self._now())
            self._work()


def _charges(amounts: Mapping[int, int]) -> tuple[Charge, ...]:
    return tuple(Charge(window, amount) for window, amount in amounts.items())
