"""Many answers at once over several workers of one hub, and an observer who knows what all of them have admitted."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.budgets import BudgetError, BudgetSpentError, HubWorker, Reservation, WorkerSettings
from partstream_hub.directory import BudgetRule, Need, Owner, OwnerKind
from partstream_hub.store.rows import Settle
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import LedgerRow

QUICK = WorkerSettings(
    heartbeat_seconds=0.05, wait_seconds=5.0, silent_seconds=5.0, batch_seconds=0.02, stop_seconds=10.0
)
TEAM = BudgetRule(Owner(OwnerKind.TEAM, "core"), BudgetUnit.MONEY, Period.TOTAL, 10_000)


def row(answer_id: str, **fields: object) -> LedgerRow:
    return LedgerRow(answer_id, 1_700_000_000.0, "k1", "ana", "core", "gpt-5", **fields)  # type: ignore[arg-type]


def new_worker(store: HubStore, folder: Path, settings: WorkerSettings = QUICK) -> HubWorker:
    return HubWorker(store, folder, settings)


async def abandon(worker: HubWorker) -> list[Settle]:
    """Ends a worker as a crash does: nothing is said to the database, and the lock is free. What was not settled."""
    assert worker._task is not None
    worker._task.cancel()
    await asyncio.wait([worker._task])
    worker._reserves.clear()
    worker._has_ended = True
    worker._thread.shutdown(wait=True)
    worker._locks.end(is_settled=False)
    return [ended for ended in worker._ended if isinstance(ended, Settle)]


@dataclass
class Observer:
    """Who sees all workers at once.

    Attributes:
        limit: The limit of the one budget.
        live: What answers have reserved that run, or whose worker was killed.
        charged: What ended answers were charged.
        admitted: The answers that were admitted and what is expected in the ledger for each; None for all reserved.
        refused: What was said to answers that were refused.
    """

    limit: int
    live: int = 0
    charged: int = 0
    admitted: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)
    refused: list[BudgetError] = field(default_factory=list)

    @property
    def available(self) -> int:
        return self.limit - self.live - self.charged

    def admits(self, answer_id: str, amount: int) -> None:
        self.live += amount
        self.admitted[answer_id] = amount
        assert self.available >= 0, "more is admitted than there is"

    def ends(self, answer_id: str, amount: int, charge: int) -> None:
        self.live -= amount
        self.charged += charge
        self.admitted[answer_id], self.reserved[answer_id] = charge, amount

    def loses(self, answer_id: str) -> None:
        """The worker was killed before it had settled the answer: it is charged in full."""
        self.charged += self.reserved[answer_id] - self.admitted[answer_id]
        self.admitted[answer_id] = self.reserved[answer_id]


@dataclass
class Crowd:
    """Answers over workers, with chance that is the same in each run of a seed."""

    observer: Observer
    chance: random.Random
    rules: Sequence[BudgetRule] = (TEAM,)
    most: int = 100
    numbers: count = field(default_factory=count)
    tasks: dict[str, list[asyncio.Task[None]]] = field(default_factory=dict)

    async def answer(self, worker: HubWorker, seconds: float) -> None:
        answer_id = f"answer-{next(self.numbers):05}"
        amount = self.chance.randint(self.most // 2, self.most)
        least = self.chance.choice([amount, amount // 4 + 1])
        needs = [Need(rule, amount, least) for rule in self.rules]
        try:
            reservation = await worker.reserve(row(answer_id), needs)
        except BudgetError as error:
            self.observer.refused.append(error)
            return
        reserved = reservation.amount(self.rules[0])
        assert least <= reserved <= amount
        self.observer.admits(answer_id, reserved)
        await asyncio.sleep(seconds)
        self.end(reservation, reserved)

    def end(self, reservation: Reservation, reserved: int) -> None:
        charge = self.chance.randint(0, reserved)
        answer_id = reservation.answer.answer_id
        reservation.settle({rule.id: charge for rule in self.rules}, row(answer_id, outcome="completed"))
        self.observer.ends(answer_id, reserved, charge)

    async def run(self, answers: int, workers: Sequence[HubWorker], seconds: float) -> None:
        """Begins so many answers at once over workers, which take up to some seconds each."""
        async with asyncio.timeout(40):
            tasks = []
            for number in range(answers):
                worker = workers[number % len(workers)]
                task = asyncio.create_task(self.answer(worker, self.chance.uniform(0, seconds)))
                self.tasks.setdefault(worker.name, []).append(task)
                tasks.append(task)
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                assert result is None or isinstance(result, asyncio.CancelledError), result

    async def kill(self, worker: HubWorker, seconds: float = 0.0) -> None:
        """Ends a worker in the midst of its answers."""
        await asyncio.sleep(seconds)
        for task in self.tasks[worker.name]:
            task.cancel()
        for ended in await abandon(worker):
            self.observer.loses(ended.row.answer_id)


def spent_refusals(observer: Observer) -> list[BudgetSpentError]:
    return [error for error in observer.refused if isinstance(error, BudgetSpentError)]
