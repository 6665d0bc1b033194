"""Why a hub does not answer, in words for the person who asked: whose budget, how much, when it resets, whom to ask."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from partstream.hub.budgets.amounts import amount_text
from partstream.hub.budgets.errors import BudgetsUnreachableError
from partstream.hub.directory import Period
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.failures import RequestFailedError

if TYPE_CHECKING:
    from partstream.hub.budgets.errors import BudgetError, BudgetSpentError
    from partstream.hub.directory import BudgetRule, Directory
    from partstream.hub.rate_limits import TooFast
    from partstream.hub.store.values import Window

__all__ = ["budget_document", "not_admitted", "too_fast", "unpriced", "whom_to_ask"]

_MOST_ADMINS: Final = 3
_EACH: Final = {Period.DAY: " a day", Period.WEEK: " a week", Period.MONTH: " a month", Period.TOTAL: " in all"}


def whom_to_ask(directory: Directory, contact: str) -> str:
    """Whom people ask for more: what the settings say, else the admins."""
    if contact:
        return contact
    admins = sorted(one.name for one in directory.people.values() if one.is_admin and not one.is_disabled)
    named = ", ".join(admins[:_MOST_ADMINS])
    return f"an admin of the hub ({named})" if named else "whoever runs the hub"


def not_admitted(error: BudgetError, contact: str) -> RequestFailedError:
    """What a client is told of an answer that its budgets do not admit.

    Args:
        error: Why.
        contact: Whom to ask for more.
    """
    if isinstance(error, BudgetsUnreachableError):
        failure = ServedFailure(FailureKind.OVERLOADED, str(error), retry_after=error.retry_after)
        return RequestFailedError(failure)
    return RequestFailedError(_spent(error, contact))  # type: ignore[arg-type] # there are two kinds


def _spent(error: BudgetSpentError, contact: str) -> ServedFailure:
    rule, unit = error.rule, error.rule.unit
    reserved = f" and {amount_text(unit, error.reserved)} reserved by running answers" if error.reserved else ""
    left = max(0, error.limit - error.spent - error.reserved)
    said = (
        f"the budget of {rule.owner} does not cover this request: {amount_text(unit, error.spent)} spent{reserved} of "
        f"{amount_text(unit, error.limit)}{_EACH[rule.period]}, {amount_text(unit, left)} left, and it needs at "
        f"least {amount_text(unit, error.least)}; {_resets(rule, error.resets_at)}; for more, ask {contact}"
    )
    document = _document(rule, error.limit, error.spent, error.reserved, error.resets_at)
    return ServedFailure(FailureKind.SPENT_BUDGET, said, fields={"budget": document})


def _resets(rule: BudgetRule, resets_at: float | None) -> str:
    if resets_at is None:
        return "it never resets"
    at = datetime.fromtimestamp(resets_at, ZoneInfo(rule.time_zone))
    return f"it resets {at:%Y-%m-%d %H:%M} {rule.time_zone}"


def budget_document(rule: BudgetRule, window: Window) -> dict[str, Any]:
    """A budget as programs read it: `owner`, `unit`, `period`, `limit`, `spent`, `reserved`, `remaining`, `resets_at`
    and `text`. Amounts are in nanodollars or tokens, times in RFC 3339.

    What remains is not spent yet; of that, workers hold what is reserved, for answers that run or come next.

    Args:
        rule: The rule.
        window: Its window now.
    """
    return _document(rule, window.limit, window.spent, window.leased, window.ends_at)


def _document(rule: BudgetRule, limit: int, spent: int, reserved: int, resets_at: float | None) -> dict[str, Any]:
    remaining = max(0, limit - spent)
    reset = None if resets_at is None else datetime.fromtimestamp(resets_at, UTC).isoformat()
    return {
        "owner": str(rule.owner),
        "unit": rule.unit.value,
        "period": rule.period.value,
        "limit": limit,
        "spent": spent,
        "reserved": reserved,
        "remaining": remaining,
        "resets_at": reset,
        "text": f"{amount_text(rule.unit, remaining)} of {amount_text(rule.unit, limit)}{_EACH[rule.period]} left",
    }


def too_fast(error: TooFast, contact: str) -> RequestFailedError:
    """What a client is told that asks too often, or of too much at the same time."""
    said = f"the limit of {error.owner} is {error.limit}; for more, ask {contact}"
    return RequestFailedError(ServedFailure(FailureKind.RATE_LIMITED, said, retry_after=error.retry_after))


def unpriced(directory: Directory, model: str, rule: BudgetRule) -> RequestFailedError:
    """What a client is told of a model without a price, where a budget counts money."""
    verb = "set" if model in directory.routes else "add"
    said = (
        f"nobody knows the price of {model}, which the budget of {rule.owner} has to cover; an admin says what a "
        f"million tokens of input and of output cost in US dollars: partstream hub {verb} model {model} --price 0.25/2"
    )
    return RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said, "model", "model_without_price"))
