"""What answers took, added up from the ledger: every way to divide it gives the whole, to the nanodollar."""

from __future__ import annotations
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import count
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub.stores import settle
from partstream_hub.store.values import LedgerRow
from partstream_hub.usage import NOTHING, GroupBy, Sums, added, days_until, read_usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hub.stores import HubDatabase
    from partstream_hub.store.store import HubStore
    from partstream_hub.usage import Days

DAY = 86_400
NAMES: dict[GroupBy, Callable[[LedgerRow], tuple[str, ...]]] = {
    GroupBy.TEAM: lambda row: (row.team or "",),
    GroupBy.PERSON: lambda row: (row.person,),
    GroupBy.MODEL: lambda row: (row.model,),
    GroupBy.CLIENT: lambda row: (row.client,),
    GroupBy.SESSION: lambda row: (row.session or "", row.person, row.client),
    GroupBy.PROVIDER: lambda row: (row.provider,),
    GroupBy.KEY: lambda row: (row.key_id, row.person),
}
ANSWER_IDS = count()
WEEKS = count(1)

TOKENS = st.none() | st.integers(0, 10**9)
ROWS = st.builds(
    LedgerRow,
    answer_id=st.builds(lambda: f"answer-{next(ANSWER_IDS)}"),
    time=st.floats(-DAY / 2, 4 * DAY),
    key_id=st.sampled_from(("k1", "k2", "k3")),
    person=st.sampled_from(("ana", "ben", "Ben", "zoë")),
    team=st.sampled_from((None, "core", "data")),
    model=st.sampled_from(("gpt-5", "claude", "<script>")),
    provider=st.sampled_from(("", "openai")),
    client=st.sampled_from(("", "codex", "'; DROP TABLE hub_ledger; --")),
    session=st.none() | st.sampled_from(("s1", "s2", "s3", "s4")),
    input_tokens=TOKENS,
    output_tokens=TOKENS,
    cached_tokens=TOKENS,
    nanodollars=st.none() | st.integers(0, 10**13),
    is_estimated=st.booleans(),
    outcome=st.sampled_from(("completed", "incomplete", "cancelled", "failed", "lost")),
)


def sums_of(rows: Sequence[LedgerRow]) -> Sums:
    """The sums, added up one by one."""
    return Sums(
        answers=len(rows),
        input_tokens=sum(row.input_tokens or 0 for row in rows),
        cached_tokens=sum(row.cached_tokens or 0 for row in rows),
        output_tokens=sum(row.output_tokens or 0 for row in rows),
        nanodollars=sum(row.nanodollars or 0 for row in rows),
        estimated=sum(row.is_estimated for row in rows),
        unpriced=sum(row.nanodollars is None for row in rows),
        uncounted=sum(row.input_tokens is None or row.output_tokens is None for row in rows),
        failed=sum(row.outcome not in {"completed", "incomplete"} for row in rows),
    )


def grouped(rows: Sequence[LedgerRow], by: GroupBy) -> dict[tuple[str, ...], Sums]:
    """The sums of each group, added up one by one."""
    groups: dict[tuple[str, ...], list[LedgerRow]] = defaultdict(list)
    for row in rows:
        groups[NAMES[by](row)].append(row)
    return {name: sums_of(some) for name, some in groups.items()}


def settled(store: HubStore, rows: Sequence[LedgerRow]) -> tuple[list[LedgerRow], Days]:
    """Enters rows into the ledger, in days of their own; gives those of three whole days, and these days."""
    begins = next(WEEKS) * 7 * DAY
    moved = [replace(row, time=row.time + begins) for row in rows]
    settle(store, "w1", moved)
    inside = [row for row in moved if begins <= row.time < begins + 3 * DAY]
    return inside, days_until(begins + 2.5 * DAY, 3, UTC, "UTC")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, max_size=25))
def test_the_sums_by_every_column_and_by_day_are_the_whole(hub_store: HubStore, rows: list[LedgerRow]):
    inside, days = settled(hub_store, rows)
    report = read_usage(hub_store, days, GroupBy, most=1_000)
    assert report.total == added(*report.of_days) == sums_of(inside)
    for by, groups in report.groups.items():
        assert added(groups.others, *(one.sums for one in groups.shown)) == report.total
        assert {(one.name, *one.within): one.sums for one in groups.shown} == grouped(inside, by)
        assert (groups.others, groups.other_groups) == (NOTHING, 0)
    for place, begins in enumerate(days.bounds[:-1]):
        of_day = [row for row in inside if begins <= row.time < days.bounds[place + 1]]
        assert report.of_days[place] == sums_of(of_day)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, max_size=25))
def test_what_is_not_named_stands_together_and_days_are_divided_among_the_named(
    hub_store: HubStore, rows: list[LedgerRow]
):
    inside, days = settled(hub_store, rows)
    report = read_usage(hub_store, days, GroupBy, most=2, stacked=2)
    for by, groups in report.groups.items():
        all_groups = grouped(inside, by)
        assert added(groups.others, *(one.sums for one in groups.shown)) == report.total
        assert len(groups.shown) == min(2, len(all_groups))
        assert groups.other_groups == len(all_groups) - len(groups.shown)
        assert all(all_groups[one.name, *one.within] == one.sums for one in groups.shown)
        least = min((one.sums.nanodollars for one in groups.shown), default=0)
        named = {(one.name, *one.within) for one in groups.shown}
        assert all(sums.nanodollars <= least for name, sums in all_groups.items() if name not in named)
        assert all(all_groups[name,] == added(*of_days) for name, of_days in groups.days)


def test_one_person_is_added_up_alone(hub_store: HubStore):
    rows = [
        LedgerRow("a", 0.0, "k1", "ana", "core", "gpt-5", input_tokens=10, output_tokens=1, nanodollars=7),
        LedgerRow("b", 1.0, "k2", "ben", "core", "gpt-5", input_tokens=90, output_tokens=9, nanodollars=70),
    ]
    settle(hub_store, "w1", rows)
    days = days_until(3.0, 1, UTC, "UTC")
    report = read_usage(hub_store, days, (GroupBy.MODEL, GroupBy.KEY), person="ana")
    assert report.total.nanodollars == 7
    assert [(one.name, one.within) for one in report.groups[GroupBy.KEY].shown] == [("k1", ("ana",))]
    assert report.groups[GroupBy.MODEL].shown[0].last_at == 0.0
    assert read_usage(hub_store, days, (), person="' OR '1'='1").total == NOTHING


def test_an_answer_that_is_settled_twice_counts_once(hub_database: HubDatabase):
    first, second = hub_database.migrated(), hub_database.store()
    row = LedgerRow("a", 0.0, "k1", "ana", None, "gpt-5", input_tokens=10, output_tokens=1, nanodollars=7)
    settle(first, "w1", [row])
    settle(second, "w2", [row])
    assert read_usage(first, days_until(3.0, 1, UTC, "UTC"), GroupBy).total.answers == 1


def test_a_day_is_one_of_the_time_zone_however_long_it_is():
    berlin = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 3, 29, 12, tzinfo=berlin).timestamp()
    days = days_until(now, 3, berlin, "Europe/Berlin")
    assert days.names == (date(2026, 3, 27), date(2026, 3, 28), date(2026, 3, 29))
    hours = [(ends - begins) // 3600 for begins, ends in zip(days.bounds, days.bounds[1:], strict=False)]
    assert hours == [24, 24, 23]
    late = datetime(2026, 10, 25, 23, 30, tzinfo=berlin).timestamp()
    assert days_until(late, 1, berlin, "Europe/Berlin").names == (date(2026, 10, 25),)
    assert days_until(late, 1, ZoneInfo("Asia/Tokyo"), "Asia/Tokyo").names == (date(2026, 10, 26),)


def test_a_day_begins_with_its_first_moment_where_midnight_does_not_exist():
    zone = ZoneInfo("America/Santiago")  # the clock goes from 24:00 to 01:00
    days = days_until(datetime(2026, 9, 6, 12, tzinfo=zone).timestamp(), 2, zone, "America/Santiago")
    lengths = [(ends - begins) // 3600 for begins, ends in zip(days.bounds, days.bounds[1:], strict=False)]
    assert lengths == [24, 23]
