"""When windows of budgets begin and end, in the calendar of their time zone; and the rows that the database makes."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from hub.stores import HubDatabase, reserve, row
from partstream.tokens.amounts import BudgetUnit, Period, span_at
from partstream_hub.admission import budget_document
from partstream_hub.directory import BudgetRule, Need, Owner, OwnerKind, Person
from partstream_hub.store.rows import Batch, Reserve
from rows import one_test_for

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Asia/Kolkata", "Australia/Lord_Howe",
    "Pacific/Apia", "Africa/Cairo", "America/Havana",
)  # fmt: skip
RULE = BudgetRule(Owner(OwnerKind.TEAM, "core"), BudgetUnit.MONEY, Period.DAY, 1_000)


def at(zone: str, text: str) -> float:
    """A local time, in seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


SPANS = [
    (Period.DAY, "UTC", "2026-11-23T10:00", "2026-11-23T00:00", "2026-11-24T00:00"),
    (Period.DAY, "UTC", "2026-11-23T00:00", "2026-11-23T00:00", "2026-11-24T00:00"),
    # 23 hours and 25 hours.
    (Period.DAY, "Europe/Berlin", "2026-03-29T12:00", "2026-03-29T00:00", "2026-03-30T00:00"),
    (Period.DAY, "Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:00", "2026-10-26T00:00"),
    # There is no midnight: the day begins at one.
    (Period.DAY, "America/Santiago", "2026-09-06T12:00", "2026-09-06T01:00", "2026-09-07T00:00"),
    (Period.DAY, "Asia/Kolkata", "2026-11-23T23:59", "2026-11-23T00:00", "2026-11-24T00:00"),
    # The 30th of December 2011 is missing there.
    (Period.DAY, "Pacific/Apia", "2011-12-31T05:00", "2011-12-31T00:00", "2012-01-01T00:00"),
    (Period.WEEK, "UTC", "2026-11-23T00:00", "2026-11-23T00:00", "2026-11-30T00:00"),
    (Period.WEEK, "UTC", "2026-11-22T23:59", "2026-11-16T00:00", "2026-11-23T00:00"),
    (Period.WEEK, "America/New_York", "2026-11-01T12:00", "2026-10-26T00:00", "2026-11-02T00:00"),
    (Period.MONTH, "Europe/Berlin", "2026-01-31T23:59", "2026-01-01T00:00", "2026-02-01T00:00"),
    (Period.MONTH, "Europe/Berlin", "2024-02-29T12:00", "2024-02-01T00:00", "2024-03-01T00:00"),
    (Period.MONTH, "UTC", "2026-12-31T23:59", "2026-12-01T00:00", "2027-01-01T00:00"),
]


@one_test_for(("period", "zone", "now", "starts", "ends"), SPANS)
def test_a_window_is_a_day_a_week_or_a_month_of_the_calendar(
    period: Period, zone: str, now: str, starts: str, ends: str
) -> None:
    span = span_at(period, ZoneInfo(zone), at(zone, now))
    assert span == (at(zone, starts), at(zone, ends))


def test_a_total_has_one_window_for_ever() -> None:
    assert span_at(Period.TOTAL, None, 1.7e9) == (0.0, None)


@given(
    st.sampled_from((Period.DAY, Period.WEEK, Period.MONTH)),
    st.sampled_from(ZONES),
    st.floats(0, datetime(2100, 1, 1, tzinfo=UTC).timestamp()),
)
@example(Period.DAY, "UTC", 2051222399.9999995)
def test_windows_follow_each_other_without_a_gap(period: Period, zone: str, now: float) -> None:
    rule = replace(RULE, period=period, time_zone=zone)
    starts_at, ends_at = rule.span_at(now)
    assert ends_at is not None
    assert starts_at <= now < ends_at
    assert rule.span_at(starts_at) == (starts_at, ends_at)
    assert rule.span_at(ends_at).starts_at == ends_at


def test_the_next_window_begins_empty_by_the_time_of_the_database(hub_database: HubDatabase) -> None:
    now = at("Europe/Berlin", "2026-10-25T01:00")
    store = hub_database.migrated(lambda: now)
    rule = replace(RULE, time_zone="Europe/Berlin")
    store.heartbeat("w1")
    first = store.open_windows([rule])[rule.id]
    assert first.ends_at == first.starts_at + 25 * 3600
    assert reserve(store, "w1", "a1", rule, 1_000) == 1_000
    now = first.ends_at - 1
    assert store.open_windows([rule])[rule.id].free == 0
    now = first.ends_at
    second = store.open_windows([rule])[rule.id]
    assert (second.starts_at, second.free) == (first.ends_at, 1_000)
    # A worker that knows the first window alone reserves of the second.
    batch = Batch([], reserves=[Reserve(row("a2"), [Need(rule, 300, 300)])], windows={rule.id: first.id})
    assert store.carry_out("w1", batch).reserved[0][0] == {rule.id: second.id}
    assert store.open_windows([rule])[rule.id].reserved == 300


def test_a_worker_that_knows_the_next_window_reserves_of_todays_once_the_clock_has_gone_back(
    hub_database: HubDatabase,
) -> None:
    now = at("UTC", "2026-11-24T00:10")
    store = hub_database.migrated(lambda: now)
    store.heartbeat("w1")
    tomorrow = store.open_windows([RULE])[RULE.id]
    now = at("UTC", "2026-11-23T23:50")
    batch = Batch([], reserves=[Reserve(row("a1"), [Need(RULE, 300, 300)])], windows={RULE.id: tomorrow.id})
    assert store.carry_out_at_once("w1", batch) is None
    store.carry_out("w1", batch)
    today = store.open_windows([RULE])[RULE.id]
    assert (today.ends_at, today.reserved) == (tomorrow.starts_at, 300)


def test_a_window_that_is_open_keeps_its_end_when_the_time_zone_changes(hub_database: HubDatabase) -> None:
    now = at("UTC", "2026-11-23T12:00")
    store = hub_database.migrated(lambda: now)
    first = store.open_windows([RULE])[RULE.id]
    elsewhere = replace(RULE, time_zone="Asia/Kolkata")
    assert store.open_windows([elsewhere])[RULE.id] == first
    now = at("UTC", "2026-11-24T00:00")
    second = store.open_windows([elsewhere])[RULE.id]
    assert second.id != first.id
    assert second.ends_at == at("Asia/Kolkata", "2026-11-25T00:00")


BROKEN_CLOCKS = (-1e18, -1_700_000_000.0, -0.5, 0.0, 2e11, 253_402_300_799.0, 1e12, 1e300)


def test_a_clock_before_1970_or_far_in_the_future_opens_windows_that_can_be_shown(hub_database: HubDatabase):
    now = 0.0
    store = hub_database.migrated(lambda: now)
    kinds = [(period, zone) for period in Period for zone in ("UTC", "Pacific/Apia", "America/Havana")]
    rules = [
        replace(RULE, owner=Owner(OwnerKind.PERSON, f"{period}-{number}"), period=period, time_zone=zone)
        for number, (period, zone) in enumerate(kinds)
    ]
    store.change([*(Person(rule.owner.name) for rule in rules), *rules], "root")
    for now in BROKEN_CLOCKS:
        found = store.open_windows(rules)
        assert found.keys() == {rule.id for rule in rules}, now
        for rule in rules:
            window = found[rule.id]
            assert budget_document(rule, window)["text"]
