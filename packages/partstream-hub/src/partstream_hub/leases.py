"""What one worker holds of each window of a budget: an account without I/O and clock, exact by construction.

For each window `held` is what the database says that this worker has leased. Of it `reserved` belongs to answers that
run, and `unsettled` to answers that have ended and whose rows the database has not confirmed. The rest is free. Only
:meth:`LeaseTable.reserve` takes of what is free, and never more than there is; nothing is awaited between looking and
taking. So what a worker has admitted never exceeds what it has leased, and the database sees to it that
`spent + leased <= limit`.

`held` is never computed: it is what the last transaction of this worker read. Two exceptions make it smaller until the
next one, and smaller is safe: what is about to be given back, and what another worker has charged in full because this
one was silent.

A worker leases enough to ask seldom, and never so much that others go without (docs/hub-budgets.md, "How large a lease
is"). Every method takes the time, in seconds of any clock that only grows.
"""

from __future__ import annotations
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from partstream.codec.checks import NUMBER, Expectation, check_fields
from partstream_hub import LEASE_SECONDS, LONGEST_LEASE_SECONDS, SHORTEST_LEASE_SECONDS
from partstream_hub.amounts import BudgetError, BudgetSpentError, BudgetsUnreachableError, Need
from partstream_hub.directory import BudgetRule
from partstream_hub.store.values import SCARCE_SECONDS, AnswerPart, Lease, LeaseAsk, LeaseGrant, Window

# ---- How much is leased at a time ----

SHARES: Final = 4
"""Each worker takes at most this fraction of an equal share of what is left at once."""

_RENEW_BELOW: Final = 5
"""A lease is renewed when less than a fifth of its size is free: 20 %."""
_RENEW_SECONDS: Final = LEASE_SECONDS - LEASE_SECONDS / _RENEW_BELOW
"""A longer lease is renewed as often as one of :data:`LEASE_SECONDS`: it is to be nearly whole at any time."""

_GROWTH: Final = 4
"""By which part an answer may need more than the one before it, so that what was kept for it is enough."""


def lease_size(rate: float, left: int, workers: int, seconds: float = LEASE_SECONDS) -> int:
    """How much a worker should have free of a window, beside what its answers have reserved.

    Args:
        left: What of the limit is neither spent nor leased.
    """
    return max(0, min(math.ceil(rate * seconds), left // (SHARES * max(1, workers))))


def is_low(free: int, size: int, seconds: float, age: float) -> bool:
    """Whether a lease is to be renewed."""
    return free * _RENEW_BELOW < size or (seconds > LEASE_SECONDS and free < size and age >= _RENEW_SECONDS)


def spare_size(answer: int, unspent: int, leased: int) -> int:
    """How much a worker should have free for the next answer, where no other worker would miss it.

    A budget of which little is used in a second would else be leased anew for each answer, as the simulation in
    docs/scaling.md shows. What all workers hold together stays below the part of what is left that :data:`SHARES` says.

    Args:
        answer: What the last answer needed; the next one of a conversation needs a little more.
    """
    spare = answer + answer // _GROWTH
    return spare if SHARES * (leased + spare) <= unspent else 0


@dataclass(slots=True)
class Rate:
    """How much is reserved in a second, as an average that forgets evenly.

    Attributes:
        seconds: About how many seconds count: as many as a lease should last.
        at: The time of `weight`, in seconds of any clock.
    """

    seconds: float = LEASE_SECONDS
    weight: float = 0.0
    at: float = 0.0
    last: int = 0

    def add(self, amount: int, now: float) -> None:
        """Counts an amount that was reserved."""
        self.weight = self.weight * self._kept(now) + amount
        self.at = now
        self.last = amount

    def a_second(self, now: float) -> float:
        """The rate."""
        return self.weight * self._kept(now) / self.seconds

    def _kept(self, now: float) -> float:
        return math.exp((self.at - now) / self.seconds) if now > self.at else 1.0


# ---- The account ----


@dataclass(slots=True)
class WindowLease:
    """What a worker holds of one window, in nanodollars or tokens; the text of the module explains the fields."""

    held: int = 0
    reserved: int = 0
    unsettled: int = 0
    rate: Rate = field(default_factory=Rate)

    @property
    def free(self) -> int:
        """What answers may reserve."""
        return max(0, self.held - self.reserved - self.unsettled)

    @property
    def debt(self) -> int:
        """By how much answers were charged more than was leased: the next lease covers it first."""
        return max(0, self.reserved + self.unsettled - self.held)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to be accounted for."""
        return not (self.held or self.reserved or self.unsettled)


class LeaseTable:
    """What one worker holds of all windows, by the windows' ids."""

    def __init__(self, lease_seconds: float = LEASE_SECONDS) -> None:
        self._lease_seconds = lease_seconds
        self._leases: dict[int, WindowLease] = {}

    def __contains__(self, window: object) -> bool:
        return window in self._leases

    def __iter__(self) -> Iterator[tuple[int, WindowLease]]:
        return iter(tuple(self._leases.items()))

    def lease(self, window: int) -> WindowLease:
        """What is held of a window; an empty lease is begun for one that is not known."""
        if (lease := self._leases.get(window)) is None:
            lease = self._leases[window] = WindowLease(rate=Rate(self._lease_seconds))
        return lease

    def forget(self, window: int) -> None:
        """Drops a lease that is empty; a `ValueError` where something of it is still to be accounted for."""
        if not self._leases[window].is_empty:
            raise ValueError(f"window {window} is still held: {self._leases[window]}")
        del self._leases[window]

    def missing(self, amounts: Mapping[int, int]) -> dict[int, int]:
        """How much more would have to be leased of which windows before the amounts can be reserved."""
        held = ((window, amount, self.lease(window)) for window, amount in amounts.items())
        return {window: amount - lease.free + lease.debt for window, amount, lease in held if amount > lease.free}

    def reserve(self, amounts: Mapping[int, int], now: float) -> bool:
        """Reserves all amounts, or nothing; whether they are reserved."""
        if any(amount > self.lease(window).free for window, amount in amounts.items()):
            return False
        for window, amount in amounts.items():
            lease = self._leases[window]
            lease.reserved += amount
            lease.rate.add(amount, now)
        return True

    def release(self, amounts: Mapping[int, int]) -> None:
        """Frees what was reserved and is not needed."""
        for window, amount in amounts.items():
            self._leases[window].reserved -= amount

    def charge(self, charges: Mapping[int, int]) -> None:
        """Notes what an ended answer is charged, after its reservation was released."""
        for window, amount in charges.items():
            self.lease(window).unsettled += amount

    def settled(self, charges: Mapping[int, int]) -> None:
        """Notes that the database has the rows of charges and has taken them from the lease."""
        for window, amount in charges.items():
            self._leases[window].unsettled -= amount

    def leased(self, held: Mapping[int, int]) -> None:
        """Notes what the database said that this worker has leased."""
        for window, amount in held.items():
            self.lease(window).held = amount

    def take_back(self, amounts: Mapping[int, int]) -> None:
        """Takes out what is about to be given back; it is not free from here on, whatever becomes of the transaction.

        Raises:
            ValueError: More than is free.
        """
        for window, amount in amounts.items():
            lease = self._leases[window]
            if amount > lease.free:
                raise ValueError(f"window {window}: got {amount}, expected at most the {lease.free} that are free")
            lease.held -= amount


# ---- Settings ----


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker keeps its budgets. All times are seconds.

    Attributes:
        heartbeat_seconds: The time between two heartbeats, which also bring recalls and changes of the directory.
        wait_seconds: The most that an answer waits for what other workers hold and do not use.
        silent_seconds: The time of this worker's own connected time after which a worker without a heartbeat is taken
            for gone.
        upload_seconds: The time between two uploads of ended answers.
        upload_rows: The most rows of an upload; also the most that are in memory.
        lease_seconds: How long what the worker leases should last at the rate at which its answers reserve, which is
            how long answers go on without the database. If its machine is lost with its journal, so much is forfeited.
        idle_seconds: The time after which the unused part of a lease is given back, or `lease_seconds` if that is
            longer.
        journal_rows: The most answers that the journal holds; while it is full, no answer is begun.
        journal_bytes: The most bytes of kept requests and answers in it, likewise.
        journals_seconds: The time between two looks for journals of workers of this machine that are gone.
        stop_seconds: The most that the end waits for the last uploads; the journal keeps the rest.
    """

    heartbeat_seconds: float = 1.0
    wait_seconds: float = 2.0
    silent_seconds: float = 30.0
    upload_seconds: float = 0.5
    upload_rows: int = 200
    lease_seconds: float = LEASE_SECONDS
    idle_seconds: float = 60.0
    journal_rows: int = 500_000
    journal_bytes: int = 1024 * 1024 * 1024
    journals_seconds: float = 2.0
    stop_seconds: float = 5.0

    def __post_init__(self) -> None:
        check_fields(self, _EXPECTED)


_EXPECTED: Final = {
    "lease_seconds": Expectation(
        f"a number from {SHORTEST_LEASE_SECONDS:g} to {LONGEST_LEASE_SECONDS:g}",
        lambda value: NUMBER.fits(value) and SHORTEST_LEASE_SECONDS <= value <= LONGEST_LEASE_SECONDS,  # type: ignore[operator] # a number
    )
}


# ---- Answers that wait, and the windows that they need ----

_BUSY: Final = "other workers have not given back yet what they do not use"
_BUSY_SECONDS: Final = 1.0
_SILENT: Final = "a worker that does not answer holds what is missing"


@dataclass(frozen=True, slots=True)
class BudgetGrant:
    """What is reserved for an answer."""

    amounts: Mapping[int, int]
    windows: Mapping[str, int]


Outcome: TypeAlias = BudgetGrant | BudgetError


@dataclass(slots=True, eq=False)
class BudgetRequest:
    """An answer that waits for its reservation.

    Attributes:
        deadline: When it is decided at the latest, if the database answers.
        decided: Gets the outcome, once.
        less_at: Since when it is content with less than the whole; None while it is not.
    """

    needs: tuple[Need, ...]
    at: float
    deadline: float
    decided: Callable[[Outcome], None]
    less_at: float | None = None
    rules: tuple[tuple[str, Need], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.rules = tuple((need.rule.id, need) for need in self.needs)

    def target(self, need: Need) -> int:
        """How much of a need has to be there at least."""
        return need.amount if self.less_at is None else need.least


@dataclass(slots=True)
class WindowView:
    """What a worker knows of a window, and what it has asked of others.

    Attributes:
        seen_at: When the database has shown it.
        silent: What other workers hold that have not answered a recall in good time, and are not heard of.
        busy: The same of workers whose heartbeats go on.
        failed_at: When the last attempt to lease began that got nothing.
        proven_at: Up to when it is proven that nothing was free anywhere.
        lease_at: When the next attempt makes sense.
        recalled_at: When a worker last asked for a recall.
        answered: The last recall that this worker has answered.
        used_at: When an answer last reserved something.
        renewed_at: When it was last leased.
        renew_at: When renewing it makes sense.
        wanted: How much an answer that runs would like to have more.
    """

    rule: BudgetRule
    window: Window
    seen_at: float
    silent: int = 0
    busy: int = 0
    failed_at: float = -math.inf
    proven_at: float = -math.inf
    lease_at: float = -math.inf
    recalled_at: float = -math.inf
    answered: int = 0
    used_at: float = -math.inf
    size: int = 0
    renewed_at: float = -math.inf
    renew_at: float = -math.inf
    wanted: int = 0

    def shown(self, window: Window, now: float, ahead: float) -> None:
        """Notes the state that the database has shown, whose clock is ahead of ours by some seconds."""
        self.window = window
        self.seen_at = now
        self.recalled_at = window.recalled_at - ahead

    @property
    def scarce_until(self) -> float:
        """Until when nothing free is kept here: a while after each recall."""
        return self.recalled_at + SCARCE_SECONDS

    def refused(
        self, grant: LeaseGrant, began: float, again_at: float, patience: float, silent: Container[str]
    ) -> None:
        """Notes an attempt to lease that got nothing.

        If no other worker holds anything, nothing is free anywhere. Else it is unknown: what others have answered to a
        recall is no longer true when the last answer is there. So such an attempt is repeated until the longest wait is
        over, while others give back at once what becomes free.

        Args:
            grant: What the database said, about the recall that was seen before.
            began: When the attempt began.
            again_at: When the next one makes sense.
            patience: The seconds in which a worker answers a recall that is not busy.
        """
        self.failed_at = began
        self.lease_at = again_at
        if not grant.unanswered:
            self.silent = self.busy = 0
        elif began >= self.recalled_at + patience:
            self.silent = sum(amount for worker, amount in grant.unanswered.items() if worker in silent)
            self.busy = sum(grant.unanswered.values()) - self.silent
        if grant.window.leased <= grant.held:
            self.proven_at = began

    def refusal(self, least: int, lease: WindowLease, retry_after: float) -> BudgetError:
        """Why an answer is refused that nothing could be leased for.

        Args:
            retry_after: The seconds after which to ask again where a worker that is silent holds what is missing.
        """
        window = self.window
        within_reach = window.limit - window.spent - window.leased + self.busy
        if least <= within_reach:
            return BudgetsUnreachableError(_BUSY, _BUSY_SECONDS)
        if least <= within_reach + self.silent:
            return BudgetsUnreachableError(_SILENT, retry_after)
        spent = window.spent + lease.unsettled
        reserved = max(0, window.leased - lease.free - lease.unsettled)
        return BudgetSpentError(self.rule, window.limit, spent, reserved, window.ends_at, least)


# ---- The account with the state of the database ----


class DatabaseClock:
    """Whether the database answers, and what time it is there, as far as a worker can know."""

    def __init__(self, now: float) -> None:
        self.is_connected = False
        self.away_since: float | None = now
        self.ahead = 0.0

    def answered(self, time: float, now: float) -> None:
        """Notes that it has answered, with its time."""
        self.is_connected = True
        self.away_since = None
        self.ahead = time - now

    def failed(self, now: float) -> None:
        """Notes that it was not reached."""
        self.is_connected = False
        if self.away_since is None:
            self.away_since = now

    def is_over(self, window: Window, now: float) -> bool:
        """Whether a window is over; while the database is away that is unknown, and its lease is used up first."""
        return self.is_connected and window.ends_at is not None and now + self.ahead >= window.ends_at


class WindowLeases:
    """What a worker holds, window by window, and which of them need a transaction.

    Attributes:
        views: What is known of each window, by its number.
        current: The number of the current window of each rule, by the rule's id.
        to_open: The rules whose current window has to be found, by their ids.
        surplus: The windows of which something may have to be given back, or a recall answered.
        low: The windows of which little is free.
        is_closing: Whether everything is given back.
    """

    def __init__(self, settings: WorkerSettings, clock: DatabaseClock) -> None:
        self.table = LeaseTable(settings.lease_seconds)
        self.views: dict[int, WindowView] = {}
        self.current: dict[str, int] = {}
        self.to_open: dict[str, BudgetRule] = {}
        self.surplus: set[int] = set()
        self.low: set[int] = set()
        self.is_closing = False
        self._settings = settings
        self._idle_seconds = max(settings.idle_seconds, settings.lease_seconds)
        self._clock = clock

    def windows(self, needs: Sequence[Need], now: float) -> dict[str, int] | None:
        """The current window of each need, by the rule's id; None if one has to be opened first, which is noted."""
        windows = {}
        for need in needs:
            number = self.current.get(need.rule.id)
            if number is None or self._clock.is_over(self.views[number].window, now):
                self.to_open[need.rule.id] = need.rule
            else:
                windows[need.rule.id] = number
        return windows if len(windows) == len(needs) else None

    def reserve(self, windows: Mapping[str, int], amounts: Mapping[str, int], now: float) -> BudgetGrant | None:
        """Reserves amounts, by the rule's id, all or nothing."""
        of_windows = {windows[rule]: amount for rule, amount in amounts.items()}
        if not self.table.reserve(of_windows, now):
            return None
        self._used(of_windows, now)
        return BudgetGrant(of_windows, windows)

    def top_up(self, rule: BudgetRule, window: int, amount: int, now: float) -> int | None:
        """Reserves more for an answer that runs: of its window, or of the next one if that is over.

        Returns:
            The window in which it is reserved; None if it is not free, and then more is leased as soon as possible.
        """
        current = self.current.get(rule.id, window)
        for number in dict.fromkeys((window, current)):
            if self.table.reserve({number: amount}, now):
                self._used((number,), now)
                return number
        view = self.views.get(current)
        if view is None or self._clock.is_over(view.window, now):
            self.to_open[rule.id] = rule
        else:
            view.wanted = max(view.wanted, amount)
            self.low.add(current)
        return None

    def freed(self, windows: Iterable[int], now: float) -> None:
        """Notes that something of windows may have become free, or was charged beyond what was reserved."""
        for window in windows:
            view = self.views.get(window)
            if view is None or now < view.scarce_until or not self._is_current(window, view):
                self.surplus.add(window)
            if self.table.lease(window).debt:
                self.low.add(window)

    def _used(self, windows: Iterable[int], now: float) -> None:
        for window in windows:
            if (view := self.views.get(window)) is None:
                continue
            view.used_at = now
            age = now - view.renewed_at
            is_small = is_low(self.table.lease(window).free, view.size, self._settings.lease_seconds, age)
            if is_small and now >= max(view.renew_at, view.scarce_until):
                self.low.add(window)

    def returns(self, now: float) -> tuple[dict[int, int], dict[int, int]]:
        """What is given back now, and which recalls that answers; it is taken out of the account."""
        amounts = {}
        recalls = {}
        for window in {number for number, _ in self.table} if self.is_closing else self.surplus:
            if window not in self.table:
                continue
            view = self.views.get(window)
            is_wanted = (
                view is not None
                and not self.is_closing
                and self._is_current(window, view)
                and view.window.recall <= view.answered
                and now >= view.scarce_until
                and now - view.used_at < self._idle_seconds
            )
            if not is_wanted and (free := self.table.lease(window).free) > 0:
                amounts[window] = free
            if view is not None and view.window.recall > view.answered:
                recalls[window] = view.window.recall
                amounts.setdefault(window, 0)
        self.surplus.clear()
        self.table.take_back(amounts)
        return amounts, recalls

    def _is_current(self, window: int, view: WindowView) -> bool:
        return self.current.get(view.rule.id) == window

    def found(self, leases: Mapping[int, Lease], windows: Mapping[int, Window], now: float) -> None:
        """Takes in all that the worker holds by the database, and the states of some windows."""
        self.table.leased({window: 0 for window, _ in self.table})
        self.table.leased({window: lease.amount for window, lease in leases.items()})
        for number, lease in leases.items():
            if (view := self.views.get(number)) is not None:
                view.answered = lease.answered
            elif lease.amount:  # leased by a transaction whose end was never seen
                self.surplus.add(number)
        for number, window in windows.items():
            if (view := self.views.get(number)) is not None:
                view.shown(window, now, self._clock.ahead)
                if number in leases and window.recall > view.answered:
                    self.surplus.add(number)

    def opened(self, rule: BudgetRule, window: Window, now: float) -> bool:
        """Takes in the current window of a rule; whether it is current by our idea of the database's time too."""
        self.to_open.pop(rule.id, None)
        before = self.current.get(rule.id)
        if before is not None and before != window.id:
            self.surplus.add(before)
        self.current[rule.id] = window.id
        lease = self.table.lease(window.id)
        if (view := self.views.get(window.id)) is None:
            # Who holds nothing has answered all recalls there were.
            answered = window.recall if lease.is_empty else 0
            view = self.views[window.id] = WindowView(rule, window, now, answered=answered, used_at=now)
        view.rule = rule
        view.shown(window, now, self._clock.ahead)
        return not self._clock.is_over(window, now)

    def tidy(self, now: float) -> None:
        """Forgets windows of which nothing is left, and finds what is not used."""
        for number, lease in self.table:
            view = self.views.get(number)
            is_current = view is not None and self._is_current(number, view)
            if view is not None and is_current and now - view.used_at < self._idle_seconds:
                continue
            if lease.free:
                self.surplus.add(number)
            if lease.is_empty:
                self.table.forget(number)
                self.views.pop(number, None)
                if view is not None and is_current:
                    del self.current[view.rule.id]


# ---- What is leased next ----


def lease_asks(
    leases: WindowLeases, waiting: Iterable[BudgetRequest], workers: int, now: float
) -> tuple[LeaseAsk, ...]:
    """What to ask the database for; the windows of which little is free are looked at once."""
    parts: dict[int, list[AnswerPart]] = {}
    least: dict[int, int] = {}
    for place, ask in enumerate(waiting):
        for window, part, is_missing in _askable(leases, ask, place, now):
            parts.setdefault(window, []).append(part)
            if is_missing:
                least[window] = min(least.get(window, part.least), part.least)
    views = {window: view for window in leases.low - set(least) if (view := leases.views.get(window)) is not None}
    low = {window for window, view in views.items() if now >= view.renew_at}
    leases.low.clear()
    asks = []
    for window in (*least, *low):
        lease, needed = leases.table.lease(window), parts[window] if window in least else ()
        asks.append(_ask(lease, leases.views[window], needed, least.get(window, 0), workers, now))
    return tuple(ask for ask in asks if ask.amount + ask.surplus > 0)


def _askable(leases: WindowLeases, ask: BudgetRequest, place: int, now: float) -> list[tuple[int, AnswerPart, bool]]:
    """What an answer needs of each window, and whether that is missing here; nothing if a window cannot be asked now.

    An answer asks for all that it lacks at once: what it got of one budget would lie idle while it waits for another.
    """
    found = []
    for rule, need in ask.rules:
        window = leases.current.get(rule)
        if window is None:
            return []
        part = AnswerPart(place, need.amount, ask.target(need))
        is_missing = part.least > leases.table.lease(window).free
        if is_missing and leases.views[window].lease_at > now:
            return []
        found.append((window, part, is_missing))
    return found


def _ask(
    lease: WindowLease, view: WindowView, parts: Sequence[AnswerPart], target: int, workers: int, now: float
) -> LeaseAsk:
    """What to ask of one window: what is missing, and beside that enough for a few seconds unless it is scarce.

    Args:
        parts: What the answers need that wait.
        target: The least that helps one of them; 0 to renew a lease.
    """
    wanted = sum(part.amount for part in parts)
    missing = max(0, wanted - lease.free + lease.debt, view.wanted - lease.free if target == 0 else 0)
    window = view.window
    size = max(
        lease_size(lease.rate.a_second(now), window.free - missing, workers, lease.rate.seconds),
        spare_size(max(lease.rate.last, target), window.limit - window.spent, window.leased + missing),
    )
    surplus = size if target else max(0, size - lease.free - missing)
    least = target - lease.free + lease.debt if target else 1
    free = lease.free - lease.debt
    return LeaseAsk(window.id, missing, least, window.recall, surplus, view.answered, tuple(parts), free)
