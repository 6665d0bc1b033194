"""The leave for one answer of a hub: what it has reserved, what it took, and the row that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.hub.audit import content_of, ended_row
from partstream.hub.charging import taken_by
from partstream.hub.directory import BudgetUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.hub.budgets.reservation import Reservation
    from partstream.hub.charging import Taken
    from partstream.hub.directory import BudgetRule
    from partstream.hub.pricing import ChargedPrice
    from partstream.hub.rate_limits import RatePass
    from partstream.hub.store.values import LedgerRow
    from partstream.serving.admission import EndedAnswer, Reported

__all__ = ["CountPermit", "HubPermit"]


@dataclass(frozen=True, slots=True)
class HubPermit:
    """The leave for one answer.

    Attributes:
        reservation: What is reserved of its budgets, with the row that it begins with.
        rules: The budgets.
        rate: Its place among the answers of its owners.
        family: The family of the model, for estimates.
        price: What is charged for the model; None if nobody knows.
        reported: Looks at each part; None where the answer cannot take more than is reserved.
        is_content_kept: Whether the policy of the team has the request and the answer kept.
        on_end: Told of the row of the answer, behind the charge.
    """

    reservation: Reservation
    rules: tuple[BudgetRule, ...]
    rate: RatePass
    family: str
    price: ChargedPrice | None
    reported: Reported | None
    is_content_kept: bool
    on_end: Callable[[LedgerRow], object]

    def settle(self, ended: EndedAnswer) -> None:
        """Charges the answer, in every case."""
        if not ended.was_asked:
            self.rate.end(0)
            self.reservation.drop()
            return
        taken = taken_by(ended, self.family, self.price)
        self.rate.end(taken.tokens)
        row = ended_row(self.reservation.answer, ended, taken)
        content = content_of(row, ended) if self.is_content_kept else None
        self.reservation.settle({rule.id: _charge(rule, taken) for rule in self.rules}, row, content)
        self.on_end(row)


@dataclass(frozen=True, slots=True)
class CountPermit:
    """The leave to count the tokens of a request, which takes nothing of any budget.

    Attributes:
        rate: Its place among the requests of its owners.
    """

    rate: RatePass
    reported = None

    def settle(self, _ended: EndedAnswer) -> None:
        """Makes room for others."""
        self.rate.end(0)


def _charge(rule: BudgetRule, taken: Taken) -> int:
    return taken.tokens if rule.unit is BudgetUnit.TOKENS else taken.nanodollars or 0
