"""A document as entries of a directory and back: what the database has in the words of `hub.toml`, and a plan as the
changes that carry it out."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from partstream.hub.amounts import BudgetAmount, budget_text, nanodollars, parsed_budget
from partstream.hub.configuration.document import Entry, EntryId, HubDocument, Section
from partstream.hub.configuration.fields import FIELDS
from partstream.hub.configuration.plan import StepKind
from partstream.hub.directory import (
    AuditLevel,
    BudgetRule,
    EntryKind,
    ModelPrice,
    ModelRoute,
    Owner,
    OwnerKind,
    Person,
    Policy,
    Put,
    RateLimits,
    Remove,
    Route,
    Team,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from partstream.hub.configuration.plan import ConfigurationPlan, Step
    from partstream.hub.directory import Directory, DirectoryChange

__all__ = ["budget_changes", "budget_rules", "budgets_text", "changes_of", "document_of"]

_RATES: Final = ("requests_per_minute", "tokens_per_minute", "concurrent_answers")
_PRICES: Final = ("input", "output", "cached_input", "cache_write")
_UTC: Final = "UTC"


def document_of(directory: Directory) -> HubDocument:
    """What a directory says, in the words of a file; keys stand in none."""
    entries = [
        *(_entry(Section.MODELS, route.name, _fields_of_route(route)) for route in directory.routes.values()),
        *(_entry(Section.TEAMS, team.name, _fields_of_team(team, directory)) for team in directory.teams.values()),
        *(_entry(Section.PEOPLE, one.name, _fields_of_person(one, directory)) for one in directory.people.values()),
    ]
    order = list(Section)
    entries.sort(key=lambda entry: (order.index(entry.id.section), entry.id.name))
    return HubDocument({entry.id: entry for entry in entries}, frozenset(Section))


def changes_of(plan: ConfigurationPlan, directory: Directory) -> Iterator[DirectoryChange]:
    """What carries a plan out, in order; for one transaction.

    Args:
        plan: The plan.
        directory: What it was made for.
    """
    for step in plan.steps:
        if step.after is None:
            yield Remove(_KINDS[step.id.section], step.id.name)
        else:
            yield from _puts(step, directory)


def budget_rules(owner: Owner, budgets: Iterable[str], time_zone: str = _UTC) -> tuple[BudgetRule, ...]:
    """The rules of an owner, from budgets in their one form."""
    amounts = map(parsed_budget, budgets)
    return tuple(BudgetRule(owner, one.unit, one.period, one.limit, time_zone) for one in amounts)


def budgets_text(rules: Iterable[BudgetRule]) -> tuple[str, ...]:
    """The rules of an owner as budgets in their one form."""
    by_kind = {(rule.unit.value, rule.period.value): rule for rule in rules}
    return tuple(
        budget_text(BudgetAmount(by_kind[kind].unit, by_kind[kind].period, by_kind[kind].limit))
        for kind in sorted(by_kind)
    )


def _entry(section: Section, name: str, fields: Mapping[str, Any]) -> Entry:
    rows = FIELDS[section]
    return Entry(EntryId(section, name), {one: fields[one] for one in rows if fields[one] != rows[one].default})


def _fields_of_route(route: ModelRoute) -> dict[str, Any]:
    upstreams = (
        {"provider": one.provider, "model": one.model} | ({} if one.weight == 1 else {"weight": one.weight})
        for one in route.upstreams
    )
    return {
        "upstreams": tuple(upstreams),
        "fallbacks": route.fallbacks,
        "affinity": route.affinity,
        "price": None if route.price is None else _fields_of_price(route.price),
    }


def _fields_of_price(price: ModelPrice) -> dict[str, Decimal]:
    amounts = {name: getattr(price, name) for name in _PRICES}
    return {name: Decimal(amount).scaleb(-9).normalize() + 0 for name, amount in amounts.items() if amount is not None}


def _fields_of_team(team: Team, directory: Directory) -> dict[str, Any]:
    return {
        **_fields_of_owner(team, Owner(OwnerKind.TEAM, team.name), directory),
        "audit": team.policy.audit.value,
        "content_days": team.policy.content_days,
    }


def _fields_of_person(person: Person, directory: Directory) -> dict[str, Any]:
    owner = Owner(OwnerKind.PERSON, person.name)
    return {**_fields_of_owner(person, owner, directory), "team": person.team, "admin": person.is_admin}


def _fields_of_owner(one: Team | Person, owner: Owner, directory: Directory) -> dict[str, Any]:
    """What teams and people have alike."""
    rules = directory.budgets.get(owner, ())
    return {
        "budgets": budgets_text(rules),
        "time_zone": rules[0].time_zone if rules else _UTC,
        "models": None if one.models is None else tuple(sorted(set(one.models))),
        **{name: getattr(one.rates, name) for name in _RATES},
        "disabled": one.is_disabled,
    }


_KINDS: Final = {
    Section.MODELS: EntryKind.MODEL,
    Section.TEAMS: EntryKind.TEAM,
    Section.PEOPLE: EntryKind.PERSON,
}
_OWNERS: Final = {Section.TEAMS: OwnerKind.TEAM, Section.PEOPLE: OwnerKind.PERSON}


def _puts(step: Step, directory: Directory) -> Iterator[DirectoryChange]:
    """The changes of a step that adds an entry or changes it."""
    section, name = step.id
    fields = {row.name: row.default for row in FIELDS[section].values()} | dict(step.after.fields if step.after else {})
    without_budgets = {"budgets", "time_zone"}
    changed = {field for field, _, _ in step.changed_fields()}
    if step.kind is StepKind.ADDED or changed - without_budgets:
        yield Put(_MAKERS[section](name, fields))
    if section in _OWNERS:
        owner = Owner(_OWNERS[section], name)
        yield from budget_changes(owner, budget_rules(owner, fields["budgets"], fields["time_zone"]), directory)


def budget_changes(owner: Owner, wanted: Iterable[BudgetRule], directory: Directory) -> Iterator[DirectoryChange]:
    """What gives an owner other rules: new ones and changed ones are put, those that are not wanted removed."""
    before = {rule.id: rule for rule in directory.budgets.get(owner, ())}
    after = {rule.id: rule for rule in wanted}
    yield from (Put(rule) for rule in after.values() if before.get(rule.id) != rule)
    yield from (Remove(EntryKind.BUDGET, one) for one in before.keys() - after.keys())


def _route(name: str, fields: Mapping[str, Any]) -> ModelRoute:
    price = fields["price"]
    return ModelRoute(
        name,
        tuple(Route(one["provider"], one["model"], one.get("weight", 1)) for one in fields["upstreams"]),
        fields["fallbacks"],
        fields["affinity"],
        None if price is None else ModelPrice(**{kind: nanodollars(amount) for kind, amount in price.items()}),
    )


def _team(name: str, fields: Mapping[str, Any]) -> Team:
    policy = Policy(AuditLevel(fields["audit"]), fields["content_days"])
    return Team(name, fields["models"], _rates(fields), policy, fields["disabled"])


def _person(name: str, fields: Mapping[str, Any]) -> Person:
    return Person(name, fields["team"], fields["admin"], fields["models"], _rates(fields), fields["disabled"])


def _rates(fields: Mapping[str, Any]) -> RateLimits:
    return RateLimits(**{name: fields[name] for name in _RATES})


_MAKERS: Final[Mapping[Section, Callable[[str, Mapping[str, Any]], Team | Person | ModelRoute]]] = {
    Section.MODELS: _route,
    Section.TEAMS: _team,
    Section.PEOPLE: _person,
}
