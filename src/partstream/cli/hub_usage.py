"""`partstream hub usage`: what answers took, by person, team, model, client or day; as a table, JSON or a page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import click

from partstream.cli.page_files import put_page
from partstream.codec.json_codec import dumps
from partstream.hub.amounts import amount_text
from partstream.hub.commands_database import hub_database, show_table, shown_argument
from partstream.hub.directory import BudgetUnit
from partstream.hub.page.document import file_html, percent
from partstream.hub.usage import MOST_GROUPS, OWNER, GroupBy, Sums, days_until, overview, read_usage, reader_of
from partstream.pages.policy import Hashes
from partstream.user_folders import CACHE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from partstream.hub.administration import Administration
    from partstream.hub.usage import Groups, UsageReport

__all__ = ["USAGE_COMMANDS"]

_DAY: Final = "day"
_FILE: Final = "hub-usage.html"
_NUMBERS: Final = ("answers", "input", "cached", "output", "cost", "share")
_WITHIN: Final[Mapping[GroupBy, tuple[str, ...]]] = {GroupBy.SESSION: ("person", "client"), GroupBy.KEY: ("person",)}


class _Zone(click.ParamType[ZoneInfo]):
    """A time zone by its name."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ZoneInfo:
        """The zone."""
        try:
            return ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            self.fail(f"got {value!r}, expected the name of a time zone, such as Europe/Berlin", param, ctx)


@click.command("usage", short_help="Show what answers took: by person, team, model, client, session or day.")
@click.option(
    "--by",
    type=click.Choice([*(one.value for one in GroupBy), _DAY]),
    default=GroupBy.PERSON.value,
    show_default=True,
    help="What the answers are added up by.",
)
@click.option(
    "--days", type=click.IntRange(1, 3_650), default=30, show_default=True, help="Number of days, including today."
)
@click.option("--person", metavar="NAME", help="Only the answers of this person.")
@click.option("--most", type=click.IntRange(1), default=MOST_GROUPS, show_default=True, help="The most rows.")
@click.option("--time-zone", "zone", type=_Zone(), metavar="ZONE", help="Whose days. Default: those of this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with money in nanodollars.")
@click.option(
    "--html",
    "page",
    metavar="[OUT]",
    is_flag=False,
    flag_value="",
    help="Write the page of the hub into OUT, or to standard output for -; without OUT, open it in the browser.",
)
def usage(
    *, by: str, days: int, person: str | None, most: int, zone: ZoneInfo | None, as_json: bool, page: str | None
) -> None:
    """Show what the answers of the last days took, from the ledger of the hub.

    The rows add up to the last one, to the nanodollar. With --html, the same stands on a page with budgets, plots,
    workers and changes, or, with --person, on the page that this person sees. No prompt and no answer is in any of it.
    """
    if page is not None and (as_json or by != GroupBy.PERSON.value):
        raise click.UsageError("--html: the page shows everything at once; leave out --json and --by")
    with hub_database() as hub:
        if page is not None:
            put_page(_page(hub, person, days, zone), page, CACHE, _FILE)
            return
        if person is not None and person not in hub.directory().people:
            # People who are gone stay in the ledger.
            click.echo(f"There is no person {shown_argument(person)} in the hub.", err=True)
        column = None if by == _DAY else GroupBy(by)
        shown = days_until(hub.store.time(), days, zone, _zone_name(zone))
        columns = () if column is None else (column,)
        report = read_usage(hub.store, shown, columns, person=person, most=most, stacked=0)
    groups = None if column is None else report.groups[column]
    if as_json:
        click.echo(dumps(_as_json(report, groups)))
    elif report.total.answers:
        _show(report, groups)
    else:
        click.echo(f"No answer in the last {days} days.")


def _page(hub: Administration, person: str | None, days: int, zone: ZoneInfo | None) -> str:
    """The page of the whole hub, or of a person.

    Raises:
        UsageError: There is no such person.
    """
    directory = hub.directory()
    reader = OWNER if person is None else reader_of(directory, person)
    if reader is None:
        raise click.UsageError(f"there is no person {shown_argument(str(person))}")
    view = overview(hub.store, directory, reader, days, zone, _zone_name(zone))
    return file_html(view, zone, Hashes())


def _zone_name(zone: ZoneInfo | None) -> str:
    return zone.key if zone is not None else datetime.now(UTC).astimezone().tzname() or "local time"


# ---- for people ----


def _show(report: UsageReport, groups: Groups | None) -> None:
    within = () if groups is None else _WITHIN.get(groups.by, ())
    columns = (_DAY if groups is None else groups.by.value, *within, *_NUMBERS)
    rows = [*(_day_rows(report) if groups is None else _group_rows(groups, report.total, len(within)))]
    rows.append(("all", *("" for _ in within), *_cells(report.total, report.total)))
    show_table(columns, rows, right=_NUMBERS)
    for note in _notes(report.total):
        click.echo(note)


def _notes(total: Sums) -> list[str]:
    counts = (
        (total.estimated, "estimated, because the answer was cut or reported no usage"),
        (total.unpriced, "without a known cost, which is not in the sum"),
        (total.uncounted, "without a known number of tokens, which is not in the sum"),
        (total.failed, "failed, cut or cancelled"),
    )
    return [f"{count:,} of {total.answers:,}: {what}." for count, what in counts if count]


def _day_rows(report: UsageReport) -> Iterator[Sequence[str]]:
    for day, sums in zip(report.days.names, report.of_days, strict=True):
        if sums.answers:
            yield (day.isoformat(), *_cells(sums, report.total))


def _group_rows(groups: Groups, total: Sums, within: int) -> Iterator[Sequence[str]]:
    for one in groups.shown:
        yield (one.name, *one.within, *_cells(one.sums, total))
    if groups.other_groups:
        yield (f"{groups.other_groups:,} more", *("" for _ in range(within)), *_cells(groups.others, total))


def _cells(sums: Sums, total: Sums) -> tuple[str, ...]:
    counts = (sums.answers, sums.input_tokens, sums.cached_tokens, sums.output_tokens)
    cost = amount_text(BudgetUnit.MONEY, sums.nanodollars)
    part = percent(sums.nanodollars, total.nanodollars) if total.nanodollars else ""
    return (*(f"{count:,}" for count in counts), cost, part)


# ---- for programs ----


def _as_json(report: UsageReport, groups: Groups | None) -> dict[str, Any]:
    days = report.days
    said: dict[str, Any] = {
        "from": days.names[0].isoformat(),
        "to": days.names[-1].isoformat(),
        "time_zone": days.time_zone,
        "total": report.total._asdict(),
    }
    if groups is None:
        return said | {
            "days": [
                {_DAY: day.isoformat(), **sums._asdict()} for day, sums in zip(days.names, report.of_days, strict=True)
            ]
        }
    names = (groups.by.value, *_WITHIN.get(groups.by, ()))
    return said | {
        "by": groups.by.value,
        "groups": [
            {
                **dict(zip(names, (one.name or None, *one.within), strict=True)),
                **one.sums._asdict(),
                "last_at": one.last_at,
            }
            for one in groups.shown
        ],
        "others": {"groups": groups.other_groups, **groups.others._asdict()},
    }


USAGE_COMMANDS: Final[Mapping[str, click.Command]] = {"usage": usage}
