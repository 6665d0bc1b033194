"""What is reserved for one answer in each of its budgets, until it ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from partstream.hub.amounts import ReservationEndedError
from partstream.hub.directory import BudgetUnit
from partstream.hub.store.values import Charge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from partstream.hub.amounts import Need
    from partstream.hub.directory import BudgetRule
    from partstream.hub.store.values import AnswerContent, LedgerRow

__all__ = ["LOST", "Reservation", "ReservationOwner"]

LOST: Final = "lost"
"""The outcome of an answer whose worker died before its end."""


class ReservationOwner(Protocol):
    """Who keeps the account and the journal of reservations: a worker, which makes them and so imports this module."""

    def top_up(self, rule: BudgetRule, window: int, amount: int) -> int | None:
        """Reserves more, in a window or in the one behind it; the number of the window, or None if it is not free."""
        ...

    def changed(self, reservation: Reservation) -> bool:
        """Notes what is reserved now; whether it could be noted."""
        ...

    def reduce(self, amounts: Mapping[int, int]) -> None:
        """Frees a part of what is reserved."""
        ...

    def settle(
        self, reservation: Reservation, charges: Mapping[int, int], row: LedgerRow, content: AnswerContent | None
    ) -> None:
        """Ends a reservation with what the answer took."""
        ...

    def drop(self, reservation: Reservation) -> None:
        """Ends a reservation of which nothing was used."""
        ...


class Reservation:
    """What is reserved for one answer. It ends exactly once: settled, or dropped if no provider was asked.

    Args:
        owner: Who keeps account and journal.
        answer: The row that is entered if the worker dies before the answer has ended.
        needs: What it asked for.
        windows: The number of the window of each rule, by the rule's id.
        amounts: What is reserved, by the number of the window.

    Attributes:
        answer: The same.
        amounts: The same, as it is now.
        has_ended: Whether it was settled or dropped.
    """

    def __init__(
        self,
        owner: ReservationOwner,
        answer: LedgerRow,
        needs: Sequence[Need],
        windows: Mapping[str, int],
        amounts: Mapping[int, int],
    ) -> None:
        self._owner = owner
        self._windows = {rule: [window] for rule, window in windows.items()}
        self._money = next((need.rule.id for need in needs if need.rule.unit is BudgetUnit.MONEY), None)
        self.answer = answer
        self.amounts = dict(amounts)
        self.has_ended = False

    def amount(self, rule: BudgetRule) -> int:
        """What is reserved of a rule's budget: the need, or less down to what it needs at least."""
        return self._reserved(rule.id)

    def top_up(self, rule: BudgetRule, amount: int) -> bool:
        """Reserves more, from what the worker holds; returns at once.

        Returns:
            Whether it is reserved. If not, the worker asks for more in the background, and a later call may find it.

        Raises:
            ReservationEndedError: The reservation has ended.
        """
        self._check()
        windows = self._windows[rule.id]
        window = self._owner.top_up(rule, windows[-1], amount)
        if window is None:
            return False
        if window not in windows:  # the first window is over
            windows.append(window)
        self.amounts[window] = self.amounts.get(window, 0) + amount
        if self._owner.changed(self):
            return True
        self.amounts[window] -= amount
        self._owner.reduce({window: amount})
        return False

    def reduce(self, rule: BudgetRule, amount: int) -> None:
        """Frees what of a reservation will not be needed, such as the rest of a shortened output.

        Raises:
            ReservationEndedError: The reservation has ended.
        """
        self._check()
        window = self._windows[rule.id][-1]
        freed = min(amount, self.amounts[window])
        self.amounts[window] -= freed
        if self._owner.changed(self):
            self._owner.reduce({window: freed})
        else:
            self.amounts[window] += freed

    def settle(self, charges: Mapping[str, int], row: LedgerRow, content: AnswerContent | None = None) -> None:
        """Ends the reservation with what the answer took; the row is in the journal when this returns.

        Args:
            charges: What it took, by the id of the rule; a rule that is missing is charged nothing. More than was
                reserved is taken from what the worker or the window has left.
            row: The row for the ledger, of the same answer; its `charges` are filled in here.
            content: The request and the answer, where the policy of the team has them kept.

        Raises:
            ReservationEndedError: The reservation has ended.
            ValueError: The row is of another answer.
        """
        self._check()
        if row.answer_id != self.answer.answer_id:
            raise ValueError(f"got the row of answer {row.answer_id}, expected that of {self.answer.answer_id}")
        of_windows = dict(charge for rule, amount in charges.items() for charge in self._split(rule, amount))
        self.has_ended = True
        self._owner.settle(self, of_windows, replace(row, charges=_charges(of_windows)), content)

    def drop(self) -> None:
        """Ends the reservation without a trace: no provider was asked. Does nothing if it has ended."""
        if not self.has_ended:
            self.has_ended = True
            self._owner.drop(self)

    def row_if_lost(self) -> LedgerRow:
        """The row that is entered if the worker dies now: all that is reserved, as an estimate."""
        cost = self.answer.nanodollars
        if cost is None and self._money is not None:
            cost = self._reserved(self._money)
        charges = _charges(self.amounts)
        return replace(self.answer, charges=charges, nanodollars=cost, is_estimated=True, outcome=LOST)

    def _reserved(self, rule: str) -> int:
        return sum(self.amounts[window] for window in self._windows[rule])

    def _split(self, rule: str, amount: int) -> Iterator[tuple[int, int]]:
        """A charge by window: what was reserved in each, and what is more in the last."""
        windows = self._windows[rule]
        for window in windows[:-1]:
            part = min(amount, self.amounts[window])
            amount -= part
            yield window, part
        yield windows[-1], amount

    def _check(self) -> None:
        if self.has_ended:
            raise ReservationEndedError(self.answer.answer_id)


def _charges(amounts: Mapping[int, int]) -> tuple[Charge, ...]:
    return tuple(Charge(window, amount) for window, amount in sorted(amounts.items()) if amount)
