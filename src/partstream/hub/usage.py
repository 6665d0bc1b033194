"""What answers took, added up from the ledger: by person, team, model, client, session, and by day.

All numbers are integers: tokens, and nanodollars (10^-9 US dollars). So the sums by whatever column are equal to the
whole, to the nanodollar. Days are those of a time zone; their boundaries are computed once, here, and the database
compares instants alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.errors import UnexpectedValueError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

__all__ = [
    "MOST_DAYS",
    "NOTHING",
    "Days",
    "GroupBy",
    "Groups",
    "Sums",
    "UsageGroup",
    "UsageReport",
    "added",
    "days_until",
]

MOST_DAYS: Final = 3660
"""The most days of one report."""


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
    """What some answers took together.

    Attributes:
        answers: The answers, failed ones too.
        input_tokens: The tokens of the requests, cached ones too.
        cached_tokens: Those of them that came from a prompt cache.
        output_tokens: The tokens of the answers.
        nanodollars: The cost, in 10^-9 US dollars.
        estimated: The answers whose tokens and cost are estimates.
        unpriced: The answers whose cost nobody knows: it is not in the sum.
        uncounted: The answers whose tokens nobody knows: they are not in the sums.
        failed: The answers that did not come to their own end: failed, cut or cancelled.
    """

    answers: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    nanodollars: int = 0
    estimated: int = 0
    unpriced: int = 0
    uncounted: int = 0
    failed: int = 0

    def minus(self, other: Sums) -> Sums:
        """The sums of these answers without others of them."""
        return Sums(*(mine - its for mine, its in zip(self, other, strict=True)))


NOTHING: Final = Sums()


@dataclass(frozen=True, slots=True)
class UsageGroup:
    """The answers of one value of a column.

    Attributes:
        name: The value; of a session, that of its client. Empty where the answers have none.
        sums: What they took together.
        last_at: When the last of them ended, in seconds since 1970; None where there is none.
        within: What the name belongs to: of a session its person and its client; empty otherwise.
    """

    name: str
    sums: Sums
    last_at: float | None = None
    within: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Groups:
    """All answers by the values of one column.

    Attributes:
        by: The column.
        shown: The groups that took most, the largest first.
        others: All other groups together; nothing where all are shown.
        other_groups: How many those are.
        days: What each of the first groups took each day, by name; a group without a row of days is among the others.
    """

    by: GroupBy
    shown: tuple[UsageGroup, ...]
    others: Sums = NOTHING
    other_groups: int = 0
    days: tuple[tuple[str, tuple[Sums, ...]], ...] = ()

    @property
    def whole(self) -> Sums:
        """All groups together."""
        return added(self.others, *(one.sums for one in self.shown))


@dataclass(frozen=True, slots=True)
class Days:
    """Some days in a row, as instants.

    Attributes:
        names: The days.
        bounds: The beginning of each day, and the end of the last, in seconds since 1970: one more than days.
        time_zone: The name of the zone that they are days of.
    """

    names: tuple[date, ...]
    bounds: tuple[int, ...]
    time_zone: str


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the answers of some days took.

    Attributes:
        days: The days.
        total: All answers together.
        of_days: What those of each day took; in all, the total.
        groups: The same answers by each column that was asked for.
        person: The person whose answers alone are meant; None for all.
    """

    days: Days
    total: Sums
    of_days: tuple[Sums, ...]
    groups: Mapping[GroupBy, Groups]
    person: str | None = None


def days_until(now: float, count: int, zone: tzinfo | None, name: str) -> Days:
    """The last days up to and with today.

    Args:
        now: The time in seconds since 1970.
        count: How many days, 1 to :data:`MOST_DAYS`.
        zone: The time zone whose days are meant; None for that of this machine.
        name: The name of the zone.

    Raises:
        UnexpectedValueError: There are too few days, or too many.
    """
    if not 1 <= count <= MOST_DAYS:
        raise UnexpectedValueError("days", str(count), f"1 to {MOST_DAYS}")
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    names = tuple(today - timedelta(days=count - 1 - number) for number in range(count))
    bounds = tuple(_midnight(day, zone) for day in (*names, today + timedelta(days=1)))
    return Days(names, bounds, name)


def _midnight(day: date, zone: tzinfo | None) -> int:
    """The first instant of a day; where the clock jumps over midnight, that of the jump."""
    begins = datetime.combine(day, time.min, tzinfo=zone)
    # A time that does not exist, taken there and back, comes out behind the jump (PEP 495).
    return int(begins.astimezone(UTC).timestamp())


def added(*some: Sums) -> Sums:
    """The sums of all of them."""
    return Sums(*map(sum, zip(NOTHING, *some, strict=True)))
