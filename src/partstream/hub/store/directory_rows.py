"""The directory in the tables: read as a whole, written as the difference of two; each a part of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from partstream.codec.json_codec import dumps, loads
from partstream.hub.directory import (
    BudgetRule,
    BudgetUnit,
    Directory,
    Key,
    ModelRoute,
    Owner,
    OwnerKind,
    Period,
    Person,
    Team,
    changed_directory,
    entry_json,
    limits_of,
    limits_text,
    policy_of,
    route_of,
    route_text,
    team_text,
)
from partstream.hub.store.leasing import locked_windows
from partstream.hub.store.values import Change, DirectoryChangedError, DirectoryRecord, name_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from partstream.hub.directory import DirectoryChange
    from partstream.hub.store.values import Transaction

__all__ = ["change_directory", "read_directory", "read_records", "version_of"]

Value = TypeVar("Value")

Entry: TypeAlias = Team | Person | Key | BudgetRule | ModelRoute

_VERSION: Final = "SELECT version FROM hub_directory"
_NEXT_VERSION: Final = "UPDATE hub_directory SET version = ?"
_RECORD: Final = (
    "INSERT INTO hub_changes (version, time, by_whom, action, value_before, value_after) VALUES (?, ?, ?, ?, ?, ?)"
)
_RECORDS: Final = (
    "SELECT version, time, by_whom, action, value_before, value_after FROM hub_changes"
    " WHERE version < ? ORDER BY id DESC LIMIT ?"
)
_LAST_VERSION: Final = 2**62
_OPEN_WINDOWS: Final = "SELECT id FROM hub_windows WHERE budget = ? AND (ends_at IS NULL OR ends_at > ?)"
_NEW_LIMIT: Final = (
    "UPDATE hub_windows SET budget_limit = ?, recall = recall + ?,"
    " highest_limit = CASE WHEN highest_limit < ? THEN ? ELSE highest_limit END WHERE id = ?"
)


class _Table(NamedTuple):
    """Where entries of a kind are kept.

    Attributes:
        kind: What records call one.
        put: Writes one, new or not.
        remove: Removes one, by its name.
        row: The parameters of `put`, the name first.
    """

    kind: str
    put: str
    remove: str
    row: Callable[[Any], tuple[Any, ...]]


def _put(table: str, *columns: str) -> str:
    """A statement that writes a row, whether one with its key, the first column, is there or not. Names of ours."""
    values = ", ".join("?" * len(columns))
    updates = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"  # noqa: S608
        f" ON CONFLICT ({columns[0]}) DO UPDATE SET {updates}"
    )


_TEAMS: Final = _Table(
    "team",
    _put("hub_teams", "name", "is_disabled", "settings"),
    "DELETE FROM hub_teams WHERE name = ?",
    lambda team: (team.name, team.is_disabled, team_text(team)),
)
_PEOPLE: Final = _Table(
    "person",
    _put("hub_people", "name", "team", "is_admin", "is_disabled", "settings"),
    "DELETE FROM hub_people WHERE name = ?",
    lambda person: (person.name, person.team, person.is_admin, person.is_disabled, limits_text(person)),
)
_KEYS: Final = _Table(
    "key",
    _put("hub_keys", "id", "digest", "person", "label", "created_at", "expires_at", "revoked_at", "settings"),
    "DELETE FROM hub_keys WHERE id = ?",
    lambda key: (
        *(key.id, key.digest, key.person, key.label),
        *(key.created_at, key.expires_at, key.revoked_at, limits_text(key)),
    ),
)
_BUDGETS: Final = _Table(
    "budget",
    _put("hub_budgets", "id", "owner_kind", "owner", "unit", "period", "budget_limit", "time_zone"),
    "DELETE FROM hub_budgets WHERE id = ?",
    lambda rule: (
        *(rule.id, rule.owner.kind.value, rule.owner.name, rule.unit.value),
        *(rule.period.value, rule.limit, rule.time_zone),
    ),
)
_MODELS: Final = _Table(
    "model",
    _put("hub_models", "name", "settings"),
    "DELETE FROM hub_models WHERE name = ?",
    lambda route: (route.name, route_text(route)),
)


def version_of(work: Transaction) -> int:
    """The version of the directory."""
    ((version,),) = work.rows(_VERSION)
    return int(version)


def read_directory(work: Transaction, version: int) -> Directory:
    """All of the directory."""
    rules: dict[Owner, list[BudgetRule]] = {}
    for rule in _read_rules(work):
        rules.setdefault(rule.owner, []).append(rule)
    return Directory(
        version,
        {team.name: team for team in _read_teams(work)},
        {person.name: person for person in _read_people(work)},
        {key.id: key for key in _read_keys(work)},
        {owner: tuple(found) for owner, found in rules.items()},
        {name: route_of(name, text) for name, text in work.rows("SELECT name, settings FROM hub_models ORDER BY name")},
    )


def _read_teams(work: Transaction) -> Iterator[Team]:
    for name, is_disabled, text in work.rows("SELECT name, is_disabled, settings FROM hub_teams ORDER BY name"):
        models, rates = limits_of(text)
        yield Team(name, models, rates, policy_of(text), bool(is_disabled))


def _read_people(work: Transaction) -> Iterator[Person]:
    question = "SELECT name, team, is_admin, is_disabled, settings FROM hub_people ORDER BY name"
    for name, team, is_admin, is_disabled, text in work.rows(question):
        models, rates = limits_of(text)
        yield Person(name, team, bool(is_admin), models, rates, bool(is_disabled))


def _read_keys(work: Transaction) -> Iterator[Key]:
    question = (
        "SELECT id, digest, person, label, created_at, expires_at, revoked_at, settings FROM hub_keys"
        " ORDER BY created_at, id"
    )
    for key_id, digest, person, label, created_at, expires_at, revoked_at, text in work.rows(question):
        models, rates = limits_of(text)
        yield Key(key_id, bytes(digest), person, label, models, rates, created_at, expires_at, revoked_at)


def _read_rules(work: Transaction) -> Iterator[BudgetRule]:
    question = "SELECT owner_kind, owner, unit, period, budget_limit, time_zone FROM hub_budgets ORDER BY id"
    for owner_kind, owner, unit, period, limit, time_zone in work.rows(question):
        yield BudgetRule(Owner(OwnerKind(owner_kind), owner), BudgetUnit(unit), Period(period), limit, time_zone)


def change_directory(
    work: Transaction, changes: Sequence[DirectoryChange], by: str, expected_version: int | None
) -> Change:
    """Changes the directory; see :meth:`partstream.hub.store.store.HubStore.change`."""
    ((version,),) = work.locked(_VERSION)  # one change at a time
    if expected_version is not None and version != expected_version:
        raise DirectoryChangedError(expected_version, version)
    before = read_directory(work, version)
    now = work.now()
    after = changed_directory(before, changes, now)
    differences = list(_differences(before, after))
    for table, name, _, entry in reversed(differences):  # what refers to others goes first
        if entry is None:
            work.run(table.remove, (name,))
    for table, _, _, entry in differences:
        if entry is not None:
            work.run(table.put, table.row(entry))
    _set_limits(work, [entry for _, _, _, entry in differences if isinstance(entry, BudgetRule)], now)
    records = tuple(_recorded(one, after.version, now, by) for one in differences)
    work.run(_NEXT_VERSION, (after.version,))
    work.run_many(_RECORD, [_record_row(record) for record in records])
    return Change(after.version, records)


class _Difference(NamedTuple):
    """An entry that is otherwise than before; None for one that is not there."""

    table: _Table
    name: str
    before: Entry | None
    after: Entry | None


def _differences(before: Directory, after: Directory) -> Iterator[_Difference]:
    """What is different, in an order in which it can be written: nothing before what it refers to."""
    places: tuple[tuple[_Table, Mapping[str, Entry], Mapping[str, Entry]], ...] = (
        (_TEAMS, before.teams, after.teams),
        (_PEOPLE, before.people, after.people),
        (_KEYS, before.keys, after.keys),
        (_BUDGETS, {rule.id: rule for rule in before.rules()}, {rule.id: rule for rule in after.rules()}),
        (_MODELS, before.routes, after.routes),
    )
    for table, old, new in places:
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield _Difference(table, name, old.get(name), new.get(name))


def _set_limits(work: Transaction, rules: Sequence[BudgetRule], now: float) -> None:
    """Gives the open windows of rules the limits that hold now; where one is lower, workers give back what is free."""
    limits = {window: rule.limit for rule in rules for (window,) in work.rows(_OPEN_WINDOWS, (rule.id, now))}
    for number, window in locked_windows(work, limits).items():
        limit = limits[number]
        if window.limit != limit:
            work.run(_NEW_LIMIT, (limit, int(limit < window.limit), limit, limit, number))


def _recorded(difference: _Difference, version: int, time: float, by: str) -> DirectoryRecord:
    table, name, before, after = difference
    verb = "add" if before is None else "remove" if after is None else "change"
    if isinstance(before, Key) and isinstance(after, Key) and before.revoked_at is None is not after.revoked_at:
        verb = "revoke"
    return DirectoryRecord(
        version,
        time,
        by,
        f"{verb} {table.kind} {name}",
        None if before is None else entry_json(before),
        None if after is None else entry_json(after),
    )


def _record_row(record: DirectoryRecord) -> tuple[Any, ...]:
    values = (None if one is None else dumps(one).decode() for one in (record.before, record.after))
    return record.version, record.time, name_text(record.by), record.action, *values


def read_records(work: Transaction, most: int, before_version: int | None) -> list[DirectoryRecord]:
    """Who changed what, the newest first."""
    rows = work.rows(_RECORDS, (_LAST_VERSION if before_version is None else before_version, most))
    return [
        DirectoryRecord(version, time, by, action, *(None if one is None else loads(one) for one in values))
        for version, time, by, action, *values in rows
    ]
