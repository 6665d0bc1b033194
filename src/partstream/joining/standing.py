"""What a hub says of the person who asks, read from `GET /hub/v1/me`; without I/O.

    {"person": "ada", "team": "engines", "models": ["gpt-5"],
     "budgets": [{"owner": "person ada", "unit": "money", "period": "day", "limit": 5000000000, "spent": 1800000000,
                  "reserved": 0, "remaining": 3200000000, "resets_at": "2026-11-24T00:00:00+00:00", "text": "..."}]}

Money is integer nanodollars, tokens are integers. A hub is another machine: a budget that cannot be read is left out
and named, because what is wrong in one must not hide the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.numbers import LAST_TIME, as_amount

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ME_PATH", "BudgetUnit", "HubBudget", "HubStanding", "read_standing"]

ME_PATH: Final = "/hub/v1/me"
"""Where a hub says it, below its address."""

_MOST_BUDGETS: Final = 20
_MOST_MODELS: Final = 5000
_MOST_NAME: Final = 80
_MOST_TEXT: Final = 200
_MOST_AMOUNT: Final = 2**62
"""Of nanodollars or tokens: what the BIGINT of a database holds."""


class BudgetUnit(StrEnum):
    """What a budget limits."""

    MONEY = "money"
    """In nanodollars: a thousand millionth of a US dollar."""
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class HubBudget:
    """What is left of one budget.

    Attributes:
        unit: What it limits.
        period: `day`, `week`, `month` or `total`; another word of a newer hub is kept as it is.
        limit: The most of a period, from 0.
        remaining: What is left of it: limit less what is spent and what answers that run have reserved; from 0.
        resets_at: When the next period begins, in seconds since 1970; None for a budget that never does.
        owner: Whose it is, such as `person ada` or `team engines`; or "".
    """

    unit: BudgetUnit
    period: str
    limit: int
    remaining: int
    resets_at: float | None = None
    owner: str = ""

    @property
    def share_left(self) -> float:
        """The share of the limit that is left, from 0 to 1."""
        return min(1.0, self.remaining / self.limit) if self.limit > 0 else 0.0


@dataclass(frozen=True, slots=True)
class HubStanding:
    """What a hub says of a person.

    Attributes:
        person: The name.
        team: That of the team, or "".
        models: The ids of the models that this person may ask.
        budgets: The budgets that hold, the one with the smallest share left first.
        problems: What could not be read, in sentences.
    """

    person: str
    team: str
    models: tuple[str, ...]
    budgets: tuple[HubBudget, ...]
    problems: tuple[str, ...] = ()


class _FieldError(Exception):
    """A value of the wrong form; its text says which, and what was expected."""


def read_standing(document: Any) -> HubStanding:
    """Reads what a hub says of a person.

    Raises:
        UpstreamProtocolError: It is no object with the name of a person and a list of budgets.
    """
    if not isinstance(document, dict):
        raise _refused(None, document, "an object")
    person, team, budgets = document.get("person"), document.get("team"), document.get("budgets", [])
    if not _is_name(person):
        raise _refused("person", person, f"a name of at most {_MOST_NAME} characters")
    if not isinstance(budgets, list):
        raise _refused("budgets", budgets, "a list")
    read: list[HubBudget] = []
    problems: list[str] = []
    if len(budgets) > _MOST_BUDGETS:
        problems.append(f"budgets: got {len(budgets)} entries, expected at most {_MOST_BUDGETS}; the rest is left out")
    for number, budget in enumerate(budgets[:_MOST_BUDGETS]):
        try:
            read.append(_budget(budget))
        except _FieldError as error:
            problems.append(f"budgets[{number}]{error}")
    models = _models(document.get("models"), problems)
    read.sort(key=lambda one: (one.share_left, one.remaining))
    return HubStanding(str(person), str(team) if _is_name(team) else "", models, tuple(read), tuple(problems))


def _refused(field: str | None, got: object, expected: str) -> UpstreamProtocolError:
    return UpstreamProtocolError(event_type=ME_PATH, field=field, got=f"{got!r:.80}", expected=expected)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MOST_NAME and value.isprintable()


def _models(value: object, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        if value is not None:
            problems.append(f"models: got {value!r:.80}, expected a list of ids")
        return ()
    return tuple(model for model in value[:_MOST_MODELS] if isinstance(model, str))


def _budget(value: object) -> HubBudget:
    if not isinstance(value, dict):
        raise _FieldError(f": got {value!r:.80}, expected an object")
    try:
        unit = BudgetUnit(str(value.get("unit")))
    except ValueError:
        raise _FieldError(_wrong(value, "unit", f"one of {', '.join(BudgetUnit)}")) from None
    return HubBudget(
        unit,
        _word(value, "period"),
        _amount(value, "limit"),
        _amount(value, "remaining"),
        _moment(value),
        _word(value, "owner"),
    )


def _wrong(value: Mapping[str, Any], name: str, expected: str) -> str:
    return f".{name}: got {value.get(name)!r:.80}, expected {expected}"


def _word(value: Mapping[str, Any], name: str) -> str:
    word = value.get(name) or ""
    if not isinstance(word, str) or len(word) > _MOST_TEXT or not word.isprintable():
        raise _FieldError(_wrong(value, name, f"at most {_MOST_TEXT} printable characters"))
    return word


def _amount(value: Mapping[str, Any], name: str) -> int:
    amount = value.get(name)
    if type(amount) is not int or not 0 <= amount <= _MOST_AMOUNT:
        raise _FieldError(_wrong(value, name, "a whole number from 0"))
    return amount


def _moment(value: Mapping[str, Any]) -> float | None:
    """A time: in ISO 8601 with its offset, or in seconds since 1970."""
    given = value.get("resets_at")
    if given is None:
        return None
    moment = given
    if isinstance(given, str):
        try:
            parsed = datetime.fromisoformat(given)
        except ValueError:
            parsed = None
        # Without an offset nobody knows which time it is.
        moment = parsed.timestamp() if parsed is not None and parsed.tzinfo is not None else None
    read = as_amount(moment, LAST_TIME)
    if read is None:
        raise _FieldError(_wrong(value, "resets_at", "a time with its offset, such as 2026-11-24T00:00:00+01:00"))
    return read
