"""What workers learn of tokens, exchanged in batches: a part of one transaction.

Batches are numbered behind a lock, so that they are seen in the order of their numbers: who has read up to one has
missed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.hub.store.values import LearnedBatch, LearnedRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.hub.store.values import Transaction

__all__ = ["SERIES", "SERIES_LENGTH", "exchange_learned"]

SERIES: Final = "sample"
"""The kind of facts that are kept in a series: none takes the place of another, and only the newest count."""

SERIES_LENGTH: Final = 12
"""How many facts of a series are kept; `tokens/ledger/calibration.py` looks at no more."""

_MOST_KEPT: Final = 100_000
"""How many facts are kept; a ledger keeps as many counts."""

_TRIMMED_EVERY: Final = 64

_BATCH: Final = "SELECT batch FROM hub_learned_batch"
_NEXT: Final = "UPDATE hub_learned_batch SET batch = ?"
_KEEP: Final = (
    "INSERT INTO hub_learned (key, kind, owner, batch, worker, value) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET batch = excluded.batch, worker = excluded.worker, value = excluded.value"
)
_TRIM_SERIES: Final = (
    "DELETE FROM hub_learned WHERE kind = ? AND owner = ? AND key NOT IN"
    " (SELECT key FROM hub_learned WHERE kind = ? AND owner = ? ORDER BY batch DESC, key DESC LIMIT ?)"
)
_TRIM: Final = (
    "DELETE FROM hub_learned WHERE batch <= (SELECT batch FROM hub_learned ORDER BY batch DESC LIMIT 1 OFFSET ?)"
)
_LAST_OF_PAGE: Final = "SELECT batch FROM hub_learned WHERE batch > ? ORDER BY batch LIMIT 1 OFFSET ?"
_NEW: Final = (
    "SELECT key, kind, owner, value, worker FROM hub_learned WHERE batch > ? AND batch <= ? ORDER BY batch, key"
)
_OF_SERIES: Final = (
    "SELECT key, kind, owner, value FROM hub_learned WHERE kind = ? AND owner = ? ORDER BY batch DESC, key DESC LIMIT ?"
)


def exchange_learned(work: Transaction, worker: str, rows: Sequence[LearnedRow], since: int, most: int) -> LearnedBatch:
    """Keeps what a worker has learned, and reads what others have since."""
    newest = _keep(work, worker, rows) if rows else work.rows(_BATCH)[0][0]
    page = work.rows(_LAST_OF_PAGE, (since, most - 1))
    # A batch is read as a whole, so that the next question can begin behind it.
    last = page[0][0] if page else newest
    found = work.rows(_NEW, (since, last))
    owners = sorted({owner for _, kind, owner, _, _ in found if kind == SERIES})
    return LearnedBatch(
        last,
        tuple(LearnedRow(*row) for *row, learned_by in found if row[1] != SERIES and learned_by != worker),
        {owner: _series(work, owner) for owner in owners},
        last < newest,
    )


def _keep(work: Transaction, worker: str, rows: Iterable[LearnedRow]) -> int:
    ((batch,),) = work.locked(_BATCH)
    batch = int(batch) + 1
    work.run(_NEXT, (batch,))
    ordered = sorted({row.key: row for row in rows}.values())
    work.run_many(_KEEP, [(row.key, row.kind, row.owner, batch, worker, row.value) for row in ordered])
    for owner in sorted({row.owner for row in ordered if row.kind == SERIES}):
        work.run(_TRIM_SERIES, (SERIES, owner, SERIES, owner, SERIES_LENGTH))
    if batch % _TRIMMED_EVERY == 0:
        work.run(_TRIM, (_MOST_KEPT,))
    return batch


def _series(work: Transaction, owner: str) -> tuple[LearnedRow, ...]:
    return tuple(LearnedRow(*row) for row in reversed(work.rows(_OF_SERIES, (SERIES, owner, SERIES_LENGTH))))
