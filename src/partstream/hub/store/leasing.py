"""Windows of budgets and what workers hold of them: each function is a part of one transaction.

Rows are locked in one order everywhere: the worker, then windows by number, then leases, which nobody changes without
holding the window.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.hub.amounts import span_at
from partstream.hub.store.values import SCARCE_SECONDS, GivenBack, Lease, LeaseGrant, Query, Window, places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from partstream.hub.directory import BudgetRule
    from partstream.hub.store.values import AnswerPart, LeaseAsk, Transaction

__all__ = [
    "ask_recall",
    "give_back",
    "held_by",
    "lease",
    "leases_in",
    "leases_of",
    "locked_book",
    "locked_windows",
    "open_windows",
    "pulse_windows",
    "windows_in",
    "write_lease",
    "write_window",
]

_WINDOWS: Final = (
    "SELECT id, budget, starts_at, ends_at, budget_limit, spent, leased, overrun, recall, recalled_at FROM hub_windows"
    " WHERE id IN ({places}) ORDER BY id"
)
_PULSE: Final = (
    "SELECT id, budget, starts_at, ends_at, budget_limit, spent, leased, overrun, recall, recalled_at FROM hub_windows"
    " WHERE id IN ({places}) OR id IN (SELECT hub_leases.window_id FROM hub_leases"
    " JOIN hub_windows AS one ON one.id = hub_leases.window_id"
    " WHERE hub_leases.worker = ? AND hub_leases.answered < one.recall)"
)
_OPEN_NOW: Final = (
    "SELECT id, budget, starts_at, ends_at, budget_limit, spent, leased, overrun, recall, recalled_at FROM hub_windows"
    " WHERE budget IN ({places}) AND starts_at <= ? AND (ends_at IS NULL OR ends_at > ?) ORDER BY id"
)
_LIMIT: Final = "SELECT budget_limit FROM hub_budgets WHERE id = ?"
_OPEN: Final = (
    "INSERT INTO hub_windows (budget, starts_at, ends_at, budget_limit, highest_limit) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (budget, starts_at) DO NOTHING"
)
_WRITE_WINDOW: Final = "UPDATE hub_windows SET spent = ?, leased = ?, overrun = ? WHERE id = ?"
_RECALL: Final = "UPDATE hub_windows SET recall = recall + 1, recalled_at = ? WHERE id = ?"

_LEASES: Final = "SELECT window_id, amount, forfeited, answered FROM hub_leases WHERE worker = ? ORDER BY window_id"
_WRITE_LEASE: Final = (
    "INSERT INTO hub_leases (window_id, worker, amount, forfeited, answered) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (window_id, worker) DO UPDATE"
    " SET amount = excluded.amount, forfeited = excluded.forfeited, answered = excluded.answered"
)
_DROP_LEASE: Final = "DELETE FROM hub_leases WHERE window_id = ? AND worker = ?"
_UNANSWERED: Final = (
    "SELECT window_id, worker, amount, answered FROM hub_leases WHERE window_id IN ({places}) AND worker <> ?"
)
_COUNTER: Final = "SELECT counter, is_gone FROM hub_workers WHERE name = ?"


def held_by(worker: str) -> Query:
    """Asks for all that a worker holds; for :func:`leases_in`."""
    return Query(_LEASES, (worker,))


def leases_in(rows: Iterable[tuple[Any, ...]]) -> dict[int, Lease]:
    """Leases by the number of the window."""
    return {number: Lease(*held) for number, *held in rows}


def pulse_windows(worker: str, ids: Collection[int]) -> Query:
    """Asks for windows, and for those with a recall that a worker has not answered; for :func:`windows_in`."""
    return Query(_PULSE.format(places=places(len(ids)) or "NULL"), (*sorted(ids), worker))


def windows_in(rows: Iterable[tuple[Any, ...]]) -> dict[int, Window]:
    """Windows by number."""
    return {row[0]: Window(*row) for row in rows}


def locked_windows(work: Transaction, ids: Collection[int]) -> dict[int, Window]:
    """Windows by number, in the order of the numbers, which nobody else changes before the transaction is over."""
    if not ids:
        return {}
    return windows_in(work.locked(_WINDOWS.format(places=places(len(ids))), sorted(ids)))


def leases_of(work: Transaction, worker: str) -> dict[int, Lease]:
    """All that a worker holds, by the number of the window."""
    return leases_in(work.rows(_LEASES, (worker,)))


def locked_book(
    work: Transaction, worker: str, ids: Collection[int]
) -> tuple[list[tuple[Any, ...]], dict[int, Window], dict[int, Lease]]:
    """A worker's counter and whether it is gone, windows, and all that the worker holds: locked in this order."""
    states, windows, leases = work.rows_of(
        Query(_COUNTER, (worker,), is_locking=True),
        Query(_WINDOWS.format(places=places(len(ids)) or "NULL"), sorted(ids), is_locking=True),
        held_by(worker),
    )
    return states, windows_in(windows), leases_in(leases)


def write_window(work: Transaction, window: Window, *, spent: int = 0, leased: int = 0, overrun: int = 0) -> None:
    """Adds to what a locked window says."""
    numbers = window.spent + spent, window.leased + leased, window.overrun + overrun
    work.run(_WRITE_WINDOW, (*numbers, window.id))


def write_lease(work: Transaction, window: int, worker: str, held: Lease) -> None:
    """Writes what a worker holds of a locked window; nothing is no row."""
    if held.amount or held.forfeited:
        work.run(_WRITE_LEASE, (window, worker, *held))
    else:
        work.run(_DROP_LEASE, (window, worker))


def open_windows(work: Transaction, rules: Sequence[BudgetRule]) -> dict[str, Window]:
    """The windows of rules that are open now, by the id of the rule.

    A window keeps its end, whatever becomes of the rule's time zone. The limit is what the database has for the rule,
    not what a worker that has read an older directory believes.
    """
    now = work.now()
    found = _open_now(work, rules, now)
    missing = sorted((rule for rule in rules if rule.id not in found), key=lambda rule: rule.id)
    for rule in missing:
        # The row is locked: a limit that is changed meanwhile finds the window, or is found here.
        limits = work.locked(_LIMIT, (rule.id,))
        span = span_at(rule, now)
        limit = limits[0][0] if limits else rule.limit
        work.run(_OPEN, (rule.id, span.starts_at, span.ends_at, limit, limit))
    return found | (_open_now(work, missing, now) if missing else {})


def _open_now(work: Transaction, rules: Sequence[BudgetRule], now: float) -> dict[str, Window]:
    if not rules:
        return {}
    ids = [rule.id for rule in rules]
    rows = work.rows(_OPEN_NOW.format(places=places(len(ids))), (*ids, now, now))
    return {row[1]: Window(*row) for row in rows}


def lease(work: Transaction, worker: str, asks: Sequence[LeaseAsk]) -> dict[int, LeaseGrant]:
    """Leases as much as there is; what a worker gets that is not alive is nothing.

    After a recall nobody gets more than answers need: else a worker that does not know of it yet could take what others
    have given back for an answer that waits.
    """
    wanted = {ask.window: ask for ask in asks}
    states, windows, held = locked_book(work, worker, wanted)
    is_alive = any(not is_gone for _, is_gone in states)
    now = work.now()
    grants: dict[int, LeaseGrant] = {}
    whole = _whole_answers(wanted, windows)
    for number, window in windows.items():
        ask, has = wanted[number], held.get(number, Lease(0))
        is_over = window.ends_at is not None and window.ends_at <= now
        is_scarce = now < window.recalled_at + SCARCE_SECONDS
        needed = whole[number] if ask.parts else min(ask.amount, window.free)
        amount = needed if is_scarce else min(needed + ask.surplus, window.free)
        if amount < max(ask.least, 1) or is_over or not is_alive:
            amount = 0
        else:
            write_window(work, window, leased=amount)
            answered = max(has.answered, ask.answered)
            write_lease(work, number, worker, has._replace(amount=has.amount + amount, answered=answered))
        after = replace(window, leased=window.leased + amount)
        grants[number] = LeaseGrant(amount, has.amount + amount, after, is_over=is_over)
    return _with_unanswered(work, worker, wanted, grants)


def _whole_answers(asks: Mapping[int, LeaseAsk], windows: Mapping[int, Window]) -> dict[int, int]:
    """How much of each window those answers need that can have what they need of all their windows."""
    left = {number: window.free + asks[number].free for number, window in windows.items()}
    answers: dict[int, list[tuple[int, AnswerPart]]] = {}
    for number in windows:
        for part in asks[number].parts:
            answers.setdefault(part.answer, []).append((number, part))
    for _, parts in sorted(answers.items()):
        if all(left[number] >= part.least for number, part in parts):
            for number, part in parts:
                left[number] -= min(part.amount, left[number])
    return {number: max(0, window.free - max(left[number], 0)) for number, window in windows.items()}


def _with_unanswered(
    work: Transaction, worker: str, wanted: Mapping[int, LeaseAsk], grants: dict[int, LeaseGrant]
) -> dict[int, LeaseGrant]:
    """The grants with what others hold of the windows of which not all was granted."""
    short = sorted(number for number, grant in grants.items() if grant.granted < wanted[number].amount)
    if not short:
        return grants
    for number, holder, amount, answered in work.rows(_UNANSWERED.format(places=places(len(short))), (*short, worker)):
        recall = wanted[number].recall
        if amount and (not recall or answered < recall):
            unanswered = {**grants[number].unanswered, holder: amount}
            grants[number] = grants[number]._replace(unanswered=unanswered)
    return grants


def give_back(
    work: Transaction, worker: str, counter: int, amounts: Mapping[int, int], recalls: Mapping[int, int]
) -> GivenBack:
    """Gives back what a worker does not need, and notes which recalls it has answered."""
    numbers = amounts.keys() | recalls.keys()
    states, windows, held = locked_book(work, worker, numbers)
    is_done = any(found == counter for found, _ in states)
    for number, window in windows.items() if is_done else ():
        if (has := held.get(number)) is None:
            continue
        amount = min(max(amounts.get(number, 0), 0), has.amount)
        answered = max(has.answered, recalls.get(number, 0))
        held[number] = Lease(has.amount - amount, has.forfeited, answered)
        if amount:
            write_window(work, window, leased=-amount)
        write_lease(work, number, worker, held[number])
    return GivenBack(is_done, {number: held[number].amount if number in held else 0 for number in numbers})


def ask_recall(work: Transaction, windows: Mapping[int, int]) -> dict[int, int]:
    """Asks all workers for what they hold of windows and do not use, unless somebody has asked since."""
    recalls: dict[int, int] = {}
    for number, window in locked_windows(work, windows).items():
        recalls[number] = window.recall
        if window.recall <= windows[number]:
            recalls[number] += 1
            work.run(_RECALL, (work.now(), number))
    return recalls
