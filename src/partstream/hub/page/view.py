"""What the page of the hub shows, as values: the seam between who reads the database and who writes HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.hub.directory import BudgetUnit, OwnerKind, Period
    from partstream.hub.usage import UsageReport

__all__ = ["BudgetState", "ChangeRow", "DatabaseState", "HubView", "Reader", "WorkerState"]


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget in its present window. Amounts are nanodollars, or tokens.

    Attributes:
        owner: Whose it is: a kind, and below it a name.
        name: The name of the team or person; of a key, that of its person.
        label: The label of the key; empty for a team or person.
        team: The team that it stands in: its own, or that of the person.
        unit: What it counts.
        period: How often it begins anew.
        time_zone: The zone in which its days begin.
        limit: The most that may be spent.
        spent: What answers that have ended took.
        reserved: What workers hold for answers that run or come next.
        overrun: What was spent beyond the limit; 0 as long as every bound of a price holds.
        ends_at: When it begins anew, in seconds since 1970; None for never.
    """

    owner: OwnerKind
    name: str
    label: str
    team: str
    unit: BudgetUnit
    period: Period
    time_zone: str
    limit: int
    spent: int
    reserved: int
    overrun: int = 0
    ends_at: float | None = None

    @property
    def left(self) -> int:
        """What is neither spent nor reserved; never below 0."""
        return max(0, self.limit - self.spent - self.reserved)


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A process of the hub.

    Attributes:
        name: Its name.
        started_at: When it came, in seconds since 1970.
        seen_at: When it was seen last, by the clock of the database.
        is_live: Whether it lives, as far as the database knows.
        budgets: In how many budgets it holds a part.
    """

    name: str
    started_at: float | None
    seen_at: float | None
    is_live: bool
    budgets: int


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The database of the hub.

    Attributes:
        schema: The version of its tables.
        directory_version: How often people, teams, keys and models were changed.
        ledger_since: When the first answer in the ledger was asked for, in seconds since 1970; None for none yet.
        broken: What does not add up; expected nothing.
    """

    schema: int
    directory_version: int
    ledger_since: float | None = None
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of people, teams, keys, budgets or models.

    Attributes:
        at: When, in seconds since 1970.
        by: Who.
        what: What was done, such as `put person ana`; never a key.
        fields: What became of each field.
    """

    at: float
    by: str
    what: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the page.

    Attributes:
        name: The person; empty for whoever has the database itself.
        team: The person's team, or empty.
        is_admin: Whether everything is shown, or only what belongs to the person.
    """

    name: str
    team: str
    is_admin: bool


@dataclass(frozen=True, slots=True)
class HubView:
    """Everything that one page shows.

    Attributes:
        reader: Who reads it.
        read_at: When it was read from the database, in seconds since 1970.
        budgets: The budgets.
        people: How many people there are; 0 on the page of one person.
        teams: How many teams there are.
        usage: What answers took.
        workers: The processes; empty on the page of one person.
        database: The database; None on the page of one person.
        changes: The last changes, the newest first.
    """

    reader: Reader
    read_at: float
    budgets: tuple[BudgetState, ...]
    usage: UsageReport
    people: int = 0
    teams: int = 0
    workers: tuple[WorkerState, ...] = ()
    database: DatabaseState | None = None
    changes: tuple[ChangeRow, ...] = ()
