"""What one worker holds of each window of a budget: an account without I/O and clock, exact by construction.

For each window `held` is what the database says that this worker has leased. Of it `reserved` belongs to answers that
run, and `unsettled` to answers that have ended and whose rows the database has not confirmed. The rest is free. Only
:meth:`LeaseTable.reserve` takes of what is free, and never more than there is; nothing is awaited between looking and
taking. So what a worker has admitted never exceeds what it has leased, and the database sees to it that
`spent + leased <= limit`.

`held` is never computed: it is what the last transaction of this worker read. Two exceptions make it smaller until the
next one, and smaller is safe: what is about to be given back, and what another worker has charged in full because this
one was silent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from partstream.hub.budgets.sizes import LEASE_SECONDS, Rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["LeaseTable", "WindowLease"]


@dataclass(slots=True)
class WindowLease:
    """What a worker holds of one window, in nanodollars or tokens.

    Attributes:
        held: What the worker has leased, as the database said last.
        reserved: What of it belongs to answers that run.
        unsettled: What ended answers are charged whose rows the database has not confirmed.
        rate: How fast answers reserve.
    """

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
    """What one worker holds of all windows, by the windows' ids.

    Args:
        lease_seconds: How long a lease should last.
    """

    def __init__(self, lease_seconds: float = LEASE_SECONDS) -> None:
        self._lease_seconds = lease_seconds
        self._holds: dict[int, WindowLease] = {}

    def __contains__(self, window: object) -> bool:
        return window in self._holds

    def __iter__(self) -> Iterator[tuple[int, WindowLease]]:
        return iter(tuple(self._holds.items()))

    def hold(self, window: int) -> WindowLease:
        """What is held of a window; an empty hold is begun for one that is not known."""
        if (hold := self._holds.get(window)) is None:
            hold = self._holds[window] = WindowLease(rate=Rate(self._lease_seconds))
        return hold

    def forget(self, window: int) -> None:
        """Drops a hold that is empty.

        Raises:
            ValueError: Something of it is still to be accounted for.
        """
        if not self._holds[window].is_empty:
            raise ValueError(f"window {window} is still held: {self._holds[window]}")
        del self._holds[window]

    def missing(self, amounts: Mapping[int, int]) -> dict[int, int]:
        """How much more would have to be leased of which windows before the amounts can be reserved."""
        short = {}
        for window, amount in amounts.items():
            hold = self.hold(window)
            if amount > hold.free:
                short[window] = amount - hold.free + hold.debt
        return short

    def reserve(self, amounts: Mapping[int, int], now: float) -> bool:
        """Reserves all amounts, or nothing.

        Args:
            amounts: The amount of each window.
            now: The time, in seconds of any clock, for the rate.

        Returns:
            Whether they are reserved.
        """
        if any(amount > self.hold(window).free for window, amount in amounts.items()):
            return False
        for window, amount in amounts.items():
            hold = self._holds[window]
            hold.reserved += amount
            hold.rate.add(amount, now)
        return True

    def release(self, amounts: Mapping[int, int]) -> None:
        """Frees what was reserved and is not needed."""
        for window, amount in amounts.items():
            self._holds[window].reserved -= amount

    def charge(self, charges: Mapping[int, int]) -> None:
        """Notes what an ended answer is charged, after its reservation was released."""
        for window, amount in charges.items():
            self.hold(window).unsettled += amount

    def settled(self, charges: Mapping[int, int]) -> None:
        """Notes that the database has the rows of charges and has taken them from the lease."""
        for window, amount in charges.items():
            self._holds[window].unsettled -= amount

    def leased(self, held: Mapping[int, int]) -> None:
        """Notes what the database said that this worker has leased."""
        for window, amount in held.items():
            self.hold(window).held = amount

    def take_back(self, amounts: Mapping[int, int]) -> None:
        """Takes out what is about to be given back; it is not free from here on, whatever becomes of the transaction.

        Raises:
            ValueError: More than is free.
        """
        for window, amount in amounts.items():
            hold = self._holds[window]
            if amount > hold.free:
                raise ValueError(f"window {window}: got {amount}, expected at most the {hold.free} that are free")
            hold.held -= amount
