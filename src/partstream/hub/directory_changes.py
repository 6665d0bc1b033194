"""Changes of a directory, as values, and what they make of one; pure, so that a plan can be shown before it is done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from partstream.hub.directory import BudgetRule, Directory, Key, ModelRoute, Owner, OwnerKind, Person, Team
from partstream.hub.store.errors import DirectoryConflictError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["DirectoryChange", "EntryKind", "Put", "Remove", "RevokeKey", "changed_directory", "described_change"]

Value = TypeVar("Value")

Entry: TypeAlias = Team | Person | Key | BudgetRule | ModelRoute


class EntryKind(StrEnum):
    """What can be put into a directory and removed from it."""

    TEAM = "team"
    PERSON = "person"
    KEY = "key"
    BUDGET = "budget"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Put:
    """Puts an entry where there is none, or in the place of the one with its name.

    Attributes:
        entry: The entry. The person and the digest of a key never change.
    """

    entry: Entry


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes an entry, with what cannot be without it: the keys and budgets of a person, the budgets of a team.

    What was spent stays in the ledger. A team that has people cannot be removed.

    Attributes:
        kind: What it is.
        name: Its name; of a key and of a budget its id.
    """

    kind: EntryKind
    name: str


@dataclass(frozen=True, slots=True)
class RevokeKey:
    """Revokes a key for ever: no worker accepts it once it has heard of it.

    Attributes:
        key_id: The id of the key.
        at: When; None for the time of the database.
    """

    key_id: str
    at: float | None = None


DirectoryChange: TypeAlias = Put | Remove | RevokeKey

_KINDS: Final[Mapping[type, EntryKind]] = {
    Team: EntryKind.TEAM,
    Person: EntryKind.PERSON,
    Key: EntryKind.KEY,
    BudgetRule: EntryKind.BUDGET,
    ModelRoute: EntryKind.MODEL,
}


def name_of(entry: Entry) -> str:
    """The name of an entry; of a key and of a budget its id."""
    return entry.id if isinstance(entry, Key | BudgetRule) else entry.name


def described_change(change: DirectoryChange) -> str:
    """A change in a few words, such as `put person ana`."""
    if isinstance(change, Put):
        return f"put {_KINDS[type(change.entry)]} {name_of(change.entry)}"
    if isinstance(change, Remove):
        return f"remove {change.kind} {change.name}"
    return f"revoke key {change.key_id}"


def changed_directory(directory: Directory, changes: Sequence[DirectoryChange], time: float) -> Directory:
    """What some changes make of a directory, in their order; its version is the next one.

    Args:
        directory: What is there.
        changes: The changes.
        time: The time of the database, for new and revoked keys.

    Raises:
        DirectoryConflictError: A change names something that is not there, or that must not change.
    """
    for change in changes:
        if isinstance(change, Put):
            directory = _PUTS[_KINDS[type(change.entry)]](directory, change.entry, time)
        elif isinstance(change, Remove):
            directory = _removed(directory, change)
        else:
            directory = _revoked(directory, change, time)
    return replace(directory, version=directory.version + 1)


def _with(values: Mapping[str, Value], name: str, value: Value) -> dict[str, Value]:
    return {**values, name: value}


def _without(values: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    gone = frozenset(names)
    return {name: value for name, value in values.items() if name not in gone}


def _refuse(change: DirectoryChange, reason: str) -> DirectoryConflictError:
    return DirectoryConflictError(described_change(change), reason)


def _put_team(directory: Directory, team: Team, _time: float) -> Directory:
    return replace(directory, teams=_with(directory.teams, team.name, team))


def _put_person(directory: Directory, person: Person, _time: float) -> Directory:
    if person.team is not None and person.team not in directory.teams:
        raise _refuse(Put(person), f"there is no team {person.team}")
    return replace(directory, people=_with(directory.people, person.name, person))


def _put_key(directory: Directory, key: Key, time: float) -> Directory:
    if key.person not in directory.people:
        raise _refuse(Put(key), f"there is no person {key.person}")
    known = directory.keys.get(key.id)
    if known is None:
        key = replace(key, created_at=time)
    elif (known.digest, known.person) != (key.digest, key.person):
        raise _refuse(Put(key), "a key with this id is there, and neither its person nor its digest ever changes")
    elif known.revoked_at is not None and key.revoked_at is None:
        raise _refuse(Put(key), "it was revoked, which is for ever")
    return replace(directory, keys=_with(directory.keys, key.id, key))


def _put_budget(directory: Directory, rule: BudgetRule, _time: float) -> Directory:
    places = {OwnerKind.TEAM: directory.teams, OwnerKind.PERSON: directory.people, OwnerKind.KEY: directory.keys}
    if rule.owner.name not in places[rule.owner.kind]:
        raise _refuse(Put(rule), f"there is no {rule.owner}")
    others = (one for one in directory.budgets.get(rule.owner, ()) if one.id != rule.id)
    rules = tuple(sorted((*others, rule), key=lambda one: one.id))
    return replace(directory, budgets={**directory.budgets, rule.owner: rules})


def _put_model(directory: Directory, route: ModelRoute, _time: float) -> Directory:
    return replace(directory, routes=_with(directory.routes, route.name, route))


_PUTS: Final[Mapping[EntryKind, Callable[[Directory, Any, float], Directory]]] = {
    EntryKind.TEAM: _put_team,
    EntryKind.PERSON: _put_person,
    EntryKind.KEY: _put_key,
    EntryKind.BUDGET: _put_budget,
    EntryKind.MODEL: _put_model,
}


def _removed(directory: Directory, change: Remove) -> Directory:
    if change.kind is EntryKind.BUDGET:
        return _without_budget(directory, change)
    places: Mapping[EntryKind, Mapping[str, object]] = {
        EntryKind.TEAM: directory.teams,
        EntryKind.PERSON: directory.people,
        EntryKind.KEY: directory.keys,
        EntryKind.MODEL: directory.routes,
    }
    if change.name not in places[change.kind]:
        raise _refuse(change, "it is not there")
    return _REMOVALS[change.kind](directory, change)


def _without_budget(directory: Directory, change: Remove) -> Directory:
    rule = next((one for one in directory.rules() if one.id == change.name), None)
    if rule is None:
        raise _refuse(change, "it is not there")
    rest = tuple(one for one in directory.budgets[rule.owner] if one.id != rule.id)
    others = _without_owners(directory, [rule.owner])
    return replace(directory, budgets={**others, rule.owner: rest} if rest else others)


def _without_team(directory: Directory, change: Remove) -> Directory:
    people = sorted(person.name for person in directory.people.values() if person.team == change.name)
    if people:
        raise _refuse(change, f"it has people: {', '.join(people[:5])}")
    budgets = _without_owners(directory, [Owner(OwnerKind.TEAM, change.name)])
    return replace(directory, teams=_without(directory.teams, [change.name]), budgets=budgets)


def _without_person(directory: Directory, change: Remove) -> Directory:
    keys = [key.id for key in directory.keys.values() if key.person == change.name]
    owners = [Owner(OwnerKind.PERSON, change.name), *(Owner(OwnerKind.KEY, key) for key in keys)]
    return replace(
        directory,
        people=_without(directory.people, [change.name]),
        keys=_without(directory.keys, keys),
        budgets=_without_owners(directory, owners),
    )


def _without_key(directory: Directory, change: Remove) -> Directory:
    budgets = _without_owners(directory, [Owner(OwnerKind.KEY, change.name)])
    return replace(directory, keys=_without(directory.keys, [change.name]), budgets=budgets)


def _without_model(directory: Directory, change: Remove) -> Directory:
    return replace(directory, routes=_without(directory.routes, [change.name]))


_REMOVALS: Final[Mapping[EntryKind, Callable[[Directory, Remove], Directory]]] = {
    EntryKind.TEAM: _without_team,
    EntryKind.PERSON: _without_person,
    EntryKind.KEY: _without_key,
    EntryKind.MODEL: _without_model,
}


def _without_owners(directory: Directory, owners: Iterable[Owner]) -> dict[Owner, tuple[BudgetRule, ...]]:
    gone = frozenset(owners)
    return {owner: rules for owner, rules in directory.budgets.items() if owner not in gone}


def _revoked(directory: Directory, change: RevokeKey, time: float) -> Directory:
    key = directory.keys.get(change.key_id)
    if key is None:
        raise _refuse(change, "there is no such key")
    if key.revoked_at is not None:
        return directory
    revoked = replace(key, revoked_at=time if change.at is None else change.at)
    return replace(directory, keys=_with(directory.keys, key.id, revoked))
