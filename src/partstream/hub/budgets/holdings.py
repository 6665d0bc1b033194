"""What a worker holds of which windows, and what it knows of them: an account with the state of the database beside it.

No I/O, no clock: every method takes the time, in seconds of any clock that only grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.hub.budgets.asking import BudgetGrant, WindowView
from partstream.hub.budgets.book import LeaseTable
from partstream.hub.budgets.sizes import is_low

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.hub.amounts import Need
    from partstream.hub.budgets.settings import WorkerSettings
    from partstream.hub.directory import BudgetRule
    from partstream.hub.store.values import Lease, Window

__all__ = ["DatabaseClock", "WindowLeases"]


class DatabaseClock:
    """Whether the database answers, and what time it is there, as far as a worker can know.

    Attributes:
        is_connected: Whether it answered last time.
        away_since: Since when it has not; None while it does.
        ahead: By how many seconds its clock is ahead of ours.
    """

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
        """Whether a window is over; while the database is away nobody can say so, and its lease is used up first."""
        return self.is_connected and window.ends_at is not None and now + self.ahead >= window.ends_at


class WindowLeases:
    """What a worker holds, window by window, and which of them need a transaction.

    Args:
        settings: How the worker keeps its budgets.
        clock: The time of the database.

    Attributes:
        book: The account.
        views: What is known of each window, by its number.
        current: The number of the current window of each rule, by the rule's id.
        to_open: The rules whose current window has to be found, by their ids.
        surplus: The windows of which something may have to be given back, or a recall answered.
        low: The windows of which little is free.
        is_closing: Whether everything is given back.
    """

    def __init__(self, settings: WorkerSettings, clock: DatabaseClock) -> None:
        self.book = LeaseTable(settings.lease_seconds)
        self.views: dict[int, WindowView] = {}
        self.current: dict[str, int] = {}
        self.to_open: dict[str, BudgetRule] = {}
        self.surplus: set[int] = set()
        self.low: set[int] = set()
        self.is_closing = False
        self._settings = settings
        self._idle_seconds = max(settings.idle_seconds, settings.lease_seconds)
        self._clock = clock

    # ---- reserving ----

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
        if not self.book.reserve(of_windows, now):
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
            if self.book.reserve({number: amount}, now):
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
            if self.book.hold(window).debt:
                self.low.add(window)

    def _used(self, windows: Iterable[int], now: float) -> None:
        for window in windows:
            if (view := self.views.get(window)) is None:
                continue
            view.used_at = now
            age = now - view.renewed_at
            is_small = is_low(self.book.hold(window).free, view.size, self._settings.lease_seconds, age)
            if is_small and now >= max(view.renew_at, view.scarce_until):
                self.low.add(window)

    # ---- giving back ----

    def returns(self, now: float) -> tuple[dict[int, int], dict[int, int]]:
        """What is given back now, and which recalls that answers; it is taken out of the account."""
        amounts = {}
        recalls = {}
        for window in {number for number, _ in self.book} if self.is_closing else self.surplus:
            if window not in self.book:
                continue
            view = self.views.get(window)
            if (free := self._unwanted(window, view, now)) > 0:
                amounts[window] = free
            if view is not None and view.window.recall > view.answered:
                recalls[window] = view.window.recall
                amounts.setdefault(window, 0)
        self.surplus.clear()
        self.book.take_back(amounts)
        return amounts, recalls

    def _unwanted(self, window: int, view: WindowView | None, now: float) -> int:
        """How much of a window's free part is given back."""
        is_wanted = (
            view is not None
            and not self.is_closing
            and self._is_current(window, view)
            and view.window.recall <= view.answered
            and now >= view.scarce_until
            and now - view.used_at < self._idle_seconds
        )
        return 0 if is_wanted else self.book.hold(window).free

    def _is_current(self, window: int, view: WindowView) -> bool:
        return self.current.get(view.rule.id) == window

    # ---- what the database says ----

    def found(self, leases: Mapping[int, Lease], windows: Mapping[int, Window], now: float) -> None:
        """Takes in all that the worker holds by the database, and the states of some windows."""
        self.book.leased({window: 0 for window, _ in self.book})
        self.book.leased({window: lease.amount for window, lease in leases.items()})
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
        """Takes in the current window of a rule.

        Returns:
            Whether it is current by our idea of the database's time too, which is a moment off.
        """
        self.to_open.pop(rule.id, None)
        before = self.current.get(rule.id)
        if before is not None and before != window.id:
            self.surplus.add(before)
        self.current[rule.id] = window.id
        hold = self.book.hold(window.id)
        if (view := self.views.get(window.id)) is None:
            # Who holds nothing has answered all recalls there were.
            answered = window.recall if hold.is_empty else 0
            view = self.views[window.id] = WindowView(rule, window, now, answered=answered, used_at=now)
        view.rule = rule
        view.shown(window, now, self._clock.ahead)
        return not self._clock.is_over(window, now)

    def tidy(self, now: float) -> None:
        """Forgets windows of which nothing is left, and finds what nobody uses."""
        for number, hold in self.book:
            view = self.views.get(number)
            is_current = view is not None and self._is_current(number, view)
            if view is not None and is_current and now - view.used_at < self._idle_seconds:
                continue
            if hold.free:
                self.surplus.add(number)
            if hold.is_empty:
                self.book.forget(number)
                self.views.pop(number, None)
                if view is not None and is_current:
                    del self.current[view.rule.id]
