"""One worker of a hub: its leases, its journal, its heartbeat.

Everything is decided by :class:`~partstream.hub.budgets.keeper.BudgetManager`. This drives it: carries out one
operation after the other in the one thread that uses the database, and keeps the journal. Answers wait for that thread
only when the worker has to lease more.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.events import EventEmitter
from partstream.hub.amounts import BudgetsUnreachableError, JournalError
from partstream.hub.budgets.keeper import BudgetManager
from partstream.hub.journal import Heartbeat, JournalAdopter, JournalFolder, ReadDirectory, Tools, Upload
from partstream.hub.leases import BudgetGrant, WorkerSettings
from partstream.hub.reservations import Reservation
from partstream.hub.store.errors import HubStoreUnusableError, StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from partstream.events import Disposable
    from partstream.hub.amounts import Need
    from partstream.hub.directory import BudgetRule, Directory
    from partstream.hub.journal import Journal, Operation, OwnedJournal
    from partstream.hub.leases import Outcome
    from partstream.hub.store.store import HubStore
    from partstream.hub.store.values import AnswerContent, LedgerRow

__all__ = ["HubWorker", "worker_name"]

_logger = logging.getLogger("partstream.hub")

T = TypeVar("T")

_FIRST_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 5.0
"""The seconds after which a database is asked again that was not reached, doubled from the first to the longest."""
_JOURNAL_RETRY: Final = 1.0
_FULL: Final = "the journal is full of answers that wait for the hub's database"
_UNWRITABLE: Final = "the journal of this worker cannot be written"


def worker_name() -> str:
    """A name for a worker that no other one has: of its machine and of chance."""
    host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname()).strip("-")
    return f"{host[:40] or 'worker'}-{secrets.token_hex(6)}"


class HubWorker:
    """One worker of a hub, for one event loop.

    Args:
        store: The hub's database, which from now on only this worker's thread uses.
        folder: The folder of the journals of all workers of this machine, for the user alone.
        settings: How it keeps its budgets.
        clock: Returns seconds that only grow.

    Attributes:
        name: Its name, new for each process.
    """

    def __init__(
        self,
        store: HubStore,
        folder: Path,
        settings: WorkerSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = worker_name()
        self._store = store
        self._settings = settings or WorkerSettings()
        self._clock = clock
        self._folder = JournalFolder(folder)
        self._adopter = JournalAdopter(self._folder)
        self._keeper = BudgetManager(self.name, self._settings, clock())
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
        return self._keeper.directory

    @property
    def live_workers(self) -> int:
        """How many workers are alive, this one among them."""
        return self._keeper.live_workers

    @property
    def is_connected(self) -> bool:
        """Whether the database answered last time."""
        return self._keeper.is_connected

    @property
    def waiting_rows(self) -> int:
        """How many ended answers wait to be entered into the hub's ledger."""
        return self._journal.ended + len(self._unwritten)

    @property
    def _journal(self) -> Journal:
        if self._owned is None:
            raise JournalError(self.name, "the worker has not been started, or has ended")
        return self._owned.journal

    # ---- life ----

    async def start(self) -> None:
        """Opens the journal and begins to work; a database that is away is tried again in the background.

        Raises:
            JournalError: The folder of the journals cannot be used.
            StoreUnusableError: The database is there and cannot be used as it is.
        """
        self._owned = self._folder.begin(self.name)
        try:
            with suppress(StoreUnreachableError):
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

        Called after the answers have ended: what one has reserved that still runs is charged in full, by whoever adopts
        the journal.
        """
        if self._owned is None:
            return
        self._keeper.close(self._clock())
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
        return is_working and not self._keeper.is_finished and self._failures <= 1

    def _end(self) -> None:
        """Lets go of thread and journal; the journal stays if anything is in it, for whoever adopts it."""
        self._thread.shutdown(wait=False)
        self._adopter.close()
        owned, self._owned = self._owned, None
        if owned is not None:
            is_done = self._keeper.has_left and not owned.journal.answers
            (owned.remove if is_done else owned.close)()

    # ---- answers ----

    def try_reserve(self, answer: LedgerRow, needs: Sequence[Need]) -> Reservation | None:
        """Reserves all needs of an answer from what this worker holds, at once; None if that is not enough.

        Args:
            answer: The row that is entered, charged with all that is reserved, if the worker dies before the end.
            needs: What it needs, one for each rule; none for an answer that is only entered into the ledger.

        Raises:
            BudgetsUnreachableError: The journal is full or cannot be written.
        """
        self._check_journal()
        granted = self._keeper.try_reserve(needs, self._clock())
        self._wake_if_urgent()
        return None if granted is None else self._admitted(answer, needs, granted)

    async def reserve(self, answer: LedgerRow, needs: Sequence[Need]) -> Reservation:
        """Reserves the needs of an answer; leases more and asks other workers for what they do not use, where needed.

        Waits at most `wait_seconds`. Where the whole does not fit, less is reserved, down to `least`.

        Raises:
            BudgetSpentError: A budget does not cover the answer.
            BudgetsUnreachableError: Whether one does cannot be found out now.
        """
        if (reservation := self.try_reserve(answer, needs)) is not None:
            return reservation
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        ask = self._keeper.ask(needs, self._clock(), partial(self._decide, outcome))
        self._wake.set()
        try:
            decided = await outcome
        except asyncio.CancelledError:
            self._keeper.withdraw(ask)
            if outcome.done() and not outcome.cancelled():
                self._take_back(outcome.result())
            raise
        if isinstance(decided, BudgetGrant):
            return self._admitted(answer, needs, decided)
        raise decided

    def _decide(self, outcome: asyncio.Future[Outcome], decided: Outcome) -> None:
        if outcome.done():  # nobody waits any more
            self._take_back(decided)
        else:
            outcome.set_result(decided)

    def _take_back(self, decided: Outcome) -> None:
        if isinstance(decided, BudgetGrant):
            self.reduce(decided.amounts)

    def _admitted(self, answer: LedgerRow, needs: Sequence[Need], granted: BudgetGrant) -> Reservation:
        """Enters a reservation into the journal: only now may the provider be asked."""
        reservation = Reservation(self, answer, needs, granted.windows, granted.amounts)
        try:
            self._journal.admitted(reservation.row_if_lost())
        except JournalError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the error says it all
            self.reduce(granted.amounts)
            raise BudgetsUnreachableError(_UNWRITABLE, _JOURNAL_RETRY) from error
        return reservation

    def _check_journal(self) -> None:
        journal, settings = self._journal, self._settings
        if journal.answers >= settings.journal_rows or journal.content_bytes >= settings.journal_bytes:
            raise BudgetsUnreachableError(_FULL, _LONGEST_RETRY)
        if self._unwritten:
            raise BudgetsUnreachableError(_UNWRITABLE, _JOURNAL_RETRY)

    # ---- reservations ----

    def top_up(self, rule: BudgetRule, window: int, amount: int) -> int | None:
        """Reserves more for an answer that runs; the number of the window, or None if it is not free."""
        found = self._keeper.top_up(rule, window, amount, self._clock())
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
        self._keeper.release(amounts, self._clock())
        self._wake_if_urgent()

    def settle(
        self, reservation: Reservation, charges: Mapping[int, int], row: LedgerRow, content: AnswerContent | None
    ) -> None:
        """Ends a reservation with what the answer took."""

        def end() -> None:
            self._journal.completed(row, content)
            self._keeper.end(reservation.amounts, charges, self._clock())

        self._written(end)

    def drop(self, reservation: Reservation) -> None:
        """Ends a reservation of which nothing was used."""

        def end() -> None:
            self._journal.dropped(reservation.answer.answer_id)
            self._keeper.release(reservation.amounts, self._clock())

        self._written(end)

    def _written(self, end: Callable[[], None]) -> None:
        """Ends a reservation, once the journal can be written: until then it stays reserved, as the journal says."""
        try:
            end()
        except JournalError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the error says it all
            self._unwritten.append(end)
        self._wake_if_urgent()

    def _write_again(self) -> None:
        with suppress(JournalError):
            while self._unwritten:
                self._unwritten[0]()
                self._unwritten.popleft()

    # ---- work ----

    def _wake_if_urgent(self) -> None:
        if self._keeper.has_urgent_work:
            self._wake.set()

    async def _progressed(self) -> None:
        """Waits until another operation is over."""
        self._progress.clear()
        await self._progress.wait()

    async def _work(self) -> None:
        while not self._keeper.has_left:
            self._write_again()
            self._wake.clear()
            operation = self._keeper.next_operation(self._clock())
            if operation is not None:
                await self._carry_out(operation)
                self._progress.set()
                continue
            delay = self._keeper.wakes_at(self._clock()) - self._clock()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, delay)):
                    await self._wake.wait()

    async def _carry_out(self, operation: Operation) -> None:
        try:
            result = await self.use_store(partial(self._run, operation))
        except JournalError as error:
            _logger.warning("%s", error)
            self._keeper.postponed(operation, _JOURNAL_RETRY, self._clock())
        except StoreUnreachableError as error:
            self._failed(operation, error)
        except HubStoreUnusableError as error:
            self._failed(operation, error)
        except Exception as error:
            _logger.exception("an operation on the hub's database failed: %s", type(operation).__name__)
            self._failed(operation, error)
        else:
            self._succeeded(operation, result)

    def _run(self, operation: Operation, store: HubStore) -> Any:
        """In the thread: carries an operation out, and keeps the journal's file small."""
        journal = self._journal
        result = operation.run(Tools(store, journal, self._adopter))
        if isinstance(operation, Heartbeat):
            journal.tidy()
        return result

    def _succeeded(self, operation: Operation, result: Any) -> None:
        if self._failures:
            _logger.info("the hub's database answers again")
        self._failures = 0
        if isinstance(operation, Heartbeat) and self._journal.hub != result.hub:
            self._belong_to(result.hub)
        if isinstance(operation, Upload):
            self._journal.removed(result.rows, result.content_bytes)
        self._keeper.done(operation, result, self._clock())
        if isinstance(operation, ReadDirectory) and result is not None:
            self._changed.fire(result)

    def _belong_to(self, hub: str) -> None:
        self._adopter.hub = hub
        try:
            self._journal.belongs_to(hub)
        except JournalError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the error says it all

    def _failed(self, operation: Operation, error: Exception) -> None:
        retry = min(_LONGEST_RETRY, _FIRST_RETRY * 2**self._failures) * random.uniform(0.5, 1.0)  # noqa: S311
        if not self._failures and isinstance(error, StoreError):
            _logger.warning("%s: %s", type(operation).__name__, error)
        self._failures += 1
        self._keeper.failed(retry, self._clock())
