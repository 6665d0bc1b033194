"""Budgets that hold because the database decides: a reservation and a settlement are each part of one transaction.

A window of a budget has a `limit`, what is `spent`, and what is `reserved` for answers that run. The order that holds:

1. **Reserve**: before a provider is asked, one transaction adds what the answer can take at most to `reserved` of all
   its windows, or of none, and enters a reservation with the row that is charged if nothing more becomes known. Where
   `spent + reserved` would exceed a limit, the answer gets less, down to the least that it needs, or is refused.
2. **Extend**: an answer whose upstream keeps no limit reserves more in the same way, ahead of its need.
3. **Settle**: one transaction removes the reservation, enters the row into the ledger and adds what it took to `spent`.

So nothing is known of money but what the database says, and any number of workers on any number of machines share it.
Each worker has one thread that uses the database. It takes all waiting work into one transaction: what has ended, then
what runs, then what begins. An answer waits for the transaction of its reservation alone. An ended answer wakes none:
it goes with others that have ended, after `batch_seconds` at most, and before an answer is refused: an answer that
begins does not wait for the row of another. An answer without a budget waits for nothing. Where the
database is a file without another writer now, or a Postgres that is near, a short transaction is carried out on the
event loop, because to wake the thread takes longer (docs/decisions/0024-the-hubs-database.md). While Postgres decides,
what the provider is to get is prepared; nothing is sent before the reservation holds.

What can go wrong: a worker dies, and its reservations are charged in full; the database is away, and what has ended
waits in memory, to be settled exactly once; a commit is not heard of, so that what has ended is repeated and what had
begun is dropped; the machine of the database fails, and what no heartbeat has put on its disk is settled again.
docs/maintainers/hub-budgets.md has the argument; the statements are in `store/statements.sql`.
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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from partstream.codec.checks import dataclass
from partstream.codec.system import LifeLocks
from partstream.errors import PartstreamError
from partstream.lm.cancellation import Disposable, EventEmitter
from partstream_hub.directory import BudgetRule, Directory, Need
from partstream_hub.store import values
from partstream_hub.store.rows import Batch, BatchResult, Drop, Extend, Granted, Refused, Reserve, Settle
from partstream_hub.store.values import Charge

if TYPE_CHECKING:
    from partstream_hub.store.store import HubStore

_logger = logging.getLogger("partstream.hub")
T = TypeVar("T")
_FIRST_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 5.0
"""The seconds after which a database is asked again that was not reached, doubled from the first to the longest."""
_MOST_ENDED: Final = 500
"""How many answers that have ended a transaction takes at most, so that those that begin wait only for a moment."""
_CONNECTED: Final = 3
"""A worker whose heartbeats are further apart than this many times their distance was not connected in between."""
_AWAY: Final = "the hub's database does not answer"


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker keeps its budgets. All times are seconds."""

    heartbeat_seconds: float = 1.0  # between two heartbeats, which also bring changes of the directory
    wait_seconds: float = 2.0  # the most that a request waits for the database before it is refused
    read_seconds: float = 10.0  # the most that the page waits for it, which reads the whole ledger of its days
    silent_seconds: float = 30.0  # without a heartbeat, after which a worker is taken for gone
    batch_seconds: float = 0.25  # the most that an answer which has ended waits for company, where none begins
    waiting_rows: int = 100_000  # ended answers that wait in memory for a database that is away; then none is begun
    waiting_bytes: int = 256 * 1024 * 1024  # of kept requests and answers with them, likewise
    stop_seconds: float = 5.0  # the most that the start waits for the database, and the end for the last settlements


# ---- Errors ----


class BudgetError(PartstreamError):
    """An answer was not admitted; no provider was asked."""


class BudgetSpentError(BudgetError):
    """What is left of a budget does not cover the need of the answer: asking again helps when the window, as the
    database has it, has ended."""

    def __init__(self, need: Need, window: values.Window) -> None:
        super().__init__(f"the budget of {need.rule.owner} is used up")
        self.need = need
        self.window = window


class BudgetsUnreachableError(BudgetError):
    """Whether a budget covers the answer cannot be found out now."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(f"budgets cannot be checked now: {reason}; try again in {retry_after:g} s")
        self.reason = reason
        self.retry_after = retry_after


# ---- What is reserved for one answer ----


class Reservation:
    """What is reserved for one answer, whose row it has. It ends exactly once: settled, or dropped if no provider was
    asked. Of an answer without a budget nothing is reserved, and the database knows nothing of it yet."""

    def __init__(self, worker: HubWorker, answer: values.LedgerRow) -> None:
        self._worker = worker
        self._windows: Mapping[str, int] = {}
        self._amounts: dict[str, int] = {}
        self._more: asyncio.Future[bool] | None = None
        self.answer = answer
        self.has_ended = False

    def take(self, granted: Granted) -> None:
        """Takes what is reserved, or will be if all is well."""
        self._windows, self._amounts = granted.windows, dict(granted.amounts)

    def amount(self, rule: BudgetRule) -> int:
        """What is reserved of a rule's budget: the need, or less down to what it needs at least."""
        return self._amounts[rule.id]

    def top_up(self, amounts: Mapping[str, int]) -> bool | asyncio.Future[bool]:
        """Reserves more, by the id of the rule, all or nothing: True if it is reserved, False if a budget is too small,
        a future while that is being found out, and the next call has to ask for the same."""
        if self._more is None:
            self._more = self._worker.extend(self._extend(amounts, 1))
        if not self._more.done():
            return self._more
        if not self._more.result():
            return False
        self._more = None
        for rule, amount in amounts.items():
            self._amounts[rule] += amount
        return True

    def reduce(self, rule: BudgetRule, amount: int) -> None:
        """Frees what of a reservation will not be needed, such as the rest of a shortened output."""
        freed = min(amount, self._amounts[rule.id])
        self._amounts[rule.id] -= freed
        self._worker.extend(self._extend({rule.id: freed}, -1), is_urgent=False)

    def settle(
        self, charges: Mapping[str, int], row: values.LedgerRow, content: values.AnswerContent | None = None
    ) -> None:
        """Ends the reservation with what the answer took, by the id of the rule; the row gets its `charges` here."""
        self.has_ended = True
        row.charges = tuple(Charge(self._windows[rule], amount) for rule, amount in charges.items() if amount)
        self._worker.end(Settle(row, content, tuple(self._windows.values())))

    def drop(self) -> None:
        """Ends the reservation without a trace: no provider was asked. Does nothing if it has ended."""
        if self._windows and not self.has_ended:
            self._worker.end(Drop(self.answer.answer_id, tuple(self._windows.values())))
        self.has_ended = True

    def _extend(self, amounts: Mapping[str, int], sign: int) -> Extend:
        of_windows = {self._windows[rule]: sign * amount for rule, amount in amounts.items()}
        return Extend(self.answer.answer_id, of_windows)


# ---- The worker ----


async def answered(answer: Awaitable[T], seconds: float | None) -> T:
    """What the database answers, or a `StoreUnreachableError` after a limit of our own: the thread that asks may wait
    for a silent one for ever. Every path of a request to the database passes here."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise values.StoreUnreachableError("it does not answer", _LONGEST_RETRY) from None


_FEW_ENDED: Final = 8
"""The ended answers that go with the next one that begins; with more, a batch is not short."""
_SHORT_SECONDS: Final = 0.005
_LONGEST_PAUSE: Final = 64
"""How many times its own length no other transaction is carried out on the event loop, doubled with each slow one in a
row: a single one only met a busy processor."""
_Ahead: TypeAlias = Callable[[Reservation], object]
_Reserving: TypeAlias = "tuple[Reserve, asyncio.Future[Granted | Refused]]"
_Extending: TypeAlias = "tuple[Extend, asyncio.Future[bool]]"
_Waiting: TypeAlias = "tuple[list[_Reserving], list[_Extending]]"
"""Who waits for a transaction: those that begin, and those that run."""


class HubWorker:
    """One worker of a hub, for one event loop: its thread, its heartbeat, and the answers that wait for either.

    It alone uses its store. The folder has the locks of all workers of this machine, for the user alone.
    """

    def __init__(self, store: HubStore, folder: Path, settings: WorkerSettings | None = None) -> None:
        # A name that no other worker has: of its machine and of chance.
        host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname()).strip("-")
        self.name = f"{host[:40] or 'worker'}-{secrets.token_hex(6)}"
        self.directory: Directory | None = None
        """Who may do what, as of the last heartbeat; None until it was read once."""
        self.live_workers = 1  # how many workers are alive, this one among them
        self._store = store
        self._settings = settings or WorkerSettings()
        self._folder = folder
        self._locks = LifeLocks(folder, self.name)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="partstream-hub")
        self._changed: EventEmitter[Directory] = EventEmitter()
        self._reserves: list[_Reserving] = []
        self._extends: list[_Extending] = []
        self._ended: deque[Settle | Drop] = deque()
        self._unsynced: list[Settle | Drop] = []
        self._bytes = 0
        self._windows: dict[str, int] = {}
        self._batch_began: float | None = None
        self._at_once_from = 0.0
        self._pause = 1
        self._flushing: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._failures = 0
        self._is_migrated = self._is_closing = self._has_ended = False
        self._connected_since: float | None = None
        self._beat_at = 0.0
        self._starting: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting_rows(self) -> int:
        """How many ended answers are not on the disk of the database yet, as far as is known."""
        return len(self._ended) + len(self._unsynced)

    def begin(self) -> asyncio.Task[None]:
        """Starts in the background, where the server has no lifespan; a second call does nothing more."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
            self._starting.add_done_callback(_say_failure)
        return self._starting

    async def start(self) -> None:
        """Begins to work; a database that is away is tried again in the background, and one that cannot be used as it
        is raises a `HubStoreUnusableError`."""
        await self.begin()

    async def _start(self) -> None:
        try:  # the lock by which others see that it lives; without one, its silence alone tells that it is gone
            await asyncio.to_thread(self._locks.begin)
        except OSError as error:
            _logger.warning("the folder of locks %s cannot be used: %s", self._folder, error.strerror or error)
        try:
            with suppress(values.StoreUnreachableError, TimeoutError):
                async with asyncio.timeout(self._settings.stop_seconds):
                    await self._beat()
        except BaseException:
            self._thread.shutdown(wait=False)
            self._locks.end(is_settled=False)
            raise
        self._task = asyncio.create_task(self._beats(), name="partstream hub worker")

    async def stop(self) -> None:
        """Settles what has ended, for a limited time, and charges what still runs in full."""
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._task is None:
            return
        self._is_closing = True
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = None
        is_settled = False
        try:
            async with asyncio.timeout(self._settings.stop_seconds):
                while self._ended or self._batch_began is not None:
                    self._idle.clear()
                    self._flush()
                    await self._idle.wait()
                    if self._failures > 1:
                        raise values.StoreUnreachableError(_AWAY, _LONGEST_RETRY)
                await self.use_store(lambda store: store.expire(self.name))
                is_settled = True
                self._unsynced.clear()
                await asyncio.get_running_loop().run_in_executor(self._thread, self._store.close)
        except (TimeoutError, values.StoreError) as error:
            _logger.error("%d answers could not be settled: %s", self.waiting_rows, error)  # noqa: TRY400 - says it all
        if self._flushing is not None:
            self._flushing.cancel()
        self._has_ended = True
        self._thread.shutdown(wait=False)
        self._locks.end(is_settled=is_settled)

    def on_did_change_directory(self, listener: Callable[[Directory], object], /) -> Disposable:
        """Tells a listener of each new version of the directory."""
        return self._changed.event(listener)

    async def use_store(self, action: Callable[[HubStore], T], seconds: float | None = None) -> T:
        """Runs something else on the database, in the worker's thread.

        Raises:
            StoreUnreachableError: It cannot be reached, or does not answer in time; what was begun may be done still.
            HubStoreUnusableError: It cannot be used as it is.
        """
        return await answered(asyncio.get_running_loop().run_in_executor(self._thread, self._used, action), seconds)

    def _used(self, action: Callable[[HubStore], T]) -> T:
        """In the thread: makes the tables, once, before anything else."""
        if not self._is_migrated:
            self._store.migrate()
            self._is_migrated = True
        return action(self._store)

    # ---- answers ----

    async def reserve(
        self, answer: values.LedgerRow, needs: Sequence[Need], *, is_whole: bool = False, ahead: _Ahead = lambda _: None
    ) -> Reservation:
        """Reserves the needs of an answer, one for each rule, in one transaction; without needs it waits for nothing.

        Where the whole does not fit, less is reserved, down to `least`, or it is refused if it `is_whole`. The row is
        entered, charged with all that is reserved, if the worker dies before the end. What is to be done with the
        reservation may be done `ahead`, while it is waited for; nothing may be said to an upstream by that.

        Raises:
            BudgetSpentError: A budget does not cover the answer.
            BudgetsUnreachableError: Whether one does cannot be found out now.
        """
        if self._is_closing:
            raise BudgetsUnreachableError("the server is being stopped", self._settings.heartbeat_seconds)
        if len(self._ended) >= self._settings.waiting_rows or self._bytes >= self._settings.waiting_bytes:
            raise BudgetsUnreachableError("too many answers wait for the hub's database", _LONGEST_RETRY)
        reservation = Reservation(self, answer)
        if not needs:
            return reservation

        def meanwhile(granted: Granted) -> None:
            reservation.take(granted)
            with suppress(Exception):  # what fails is done again, where it is not waited
                ahead(reservation)

        found = await self._asked(Reserve(answer, needs, is_whole, meanwhile))
        if isinstance(found, Refused) and not is_whole and found.window.reserved and self.live_workers > 1:
            # What answers of other workers have left is settled within this time.
            await asyncio.sleep(2 * self._settings.batch_seconds)
            found = await self._asked(Reserve(answer, needs))
        if isinstance(found, Refused):
            raise BudgetSpentError(*found)
        reservation.take(found)
        return reservation

    async def _asked(self, reserve: Reserve) -> Granted | Refused:
        loop, wait = asyncio.get_running_loop(), self._settings.wait_seconds
        if self._batch_began is not None and loop.time() - self._batch_began > wait:  # the thread hangs
            raise BudgetsUnreachableError(_AWAY, _LONGEST_RETRY)
        found: asyncio.Future[Granted | Refused] = loop.create_future()
        self._reserves.append((reserve, found))
        self._flush(with_ended=not reserve.is_whole or len(self._ended) >= _FEW_ENDED)
        if found.done():
            return found.result()
        try:
            return await answered(found, wait)
        except values.StoreUnreachableError as error:
            raise BudgetsUnreachableError(_AWAY, error.retry_after) from None

    def extend(self, extend: Extend, *, is_urgent: bool = True) -> asyncio.Future[bool]:
        """Reserves more for an answer that runs, or less; whether it is reserved."""
        extended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._extends.append((extend, extended))
        if is_urgent:
            self._flush()
        else:
            self._flush_later(self._settings.batch_seconds)
        return extended

    def end(self, ended: Settle | Drop) -> None:
        """Ends a reservation, with others."""
        self._ended.append(ended)
        self._bytes += _content_bytes(ended)
        self._flush_later(self._settings.batch_seconds)

    # ---- batches ----

    def _flush_later(self, seconds: float) -> None:
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(seconds, self._flush)

    def _flush(self, *, with_ended: bool = True) -> None:
        """Hands all that waits to the thread, unless it has work; then it follows."""
        if with_ended and self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self._batch_began is not None or self._has_ended:
            return
        loop = asyncio.get_running_loop()
        reserves = [one for one in self._reserves if not one[1].done()]
        extends, self._reserves, self._extends = self._extends, [], []
        ended = [self._ended.popleft() for _ in range(min(len(self._ended), _MOST_ENDED * with_ended))]
        if not (reserves or extends or ended):
            self._idle.set()
            return
        batch = Batch(ended, [one for one, _ in extends], [one for one, _ in reserves], self._windows)
        self._batch_began = loop.time()
        if (result := self._result_at_once(batch)) is not None:
            self._carried_out(batch, result, (reserves, extends))
        else:
            self._thread.submit(self._run, loop, batch, (reserves, extends))

    def _result_at_once(self, batch: Batch) -> BatchResult | values.StoreError | None:
        """Carries out a short batch for which an answer waits, where the database is a file without another writer now,
        or a Postgres that is near: that takes less than to wake the thread. It takes at most half of the time of the
        event loop, and less the more often it was slow."""
        began = time.monotonic()
        is_short = bool(batch.reserves or batch.extends) and len(batch.ended) <= _FEW_ENDED
        if not self._is_migrated or not is_short or began < self._at_once_from:
            return None
        result: BatchResult | values.StoreError | None = None
        try:
            result = self._store.carry_out_at_once(self.name, batch)
        except values.StoreError as error:  # it may have been committed
            result = error
        except Exception:  # noqa: S110 - nothing has happened: the thread repeats what failed, and logs why
            pass
        now = time.monotonic()
        self._pause = 1 if now - began < _SHORT_SECONDS else min(2 * self._pause, _LONGEST_PAUSE)
        self._at_once_from = now + (now - began) * self._pause
        return result

    def _run(self, loop: asyncio.AbstractEventLoop, batch: Batch, waiting: _Waiting) -> None:
        """In the thread: one transaction."""
        result: BatchResult | values.StoreError
        try:
            result = self._used(lambda store: store.carry_out(self.name, batch))
        except values.StoreError as error:
            result = error
        except Exception as error:
            _logger.exception("a transaction on the hub's database failed")
            result = values.StoreUnreachableError(type(error).__name__, _LONGEST_RETRY)
        with suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(self._carried_out, batch, result, waiting)

    def _carried_out(self, batch: Batch, result: BatchResult | values.StoreError, waiting: _Waiting) -> None:
        self._batch_began = None
        if isinstance(result, values.StoreError):
            self._not_carried_out(batch, result, waiting)
            return
        reserves, extends = waiting
        self._succeeded()
        self._unsynced += batch.ended
        self._bytes -= sum(map(_content_bytes, batch.ended))
        for (_, extended), is_reserved in zip(extends, result.extended, strict=True):
            extended.set_result(is_reserved)
        for (reserve, answered), found in zip(reserves, result.reserved, strict=True):
            if isinstance(found, Granted):
                self._windows.update(found.windows)
            elif self._ended and not batch.ended:  # which may make room for it
                self._reserves.append((reserve, answered))
                continue
            if not answered.done():
                answered.set_result(found)
            elif isinstance(found, Granted):  # its request has ended
                self.end(Drop(reserve.row.answer_id))
        if self._reserves or self._extends or len(self._ended) >= _MOST_ENDED or self._is_closing:
            self._flush()
        elif self._ended:
            self._flush_later(self._settings.batch_seconds)
        self._idle.set()

    def _not_carried_out(self, batch: Batch, error: values.StoreError, waiting: _Waiting) -> None:
        """Keeps what has ended, and refuses the rest: what it was is dropped, if it was carried out unheard."""
        (reserves, extends), retry = waiting, self._failed(error)
        dropped = [Drop(reserve.row.answer_id) for reserve, _ in reserves]
        self._ended.extendleft(reversed([*self._unsynced, *batch.ended, *dropped]))
        self._bytes += sum(map(_content_bytes, self._unsynced))
        self._unsynced = []  # a heartbeat that is under way has the list of before
        for _, extended in extends:
            extended.set_result(False)
        reason = getattr(error, "reason", str(error))
        for _, answered in reserves:
            if not answered.done():
                answered.set_exception(BudgetsUnreachableError(reason, retry))
        if not self._is_closing:
            self._flush_later(retry)
        self._idle.set()

    def _succeeded(self) -> None:
        if self._failures:
            _logger.info("the hub's database answers again")
        self._failures = 0

    def _failed(self, error: values.StoreError) -> float:
        """Notes that the database was not reached; after how many seconds it is asked again."""
        if not self._failures:
            _logger.warning("%s", error)
        retry: float = min(_LONGEST_RETRY, _FIRST_RETRY * 2 ** min(self._failures, 10))
        self._failures += 1
        self._connected_since = None
        return retry * random.uniform(0.5, 1.0)  # noqa: S311

    # ---- heartbeats ----

    async def _beats(self) -> None:
        pause = self._settings.heartbeat_seconds
        while True:
            await asyncio.sleep(pause)
            pause = self._settings.heartbeat_seconds
            try:
                await self._beat()
            except values.StoreError as error:
                pause = max(pause, self._failed(error))
            except Exception:
                _logger.exception("a heartbeat of the hub failed")

    async def _beat(self) -> None:
        """Shows that the worker is alive, and takes in what has changed."""
        unsynced = self._unsynced
        synced = len(unsynced)
        pulse, directory = await self.use_store(lambda store: self._beaten(store, is_durable=bool(synced)))
        del unsynced[:synced]
        self._succeeded()
        self.live_workers = max(1, pulse.live_workers)
        if directory is not None:
            self.directory = directory
            self._changed.fire(directory)

    def _beaten(self, store: HubStore, *, is_durable: bool) -> tuple[values.Pulse, Directory | None]:
        """In the thread: the heartbeat, the directory if it has changed, and the charges of workers that are gone."""
        silent = self._settings.silent_seconds
        pulse = (store.heartbeat_durably if is_durable else store.heartbeat)(self.name, silent)
        step, self._beat_at = pulse.time - self._beat_at, pulse.time
        if self._connected_since is None or not 0 <= step <= _CONNECTED * self._settings.heartbeat_seconds:
            self._connected_since = pulse.time
        self._locks.bury(lambda name: self._charge_gone(store, name, "is gone"))
        if pulse.time - self._connected_since >= silent:
            for name, seen_at in pulse.silent.items():
                self._charge_gone(store, name, "is silent", seen_at)
        known = None if self.directory is None else self.directory.version
        return pulse, None if pulse.version == known else store.directory(known)

    @staticmethod
    def _charge_gone(store: HubStore, name: str, how: str, seen_at: float | None = None) -> None:
        count = store.expire(name, seen_at)
        if count or seen_at is None:
            _logger.warning("the worker %s %s: %d answers were charged in full", name, how, count)


def _say_failure(starting: asyncio.Task[None]) -> None:
    if not starting.cancelled() and (error := starting.exception()) is not None:
        _logger.error("the hub could not start: %s", error)


def _content_bytes(ended: Settle | Drop) -> int:
    content = ended.content if isinstance(ended, Settle) else None
    return 0 if content is None else len(content.request) + len(content.response)
