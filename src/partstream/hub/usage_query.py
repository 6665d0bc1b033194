"""Reads a report of usage from the ledger, in one statement: whatever is added to the ledger meanwhile, it adds up.

The ledger is read once, into sums by day and by the columns that are asked for; all further sums are made of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.hub.usage import NOTHING, GroupBy, Groups, Sums, UsageGroup, UsageReport, added

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from partstream.hub.store.store import HubStore
    from partstream.hub.usage import Days

__all__ = ["MOST_GROUPS", "STACKED", "read_usage"]

MOST_GROUPS: Final = 100
"""The most groups of a column that a report names by default."""
STACKED: Final = 5
"""How many groups of a column a report has the days of."""

_NAMES: Final[Mapping[GroupBy, tuple[str, ...]]] = {
    GroupBy.TEAM: ("team",),
    GroupBy.PERSON: ("person",),
    GroupBy.MODEL: ("model",),
    GroupBy.CLIENT: ("client",),
    GroupBy.SESSION: ("session", "person", "client"),
    GroupBy.PROVIDER: ("provider",),
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
)
"""The sums of rows of the ledger, in the order of :class:`Sums`."""

_LARGEST: Final = "SUM(s4) DESC, SUM(s1) + SUM(s3) DESC, SUM(s0) DESC"
"""What orders groups: cost, tokens, answers."""


def read_usage(
    store: HubStore,
    days: Days,
    by: Iterable[GroupBy],
    *,
    person: str | None = None,
    most: int | None = MOST_GROUPS,
    stacked: int = STACKED,
) -> UsageReport:
    """What the answers of some days took.

    Args:
        store: The database.
        days: The days.
        by: The columns by which they are added up.
        person: The person whose answers alone are meant; None for all.
        most: The most groups of a column that are named; None for all.
        stacked: How many groups of a column are divided into days.

    Raises:
        StoreUnreachableError: The database is not there.
    """
    columns = tuple(dict.fromkeys(by))
    statement = _Statement(columns, person, most, stacked)
    return _report(days, columns, person, store.read(statement.text(days), statement.parameters(days)))


class _Statement:
    """The statement of a report, and its parameters.

    Its rows are: what it is of, the number of the day or None, three names, the sums, the time of the last answer.
    """

    def __init__(self, columns: Sequence[GroupBy], person: str | None, most: int | None, stacked: int) -> None:
        self._columns = columns
        self._person = person
        self._most = most
        self._stacked = stacked

    def parameters(self, days: Days) -> list[object]:
        """The parameters: the days, and the person."""
        found: list[object] = []
        for number in range(len(days.names)):
            found += [number, float(days.bounds[number]), float(days.bounds[number + 1])]
        return found if self._person is None else [*found, self._person]

    def text(self, days: Days) -> str:
        """The statement; nothing in it comes from outside."""
        rows = ", ".join(
            ["(CAST(? AS BIGINT), CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION))"] * len(days.names)
        )
        return (
            f"WITH days(place, begins, ends) AS (VALUES {rows}), cube AS MATERIALIZED ({self._cube()}) "
            + " UNION ALL ".join(self._parts())
        )

    def _cube(self) -> str:
        names = list(dict.fromkeys(name for by in self._columns for name in _NAMES[by]))
        named = "".join(f", COALESCE({name}, '') AS {name}" for name in names)
        grouped = "".join(f", COALESCE({name}, '')" for name in names)
        sums = ", ".join(f"CAST({one} AS BIGINT) AS s{place}" for place, one in enumerate(_COUNTED))
        of_person = "" if self._person is None else " WHERE person = ?"
        return (
            f"SELECT place{named}, {sums}, MAX(time) AS last FROM days "  # noqa: S608 - names of ours alone
            f"JOIN hub_ledger ON time >= begins AND time < ends{of_person} GROUP BY place{grouped}"
        )

    def _parts(self) -> Iterator[str]:
        yield _selected("day", "place", (), "GROUP BY place")
        for by in self._columns:
            names = _NAMES[by]
            grouped = f"GROUP BY {', '.join(names)}"
            ordered = f"{grouped} ORDER BY {_LARGEST}, {', '.join(names)}"
            limited = grouped if self._most is None else f"{ordered} LIMIT {int(self._most)}"
            yield f"SELECT * FROM ({_selected(by.value, 'NULL', names, limited)}) AS shown"  # noqa: S608
            yield (
                f"SELECT '{by.value} groups', NULL, '', '', '', COUNT(*){', 0' * (len(_COUNTED) - 1)}, NULL "  # noqa: S608
                f"FROM (SELECT 1 AS one FROM cube {grouped}) AS groups"
            )
            if self._stacked and len(names) == 1:
                first = f"SELECT {names[0]} FROM cube {ordered} LIMIT {int(self._stacked)}"  # noqa: S608
                yield _selected(
                    f"{by.value} days", "place", names, f"WHERE {names[0]} IN ({first}) GROUP BY place, {names[0]}"
                )


def _selected(kind: str, day: str, names: Sequence[str], rest: str) -> str:
    sums = ", ".join(f"CAST(SUM(s{place}) AS BIGINT)" for place in range(len(_COUNTED)))
    shown = ", ".join([*names, *["''"] * (_MOST_NAMES - len(names))])
    number = "CAST(NULL AS BIGINT)" if day == "NULL" else day
    return f"SELECT '{kind}', {number}, {shown}, {sums}, MAX(last) FROM cube {rest}"  # noqa: S608 - as above


def _report(days: Days, columns: Sequence[GroupBy], person: str | None, rows: Iterable[Sequence[Any]]) -> UsageReport:
    of_days = [NOTHING] * len(days.names)
    groups: dict[str, list[UsageGroup]] = {by.value: [] for by in columns}
    counts: dict[str, int] = {}
    stacks: dict[str, dict[str, list[Sums]]] = {by.value: {} for by in columns}
    for kind, day, name, *rest in rows:
        of_what, _, part = kind.partition(" ")
        within, sums, last = rest[: _MOST_NAMES - 1], Sums(*map(int, rest[_MOST_NAMES - 1 : -1])), rest[-1]
        if kind == "day":
            of_days[day] = sums
        elif part == "groups":
            counts[of_what] = sums.answers
        elif part == "days":
            stacks[of_what].setdefault(name, [NOTHING] * len(days.names))[day] = sums
        else:
            belongs = tuple(within[: len(_NAMES[GroupBy(kind)]) - 1])
            groups[kind].append(UsageGroup(name, sums, last, belongs))
    total = added(*of_days)
    made = {by: _groups(by, total, groups[by.value], counts[by.value], stacks[by.value]) for by in columns}
    return UsageReport(days, total, tuple(of_days), made, person)


def _groups(
    by: GroupBy, total: Sums, shown: list[UsageGroup], count: int, stacks: Mapping[str, Sequence[Sums]]
) -> Groups:
    shown.sort(key=_order)
    others = total.minus(added(*(one.sums for one in shown)))
    stacked = tuple((one.name, tuple(stacks[one.name])) for one in shown if one.name in stacks)
    return Groups(by, tuple(shown), others, count - len(shown), stacked)


def _order(group: UsageGroup) -> tuple[int, int, int, str, tuple[str, ...]]:
    """As the statement orders them: text by its code points in both engines is not assured, so that it is done here."""
    sums = group.sums
    return -sums.nanodollars, -(sums.input_tokens + sums.output_tokens), -sums.answers, group.name, group.within
