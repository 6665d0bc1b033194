"""What `partstream hub check` looks for: people who cannot ask, keys that end soon, budgets that do not add up."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import ceil
from typing import TYPE_CHECKING, Final

from partstream.hub.amounts import amount_text
from partstream.hub.authentication import is_valid
from partstream.hub.directory import BudgetUnit, Owner, OwnerKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.hub.directory import Directory
    from partstream.hub.store.store import HubStore

__all__ = ["Finding", "findings_of"]

_SOON_SECONDS: Final = 7 * 86_400.0
_SILENT_SECONDS: Final = 60.0
"""By the clock of the database: workers show every second that they are alive."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that somebody should look at.

    Attributes:
        kind: What it is about: `people`, `keys`, `budgets`, `models`, `workers`.
        what: What was found, as a sentence without its full stop.
        advice: What helps, or empty.
    """

    kind: str
    what: str
    advice: str = ""


def findings_of(store: HubStore, directory: Directory) -> Iterator[Finding]:
    """All findings, the most important ones first.

    Args:
        store: The database.
        directory: What is in it.
    """
    time = store.time()
    yield from _windows(store)
    yield from _people(directory, time)
    yield from _keys(directory, time)
    yield from _models(directory)
    yield from _workers(store, time)


def _windows(store: HubStore) -> Iterator[Finding]:
    """Windows that broke a promise: more than the limit, or leases that are not the sum of what workers hold."""
    rows = store.read(
        "SELECT w.budget, w.budget_limit, w.spent, w.leased, w.overrun, "
        "(SELECT COALESCE(SUM(l.amount), 0) FROM hub_leases l WHERE l.window_id = w.id) FROM hub_windows w "
        "WHERE w.overrun > 0 OR w.leased <> "
        "(SELECT COALESCE(SUM(l.amount), 0) FROM hub_leases l WHERE l.window_id = w.id) ORDER BY w.id"
    )
    for budget, _, _, leased, overrun, held in rows:
        if overrun:
            yield Finding(
                "budgets",
                f"answers took {_amount(budget, overrun)} more than {budget} had left",
                "the upper bound of a request was too low; is the price of each model right?",
            )
        if leased != held:
            said = (
                f"{budget} says that {_amount(budget, leased)} are reserved, and workers hold {_amount(budget, held)}"
            )
            yield Finding("budgets", said)


def _amount(budget: str, amount: int) -> str:
    unit = BudgetUnit.MONEY if f"/{BudgetUnit.MONEY}/" in budget else BudgetUnit.TOKENS
    return amount_text(unit, int(amount))


def _people(directory: Directory, time: float) -> Iterator[Finding]:
    for person in sorted(directory.people.values(), key=lambda one: one.name):
        keys = [key for key in directory.keys.values() if key.person == person.name]
        if not person.is_disabled and not any(is_valid(directory, key, time) for key in keys):
            yield Finding(
                "people", f"{person.name} has no key that works", f"`partstream hub key add {person.name}` makes one"
            )
    if directory.people and not any(person.is_admin for person in directory.people.values()):
        name = min(directory.people)
        yield Finding("people", "nobody is an admin", f"`partstream hub set person {name} --admin` makes one")


def _keys(directory: Directory, time: float) -> Iterator[Finding]:
    for key in sorted(directory.keys.values(), key=lambda one: (one.person, one.id)):
        if is_valid(directory, key, time) and key.expires_at is not None and key.expires_at - time < _SOON_SECONDS:
            days = ceil((key.expires_at - time) / 86_400)
            when = "a day" if days == 1 else f"{days} days"
            yield Finding("keys", f"the key {key.id} of {key.person} expires in less than {when}")


def _models(directory: Directory) -> Iterator[Finding]:
    """Models without a price of the hub that somebody with a budget of money may use.

    The provider may list a price, which only a worker knows; a model that is routed is asked for here.
    """
    unpriced = [route.name for route in directory.routes.values() if route.upstreams and route.price is None]
    for name in sorted(unpriced):
        people = [
            person.name
            for person in directory.people.values()
            if (person.models is None or any(fnmatchcase(name, one) for one in person.models))
            and _has_money(directory, person.name, person.team)
        ]
        if people:
            yield Finding(
                "models",
                f"{name} has no price here and {len(people)} with a budget of money may ask it: unless its upstream "
                "lists one, they are refused",
                f"`partstream hub set model {name} --price IN/OUT` sets one",
            )


def _has_money(directory: Directory, person: str, team: str | None) -> bool:
    owners = [Owner(OwnerKind.PERSON, person), *([] if team is None else [Owner(OwnerKind.TEAM, team)])]
    return any(rule.unit is BudgetUnit.MONEY for owner in owners for rule in directory.budgets.get(owner, ()))


def _workers(store: HubStore, time: float) -> Iterator[Finding]:
    rows = store.read("SELECT name, seen_at FROM hub_workers ORDER BY name")
    for name, seen_at in rows:
        if time - seen_at > _SILENT_SECONDS:
            yield Finding(
                "workers",
                f"{name} has not been heard of for {(time - seen_at) / 60:.0f} minutes and has not settled everything",
                "start a server on its machine again: what it left in its journal is settled then",
            )
