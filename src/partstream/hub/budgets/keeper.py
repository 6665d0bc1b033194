"""All that a worker decides about its budgets: when to lease and how much, what to give back, whom to refuse.

Without I/O and without a clock: every method takes the time, in seconds of any clock that only grows. Whoever drives it
asks for the next operation, carries it out, and brings the result, one at a time:

    operation = keeper.next_operation(now)
    keeper.done(operation, operation.run(tools), now)        or keeper.failed(seconds, now)

A worker does so in the thread of its database, a simulation in its virtual time.

Source: docs/hub-budgets.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.hub.budgets.liveness import Liveness
from partstream.hub.journal import (
    Adopt,
    ExpireLease,
    Heartbeat,
    Leave,
    OpenWindows,
    ReadDirectory,
    RequestRecall,
    ReturnLease,
    TakeLease,
    Upload,
)
from partstream.hub.leases import BudgetRequest, DatabaseClock, WindowLeases, lease_asks
from partstream.hub.reservations import WaitingAnswers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.hub.amounts import Need
    from partstream.hub.directory import BudgetRule, Directory
    from partstream.hub.journal import Operation, Uploaded
    from partstream.hub.leases import BudgetGrant, LeaseTable, Outcome, WorkerSettings
    from partstream.hub.store.values import GivenBack, HeartbeatResult, LeaseGrant, Window

__all__ = ["BudgetManager"]

_POLL: Final = 0.1
_POLL_PER_WORKER: Final = 0.005
"""The seconds between two attempts to lease what was refused: the more workers there are, the longer."""
_TIDY: Final = 5.0
_MOMENT: Final = 0.05
"""The seconds between two looks at answers that wait."""
_ALIVE: Final = 5.0
"""The seconds of silence after which a worker does not count for the sizes of leases, nor for busy."""


class BudgetManager:
    """All that one worker decides about its budgets.

    Args:
        worker: The name of the worker.
        settings: How it keeps its budgets.
        now: The time.

    Attributes:
        worker: The same.
        directory: The directory as it was read last.
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
        self._holdings = WindowLeases(settings, self._clock)
        self._waiting = WaitingAnswers(self._holdings, settings, self._clock)
        self._liveness = Liveness(worker, 2 * settings.heartbeat_seconds)
        self._alive_seconds = min(_ALIVE, settings.silent_seconds)
        self._forfeited: dict[str, int] = {}
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
    def book(self) -> LeaseTable:
        """What the worker holds."""
        return self._holdings.book

    @property
    def is_connected(self) -> bool:
        """Whether the database answered last time."""
        return self._clock.is_connected

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do at the end: it has left, or only answers that still run keep it."""
        nothing_free = not any(hold.free for _, hold in self.book)
        return self.has_left or (self._holdings.is_closing and not self._rows and self._is_running() and nothing_free)

    def _is_running(self) -> bool:
        return any(hold.reserved for _, hold in self.book)

    # ---- answers ----

    def try_reserve(self, needs: Sequence[Need], now: float) -> BudgetGrant | None:
        """What is reserved for an answer, from what the worker holds; None if that is not enough, or others wait."""
        if self._holdings.is_closing or self._waiting:
            return None
        windows = self._holdings.windows(needs, now)
        if windows is None:
            return None
        return self._holdings.reserve(windows, {need.rule.id: need.amount for need in needs}, now)

    def ask(self, needs: Sequence[Need], now: float, decided: Callable[[Outcome], None]) -> BudgetRequest:
        """Begins an answer: `decided` is told once what has become of it, now or later.

        Args:
            needs: What it needs, one for each rule.
            now: The time.
            decided: Is called with the reservation, or with the error; must not fail.
        """
        ask = BudgetRequest(tuple(needs), now, now + self._settings.wait_seconds, decided)
        self._waiting.add(ask, now)
        return ask

    def withdraw(self, ask: BudgetRequest) -> None:
        """Forgets an answer that waits: nobody wants it any more."""
        self._waiting.remove(ask)

    def top_up(self, rule: BudgetRule, window: int, amount: int, now: float) -> int | None:
        """Reserves more for an answer that runs.

        Args:
            rule: The rule.
            window: The window in which the answer has reserved so far.
            amount: How much more.
            now: The time.

        Returns:
            The window in which it is reserved, which is the next one if the first is over; None if it is not free. Then
            more is leased in the background.
        """
        return self._holdings.top_up(rule, window, amount, now)

    def release(self, amounts: Mapping[int, int], now: float) -> None:
        """Frees what was reserved and will not be used."""
        self.book.release(amounts)
        self._waiting.serve(now)
        self._holdings.freed(amounts, now)

    def end(self, amounts: Mapping[int, int], charges: Mapping[int, int], now: float) -> None:
        """Ends an answer whose row is in the journal, or will be.

        Args:
            amounts: What was reserved for it, by the number of the window.
            charges: What it is charged.
            now: The time.
        """
        self.book.release(amounts)
        self.book.charge(charges)
        self._rows += 1
        self._waiting.serve(now)
        self._holdings.freed({**amounts, **charges}, now)

    def close(self, now: float) -> None:
        """Begins no further answer, and gives everything back once all rows are uploaded."""
        self._holdings.is_closing = True
        self._holdings.surplus.update(window for window, _ in self.book)
        self._upload_at = now
        if not self.is_connected:
            self._beat_at = now
        self._waiting.serve(now)

    # ---- operations ----

    @property
    def has_urgent_work(self) -> bool:
        """Whether the next operation should not wait for the next heartbeat."""
        holdings = self._holdings
        return bool(self._waiting or holdings.surplus or holdings.low or holdings.to_open or holdings.is_closing)

    def wakes_at(self, now: float) -> float:
        """When the next operation may be due, if nothing else happens before."""
        times = [self._beat_at]
        if self._waiting or self._holdings.to_open:
            times.append(now + _MOMENT)
        if self._rows and self.is_connected:
            times.append(self._upload_at)
        return max(now, min(times))

    def next_operation(self, now: float) -> Operation | None:
        """What is to be done on the database now, or None. Its result is brought before the next is asked for."""
        self._waiting.serve(now)
        self._began = now
        if now >= self._beat_at:
            return Heartbeat(self.worker, self._waiting.windows())
        if not self.is_connected:
            return None
        decisions = (
            self._directory_to_read,
            self._windows_to_open,
            self._to_give_back,
            self._to_lease,
            self._to_recall,
            self._to_upload,
            self._to_forfeit,
            self._to_adopt,
            self._to_leave,
        )
        return next((operation for decide in decisions if (operation := decide(now)) is not None), None)

    def done(self, operation: Operation, result: Any, now: float) -> None:
        """Takes in what an operation has brought."""
        taken_in: dict[type, Callable[..., None]] = {
            Heartbeat: self._pulsed,
            ReadDirectory: self._directory_read,
            OpenWindows: self._opened,
            TakeLease: self._leased,
            RequestRecall: self._recalled,
            ReturnLease: self._given_back,
            Upload: self._uploaded,
            Adopt: self._adopted,
            Leave: self._left,
        }
        if (take_in := taken_in.get(type(operation))) is not None:
            take_in(operation, result, now)
        self._waiting.serve(now)

    def failed(self, retry_after: float, now: float) -> None:
        """Takes in that the database was not reached. The next thing that it is asked is a heartbeat.

        Nobody knows what has become of the operation. So nothing is taken for held that it may have given back, until
        the heartbeat says what is.

        Args:
            retry_after: After how many seconds to ask again.
            now: The time.
        """
        self._clock.failed(now)
        self._liveness.disconnected()
        self._beat_at = now + retry_after
        self._waiting.serve(now)

    def postponed(self, operation: Operation, seconds: float, now: float) -> None:
        """Takes in that an upload or an adoption failed at the journal; it is tried again later."""
        if isinstance(operation, Upload):
            self._upload_at = now + seconds
        elif isinstance(operation, Adopt):
            self._adopt_at = now + seconds

    # ---- decisions ----

    def _directory_to_read(self, _: float) -> Operation | None:
        known = None if self.directory is None else self.directory.version
        return None if self._version in {None, known} else ReadDirectory(known)

    def _windows_to_open(self, now: float) -> Operation | None:
        rules = tuple(self._holdings.to_open.values())
        return OpenWindows(rules) if rules and now >= self._open_at else None

    def _to_give_back(self, now: float) -> Operation | None:
        amounts, recalls = self._holdings.returns(now)
        return ReturnLease(self.worker, self._counter, amounts, recalls) if amounts else None

    def _to_lease(self, now: float) -> Operation | None:
        asks = lease_asks(self._holdings, self._waiting, self.live_workers, now)
        return TakeLease(self.worker, asks) if asks and not self._holdings.is_closing else None

    def _to_recall(self, now: float) -> Operation | None:
        windows = self._waiting.recalls(now)
        return RequestRecall(windows) if windows else None

    def _to_upload(self, now: float) -> Operation | None:
        is_due = now >= self._upload_at or self._rows >= self._settings.upload_rows
        return Upload(self.worker, self._settings.upload_rows) if self._rows and is_due else None

    def _to_forfeit(self, _: float) -> Operation | None:
        for name, counter in self._liveness.silent(self._settings.silent_seconds):
            if self._forfeited.get(name) != counter:
                self._forfeited[name] = counter
                return ExpireLease(name, counter)
        return None

    def _to_adopt(self, now: float) -> Operation | None:
        is_due = now >= self._adopt_at and not self._holdings.is_closing
        return Adopt(self._settings.upload_rows) if is_due else None

    def _to_leave(self, _: float) -> Operation | None:
        if not self._holdings.is_closing or self._rows or self.has_left:
            return None
        is_settled = all(not (hold.reserved or hold.unsettled) for _, hold in self.book)
        return Leave(self.worker) if is_settled else None

    # ---- results ----

    def _pulsed(self, _: Heartbeat, pulse: HeartbeatResult, now: float) -> None:
        self._clock.answered(pulse.time, now)
        self._beat_at = now + self._settings.heartbeat_seconds
        self._counter = pulse.workers[self.worker].counter
        self._version = pulse.version
        self._liveness.seen(pulse.workers, now)
        self.live_workers = self._liveness.alive(self._alive_seconds)
        self._forfeited = {name: counter for name, counter in self._forfeited.items() if name in pulse.workers}
        self._holdings.found(pulse.leases, pulse.windows, now)
        if now >= self._tidy_at and not self._waiting:
            self._tidy_at = now + _TIDY
            self._holdings.tidy(now)

    def _directory_read(self, _: ReadDirectory, directory: Directory | None, _now: float) -> None:
        if directory is not None:
            self.directory = directory
        self._version = None if self.directory is None else self.directory.version

    def _opened(self, operation: OpenWindows, windows: Mapping[str, Window], now: float) -> None:
        for rule in operation.rules:
            if not self._holdings.opened(rule, windows[rule.id], now):
                self._open_at = now + _MOMENT

    def _leased(self, operation: TakeLease, grants: Mapping[int, LeaseGrant], now: float) -> None:
        silent = {name for name, _ in self._liveness.silent(self._alive_seconds)}
        for ask in operation.asks:
            grant, view = grants[ask.window], self._holdings.views[ask.window]
            self.book.leased({ask.window: grant.held})
            view.shown(grant.window, now, self._clock.ahead)
            view.wanted = 0
            if grant.is_over:
                self._holdings.to_open[view.rule.id] = view.rule
                continue
            if grant.granted:
                view.size, view.renewed_at = self.book.hold(ask.window).free, now
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

    def _recalled(self, operation: RequestRecall, recalls: Mapping[int, int], now: float) -> None:
        for number in operation.windows:
            view = self._holdings.views[number]
            view.window = replace(view.window, recall=recalls[number])
            view.recalled_at = now
            view.lease_at = now + _POLL
            self._holdings.surplus.add(number)

    def _given_back(self, operation: ReturnLease, given: GivenBack, now: float) -> None:
        if not given.is_done:
            self._beat_at = now
            return
        self.book.leased(given.held)
        for window, recall in operation.recalls.items():
            if (view := self._holdings.views.get(window)) is not None:
                view.answered = max(view.answered, recall)

    def _uploaded(self, _: Upload, uploaded: Uploaded, now: float) -> None:
        self.book.settled(uploaded.charges)
        self.book.leased(uploaded.held)
        self._rows = self._rows - uploaded.rows if uploaded.rows else 0
        self._upload_at = now if self._holdings.is_closing else now + self._settings.upload_seconds

    def _adopted(self, _: Adopt, is_more: bool, now: float) -> None:
        self._adopt_at = now if is_more else now + self._settings.journals_seconds

    def _left(self, _: Leave, _none: None, _now: float) -> None:
        self.has_left = True
