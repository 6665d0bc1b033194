"""What the page of the hub may be given: a hub of some people, invented but for its form."""

from __future__ import annotations
from dataclasses import replace
from datetime import UTC, datetime

from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.directory import BudgetRule, Owner, OwnerKind, Person
from partstream_hub.store.values import DirectoryRecord, Window
from partstream_hub.usage import (
    NOTHING,
    OWNER,
    BudgetState,
    DatabaseState,
    Days,
    GroupBy,
    Groups,
    HubView,
    Sums,
    UsageGroup,
    UsageReport,
    WorkerState,
    added,
    days_until,
)

NOW = datetime(2026, 3, 13, 15, 9, 26, tzinfo=UTC).timestamp()
DOLLAR = 10**9
ADMIN = OWNER
LIMITS = {"limit": 2_000_000_000}, {"limit": 5_000_000_000}
PEOPLE = ("data-1", "data-2", "design", "infra-1", "infra-2", "nightly-job", "support")
MODELS = ("large", "small", "local-coder")
CLIENTS = ("codex", "claude-code", "vscode", "")


def sums(scale: int, **changes: int) -> Sums:
    """The sums of some answers: larger by a factor."""
    made = Sums(
        answers=3 * scale,
        input_tokens=41_003 * scale,
        cached_tokens=30_100 * scale,
        output_tokens=1_207 * scale,
        nanodollars=172_345_678 * scale,
    )
    return made._replace(**changes)


def groups(
    by: GroupBy, names: tuple[str, ...], of_days: tuple[Sums, ...], *, person: str = "data-1", most: int = 10
) -> Groups:
    """All answers of some days, divided among names: to each a part, and what is left to the last."""
    shares = [len(names) - number for number in range(len(names))]
    of_names: dict[str, list[Sums]] = {}
    for day in of_days:
        left = day
        for name, share in zip(names[:-1], shares, strict=False):
            part = Sums(*(number * share // sum(shares) for number in day))
            of_names.setdefault(name, []).append(part)
            left = left.minus(part)
        of_names.setdefault(names[-1], []).append(left)
    within = (person, "codex") if by is GroupBy.SESSION else ()
    made = [
        UsageGroup(name, added(*days), NOW - 400 * place, within) for place, (name, days) in enumerate(of_names.items())
    ]
    days = () if within else tuple((name, tuple(days)) for name, days in of_names.items())
    others = added(*(one.sums for one in made[most:]))
    return Groups(by, tuple(made[:most]), others, max(0, len(made) - most), days)


def report(days: int = 30, *, person: str | None = None, names: tuple[str, ...] = PEOPLE) -> UsageReport:
    """What the answers of some days took: nothing at weekends."""
    shown: Days = days_until(NOW, days, UTC, "UTC")
    of_days = tuple(
        NOTHING if day.weekday() > 4 else sums(4 + (number * 7) % 11, failed=number % 3, estimated=number % 2)
        for number, day in enumerate(shown.names, 1)
    )
    columns = {
        GroupBy.TEAM: ("platform", "research", ""),
        GroupBy.PERSON: names,
        GroupBy.MODEL: MODELS,
        GroupBy.CLIENT: CLIENTS,
        GroupBy.SESSION: tuple(f"019c-{number:04x}" for number in range(14)),
    }
    if person is not None:
        columns = {by: values for by, values in columns.items() if by not in {GroupBy.TEAM, GroupBy.PERSON}}
    made = {by: groups(by, values, of_days, person=person or "data-1") for by, values in columns.items()}
    return UsageReport(shown, added(*of_days), of_days, made)


def budget(
    kind: OwnerKind,
    name: str,
    *,
    unit: BudgetUnit = BudgetUnit.MONEY,
    period: Period = Period.DAY,
    time_zone: str = "UTC",
    limit: int = 5 * DOLLAR,
    spent: int = 0,
    reserved: int = 0,
    overrun: int = 0,
    ends_at: float | None = -1.0,
    **named: str,
) -> BudgetState:
    """A budget, if nothing else is said, of five dollars a day; its owner has a name that an owner can have."""
    rule = BudgetRule(Owner(kind, "ana"), unit, period, limit, time_zone)
    ends = NOW + TO_MIDNIGHT if ends_at == -1.0 else ends_at
    return BudgetState(rule, Window(1, rule.id, 0.0, ends, limit, spent, reserved, spent - overrun), name, **named)


TO_MIDNIGHT = 8 * 3600 + 50 * 60 + 34
TEAM, PERSON, KEY = OwnerKind.TEAM, OwnerKind.PERSON, OwnerKind.KEY
MONTH = {"period": Period.MONTH, "ends_at": NOW + TO_MIDNIGHT + 18 * 86_400}
WEEK = {"period": Period.WEEK, "ends_at": NOW + TO_MIDNIGHT + 2 * 86_400}
OF_BERLIN = {"team": "platform", "time_zone": "Europe/Berlin", "ends_at": NOW + TO_MIDNIGHT - 3_600}
OF_TOKENS = {"unit": BudgetUnit.TOKENS}
BUDGETS = (
    budget(
        TEAM, "platform", team="platform", limit=500 * DOLLAR, spent=212_345_678_901, reserved=31_250_000_000, **MONTH
    ),
    budget(PERSON, "infra-1", spent=4_310_000_000, reserved=250_000_000, **OF_BERLIN),
    budget(PERSON, "infra-2", spent=1_200_000_000, **OF_BERLIN),
    budget(KEY, "infra-2", label="ci", limit=2_000_000, spent=2_000_000, **OF_BERLIN, **OF_TOKENS),
    budget(
        TEAM, "research", team="research", limit=1_500 * DOLLAR, spent=890_120_000_000, reserved=44_750_000_000, **MONTH
    ),
    budget(PERSON, "data-1", team="research", limit=20_000_000, spent=7_345_678, reserved=910_000, **WEEK, **OF_TOKENS),
    budget(PERSON, "data-2", team="research", limit=100 * DOLLAR, period=Period.TOTAL, ends_at=None),
    budget(PERSON, "design", limit=10 * DOLLAR, spent=3_127_000_000, **WEEK),
)


def admin_view(**changes: object) -> HubView:
    """The whole hub."""
    made = HubView(
        reader=ADMIN,
        read_at=NOW,
        budgets=BUDGETS,
        usage=report(),
        people=7,
        teams=2,
        workers=(
            WorkerState("worker-a1", NOW - 86_400 * 3, NOW - 1, is_live=True, answers=8),
            WorkerState("worker-b2", NOW - 3_700, NOW - 1, is_live=True, answers=5),
            WorkerState("worker-c3", NOW - 86_400 * 3, NOW - 7_300, is_live=False, answers=0),
        ),
        database=DatabaseState(3, 42, NOW - 86_400 * 200),
        changes=(
            DirectoryRecord(42, NOW - 3_600, "root", "put budget person/infra-2/money/day", *LIMITS),
            DirectoryRecord(41, NOW - 7_200, "root", "revoke key q4rsmz7uvw", None, None),
        ),
    )
    return replace(made, **changes)  # type: ignore[arg-type] - the names are those of the fields


def person_view(**changes: object) -> HubView:
    """What one person sees."""
    own = tuple(one for one in BUDGETS if one.name in {"platform", "infra-2"})
    reader = Person("infra-2", "platform")
    made = HubView(reader=reader, read_at=NOW, budgets=own, usage=report(person="infra-2"))
    return replace(made, **changes)  # type: ignore[arg-type] - as above
