"""Budgets that hold to the nanodollar, without a database on the way of an answer.

A window of a budget has a `limit`, what is `spent`, and what workers have `leased`; the database keeps
`spent + leased <= limit` in every transaction. A worker reserves for its answers from what it has leased, in memory,
and writes down in its journal what it has admitted before it asks a provider. So nothing is ever admitted beyond a
limit, whatever dies, is cut off or is heard of late:

* lease, give back, settle: each transaction returns what the worker holds, which computes nothing itself;
* a recall has all workers give back what they do not use before an answer is refused;
* a crash: the worker that adopts the journal charges what had begun, in full, and gives the rest back;
* a worker that is silent: what it holds counts as spent, and comes back with its next heartbeat;
* the database away: answers go on while leases last, and ended ones wait in the journal;
* the end of a window and clocks that differ: only the database's clock counts, and silence is measured by one's own
  connected time.

The protocol with all its cases, and why it holds: docs/hub-budgets.md.
"""

from __future__ import annotations
import asyncio
import logging
import random
import re
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.lm.cancellation import Disposable, EventEmitter
from partstream_hub import journal as journals
from partstream_hub.amounts import BudgetsUnreachableError, JournalError, Need
from partstream_hub.leases import BudgetGrant, BudgetRequest, DatabaseClock, WindowLeases, WorkerSettings, lease_asks
from partstream_hub.reservations import Reservation, WaitingAnswers
from partstream_hub.store import values

if TYPE_CHECKING:
    from pathlib import Path

    from partstream_hub.directory import BudgetRule, Directory
    from partstream_hub.journal import Journal, Operation, OwnedJournal, Uploaded
    from partstream_hub.leases import LeaseTable, Outcome
    from partstream_hub.store.store import HubStore

# ---- The worker ----

_logger = logging.getLogger("partstream.hub")

T = TypeVar("T")

_FIRST_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 5.0
"""The seconds after which a database is asked again that was not reached, doubled from the first to the longest."""
_JOURNAL_RETRY: Final = 1.0
_FULL: Final = "the journal is full of answers that wait for the hub's database"
_UNWRITABLE: Final = "the journal of this worker cannot be written"


class HubWorker:
    """One worker of a hub, for one event loop: its leases, its journal, its heartbeat.

    :class:`BudgetManager` decides everything. This carries out one operation after the other in the one thread that
    uses the database from now on, and keeps the journal. Answers wait for that thread only when the worker has to lease
    more.

    Args:
        store: The hub's database.
        folder: The folder of the journals of all workers of this machine, for the user alone.
        settings: How it keeps its budgets.
        clock: Returns seconds that only grow.
    """

    def __init__(
        self,
        store: HubStore,
        folder: Path,
        settings: WorkerSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # A name that no other worker has: of its machine and of chance.
        host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname()).strip("-")
        self.name = f"{host[:40] or 'worker'}-{secrets.token_hex(6)}"
        self._store = store
        self._settings = settings or WorkerSettings()
        self._clock = clock
        self._folder = journals.JournalFolder(folder)
        self._adopter = journals.JournalAdopter(self._folder)
        self._manager = BudgetManager(self.name, self._settings, clock())
        self._owned: OwnedJournal | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="partstream-hub")
        self._changed: EventEmitter[Directory] = EventEmitter()
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._unwritten: deque[Callable[[], None]] = deque()
        self._is_migrated = False
        self._failures = 0

    @property
    def directory(self) -> Directory | None:
        """Who may do what, as of the last heartbeat; None until it was read once."""
        return self._manager.directory

    @property
    def live_workers(self) -> int:
        """How many workers are alive, this one among them."""
        return self._manager.live_workers

    @property
    def is_connected(self) -> bool:
        """Whether the database answered last time."""
        return self._manager.is_connected

    @property
    def waiting_rows(self) -> int:
        """How many ended answers wait to be entered into the hub's ledger."""
        return self._journal.ended + len(self._unwritten)

    @property
    def _journal(self) -> Journal:
        if self._owned is None:
            raise JournalError(self.name, "the worker has not been started, or has ended")
        return self._owned.journal

    async def start(self) -> None:
        """Opens the journal and begins to work; a database that is away is tried again in the background.

        Raises:
            JournalError: The folder of the journals cannot be used.
            StoreUnusableError: The database is there and cannot be used as it is.
        """
        self._owned = self._folder.begin(self.name)
        try:
            with suppress(values.StoreUnreachableError):
                await self.use_store(lambda _: None)
        except BaseException:
            self._end()
            raise
        self._task = asyncio.create_task(self._work(), name="partstream hub worker")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.wait_seconds):
                while self.directory is None and not self._failures:
                    await self._progressed()

    async def close(self) -> None:
        """Uploads what has ended and gives everything back, for a limited time; the journal keeps the rest.

        Called after the answers have ended: what one has reserved that still runs is charged in full, by the worker
        that adopts the journal.
        """
        if self._owned is None:
            return
        self._manager.close(self._clock())
        self._failures = 0  # a database that was away is asked once more
        self._wake.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.stop_seconds):
                while self._may_still_leave():
                    await self._progressed()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        with suppress(TimeoutError):  # a database that hangs lets go of the thread by its own time limit
            async with asyncio.timeout(self._settings.stop_seconds):
                await asyncio.get_running_loop().run_in_executor(self._thread, self._store.close)
        self._end()

    def on_did_change_directory(self, listener: Callable[[Directory], object], /) -> Disposable:
        """Tells a listener of each new version of the directory."""
        return self._changed.event(listener)

    async def use_store(self, action: Callable[[HubStore], T]) -> T:
        """Runs something else on the database, in the worker's thread.

        Raises:
            StoreUnreachableError: The database cannot be reached.
            StoreUnusableError: It cannot be used as it is.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._used, action)

    def _used(self, action: Callable[[HubStore], T]) -> T:
        """In the thread: makes the tables, once, before anything else."""
        if not self._is_migrated:
            self._store.migrate()
            self._is_migrated = True
        return action(self._store)

    def _may_still_leave(self) -> bool:
        is_working = self._task is not None and not self._task.done()
        return is_working and not self._manager.is_finished and self._failures <= 1

    def _end(self) -> None:
        """Lets go of thread and journal; the journal stays if anything is in it, for the worker that adopts it."""
        self._thread.shutdown(wait=False)
        self._adopter.close()
        owned, self._owned = self._owned, None
        if owned is not None:
            is_done = self._manager.has_left and not owned.journal.answers
            (owned.remove if is_done else owned.close)()

    # ---- answers ----

    def try_reserve(self, answer: values.LedgerRow, needs: Sequence[Need]) -> Reservation | None:
        """Reserves all needs of an answer from what this worker holds, at once; None if that is not enough.

        Args:
            answer: The row that is entered, charged with all that is reserved, if the worker dies before the end.
            needs: What it needs, one for each rule; none for an answer that is only entered into the ledger.

        Raises:
            BudgetsUnreachableError: The journal is full or cannot be written.
        """
        journal, settings = self._journal, self._settings
        if journal.answers >= settings.journal_rows or journal.content_bytes >= settings.journal_bytes:
            raise BudgetsUnreachableError(_FULL, _LONGEST_RETRY)
        if self._unwritten:
            raise BudgetsUnreachableError(_UNWRITABLE, _JOURNAL_RETRY)
        granted = self._manager.try_reserve(needs, self._clock())
        self._wake_if_urgent()
        return None if granted is None else self._admitted(answer, needs, granted)

    async def reserve(self, answer: values.LedgerRow, needs: Sequence[Need]) -> Reservation:
        """Reserves the needs of an answer; leases more and asks other workers for what they do not use, where needed.

        Waits at most `wait_seconds`. Where the whole does not fit, less is reserved, down to `least`.

        Raises:
            BudgetSpentError: A budget does not cover the answer.
            BudgetsUnreachableError: Whether one does cannot be found out now.
        """
        if (reservation := self.try_reserve(answer, needs)) is not None:
            return reservation
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        ask = self._manager.ask(needs, self._clock(), partial(self._decide, outcome))
        self._wake.set()
        try:
            decided = await outcome
        except asyncio.CancelledError:
            self._manager.withdraw(ask)
            if outcome.done() and not outcome.cancelled():
                self._take_back(outcome.result())
            raise
        if isinstance(decided, BudgetGrant):
            return self._admitted(answer, needs, decided)
        raise decided

    def _decide(self, outcome: asyncio.Future[Outcome], decided: Outcome) -> None:
        if outcome.done():  # the answer was cancelled
            self._take_back(decided)
        else:
            outcome.set_result(decided)

    def _take_back(self, decided: Outcome) -> None:
        if isinstance(decided, BudgetGrant):
            self.reduce(decided.amounts)

    def _admitted(self, answer: values.LedgerRow, needs: Sequence[Need], granted: BudgetGrant) -> Reservation:
        """Enters a reservation into the journal: only now may the provider be asked."""
        reservation = Reservation(self, answer, needs, granted.windows, granted.amounts)
        try:
            self._journal.admitted(reservation.row_if_lost())
        except JournalError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the error says it all
            self.reduce(granted.amounts)
            raise BudgetsUnreachableError(_UNWRITABLE, _JOURNAL_RETRY) from error
        return reservation

    # ---- reservations ----

    def top_up(self, rule: BudgetRule, window: int, amount: int) -> int | None:
        """Reserves more for an answer that runs; the number of the window, or None if it is not free."""
        found = self._manager.top_up(rule, window, amount, self._clock())
        self._wake_if_urgent()
        return found

    def changed(self, reservation: Reservation) -> bool:
        """Enters into the journal what is reserved now; whether it could be."""
        try:
            self._journal.changed(reservation.row_if_lost())
        except JournalError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the error says it all
            return False
        return True

    def reduce(self, amounts: Mapping[int, int]) -> None:
        """Frees a part of what is reserved."""
        self._manager.release(amounts, self._clock())
        self._wake_if_urgent()

    def settle(
        self,
        reservation: Reservation,
        charges: Mapping[int, int],
        row: values.LedgerRow,
        content: values.AnswerContent | None,
    ) -> None:
        """Ends a reservation with what the answer took."""

        def end() -> None:
            self._journal.completed(row, content)
            self._manager.end(reservation.amounts, charges, self._clock())

        self._written(end)

    def drop(self, reservation: Reservation) -> None:
        """Ends a reservation of which nothing was used."""

        def end() -> None:
            self._journal.dropped(reservation.answer.answer_id)
            self._manager.release(reservation.amounts, self._clock())

        self._written(end)

    def _written(self, end: Callable[[], None]) -> None:
        """Ends a reservation, once the journal can be written: until then it stays reserved, as the journal says."""
        try:
            end()
        except JournalError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the error says it all
            self._unwritten.append(end)
        self._wake_if_urgent()

    def _wake_if_urgent(self) -> None:
        if self._manager.has_urgent_work:
            self._wake.set()

    async def _progressed(self) -> None:
        """Waits until another operation is over."""
        self._progress.clear()
        await self._progress.wait()

    async def _work(self) -> None:
        while not self._manager.has_left:
            with suppress(JournalError):
                while self._unwritten:
                    self._unwritten[0]()
                    self._unwritten.popleft()
            self._wake.clear()
            operation = self._manager.next_operation(self._clock())
            if operation is not None:
                await self._carry_out(operation)
                self._progress.set()
                continue
            delay = self._manager.wakes_at(self._clock()) - self._clock()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, delay)):
                    await self._wake.wait()

    async def _carry_out(self, operation: Operation) -> None:
        try:
            result = await self.use_store(partial(self._run, operation))
        except JournalError as error:
            _logger.warning("%s", error)
            self._manager.postponed(operation, _JOURNAL_RETRY, self._clock())
        except (values.StoreUnreachableError, values.HubStoreUnusableError) as error:
            self._failed(operation, error)
        except Exception as error:
            _logger.exception("an operation on the hub's database failed: %s", type(operation).__name__)
            self._failed(operation, error)
        else:
            self._succeeded(operation, result)

    def _run(self, operation: Operation, store: HubStore) -> Any:
        """In the thread: carries an operation out, and keeps the journal's file small."""
        journal = self._journal
        result = operation.run(journals.Tools(store, journal, self._adopter))
        if isinstance(operation, journals.Heartbeat):
            journal.tidy()
        return result

    def _succeeded(self, operation: Operation, result: Any) -> None:
        if self._failures:
            _logger.info("the hub's database answers again")
        self._failures = 0
        if isinstance(operation, journals.Heartbeat) and self._journal.hub != result.hub:
            self._adopter.hub = result.hub
            try:
                self._journal.belongs_to(result.hub)
            except JournalError as error:
                _logger.error("%s", error)  # noqa: TRY400 - the error says it all
        if isinstance(operation, journals.Upload):
            self._journal.removed(result.rows, result.content_bytes)
        self._manager.done(operation, result, self._clock())
        if isinstance(operation, journals.ReadDirectory) and result is not None:
            self._changed.fire(result)

    def _failed(self, operation: Operation, error: Exception) -> None:
        retry = min(_LONGEST_RETRY, _FIRST_RETRY * 2**self._failures) * random.uniform(0.5, 1.0)  # noqa: S311
        if not self._failures and isinstance(error, values.StoreError):
            _logger.warning("%s: %s", type(operation).__name__, error)
        self._failures += 1
        self._manager.failed(retry, self._clock())


# ---- Deciding ----

_POLL: Final = 0.1
_POLL_PER_WORKER: Final = 0.005
"""The seconds between two attempts to lease what was refused: the more workers there are, the longer."""
_TIDY: Final = 5.0
_MOMENT: Final = 0.05
"""The seconds between two looks at answers that wait."""
_ALIVE: Final = 5.0
"""The seconds of silence after which a worker does not count for the sizes of leases, nor for busy."""


class BudgetManager:
    """All that one worker decides about its budgets: when to lease and how much, what to give back, whom to refuse.

    Without I/O and without a clock: every method takes the time, in seconds of any clock that only grows. The driver
    asks for the next operation, carries it out, and brings the result, one at a time: a worker in the thread of its
    database, a simulation in its virtual time.

    1. `operation = manager.next_operation(now)`
    2. `manager.done(operation, operation.run(tools), now)`, or `manager.failed(seconds, now)`

    Attributes:
        has_left: Whether the worker has ended in the database, with nothing left to settle.
        live_workers: How many workers are alive, this one among them.
    """

    def __init__(self, worker: str, settings: WorkerSettings, now: float = 0.0) -> None:
        self.worker = worker
        self.directory: Directory | None = None
        self.has_left = False
        self.live_workers = 1
        self._settings = settings
        self._clock = DatabaseClock(now)
        self._leases = WindowLeases(settings, self._clock)
        self._waiting = WaitingAnswers(self._leases, settings, self._clock)
        self._liveness = Liveness(worker, 2 * settings.heartbeat_seconds)
        self._alive_seconds = min(_ALIVE, settings.silent_seconds)
        self._expired: dict[str, int] = {}
        self._version: int | None = None
        self._counter = 0
        self._rows = 0
        self._began = now
        self._beat_at = now
        self._open_at = now
        self._upload_at = now
        self._adopt_at = now
        self._tidy_at = now

    @property
    def table(self) -> LeaseTable:
        """What the worker holds."""
        return self._leases.table

    @property
    def is_connected(self) -> bool:
        """Whether the database answered last time."""
        return self._clock.is_connected

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do at the end: it has left, or only answers that still run keep it."""
        nothing_free = not any(lease.free for _, lease in self.table)
        return self.has_left or (
            self._leases.is_closing
            and not self._rows
            and any(lease.reserved for _, lease in self.table)
            and nothing_free
        )

    # ---- answers ----

    def try_reserve(self, needs: Sequence[Need], now: float) -> BudgetGrant | None:
        """What is reserved for an answer, from what the worker holds; None if that is not enough, or others wait."""
        if self._leases.is_closing or self._waiting:
            return None
        windows = self._leases.windows(needs, now)
        if windows is None:
            return None
        return self._leases.reserve(windows, {need.rule.id: need.amount for need in needs}, now)

    def ask(self, needs: Sequence[Need], now: float, decided: Callable[[Outcome], None]) -> BudgetRequest:
        """Begins an answer: `decided` gets the outcome once, now or later.

        Args:
            decided: Is called with the reservation, or with the error; must not fail.
        """
        ask = BudgetRequest(tuple(needs), now, now + self._settings.wait_seconds, decided)
        self._waiting.add(ask, now)
        return ask

    def withdraw(self, ask: BudgetRequest) -> None:
        """Forgets an answer that waits: it is wanted no more."""
        self._waiting.remove(ask)

    def top_up(self, rule: BudgetRule, window: int, amount: int, now: float) -> int | None:
        """Reserves more for an answer that runs; see :meth:`WindowLeases.top_up`."""
        return self._leases.top_up(rule, window, amount, now)

    def release(self, amounts: Mapping[int, int], now: float) -> None:
        """Frees what was reserved and will not be used."""
        self.table.release(amounts)
        self._waiting.serve(now)
        self._leases.freed(amounts, now)

    def end(self, amounts: Mapping[int, int], charges: Mapping[int, int], now: float) -> None:
        """Ends an answer whose row is in the journal, or will be."""
        self.table.release(amounts)
        self.table.charge(charges)
        self._rows += 1
        self._waiting.serve(now)
        self._leases.freed({**amounts, **charges}, now)

    def close(self, now: float) -> None:
        """Begins no further answer, and gives everything back once all rows are uploaded."""
        self._leases.is_closing = True
        self._leases.surplus.update(window for window, _ in self.table)
        self._upload_at = now
        if not self.is_connected:
            self._beat_at = now
        self._waiting.serve(now)

    # ---- operations ----

    @property
    def has_urgent_work(self) -> bool:
        """Whether the next operation should not wait for the next heartbeat."""
        leases = self._leases
        return bool(self._waiting or leases.surplus or leases.low or leases.to_open or leases.is_closing)

    def wakes_at(self, now: float) -> float:
        """When the next operation may be due, if nothing else happens before."""
        times = [self._beat_at]
        if self._waiting or self._leases.to_open:
            times.append(now + _MOMENT)
        if self._rows and self.is_connected:
            times.append(self._upload_at)
        return max(now, min(times))

    def next_operation(self, now: float) -> Operation | None:
        """What is to be done on the database now, or None. Its result is brought before the next is asked for."""
        self._waiting.serve(now)
        self._began = now
        if now >= self._beat_at:
            return journals.Heartbeat(self.worker, self._waiting.windows())
        if not self.is_connected:
            return None
        decisions = (
            self._directory_to_read,
            self._windows_to_open,
            self._to_give_back,
            self._to_lease,
            self._to_recall,
            self._to_upload,
            self._to_expire,
            self._to_adopt,
            self._to_leave,
        )
        return next((operation for decide in decisions if (operation := decide(now)) is not None), None)

    def done(self, operation: Operation, result: Any, now: float) -> None:
        """Takes in what an operation has brought."""
        taken_in: dict[type, Callable[..., None]] = {
            journals.Heartbeat: self._heartbeat_answered,
            journals.ReadDirectory: self._directory_read,
            journals.OpenWindows: self._opened,
            journals.TakeLease: self._leased,
            journals.RequestRecall: self._recalled,
            journals.ReturnLease: self._given_back,
            journals.Upload: self._uploaded,
            journals.Adopt: self._adopted,
            journals.Leave: self._left,
        }
        if (take_in := taken_in.get(type(operation))) is not None:
            take_in(operation, result, now)
        self._waiting.serve(now)

    def failed(self, retry_after: float, now: float) -> None:
        """Takes in that the database was not reached. The next thing that it is asked is a heartbeat.

        It is unknown what has become of the operation. So nothing is taken for held that it may have given back, until
        the heartbeat says what is.
        """
        self._clock.failed(now)
        self._liveness.disconnected()
        self._beat_at = now + retry_after
        self._waiting.serve(now)

    def postponed(self, operation: Operation, seconds: float, now: float) -> None:
        """Takes in that an upload or an adoption failed at the journal; it is tried again later."""
        if isinstance(operation, journals.Upload):
            self._upload_at = now + seconds
        elif isinstance(operation, journals.Adopt):
            self._adopt_at = now + seconds

    # ---- decisions ----

    def _directory_to_read(self, _: float) -> Operation | None:
        known = None if self.directory is None else self.directory.version
        return None if self._version in {None, known} else journals.ReadDirectory(known)

    def _windows_to_open(self, now: float) -> Operation | None:
        rules = tuple(self._leases.to_open.values())
        return journals.OpenWindows(rules) if rules and now >= self._open_at else None

    def _to_give_back(self, now: float) -> Operation | None:
        amounts, recalls = self._leases.returns(now)
        return journals.ReturnLease(self.worker, self._counter, amounts, recalls) if amounts else None

    def _to_lease(self, now: float) -> Operation | None:
        asks = lease_asks(self._leases, self._waiting, self.live_workers, now)
        return journals.TakeLease(self.worker, asks) if asks and not self._leases.is_closing else None

    def _to_recall(self, now: float) -> Operation | None:
        windows = self._waiting.recalls(now)
        return journals.RequestRecall(windows) if windows else None

    def _to_upload(self, now: float) -> Operation | None:
        is_due = now >= self._upload_at or self._rows >= self._settings.upload_rows
        return journals.Upload(self.worker, self._settings.upload_rows) if self._rows and is_due else None

    def _to_expire(self, _: float) -> Operation | None:
        for name, counter in self._liveness.silent(self._settings.silent_seconds):
            if self._expired.get(name) != counter:
                self._expired[name] = counter
                return journals.ExpireLease(name, counter)
        return None

    def _to_adopt(self, now: float) -> Operation | None:
        is_due = now >= self._adopt_at and not self._leases.is_closing
        return journals.Adopt(self._settings.upload_rows) if is_due else None

    def _to_leave(self, _: float) -> Operation | None:
        if not self._leases.is_closing or self._rows or self.has_left:
            return None
        is_settled = all(not (lease.reserved or lease.unsettled) for _, lease in self.table)
        return journals.Leave(self.worker) if is_settled else None

    # ---- results ----

    def _heartbeat_answered(self, _: journals.Heartbeat, heartbeat: values.HeartbeatResult, now: float) -> None:
        self._clock.answered(heartbeat.time, now)
        self._beat_at = now + self._settings.heartbeat_seconds
        self._counter = heartbeat.workers[self.worker].counter
        self._version = heartbeat.version
        self._liveness.seen(heartbeat.workers, now)
        self.live_workers = self._liveness.alive(self._alive_seconds)
        self._expired = {name: counter for name, counter in self._expired.items() if name in heartbeat.workers}
        self._leases.found(heartbeat.leases, heartbeat.windows, now)
        if now >= self._tidy_at and not self._waiting:
            self._tidy_at = now + _TIDY
            self._leases.tidy(now)

    def _directory_read(self, _: journals.ReadDirectory, directory: Directory | None, _now: float) -> None:
        if directory is not None:
            self.directory = directory
        self._version = None if self.directory is None else self.directory.version

    def _opened(self, operation: journals.OpenWindows, windows: Mapping[str, values.Window], now: float) -> None:
        for rule in operation.rules:
            if not self._leases.opened(rule, windows[rule.id], now):
                self._open_at = now + _MOMENT

    def _leased(self, operation: journals.TakeLease, grants: Mapping[int, values.LeaseGrant], now: float) -> None:
        silent = {name for name, _ in self._liveness.silent(self._alive_seconds)}
        for ask in operation.asks:
            grant, view = grants[ask.window], self._leases.views[ask.window]
            self.table.leased({ask.window: grant.held})
            view.shown(grant.window, now, self._clock.ahead)
            view.wanted = 0
            if grant.is_over:
                self._leases.to_open[view.rule.id] = view.rule
                continue
            if grant.granted:
                view.size, view.renewed_at = self.table.lease(ask.window).free, now
                continue
            view.renew_at = now + self._settings.heartbeat_seconds
            if ask.amount < ask.least:  # a renewal, which gets nothing for a while after a recall
                continue
            again_at = now + _POLL + _POLL_PER_WORKER * self.live_workers
            if grant.window.free < ask.least:
                view.refused(grant, self._began, again_at, 1.5 * self._settings.heartbeat_seconds, silent)
            elif len(operation.asks) > 1:  # its answers lack another budget
                view.lease_at = again_at
            else:  # others took the worker for gone; its heartbeat shows that it is not
                self._beat_at = now

    def _recalled(self, operation: journals.RequestRecall, recalls: Mapping[int, int], now: float) -> None:
        for number in operation.windows:
            view = self._leases.views[number]
            view.window = replace(view.window, recall=recalls[number])
            view.recalled_at = now
            view.lease_at = now + _POLL
            self._leases.surplus.add(number)

    def _given_back(self, operation: journals.ReturnLease, given: values.GivenBack, now: float) -> None:
        if not given.is_done:
            self._beat_at = now
            return
        self.table.leased(given.held)
        for window, recall in operation.recalls.items():
            if (view := self._leases.views.get(window)) is not None:
                view.answered = max(view.answered, recall)

    def _uploaded(self, _: journals.Upload, uploaded: Uploaded, now: float) -> None:
        self.table.settled(uploaded.charges)
        self.table.leased(uploaded.held)
        self._rows = self._rows - uploaded.rows if uploaded.rows else 0
        self._upload_at = now if self._leases.is_closing else now + self._settings.upload_seconds

    def _adopted(self, _: journals.Adopt, is_more: bool, now: float) -> None:
        self._adopt_at = now if is_more else now + self._settings.journals_seconds

    def _left(self, _: journals.Leave, _none: None, _now: float) -> None:
        self.has_left = True


# ---- Who is alive ----


class Liveness:
    """For how long which workers have been silent.

    A worker's silence grows only between two heartbeats of our own that reached the database, and by no more than a
    stopped process or a database that was away could make it seem: what a heartbeat adds is bounded. So a database that
    comes back after an hour, and a worker that was suspended, declare no worker dead.

    Args:
        most_step: The most seconds that one heartbeat adds to a silence.
    """

    def __init__(self, worker: str, most_step: float) -> None:
        self._worker = worker
        self._most_step = most_step
        self._seen_at: float | None = None
        self._counters: dict[str, int] = {}
        self._silences: dict[str, float] = {}

    def seen(self, workers: Mapping[str, values.WorkerState], now: float) -> None:
        """Notes what a heartbeat has brought."""
        step = 0.0 if self._seen_at is None else min(max(0.0, now - self._seen_at), self._most_step)
        self._seen_at = now
        silences = {}
        for name, state in workers.items():
            if not state.is_gone and name != self._worker:
                is_silent = self._counters.get(name) == state.counter
                silences[name] = self._silences.get(name, 0.0) + step if is_silent else 0.0
        self._silences = silences
        self._counters = {name: workers[name].counter for name in silences}

    def disconnected(self) -> None:
        """Notes that the database was not reached: until it is, no silence means anything."""
        self._seen_at = None

    def alive(self, seconds: float) -> int:
        """How many workers, this one among them, have been silent for less than a time."""
        return 1 + sum(silence < seconds for silence in self._silences.values())

    def silent(self, seconds: float) -> Iterator[tuple[str, int]]:
        """The workers that have been silent for a time, with the counters of their last heartbeats."""
        return ((name, self._counters[name]) for name, silence in self._silences.items() if silence >= seconds)
