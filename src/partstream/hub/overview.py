"""Reads what the page of the hub shows from its database: all of it for an admin, for a person what is the person's.

What a person sees of the team is its budgets, because they may be why an answer is refused; nothing of others in it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from partstream.hub.amounts import amount_text, span_at
from partstream.hub.directory import BudgetUnit, Directory, OwnerKind
from partstream.hub.page.view import BudgetState, ChangeRow, DatabaseState, HubView, Reader, WorkerState
from partstream.hub.usage import GroupBy, days_until
from partstream.hub.usage_query import read_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from partstream.hub.directory import BudgetRule
    from partstream.hub.store.store import HubStore
    from partstream.hub.store.values import DirectoryRecord

__all__ = ["OWNER", "overview", "reader_of"]

OWNER: Final = Reader("", "", is_admin=True)
"""Whoever has the database itself."""

_OF_ALL: Final = (GroupBy.TEAM, GroupBy.PERSON, GroupBy.MODEL, GroupBy.CLIENT, GroupBy.SESSION)
_OF_PERSON: Final = (GroupBy.MODEL, GroupBy.CLIENT, GroupBy.SESSION)
_MOST_CHANGES: Final = 50
_SILENT_SECONDS: Final = 15.0
"""Without a heartbeat for so long, a worker is shown as silent."""

_WINDOWS: Final = (
    "SELECT budget, ends_at, spent, leased, overrun FROM hub_windows "
    "WHERE starts_at <= ? AND (ends_at IS NULL OR ends_at > ?)"
)
_WORKERS: Final = (
    "SELECT hub_workers.name, started_at, seen_at, is_gone, COUNT(hub_leases.window_id) FROM hub_workers "
    "LEFT JOIN hub_leases ON hub_leases.worker = hub_workers.name AND hub_leases.amount > 0 "
    "GROUP BY hub_workers.name, started_at, seen_at, is_gone ORDER BY started_at"
)
_BROKEN: Final = (
    "SELECT hub_windows.budget, leased, COALESCE(SUM(amount), 0) FROM hub_windows "
    "LEFT JOIN hub_leases ON hub_leases.window_id = hub_windows.id "
    "GROUP BY hub_windows.id, hub_windows.budget, leased HAVING leased <> COALESCE(SUM(amount), 0)"
)
_FACTS: Final = "SELECT (SELECT version FROM hub_schema), (SELECT MIN(time) FROM hub_ledger)"


def reader_of(directory: Directory, person: str) -> Reader | None:
    """Who reads the page, by name; None if there is no such person."""
    found = directory.people.get(person)
    return None if found is None else Reader(found.name, found.team or "", is_admin=found.is_admin)


def overview(
    store: HubStore, directory: Directory, reader: Reader, days: int, zone: tzinfo | None, zone_name: str
) -> HubView:
    """What the page shows now.

    Args:
        store: The database.
        directory: Who there is.
        reader: Who reads it.
        days: The days of usage, today among them.
        zone: The time zone of the days; None for that of this machine.
        zone_name: Its name.

    Raises:
        UnexpectedValueError: There are too few days, or too many.
        StoreUnreachableError: The database is not there.
    """
    now = store.time()
    shown = days_until(now, days, zone, zone_name)
    if not reader.is_admin:
        usage = read_usage(store, shown, _OF_PERSON, person=reader.name)
        return HubView(reader, now, _budgets(store, directory, _rules_of(directory, reader), now), usage)
    return HubView(
        reader=reader,
        read_at=now,
        budgets=_budgets(store, directory, directory.rules(), now),
        usage=read_usage(store, shown, _OF_ALL),
        people=len(directory.people),
        teams=len(directory.teams),
        workers=tuple(_workers(store, now)),
        database=_database(store, directory),
        changes=tuple(_change(one) for one in store.records(_MOST_CHANGES)),
    )


def _rules_of(directory: Directory, reader: Reader) -> list[BudgetRule]:
    """The budgets that answers of a person have to pass, with whichever key."""
    keys = [key for key in directory.keys.values() if key.person == reader.name]
    found = {rule.id: rule for key in keys for rule in directory.budgets_of(key)}
    of_person = (rule for rule in directory.rules() if _person_of(directory, rule) == reader.name)
    of_team = (rule for rule in directory.rules() if rule.owner == (OwnerKind.TEAM, reader.team))
    return list({**found, **{rule.id: rule for rule in (*of_person, *of_team)}}.values())


def _person_of(directory: Directory, rule: BudgetRule) -> str | None:
    if rule.owner.kind is OwnerKind.PERSON:
        return rule.owner.name
    key = directory.keys.get(rule.owner.name) if rule.owner.kind is OwnerKind.KEY else None
    return None if key is None else key.person


def _budgets(store: HubStore, directory: Directory, rules: Iterable[BudgetRule], now: float) -> tuple[BudgetState, ...]:
    windows: Mapping[str, Sequence[Any]] = {budget: rest for budget, *rest in store.read(_WINDOWS, (now, now))}
    return tuple(_budget(directory, rule, windows.get(rule.id), now) for rule in rules)


def _budget(directory: Directory, rule: BudgetRule, window: Any, now: float) -> BudgetState:
    """A budget in its present window; one that was not opened yet holds nothing."""
    ends_at, spent, leased, overrun = window or (span_at(rule, now).ends_at, 0, 0, 0)
    kind, name = rule.owner
    key = directory.keys.get(name) if kind is OwnerKind.KEY else None
    person = directory.people.get(_person_of(directory, rule) or "")
    return BudgetState(
        owner=kind,
        name=name if key is None else key.person,
        label="" if key is None else key.label or key.id,
        team=name if kind is OwnerKind.TEAM else (person.team or "" if person else ""),
        unit=rule.unit,
        period=rule.period,
        time_zone=rule.time_zone,
        limit=rule.limit,
        spent=int(spent),
        reserved=int(leased),
        overrun=int(overrun),
        ends_at=ends_at,
    )


def _workers(store: HubStore, now: float) -> Iterable[WorkerState]:
    for name, started_at, seen_at, is_gone, budgets in store.read(_WORKERS):
        is_live = not is_gone and now - seen_at < _SILENT_SECONDS
        yield WorkerState(name, started_at, seen_at, is_live=is_live, budgets=int(budgets))


def _database(store: HubStore, directory: Directory) -> DatabaseState:
    ((schema, since),) = store.read(_FACTS)
    broken = tuple(
        f"{budget}: {leased:,} is leased, workers hold {held:,}" for budget, leased, held in store.read(_BROKEN)
    )
    return DatabaseState(int(schema), directory.version, since, broken)


def _change(record: DirectoryRecord) -> ChangeRow:
    return ChangeRow(record.time, record.by, record.action, tuple(_differences(record)))


def _differences(record: DirectoryRecord) -> Iterable[str]:
    """What became of each field, in the order of their names; of what is new, what it says."""
    before, after = record.before or {}, record.after or {}
    for name in sorted({*before, *after}):
        was, is_now = before.get(name), after.get(name)
        if was != is_now and record.after is not None:
            unit = (record.after or before).get("unit")
            now = _said(name, is_now, unit)
            yield f"{name}: {now}" if record.before is None else f"{name}: {_said(name, was, unit)} → {now}"


def _said(name: str, value: object, unit: object) -> str:
    """A value of a field as people read it.

    Args:
        name: The field.
        value: What it holds.
        unit: What the budget counts whose field it is; None for anything else.
    """
    if value in (None, [], {}, ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "limit" and isinstance(value, int) and isinstance(unit, str):
        return amount_text(BudgetUnit(unit), value)
    if name.endswith("_at") and isinstance(value, float):
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC"
    if name == "price" and isinstance(value, dict):
        prices = ((kind, price) for kind, price in value.items() if price is not None)
        return (
            ", ".join(f"{kind} {amount_text(BudgetUnit.MONEY, price)}" for kind, price in prices) + " a million tokens"
        )
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
