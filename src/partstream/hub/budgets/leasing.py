"""What a worker leases next: what answers wait for, what it has used beyond its leases, and what it will soon need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.hub.budgets.sizes import lease_size, spare_size
from partstream.hub.store.values import AnswerPart, LeaseAsk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.hub.budgets.asking import BudgetRequest, WindowView
    from partstream.hub.budgets.book import WindowLease
    from partstream.hub.budgets.holdings import WindowLeases

__all__ = ["lease_asks"]


def lease_asks(
    holdings: WindowLeases, waiting: Iterable[BudgetRequest], workers: int, now: float
) -> tuple[LeaseAsk, ...]:
    """What to ask the database for; the windows of which little is free are looked at once.

    Args:
        holdings: What the worker holds.
        waiting: The answers that wait.
        workers: How many workers are alive.
        now: The time.
    """
    parts: dict[int, list[AnswerPart]] = {}
    least: dict[int, int] = {}
    for place, ask in enumerate(waiting):
        for window, part, is_missing in _askable(holdings, ask, place, now):
            parts.setdefault(window, []).append(part)
            if is_missing:
                least[window] = min(least.get(window, part.least), part.least)
    low = {window for window in holdings.low - set(least) if _may_renew(holdings.views.get(window), now)}
    holdings.low.clear()
    asks = [
        _ask(
            holdings.book.hold(window),
            holdings.views[window],
            parts.get(window, ()) if window in least else (),
            least.get(window, 0),
            workers,
            now,
        )
        for window in (*least, *low)
    ]
    return tuple(ask for ask in asks if ask.amount + ask.surplus > 0)


def _askable(holdings: WindowLeases, ask: BudgetRequest, place: int, now: float) -> list[tuple[int, AnswerPart, bool]]:
    """What an answer needs of each window, and whether that is missing here; nothing if a window cannot be asked now.

    An answer asks for all that it lacks at once: what it got of one budget would lie idle while it waits for another.
    """
    found = []
    for rule, need in ask.rules:
        window = holdings.current.get(rule)
        if window is None:
            return []
        part = AnswerPart(place, need.amount, ask.target(need))
        is_missing = part.least > holdings.book.hold(window).free
        if is_missing and holdings.views[window].lease_at > now:
            return []
        found.append((window, part, is_missing))
    return found


def _may_renew(view: WindowView | None, now: float) -> bool:
    return view is not None and now >= view.renew_at


def _ask(
    hold: WindowLease, view: WindowView, parts: Sequence[AnswerPart], target: int, workers: int, now: float
) -> LeaseAsk:
    """What to ask of one window: what is missing, and beside that enough for a few seconds unless it is scarce.

    Args:
        hold: What the worker holds of it.
        view: What it knows of it.
        parts: What the answers need that wait.
        target: The least that helps one of them; 0 to renew a lease.
        workers: How many workers are alive.
        now: The time.
    """
    wanted = sum(part.amount for part in parts)
    missing = max(0, wanted - hold.free + hold.debt, view.wanted - hold.free if target == 0 else 0)
    window = view.window
    size = max(
        lease_size(hold.rate.a_second(now), window.free - missing, workers, hold.rate.seconds),
        spare_size(max(hold.rate.last, target), window.limit - window.spent, window.leased + missing),
    )
    surplus = size if target else max(0, size - hold.free - missing)
    least = target - hold.free + hold.debt if target else 1
    free = hold.free - hold.debt
    return LeaseAsk(window.id, missing, least, window.recall, surplus, view.answered, tuple(parts), free)
