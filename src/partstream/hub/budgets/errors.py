"""Why an answer is not admitted, or cannot be accounted for. Facts are fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import CallerError, PartstreamError
from partstream.hub.budgets.amounts import amount_text

if TYPE_CHECKING:
    from partstream.hub.directory import BudgetRule

__all__ = [
    "BudgetError",
    "BudgetSpentError",
    "BudgetsUnreachableError",
    "JournalError",
    "ReservationEndedError",
    "UnreadableRowError",
]


class BudgetError(PartstreamError):
    """An answer was not admitted; no provider was asked."""


class BudgetSpentError(BudgetError):
    """What is left of a budget does not cover the answer, wherever it is held: asking again helps after `resets_at`.

    Attributes:
        rule: The rule of the budget.
        limit: The most that may be used in the window, which an administrator may have changed since `rule` was read.
        spent: What was charged in it.
        reserved: What answers have reserved that run now.
        resets_at: When the next window begins, in seconds since 1970 by the database's clock; None for never.
        least: What the answer needs at least.
    """

    def __init__(
        self, rule: BudgetRule, limit: int, spent: int, reserved: int, resets_at: float | None, least: int
    ) -> None:
        unit = rule.unit
        super().__init__(
            f"the budget of {rule.owner} is used up: {amount_text(unit, spent)} spent and "
            f"{amount_text(unit, reserved)} reserved by running answers, of {amount_text(unit, limit)} a {rule.period}"
        )
        self.rule = rule
        self.limit = limit
        self.spent = spent
        self.reserved = reserved
        self.resets_at = resets_at
        self.least = least


class BudgetsUnreachableError(BudgetError):
    """Whether a budget covers the answer cannot be found out now.

    Attributes:
        reason: Why, in a few words.
        retry_after: After how many seconds it makes sense to ask again.
    """

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(f"budgets cannot be checked now: {reason}; ask again in {retry_after:g} s")
        self.reason = reason
        self.retry_after = retry_after


class JournalError(PartstreamError):
    """The journal of a worker cannot be used: without it no answer is begun.

    Attributes:
        path: The path of the journal or of its folder.
        reason: What is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the journal of the budgets, {path}, cannot be used: {reason}")
        self.path = path
        self.reason = reason


class UnreadableRowError(JournalError):
    """A journal holds a row that this version cannot read, such as one of a later version."""


class ReservationEndedError(CallerError):
    """A reservation was used after it was settled or dropped."""

    def __init__(self, answer_id: str) -> None:
        super().__init__(f"the reservation of answer {answer_id} has already been settled or dropped")
        self.answer_id = answer_id
