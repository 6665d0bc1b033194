"""`partstream hub list`, `show`, `changes`, `usage`, `answers` and `page`: what a hub holds and what its answers took.

Each command opens the database, reads, and closes it before it prints a table for people or JSON for programs. The
numbers of `show` are those of this moment; `usage` and `answers` read the ledger; `page` prints a link that opens the
page of a running hub, once.
"""

from __future__ import annotations
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import click

from partstream.cli.console import can_open_browser, open_link, page_option, put_page
from partstream.codec.json_codec import dumps, loads
from partstream.codec.system import CACHE
from partstream.config.editing import written_value
from partstream.pages.document import Hashes
from partstream.tokens.amounts import BudgetAmount, BudgetUnit, amount_text, budget_text
from partstream_hub.commands_database import (
    Administration,
    Fitting,
    hub_database,
    hub_url,
    show_table,
    shown_argument,
    time_text,
    url_option,
)
from partstream_hub.configuration import FIELDS, TABLES, Section, document_of, entries_of
from partstream_hub.directory import ENTRIES, ZONE
from partstream_hub.page import file_html, percents
from partstream_hub.store.rows import LEDGER
from partstream_hub.usage import MOST_GROUPS, NAMES, OWNER, GroupBy, Sums, days_until, overview, read_usage

if TYPE_CHECKING:
    from partstream_hub.usage import Groups, UsageReport

# ---- hub list ----

_EVERYTHING: Final = "all"
_BUDGET_COLUMNS: Final = ("budget", "of", "spent", "reserved", "left", "resets")


@click.command("list", short_help="List teams, people and models.")
@click.argument("what", type=click.Choice([_EVERYTHING, *map(str, TABLES)]), default=_EVERYTHING)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the fields of hub.toml.")
def list_(what: str, *, as_json: bool) -> None:
    """List teams, people and models; `partstream hub key list` lists keys."""
    with hub_database() as hub:
        document = document_of(hub.directory())
    shown = {section: entries for section, entries in document.items() if what in (_EVERYTHING, section)}
    filled = [(section, entries) for section, entries in shown.items() if entries]
    if as_json:
        click.echo(dumps(_plain(shown)))
    elif not filled:
        click.echo("There is nothing yet; `partstream hub add person NAME` adds a person.")
    for number, (section, entries) in enumerate(() if as_json else filled):
        if number:
            click.echo()
        fields = [name for name in FIELDS[section] if any(name in entry for entry in entries.values())]
        rows = [(name, *(_cell(_plain(entry.get(one))) for one in fields)) for name, entry in entries.items()]
        show_table((section.one, *fields), rows)


def _plain(value: Any) -> Any:
    """A value in JSON's types; a price is a text, so that nothing of it is lost."""
    if hasattr(value, "items"):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | bool | int) else f"{value:f}"


def _cell(value: Any) -> str:
    """A value of an entry on one line; nothing for one that is left out."""
    if isinstance(value, dict):
        return "/".join(map(_cell, value.values()))
    if isinstance(value, list):
        return ", ".join(map(_cell, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


# ---- hub show ----


@click.command("show", short_help="Show one team, person, model or key, with what is left of its budgets.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array: one object for each that has the name.")
def show(name: str, *, as_json: bool) -> None:
    """Show the team, person, model or key NAME, with what was spent of each budget that holds for it.

    Reserved is what workers hold for answers that run or may come soon. The numbers are those of this moment.
    """
    with hub_database() as hub:
        shown = [*_entries(hub, name)]
    if not shown:
        said = f"there is no team, person, model or key {shown_argument(name)}; `partstream hub list` shows all"
        raise click.UsageError(said)
    if as_json:
        click.echo(dumps(shown))
        return
    for number, one in enumerate(shown):
        if number:
            click.echo()
        click.echo(f"{one['kind']} {one['name']}")
        for field, value in one["fields"].items():
            if field != "budgets":
                click.echo(f"    {field} = {written_value(value)}")
        rows = []
        for standing in one["budgets"]:
            amounts = (text.rpartition(" ")[0] for text in standing["text"].values())  # the first column has the unit
            resets = time_text(standing["resets_at"]) if standing["resets_at"] else "never"
            rows.append((standing["budget"], standing["of"], *amounts, resets))
        if rows:
            click.echo()
            show_table(_BUDGET_COLUMNS, rows, right=("spent", "reserved", "left"))


def _entries(hub: Administration, name: str) -> Iterator[dict[str, Any]]:
    """All entries of a name, each with what is left of each budget that holds for it."""
    directory = hub.directory()
    for section in Section:
        if (fields := entries_of(section, directory).get(name)) is None:
            continue
        entry = getattr(directory, ENTRIES[section.one])[name]
        if section is Section.KEYS:
            times = {"made": entry.created_at, "expires": entry.expires_at, "revoked": entry.revoked_at}
            shown = {one: time_text(time) for one, time in times.items() if time is not None}
            fields = {"person": entry.person, **({"label": entry.label} if entry.label else {}), **fields, **shown}
        rules = directory.budgets_of(entry)
        windows = hub.store.open_windows(rules) if rules else {}
        standings = [
            {
                "budget": budget_text(BudgetAmount(rule.unit, rule.period, rule.limit)),
                "of": str(rule.owner),
                "unit": rule.unit.value,
                "period": rule.period.value,
                "limit": window.limit,
                "spent": window.spent,
                "reserved": window.reserved,
                "remaining": window.free,
                "overrun": window.overrun,
                "resets_at": window.ends_at,
                "text": {one: amount_text(rule.unit, getattr(window, one)) for one in ("spent", "reserved", "free")},
            }
            for rule in rules
            for window in (windows[rule.id],)
        ]
        yield {"kind": section.one, "name": name, "fields": _plain(fields), "budgets": standings}


# ---- hub changes ----


@click.command("changes", short_help="Show who changed what.")
@click.option("--most", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most changes.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with each entry before and after.")
def changes(most: int, *, as_json: bool) -> None:
    """Show who changed what, the newest first. It holds no keys."""
    with hub_database() as hub:
        records = hub.store.records(most)
    if as_json:
        click.echo(dumps([asdict(one) for one in records]))
    elif records:
        rows = [(time_text(one.time), str(one.version), one.by, one.action) for one in records]
        show_table(("time", "version", "by", "what"), rows, right=("version",))
    else:
        click.echo("Nothing has been changed yet.")


# ---- hub usage ----

_DAY: Final = "day"
_USAGE_FILE: Final = "hub-usage.html"
_NUMBERS: Final = ("answers", "input", "cached", "output", "cost", "share")


@click.command("usage", short_help="Show tokens and costs: by person, team, model, client, session or day.")
@click.option(
    "--by",
    type=click.Choice([*(one.value for one in GroupBy), _DAY]),
    default=GroupBy.PERSON.value,
    show_default=True,
    help="How the answers are grouped.",
)
@click.option(
    "--days", type=click.IntRange(1, 3_650), default=30, show_default=True, help="Number of days, including today."
)
@click.option("--person", metavar="NAME", help="Only the answers of this person.")
@click.option("--most", type=click.IntRange(1), default=MOST_GROUPS, show_default=True, help="The most rows.")
@click.option(
    "--time-zone",
    "zone_name",
    type=Fitting(ZONE),
    metavar="ZONE",
    help="The time zone of days. Default: that of this machine.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with money in nanodollars.")
@page_option("the page of the hub")
def usage(
    *, by: str, days: int, person: str | None, most: int, zone_name: str | None, as_json: bool, page: str | None
) -> None:
    """Show the tokens and costs of the last days, from the ledger of the hub.

    The rows add up to the last one, to the nanodollar. With --html, the same is a page with budgets, plots, workers
    and changes, or, with --person, the page that this person sees. None of it holds a prompt or an answer.
    """
    if page is not None and (as_json or by != GroupBy.PERSON.value):
        raise click.UsageError("--html: the page shows everything at once; leave out --json and --by")
    zone = None if zone_name is None else ZoneInfo(zone_name)
    zone_name = zone_name or datetime.now(UTC).astimezone().tzname() or "local time"
    with hub_database() as hub:
        if page is not None:
            directory = hub.directory()
            reader = OWNER if person is None else directory.people.get(person)
            if reader is None:
                raise click.UsageError(f"there is no person {shown_argument(str(person))}")
            view = overview(hub.store, directory, reader, days, zone, zone_name)
            put_page(file_html(view, zone, Hashes()), page, CACHE, _USAGE_FILE)
            return
        if person is not None and person not in hub.directory().people:
            # People who are gone stay in the ledger.
            click.echo(f"There is no person {shown_argument(person)} in the hub.", err=True)
        column = None if by == _DAY else GroupBy(by)
        shown = days_until(hub.store.time(), days, zone, zone_name)
        columns = () if column is None else (column,)
        report = read_usage(hub.store, shown, columns, person=person, most=most, stacked=0)
    groups = None if column is None else report.groups[column]
    if as_json:
        click.echo(dumps(_as_json(report, groups)))
    elif report.total.answers:
        _show(report, groups)
    else:
        click.echo(f"No answer in the last {days} days.")


def _show(report: UsageReport, groups: Groups | None) -> None:
    within = () if groups is None else NAMES[groups.by][1:]
    total, empty = report.total, ["" for _ in within]
    if groups is None:
        days = zip(report.days.names, report.of_days, strict=True)
        rows: list[tuple[tuple[str, ...], Sums]] = [((day.isoformat(),), sums) for day, sums in days if sums.answers]
    else:
        rows = [((one.name, *one.within), one.sums) for one in groups.shown]
        if groups.other_groups:
            rows.append(((f"{groups.other_groups:,} more", *empty), groups.others))
    parts = [*percents([sums.nanodollars for _, sums in rows], total.nanodollars), "100%"]
    cells = [
        (
            *names,
            *(f"{one:,}" for one in (sums.answers, sums.input_tokens, sums.cached_tokens, sums.output_tokens)),
            amount_text(BudgetUnit.MONEY, sums.nanodollars),
            part if total.nanodollars else "",
        )
        for (names, sums), part in zip([*rows, (("all", *empty), total)], parts, strict=True)
    ]
    show_table((_DAY if groups is None else groups.by.value, *within, *_NUMBERS), cells, right=_NUMBERS)
    counts = {
        "estimated, because the answer was cut or reported no usage": total.estimated,
        "without a known cost, which is not in the sum": total.unpriced,
        "without a known number of tokens, which is not in the sum": total.uncounted,
        "failed, cut or cancelled": total.failed,
        "charged by an upper bound, because more was reported than they can have taken": total.unbelievable,
    }
    for what, count in counts.items():
        if count:
            click.echo(f"{count:,} of {total.answers:,}: {what}.")


def _as_json(report: UsageReport, groups: Groups | None) -> dict[str, Any]:
    said: dict[str, Any] = {
        "from": report.days.names[0].isoformat(),
        "to": report.days.names[-1].isoformat(),
        "time_zone": report.days.time_zone,
        "total": report.total._asdict(),
    }
    if groups is None:
        of_days = zip(report.days.names, report.of_days, strict=True)
        return said | {"days": [{_DAY: day.isoformat(), **sums._asdict()} for day, sums in of_days]}
    columns = (groups.by.value, *NAMES[groups.by][1:])
    shown = [
        {
            **dict(zip(columns, (one.name or None, *one.within), strict=True)),
            **one.sums._asdict(),
            "last_at": one.last_at,
        }
        for one in groups.shown
    ]
    others = {"groups": groups.other_groups, **groups.others._asdict()}
    return said | {"by": groups.by.value, "groups": shown, "others": others}


# ---- hub answers ----

_FIELDS: Final = tuple(LEDGER)
_ANSWER_COLUMNS: Final = ("time", "id", "person", "model", "input", "output", "USD", "outcome")


@click.command("answers", short_help="Show single answers: who asked for what, when, and how it ended.")
@click.argument("answer_id", metavar="[ID]", required=False)
@click.option("--person", metavar="NAME", help="Show only the answers of this person.")
@click.option("--most", type=click.IntRange(1, 100_000), default=50, show_default=True, help="The most answers.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with all that the ledger has of each.")
def answers(answer_id: str | None, person: str | None, most: int, *, as_json: bool) -> None:
    """Show the answers in the ledger, the newest first; or all that is known of the answer ID, as JSON.

    No word of a prompt or an answer is in the ledger. Where the policy of a team keeps them, `hub answers ID` shows the
    request and the answer. A cost with ~ is an estimate: the answer was cut, or its provider reported no usage.
    """
    wanted = {"answer_id": answer_id, "person": person}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(["TRUE", *(f"{name} = ?" for name in given)])  # names of our own; the values are parameters
    statement = f"SELECT {', '.join(_FIELDS)} FROM hub_ledger WHERE {where} ORDER BY time DESC, answer_id LIMIT ?"  # noqa: S608
    with hub_database() as hub:
        found = hub.store.read(statement, [*given.values(), most])
        rows = [dict(zip(_FIELDS, row, strict=True)) for row in found]
        for row in rows:  # of which SQLite writes a truth as a number
            row["is_estimated"] = bool(row["is_estimated"])
        content = None if answer_id is None else hub.store.contents(answer_id)
    if answer_id is not None:
        if not rows:
            raise click.UsageError(f"ID: got {shown_argument(answer_id)}, expected the id of an answer in the ledger")
        texts = {} if content is None else {"request": loads(content.request), "answer": loads(content.response)}
        click.echo(dumps({**rows[0], **texts}))
    elif as_json:
        click.echo(dumps(rows))
    elif rows:
        cells = []
        for row in rows:
            counts = ("" if row[name] is None else f"{row[name]:,}" for name in ("input_tokens", "output_tokens"))
            money = None if row["nanodollars"] is None else amount_text(BudgetUnit.MONEY, row["nanodollars"])
            cost = "" if money is None else "~" * row["is_estimated"] + money.partition(" ")[0]
            who = (time_text(row["time"]), row["answer_id"], row["person"], row["model"])
            cells.append((*who, *counts, cost, row["error"] or row["outcome"]))
        show_table(_ANSWER_COLUMNS, cells, right=("input", "output", "USD"))
    else:
        click.echo("No answer is in the ledger.")


# ---- hub page ----

_PAGE_FILE: Final = "hub-page.html"
_LINK_SECONDS: Final = 10 * 60.0  # how long a link is good
_KEY_SECONDS: Final = 12 * 3600.0  # how long a page that was opened by a link is shown
_LABEL: Final = "page of the hub"


def one_time_link(hub: Administration, person: str, address: str) -> str:
    """A link for a person to the page of a hub, at an address without a slash at its end."""
    now = hub.store.time()
    code = hub.invite(person, now + _LINK_SECONDS, _LABEL, key_expires_at=now + _KEY_SECONDS, key_models=())
    return f"{address}/hub#{code.reveal()}"


@click.command("page", short_help="Open the page of a running hub: budgets, usage, workers, changes.")
@url_option("The address at which the hub is reached.")
@click.option("--person", metavar="NAME", help="The owner of the page. Default: the only admin.")
@click.option(
    "--browser/--no-browser",
    "opens",
    default=None,
    help="Whether a browser opens the link. Default: in a terminal, where there is a browser.",
)
def page(url: str, person: str | None, *, opens: bool | None) -> None:
    """Print a link that opens the page of a running hub, once, and open it where there is a browser.

    An admin sees the whole hub, every other person what is the person's. The link is valid for ten minutes, the page
    for twelve hours; the key that the page gets asks no model, and `partstream hub key revoke` ends it.
    """
    address = hub_url(url)
    with hub_database() as hub:
        people = hub.directory().people
        if person is None:
            admins = sorted(one.name for one in people.values() if one.is_admin and not one.is_disabled)
            if not admins:
                said = "there is no admin: `partstream hub set person NAME --admin` makes one, --person names one"
                raise click.UsageError(said)
            if len(admins) > 1:
                raise click.UsageError(f"--person: expected one of {', '.join(admins)}, or another person")
            person = admins[0]
        elif person not in people:
            raise click.UsageError(f"--person: there is no person {shown_argument(person)}")
        link = one_time_link(hub, person, address)
    click.echo(f"The page, valid once in the next {_LINK_SECONDS / 60:.0f} minutes:", err=True)
    click.echo(link)
    if opens or (opens is None and sys.stdout.isatty() and can_open_browser()):
        open_link(link, _PAGE_FILE)


COMMANDS: Final = {one.name: one for one in (list_, show, changes, usage, answers, page)}
