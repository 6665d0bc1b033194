"""A hub in virtual time: the real decisions of workers, the real tables, and every way in which either can fail."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Self

from partstream_hub.amounts import Need
from partstream_hub.directory import BudgetRule, Person, Put, Team
from partstream_hub.journal import Adopt, Journal, Leave, Operation, Tools, Upload, uploaded
from partstream_hub.leases import BudgetGrant, Outcome, WorkerSettings
from partstream_hub.store.opening import SqliteEngine
from partstream_hub.store.store import HubStore
from partstream_hub.store.values import Charge, LedgerRow
from partstream_hub.worker import BudgetManager

SETTINGS = WorkerSettings(silent_seconds=20.0)


@dataclass
class Journals:
    """The journals on one machine whose workers are gone."""

    journals: list[Journal] = field(default_factory=list)

    def adopt(self, store: HubStore, most: int) -> bool:
        if not self.journals:
            return False
        journal = self.journals[0]
        if uploaded(store, journal, journal.worker, most, with_running=True).rows:
            return True
        store.leave(journal.worker)
        self.journals.remove(journal)
        return True


@dataclass
class Answer:
    """An answer that was admitted."""

    answer_id: str
    amounts: dict[int, int]
    windows: Mapping[str, int]


@dataclass
class VirtualWorker:
    """One worker: the real manager of budgets and a journal in memory."""

    manager: BudgetManager
    journal: Journal
    seconds_ahead: float
    answers: list[Answer] = field(default_factory=list)
    begun: Operation | None = None


class VirtualHub:
    """Workers over one database, which is closed after the block, with the journals.

    Attributes:
        now: The time of the database; a worker's own clock is ahead of it by some seconds.
        ledger: What has to be in the ledger in the end, by the answer's id.
        refused: The errors that answers got.
    """

    def __init__(self, rules: tuple[BudgetRule, ...]) -> None:
        self.now = 1_700_000_000.0
        self._opened = ExitStack()
        engine = SqliteEngine(None, lambda: self.now)
        self._opened.callback(engine.close)
        self.store = HubStore(engine)
        self.store.migrate()
        self.rules = rules
        owners = [Team("core"), Person("ana", "core")]
        self.store.change([Put(entry) for entry in (*owners, *rules)], "test")
        self.remains = Journals()
        self.workers: list[VirtualWorker] = []
        self.ledger: dict[str, int] = {}
        self.refused: list[Outcome] = []
        self._count = 0
        self._late: list[tuple[VirtualWorker, Operation]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def start(self, settings: WorkerSettings = SETTINGS) -> VirtualWorker:
        name = f"w{len(self.workers)}-{self._number()}"
        ahead = 2.0 * len(self.workers)
        journal = Journal(None, name)
        self._opened.callback(journal.close)
        worker = VirtualWorker(BudgetManager(name, settings, self.now + ahead), journal, ahead)
        self.workers.append(worker)
        return worker

    def _number(self) -> int:
        self._count += 1
        return self._count

    # ---- answers ----

    def ask(self, worker: VirtualWorker, amount: int, least: int) -> None:
        answer_id = f"a{self._number():04}"

        def decided(outcome: Outcome) -> None:
            if not isinstance(outcome, BudgetGrant):
                self.refused.append(outcome)
                return
            answer = Answer(answer_id, dict(outcome.amounts), outcome.windows)
            worker.journal.admitted(self._row(answer, answer.amounts))
            worker.answers.append(answer)
            self.ledger[answer_id] = sum(answer.amounts.values())  # if it is lost

        needs = [Need(rule, amount, min(least, amount)) for rule in self.rules]
        worker.manager.ask(needs, self.now + worker.seconds_ahead, decided)

    def end(self, worker: VirtualWorker, answer: Answer, percent: int) -> None:
        worker.answers.remove(answer)
        charges = {window: amount * percent // 100 for window, amount in answer.amounts.items()}
        worker.journal.completed(self._row(answer, charges))
        worker.manager.end(answer.amounts, charges, self.now + worker.seconds_ahead)
        self.ledger[answer.answer_id] = sum(charges.values())

    def drop(self, worker: VirtualWorker, answer: Answer) -> None:
        worker.answers.remove(answer)
        worker.journal.dropped(answer.answer_id)
        worker.manager.release(answer.amounts, self.now + worker.seconds_ahead)
        del self.ledger[answer.answer_id]

    def top_up(self, worker: VirtualWorker, answer: Answer, amount: int) -> None:
        for rule in self.rules:
            window = worker.manager.top_up(rule, answer.windows[rule.id], amount, self.now + worker.seconds_ahead)
            if window is not None:
                answer.amounts[window] = answer.amounts.get(window, 0) + amount
                worker.journal.changed(self._row(answer, answer.amounts))
        self.ledger[answer.answer_id] = sum(answer.amounts.values())

    @staticmethod
    def _row(answer: Answer, charges: Mapping[int, int]) -> LedgerRow:
        of_windows = tuple(Charge(window, amount) for window, amount in charges.items() if amount)
        return LedgerRow(answer.answer_id, 1_700_000_000.0, "k1", "ana", "core", "gpt-5", charges=of_windows)

    # ---- workers ----

    def step(self, worker: VirtualWorker, outcome: str = "done") -> bool:
        """Begins the next operation, or ends the one that is begun; returns whether there was something to do.

        Args:
            worker: The worker.
            outcome: `done`; `lost`: the database did it, and nobody heard of that; `undone`: it was not reached;
                `late`: it was not reached in time, and does it some time later.
        """
        now = self.now + worker.seconds_ahead
        if worker.begun is None:
            worker.begun = worker.manager.next_operation(now)
            return worker.begun is not None
        operation, worker.begun = worker.begun, None
        if outcome == "done":
            result = operation.run(Tools(self.store, worker.journal, self.remains))
            worker.manager.done(operation, result, now)
            return True
        if outcome == "late":
            self._late.append((worker, operation))
        elif outcome == "lost":
            self._run_unheard(worker, operation)
        worker.manager.failed(0.5, now)
        return True

    def run_late(self) -> None:
        """Has the database do what it got long ago and nobody waits for any more."""
        while self._late:
            self._run_unheard(*self._late.pop())

    def _run_unheard(self, worker: VirtualWorker, operation: Operation) -> None:
        if isinstance(operation, Upload):  # the rows are in the ledger, and still in the journal
            self.store.settle(worker.manager.worker, [one.row for one in worker.journal.rows(operation.most)])
        elif not isinstance(operation, Adopt | Leave):  # of these a worker waits for the end, or they are repeated
            operation.run(Tools(self.store, worker.journal, self.remains))

    def rest(self, seconds: float = 0.0) -> None:
        """Lets all workers do what is due, and time go by."""
        ends = self.now + seconds
        while True:
            for worker in self.workers:
                for _ in range(100):
                    if not self.step(worker):
                        break
            if self.now >= ends:
                return
            self.now += 0.25

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    def crash(self, worker: VirtualWorker, *, keeps_journal: bool) -> None:
        """Kills a worker."""
        self.workers.remove(worker)
        if keeps_journal:
            self.remains.journals.append(worker.journal)
            return
        self._late = [(late, operation) for late, operation in self._late if late is not worker]
        entered = self.entered()
        for row, *_ in worker.journal.rows(10_000, with_running=True):
            if row.answer_id not in entered:
                del self.ledger[row.answer_id]

    def set_limit(self, rule: BudgetRule, limit: int) -> None:
        """What an administrator does."""
        self.store.change([Put(replace(rule, limit=limit))], "admin")

    # ---- what holds ----

    def check(self) -> None:
        """What holds after every step."""
        assert self.store.check() == []
        rows = self.store.read("SELECT window_id, worker, amount + forfeited FROM hub_leases")
        held = {(window, worker): amount for window, worker, amount in rows}
        for worker in self.workers:
            for window, lease in worker.manager.table:
                settled = self._settled(worker, window)
                assert lease.reserved + lease.unsettled - settled <= held.get((window, worker.manager.worker), 0)

    def _settled(self, worker: VirtualWorker, window: int) -> int:
        """What the database has charged of a worker's rows that the worker does not know to be there."""
        rows = [one.row for one in worker.journal.rows(10_000)]
        known = {answer_id for (answer_id,) in self.store.read("SELECT answer_id FROM hub_ledger")}
        return sum(
            charge.amount for row in rows if row.answer_id in known for charge in row.charges if charge.window == window
        )

    def entered(self) -> dict[str, int]:
        """What is in the ledger."""
        rows = self.store.read("SELECT answer_id, charges FROM hub_ledger")
        return {answer_id: sum(json.loads(charges).values()) for answer_id, charges in rows}
