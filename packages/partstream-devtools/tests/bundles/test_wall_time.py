"""Wall times as text: the same as the standard library's, and nothing for what is no time."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from partstream_devtools.bundles.exchange import nanoseconds_of, wall_time_of
from rows import one_test_for

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=_OFFSETS).filter(lambda time: 1 < time.year < 9999))
def test_it_is_the_time_of_the_standard_library(time):
    wanted = (time - EPOCH) // timedelta(microseconds=1) * 1000
    assert nanoseconds_of(time.isoformat()) == wanted
    assert wall_time_of(wanted) == time.astimezone(UTC).isoformat(timespec="microseconds")


@one_test_for(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1970-01-01T00:00:00.123456789Z", 123_456_789),
        ("1970-01-01T01:00:00.000+0100", 0),
        ("1970-01-01 00:00:00", 0),
        ("yesterday", None),
        ("", None),
        ("1970-13-01T00:00:00Z", None),
        ("1970-01-01T00:00:00Z" * 1000, None),
    ],
)
def test_forms_of_times(text, nanoseconds):
    assert nanoseconds_of(text) == nanoseconds


def test_a_time_that_no_calendar_holds_is_that_of_1970():
    assert wall_time_of(10**30) == wall_time_of(-(10**30)) == "1970-01-01T00:00:00.000000+00:00"
