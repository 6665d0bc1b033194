"""What always holds in the tables of a hub, checked over all rows at one moment."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.codec.json_codec import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.hub.store.values import Transaction

__all__ = ["BrokenInvariant", "broken_invariants"]


class BrokenInvariant(NamedTuple):
    """What does not hold.

    Attributes:
        where: The window, as `person/ana/money/day, window 12`, or the worker.
        got: What is there.
        expected: What should be.
    """

    where: str
    got: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: got {self.got}, expected {self.expected}"


_WINDOWS: Final = "SELECT id, budget, spent, leased, overrun, highest_limit FROM hub_windows ORDER BY id"
_LEASES: Final = "SELECT window_id, sum(amount), sum(forfeited) FROM hub_leases GROUP BY window_id"
_ORPHANS: Final = (
    "SELECT DISTINCT worker FROM hub_leases"
    " WHERE NOT EXISTS (SELECT 1 FROM hub_workers WHERE hub_workers.name = hub_leases.worker) ORDER BY worker"
)
_CHARGES: Final = "SELECT charges, count(*) FROM hub_ledger GROUP BY charges"


def broken_invariants(work: Transaction) -> list[BrokenInvariant]:
    """All that does not hold: empty, or there is a fault in Partstream or somebody has written into the tables."""
    return [*_of_windows(work), *_of_workers(work)]


def _of_windows(work: Transaction) -> Iterator[BrokenInvariant]:
    leases = {window: (int(amount), int(forfeited)) for window, amount, forfeited in work.rows(_LEASES)}
    charged = _charged(work)
    for window, budget, spent, leased, overrun, highest_limit in work.rows(_WINDOWS):
        where = f"{budget}, window {window}"
        amount, forfeited = leases.get(window, (0, 0))
        taken = charged.pop(window, 0)
        if leased != amount:
            yield BrokenInvariant(where, f"{leased:,} leased", f"the sum of the leases, {amount:,}")
        if spent + leased > highest_limit:
            yield BrokenInvariant(where, f"{spent:,} spent and {leased:,} leased", f"{highest_limit:,} at the most")
        if spent + overrun != taken + forfeited:
            yield BrokenInvariant(
                where,
                f"{spent:,} spent and {overrun:,} overrun",
                f"the charges of the ledger, {taken:,}, and what is forfeited, {forfeited:,}",
            )
    for window, amount in charged.items():
        yield BrokenInvariant(f"window {window}", f"charges of {amount:,}", "none: there is no such window")


def _charged(work: Transaction) -> Counter[int]:
    """What all answers together were charged, by window."""
    charged: Counter[int] = Counter()
    for text, count in work.rows(_CHARGES):
        for window, amount in loads(text).items():
            charged[int(window)] += amount * count
    return charged


def _of_workers(work: Transaction) -> Iterator[BrokenInvariant]:
    for (worker,) in work.rows(_ORPHANS):
        yield BrokenInvariant(f"worker {worker}", "leases", "none: it has left")
