"""An answer that waits for its reservation, and what a worker knows of the windows that it needs: values of state."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.hub.amounts import BudgetError, BudgetSpentError, BudgetsUnreachableError
from partstream.hub.store.values import SCARCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from partstream.hub.amounts import Need
    from partstream.hub.budgets.book import WindowLease
    from partstream.hub.directory import BudgetRule
    from partstream.hub.store.values import LeaseGrant, Window

__all__ = ["BudgetGrant", "BudgetRequest", "Outcome", "WindowView"]

_BUSY: Final = "other workers have not given back yet what they do not use"
_BUSY_SECONDS: Final = 1.0
_SILENT: Final = "a worker that does not answer holds what is missing"


@dataclass(frozen=True, slots=True)
class BudgetGrant:
    """What is reserved for an answer.

    Attributes:
        amounts: The amounts by the number of the window.
        windows: The number of the window of each rule, by the id of the rule.
    """

    amounts: Mapping[int, int]
    windows: Mapping[str, int]


Outcome: TypeAlias = BudgetGrant | BudgetError


@dataclass(slots=True, eq=False)
class BudgetRequest:
    """An answer that waits for its reservation.

    Attributes:
        needs: What it needs, one for each rule.
        at: When it came.
        deadline: When it is decided at the latest, if the database answers.
        decided: Is told once what has become of it.
        less_at: Since when it is content with less than the whole; None while it is not.
        rules: The needs with the ids of their rules.
    """

    needs: tuple[Need, ...]
    at: float
    deadline: float
    decided: Callable[[Outcome], None]
    less_at: float | None = None
    rules: tuple[tuple[str, Need], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.rules = tuple((need.rule.id, need) for need in self.needs)

    def targets(self) -> Iterator[int]:
        """How much of each need has to be there at least."""
        return (self.target(need) for need in self.needs)

    def target(self, need: Need) -> int:
        """How much of a need has to be there at least."""
        return need.amount if self.less_at is None else need.least


@dataclass(slots=True)
class WindowView:
    """What a worker knows of a window, and what it has asked of others.

    Attributes:
        rule: The rule of its budget.
        window: The window as the database showed it last.
        seen_at: When that was.
        silent: What other workers hold that have not answered a recall in good time, and are not heard of.
        busy: The same of workers whose heartbeats go on.
        failed_at: When the last attempt to lease began that got nothing.
        proven_at: Up to when it is proven that nothing was free anywhere.
        lease_at: When the next attempt makes sense.
        recalled_at: When somebody last asked for a recall.
        answered: The last recall that this worker has answered.
        used_at: When an answer last reserved something.
        size: What was free after the last lease; it is renewed when little of that is left.
        renewed_at: When that was.
        renew_at: When renewing it makes sense.
        wanted: How much an answer that runs would like to have more.
    """

    rule: BudgetRule
    window: Window
    seen_at: float
    silent: int = 0
    busy: int = 0
    failed_at: float = -math.inf
    proven_at: float = -math.inf
    lease_at: float = -math.inf
    recalled_at: float = -math.inf
    answered: int = 0
    used_at: float = -math.inf
    size: int = 0
    renewed_at: float = -math.inf
    renew_at: float = -math.inf
    wanted: int = 0

    def shown(self, window: Window, now: float, ahead: float) -> None:
        """Notes the state that the database has shown, whose clock is ahead of ours by some seconds."""
        self.window = window
        self.seen_at = now
        self.recalled_at = window.recalled_at - ahead

    @property
    def scarce_until(self) -> float:
        """Until when nothing free is kept here: a while after each recall."""
        return self.recalled_at + SCARCE_SECONDS

    def refused(
        self, grant: LeaseGrant, began: float, again_at: float, patience: float, silent: Container[str]
    ) -> None:
        """Notes an attempt to lease that got nothing.

        If nobody else holds anything, nothing is free anywhere. Else nobody can say so: what others have answered to a
        recall is no longer true when the last answer is there. So such an attempt is repeated until the longest wait is
        over, while others give back at once what becomes free.

        Args:
            grant: What the database said, about the recall that was seen before.
            began: When the attempt began.
            again_at: When the next one makes sense.
            patience: The seconds in which a worker answers a recall that is not busy.
            silent: The names of the workers that are not heard of.
        """
        self.failed_at = began
        self.lease_at = again_at
        if not grant.unanswered:
            self.silent = self.busy = 0
        elif began >= self.recalled_at + patience:
            self.silent = sum(amount for worker, amount in grant.unanswered.items() if worker in silent)
            self.busy = sum(grant.unanswered.values()) - self.silent
        if grant.window.leased <= grant.held:
            self.proven_at = began

    def refusal(self, least: int, hold: WindowLease, retry_after: float) -> BudgetError:
        """Why an answer is refused that nothing could be leased for.

        Args:
            least: What it needs at least.
            hold: What this worker holds of the window: what is free of it is left, and what has ended is spent.
            retry_after: The seconds after which to ask again where a worker that is silent holds what is missing.
        """
        window = self.window
        within_reach = window.limit - window.spent - window.leased + self.busy
        if least <= within_reach:
            return BudgetsUnreachableError(_BUSY, _BUSY_SECONDS)
        if least <= within_reach + self.silent:
            return BudgetsUnreachableError(_SILENT, retry_after)
        spent = window.spent + hold.unsettled
        reserved = max(0, window.leased - hold.free - hold.unsettled)
        return BudgetSpentError(self.rule, window.limit, spent, reserved, window.ends_at, least)
