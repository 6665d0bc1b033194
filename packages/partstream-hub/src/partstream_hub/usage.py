"""What answers took, added up from the ledger: by person, team, model, client, session, and by day; and the whole page.

All numbers are integers, tokens and nanodollars (10^-9 US dollars), so the sums by any column equal the whole. Days are
those of a time zone; their boundaries are computed here, and the database compares instants alone.

A report is one statement: it reads the ledger once into sums by day and by the columns of the report, and makes all
further sums of those, so rows that are added meanwhile cannot disagree. :func:`overview` reads everything that the page
of the hub shows: all of it for an admin, for a person what is the person's. A person also sees the budgets of the team,
because they may be why an answer is refused, but nothing of others in the team.
"""

from __future__ import annotations
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.checks import dataclass
from partstream.tokens.amounts import BudgetUnit, amount_text
from partstream_hub.directory import BudgetRule, Directory, Owner, OwnerKind, Person
from partstream_hub.pricing import UNBELIEVABLE
from partstream_hub.store.rows import SQL
from partstream_hub.store.values import DirectoryRecord, Window

if TYPE_CHECKING:
    from partstream_hub.store.store import HubStore

# ---- Reports ----


class GroupBy(StrEnum):
    """The columns of the ledger by which answers are added up."""

    TEAM = "team"
    PERSON = "person"
    MODEL = "model"
    CLIENT = "client"
    SESSION = "session"
    PROVIDER = "provider"
    KEY = "key"


class Sums(NamedTuple):
    """What some answers took together."""

    answers: int = 0
    input_tokens: int = 0  # cached ones too
    cached_tokens: int = 0  # those of the input that came from a prompt cache
    output_tokens: int = 0
    nanodollars: int = 0
    estimated: int = 0  # answers whose tokens and cost are estimates
    unpriced: int = 0  # answers whose cost is unknown: it is not in the sum
    uncounted: int = 0  # answers whose tokens are unknown: they are not in the sums
    failed: int = 0  # answers that did not come to their own end: failed, cut or cancelled
    unbelievable: int = 0  # answers whose upstream reported more than they can have taken: their bound is charged

    def minus(self, other: Sums) -> Sums:
        """The sums of these answers without others of them."""
        return Sums(*(mine - its for mine, its in zip(self, other, strict=True)))

    @property
    def size(self) -> tuple[int, ...]:
        """What orders groups, the largest first: cost, tokens, answers."""
        return -self.nanodollars, -(self.input_tokens + self.output_tokens), -self.answers


NOTHING: Final = Sums()


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """The answers of one value of a column."""

    name: str  # the value; of a session, that of its client; empty where the answers have none
    sums: Sums
    last_at: float | None = None  # when the last of them ended, in seconds since 1970
    within: tuple[str, ...] = ()  # what the name belongs to: of a session its person and its client


@dataclass(frozen=True, slots=True)
class Groups:
    """All answers by the values of one column."""

    by: GroupBy
    shown: tuple[UsageGroup, ...]  # the groups that took most, the largest first
    others: Sums = NOTHING  # all other groups together
    other_groups: int = 0
    days: tuple[tuple[str, tuple[Sums, ...]], ...] = ()  # of the first groups, by name; who has none is in the others


@dataclass(frozen=True, slots=True)
class Days:
    """Some days in a row, as instants."""

    names: tuple[date, ...]
    bounds: tuple[int, ...]  # the beginning of each day, and the end of the last, in seconds since 1970
    time_zone: str


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the answers of some days took."""

    days: Days
    total: Sums
    of_days: tuple[Sums, ...]
    groups: Mapping[GroupBy, Groups]


def days_until(now: float, count: int, zone: tzinfo | None, name: str) -> Days:
    """The last days up to and with today, at least one, in a time zone, which for None is that of this machine."""
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    names = tuple(today - timedelta(days=count - 1 - number) for number in range(count))
    midnights = (datetime.combine(day, time.min, tzinfo=zone) for day in (*names, today + timedelta(days=1)))
    # Where the clock jumps over midnight, a time that does not exist, taken there and back, comes out after the jump
    # (PEP 495).
    bounds = tuple(int(midnight.astimezone(UTC).timestamp()) for midnight in midnights)
    return Days(names, bounds, name)


def added(*some: Sums) -> Sums:
    """The sums of all of them."""
    return Sums(*map(sum, zip(NOTHING, *some, strict=True)))


# ---- Reading the ledger ----

MOST_GROUPS: Final = 100  # the most groups of a column that a report names by default
STACKED: Final = 5  # how many groups of a column a report has the days of
NAMES: Final[Mapping[GroupBy, tuple[str, ...]]] = {by: (by.value,) for by in GroupBy} | {
    GroupBy.SESSION: ("session", "person", "client"),
    GroupBy.KEY: ("key_id", "person"),
}
"""What names a group of each column: its own name, and what it belongs to."""
_MOST_NAMES: Final = 3
_COUNTED: Final = (
    "COUNT(*)",
    "SUM(COALESCE(input_tokens, 0))",
    "SUM(COALESCE(cached_tokens, 0))",
    "SUM(COALESCE(output_tokens, 0))",
    "SUM(COALESCE(nanodollars, 0))",
    "SUM(CASE WHEN is_estimated THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN nanodollars IS NULL THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN input_tokens IS NULL OR output_tokens IS NULL THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN outcome = 'completed' OR outcome = 'incomplete' THEN 0 ELSE 1 END)",
    f"SUM(CASE WHEN error = '{UNBELIEVABLE}' THEN 1 ELSE 0 END)",
)
"""The sums of rows of the ledger, in the order of :class:`Sums`."""
_DAY: Final = " day"
_LARGEST: Final = "SUM(s4) DESC, SUM(s1) + SUM(s3) DESC, SUM(s0) DESC"  # what orders groups: cost, tokens, answers


def read_usage(
    store: HubStore,
    days: Days,
    by: Iterable[GroupBy],
    *,
    person: str | None = None,
    most: int = MOST_GROUPS,
    stacked: int = STACKED,
) -> UsageReport:
    """What the answers of some days took, of one person or of all.

    Args:
        most: The most groups of a column that are named.
        stacked: How many groups of a column are divided into days.
    """
    columns = tuple(dict.fromkeys(by))
    row = "(CAST(? AS BIGINT), CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION))"
    names = list(dict.fromkeys(name for by in columns for name in NAMES[by]))
    named = "".join(f", COALESCE({name}, '') AS {name}" for name in names)
    grouped = "".join(f", COALESCE({name}, '')" for name in names)
    sums = ", ".join(f"CAST({one} AS BIGINT) AS s{place}" for place, one in enumerate(_COUNTED))
    of_person, persons = ("", ()) if person is None else (" WHERE person = ?", (person,))
    # Nothing in the statement comes from outside. The cube has the sums by day and by all columns.
    statement = (
        f"WITH days(place, begins, ends) AS (VALUES {', '.join([row] * len(days.names))}), "  # noqa: S608
        f"cube AS MATERIALIZED (SELECT place{named}, {sums}, MAX(time) AS last FROM days "
        f"JOIN hub_ledger ON time >= begins AND time < ends{of_person} GROUP BY place{grouped}) "
        f"{' UNION ALL '.join(_parts(columns, most, stacked))}"
    )
    bounds = [(number, *map(float, pair)) for number, pair in enumerate(pairwise(days.bounds))]
    return _report(days, columns, store.read(statement, [*chain(*bounds), *persons]))


def _parts(columns: Sequence[GroupBy], most: int, stacked: int) -> Iterator[str]:
    """Rows of: what they are of, the number of the day or of all groups, three names, the sums, the time of the last
    answer."""

    def selected(kind: str, number: str, names: Sequence[str], rest: str) -> str:
        sums = ", ".join(f"CAST(SUM(s{place}) AS BIGINT)" for place in range(len(_COUNTED)))
        shown = ", ".join([*names, *["''"] * (_MOST_NAMES - len(names))])
        return f"SELECT * FROM (SELECT '{kind}', {number}, {shown}, {sums}, MAX(last) FROM cube {rest}) AS part"  # noqa: S608

    yield selected(_DAY, "place", (), "GROUP BY place")
    for by in columns:
        names = ", ".join(NAMES[by])
        largest = f"GROUP BY {names} ORDER BY {_LARGEST}, {names} LIMIT"
        yield selected(by.value, "COUNT(*) OVER ()", NAMES[by], f"{largest} {int(most)}")
        if stacked and len(NAMES[by]) == 1:
            first = f"SELECT {names} FROM cube {largest} {int(stacked)}"  # noqa: S608
            yield selected(by.value + _DAY, "place", NAMES[by], f"WHERE {names} IN ({first}) GROUP BY place, {names}")


def _report(days: Days, columns: Sequence[GroupBy], rows: Iterable[Sequence[Any]]) -> UsageReport:
    parts: dict[str, list[tuple[int, UsageGroup]]] = defaultdict(list)
    for kind, number, *names_and_sums, last in rows:
        name, *within = names_and_sums[:_MOST_NAMES]
        sums, belongs = Sums(*map(int, names_and_sums[_MOST_NAMES:])), len(NAMES.get(kind, "-")) - 1
        parts[kind].append((number, UsageGroup(name, sums, last, tuple(within[:belongs]))))

    def by_day(kind: str, name: str) -> tuple[Sums, ...]:
        known = {number: one.sums for number, one in parts[kind] if one.name == name}
        return tuple(known.get(number, NOTHING) for number in range(len(days.names)))

    of_days, groups = by_day(_DAY, ""), {}
    total = added(*of_days)
    for by in columns:
        # As the statement orders them: that both engines order text by its code points is not assured.
        shown = sorted((one for _, one in parts[by]), key=lambda one: (*one.sums.size, one.name, one.within))
        count, stacked = max((number for number, _ in parts[by]), default=0), {one.name for _, one in parts[by + _DAY]}
        others = total.minus(added(*(one.sums for one in shown)))
        of_shown = tuple((one.name, by_day(by + _DAY, one.name)) for one in shown if one.name in stacked)
        groups[by] = Groups(by, tuple(shown), others, count - len(shown), of_shown)
    return UsageReport(days, total, of_days, groups)


# ---- What the page shows ----


class BudgetState(NamedTuple):
    """A budget in its present window."""

    rule: BudgetRule
    window: Window
    name: str  # of the team or person; of a key, that of its person
    label: str = ""  # of the key
    team: str = ""  # its own, or that of the person


class WorkerState(NamedTuple):
    """A process of the hub: when it came and was seen last, and how many answers with a budget it runs."""

    name: str
    started_at: float | None
    seen_at: float | None
    is_live: bool
    answers: int


class DatabaseState(NamedTuple):
    """The database of the hub."""

    schema: int
    directory_version: int
    ledger_since: float | None = None  # when the first answer in the ledger was asked for
    broken: tuple[str, ...] = ()  # what does not add up


@dataclass(frozen=True, slots=True)
class HubView:
    """Everything that one page shows; that of one person has neither people nor workers nor changes."""

    reader: Person
    read_at: float  # by the database, in seconds since 1970
    budgets: tuple[BudgetState, ...]
    usage: UsageReport
    people: int = 0
    teams: int = 0
    workers: tuple[WorkerState, ...] = ()
    database: DatabaseState | None = None
    changes: tuple[DirectoryRecord, ...] = ()  # the newest first


# ---- Reading what the page shows ----

OWNER: Final = Person("owner", is_admin=True)  # the reader who has the database itself
_OF_ALL: Final = (GroupBy.TEAM, GroupBy.PERSON, GroupBy.MODEL, GroupBy.CLIENT, GroupBy.SESSION)
_OF_PERSON: Final = (GroupBy.MODEL, GroupBy.CLIENT, GroupBy.SESSION)
_MOST_CHANGES: Final = 50
_SILENT_SECONDS: Final = 15.0  # without a heartbeat for so long, a worker is shown as silent


def overview(
    store: HubStore, directory: Directory, reader: Person, days: int, zone: tzinfo | None, zone_name: str
) -> HubView:
    """What the page shows now: usage of the last days, today among them, in a time zone (None: of this machine)."""
    now = store.time()
    shown = days_until(now, days, zone, zone_name)
    if not reader.is_admin:
        usage = read_usage(store, shown, _OF_PERSON, person=reader.name)
        keys = (Owner(OwnerKind.KEY, key.id) for key in directory.keys.values() if key.person == reader.name)
        owners = {Owner(OwnerKind.PERSON, reader.name), Owner(OwnerKind.TEAM, reader.team or ""), *keys}
        own = (rule for rule in directory.rules.values() if rule.owner in owners)
        return HubView(reader, now, _budgets(store, directory, own, now), usage)
    ((schema, since),) = store.read(SQL["facts of the page"])
    workers = store.read(SQL["workers of the page"])
    return HubView(
        reader,
        now,
        _budgets(store, directory, directory.rules.values(), now),
        read_usage(store, shown, _OF_ALL),
        len(directory.people),
        len(directory.teams),
        tuple(
            WorkerState(name, started_at, seen_at, now - seen_at < _SILENT_SECONDS, int(answers))
            for name, started_at, seen_at, answers in workers
        ),
        DatabaseState(int(schema), directory.version, since, tuple(store.check())),
        tuple(store.records(_MOST_CHANGES)),
    )


def _budgets(store: HubStore, directory: Directory, rules: Iterable[BudgetRule], now: float) -> tuple[BudgetState, ...]:
    """Budgets in their present windows; one that was not opened yet holds nothing."""
    windows = {row[1]: Window(*row) for row in store.read(SQL["windows of the page"], (now, now))}
    states = []
    for rule in rules:
        kind, name = rule.owner
        key = directory.keys.get(name) if kind is OwnerKind.KEY else None
        owner = name if key is None else key.person
        person = None if kind is OwnerKind.TEAM else directory.people.get(owner)
        team = name if kind is OwnerKind.TEAM else (person.team or "" if person else "")
        window = windows.get(rule.id) or Window(0, rule.id, *rule.span_at(now), rule.limit, highest_limit=rule.limit)
        states.append(BudgetState(rule, window, owner, "" if key is None else key.label or key.id, team))
    return tuple(states)


def changed_fields(record: DirectoryRecord) -> Iterable[str]:
    """What became of each field, in the order of their names; of what is new, what it says."""
    before, after = record.before or {}, record.after or {}
    for name in sorted({*before, *after}):
        was, is_now = before.get(name), after.get(name)
        if was != is_now and record.after is not None:
            unit = (record.after or before).get("unit")
            now = _said(name, is_now, unit)
            yield f"{name}: {now}" if record.before is None else f"{name}: {_said(name, was, unit)} → {now}"


def _said(name: str, value: object, unit: object) -> str:
    """A value of a field as people read it; `unit` is what the budget counts whose field it is."""
    if value in (None, [], {}, ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "limit" and isinstance(value, int) and isinstance(unit, str):
        return amount_text(BudgetUnit(unit), value)
    if name.endswith("_at") and isinstance(value, float):
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC"
    if name == "price" and isinstance(value, dict):
        prices = (f"{kind} {amount_text(BudgetUnit.MONEY, one)}" for kind, one in value.items() if one is not None)
        return f"{', '.join(prices)} a million tokens"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
