"""Enters answers into the ledger and charges them, each once; ends workers: each function is a part of one transaction.

Ledger rows are written in the order of their ids, before any window is locked: two transactions that settle the same
answers wait for each other once, and never in a circle.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import dumps
from partstream.hub.directory import MOST_AMOUNT
from partstream.hub.store.leasing import leases_of, locked_windows, write_lease, write_window
from partstream.hub.store.values import Lease, Settled, content_text, name_text
from partstream.numbers import LAST_TIME, MOST_SECONDS, MOST_TOKENS, as_amount, as_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.hub.store.values import AnswerContent, LedgerRow, Transaction, Window

__all__ = ["forfeit", "leave", "settle", "take_back"]

_LEDGER: Final = (
    "answer_id", "time", "settled_at", "key_id", "person", "team", "model", "provider", "upstream_model", "client",
    "session", "wire", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens",
    "nanodollars", "is_estimated", "status", "outcome", "error", "seconds", "first_part_after", "worker", "charges",
    "day",
)  # fmt: skip
_CONTENTS: Final = ("answer_id", "time", "person", "request", "response")
_DAY: Final = 86_400

_WORKER: Final = "SELECT counter, is_gone FROM hub_workers WHERE name = ?"
_GONE: Final = "UPDATE hub_workers SET is_gone = TRUE WHERE name = ?"
_LEFT: Final = "DELETE FROM hub_workers WHERE name = ?"


class _Split(NamedTuple):
    """Where a charge goes.

    Attributes:
        forfeited: What was taken from the worker as spent already.
        leased: What its lease covers.
        free: What was free of the window.
        overrun: What nothing covers.
    """

    forfeited: int
    leased: int
    free: int
    overrun: int


def settle(work: Transaction, worker: str, rows: Sequence[LedgerRow], contents: Sequence[AnswerContent]) -> Settled:
    """Enters answers and charges those that are new."""
    by_id = {row.answer_id: row for row in rows}
    ordered = [by_id[answer_id] for answer_id in sorted(by_id)]
    settled_at = work.now()
    new = work.insert_new("hub_ledger", _LEDGER, [_parameters(row, worker, settled_at) for row in ordered])
    kept = {one.answer_id: one for one in contents if one.answer_id in new}
    work.insert_new("hub_contents", _CONTENTS, [_content(kept[answer_id]) for answer_id in sorted(kept)])
    due: Counter[int] = Counter()
    for row in ordered:
        for window, amount in _charges(row).items():
            due[window] += amount if row.answer_id in new else 0
    _charge(work, worker, due)
    held = leases_of(work, worker)
    return Settled(frozenset(by_id), {number: held[number].amount if number in held else 0 for number in due})


def _charge(work: Transaction, worker: str, due: Mapping[int, int]) -> None:
    """Charges what is due; the windows of answers that were there already are locked too, so that they can be read."""
    windows = locked_windows(work, due)
    held = leases_of(work, worker) if windows else {}
    for number, window in windows.items():
        has = held.get(number, Lease(0))
        split = _split(due[number], has, window)
        write_window(work, window, spent=split.leased + split.free, leased=-split.leased, overrun=split.overrun)
        rest = has._replace(amount=has.amount - split.leased, forfeited=has.forfeited - split.forfeited)
        write_lease(work, number, worker, rest)


def _split(amount: int, held: Lease, window: Window) -> _Split:
    forfeited = min(amount, held.forfeited)
    leased = min(amount - forfeited, held.amount)
    free = min(amount - forfeited - leased, window.free)
    return _Split(forfeited, leased, free, amount - forfeited - leased - free)


def forfeit(work: Transaction, worker: str, counter: int | None) -> dict[int, int]:
    """Takes what a silent worker holds as spent."""
    found = work.locked(_WORKER, (worker,))
    if not found or (counter is not None and found[0][0] != counter):
        return {}
    work.run(_GONE, (worker,))
    # The worker is locked, so that it gets no further lease; its leases are read again behind the locks of the windows.
    windows = locked_windows(work, leases_of(work, worker))
    taken: dict[int, int] = {}
    for number, has in leases_of(work, worker).items():
        if has.amount:
            taken[number] = has.amount
            write_window(work, windows[number], spent=has.amount, leased=-has.amount)
            write_lease(work, number, worker, has._replace(amount=0, forfeited=has.forfeited + has.amount))
    return taken


def take_back(work: Transaction, worker: str) -> None:
    """Gives a worker again what was forfeited of it: it is alive. Its row is locked by whoever calls this."""
    windows = locked_windows(work, leases_of(work, worker))
    for number, has in leases_of(work, worker).items():
        if has.forfeited:
            write_window(work, windows[number], spent=-has.forfeited, leased=has.forfeited)
            write_lease(work, number, worker, has._replace(amount=has.amount + has.forfeited, forfeited=0))


def leave(work: Transaction, worker: str) -> None:
    """Ends a worker, with all that it held."""
    if not work.locked(_WORKER, (worker,)):
        return  # nothing is locked, and whoever comes back under this name begins anew
    windows = locked_windows(work, leases_of(work, worker))
    for number, has in leases_of(work, worker).items():
        write_window(work, windows[number], spent=-has.forfeited, leased=-has.amount)
        write_lease(work, number, worker, Lease(0))
    work.run(_LEFT, (worker,))


def _charges(row: LedgerRow) -> Counter[int]:
    """What a row is charged, by window. One that no budget can hold must not keep others out of the ledger."""
    charges: Counter[int] = Counter()
    for charge in row.charges:
        charges[charge.window] += min(max(charge.amount, 0), MOST_AMOUNT)
    return charges


def _optional(text: str | None) -> str | None:
    return None if text is None else name_text(text)


def _parameters(row: LedgerRow, worker: str, settled_at: float) -> tuple[Any, ...]:
    """A row in the order of the columns; a number that cannot be is unknown."""
    time = as_amount(row.time, LAST_TIME) or 0.0
    counts = (row.input_tokens, row.output_tokens, row.cached_tokens, row.cache_write_tokens, row.reasoning_tokens)
    texts = (row.model, row.provider, row.upstream_model, row.client)
    return (
        row.answer_id,
        time,
        settled_at,
        name_text(row.key_id),
        name_text(row.person),
        _optional(row.team),
        *(name_text(text) for text in texts),
        _optional(row.session),
        name_text(row.wire),
        *(as_count(count, MOST_TOKENS) for count in counts),
        as_count(row.nanodollars, MOST_AMOUNT),
        row.is_estimated,
        row.status,
        name_text(row.outcome),
        _optional(row.error),
        as_amount(row.seconds, MOST_SECONDS),
        as_amount(row.first_part_after, MOST_SECONDS),
        worker,
        dumps({str(window): amount for window, amount in _charges(row).items()}).decode(),
        int(time // _DAY),
    )


def _content(content: AnswerContent) -> tuple[Any, ...]:
    texts = content_text(content.request), content_text(content.response)
    return content.answer_id, content.time, name_text(content.person), *texts
