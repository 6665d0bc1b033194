"""The page of the hub: budgets, usage, workers and changes, as HTML that needs no other file.

The same HTML is written in two ways. A file holds all of it, and no script. A server sends a frame that holds nothing
of the hub; its script gets the content with the reader's key, in a header. Amounts are exact integers, shown with as
few digits as a reader needs; every plot has a table or a label that says the same in words.
"""

from __future__ import annotations
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from partstream.server.pages.document import PATTERNS, Column, Piece, bars, document, figure, resource, table, text
from partstream.server.pages.usage import exact, share, tokens
from partstream_hub import usage
from partstream_hub.directory import BudgetUnit, OwnerKind, Period

if TYPE_CHECKING:
    from partstream.server.pages.document import ContentPolicy

# ---- The whole page ----

_PACKAGE: Final = "partstream_hub.page"
PERIODS: Final = (1, 7, 30, 90)
"""The days that a reader chooses between."""

_SHAPES: Final = PATTERNS + resource(_PACKAGE, "patterns.svg")
_FOOTNOTE: Final = (
    "~: includes estimates, for answers that were cut or whose server reported no numbers. ≥: without answers whose "
    "tokens or price are unknown. Spent and reserved together "
    "are never more than the limit. What is reserved and not needed goes back when the answer ends. Cached input is "
    "that part of the input that came from a prompt cache. No prompt and no answer is on this page."
)


def file_html(view: usage.HubView, zone: tzinfo | None, policy: ContentPolicy) -> str:
    """The page as a file, which needs no other and asks for none; `policy` is how the page names what it allows."""
    body = f"{_SHAPES}\n{content_html(view, zone)}"
    return document("Hub - Partstream", body, policy, styles=_styles())


def frame_html(policy: ContentPolicy) -> str:
    """The page as a server sends it, without any data; the policy must let its script connect to its own server."""
    body = (
        f"{_SHAPES}\n<main><h1>Hub</h1><noscript><p>This page needs its script, which asks the hub with your key. "
        "<code>partstream hub usage --html FILE</code> writes the same as a file that needs none.</p></noscript></main>"
        '\n<p class="unseen" id="said" role="status"></p>'
    )
    scripts = (resource("partstream.server.pages", "replacing.js") + resource(_PACKAGE, "hub.js"),)
    return document("Hub - Partstream", body, policy, styles=_styles(), scripts=scripts)


def content_html(view: usage.HubView, zone: tzinfo | None, *, is_live: bool = False) -> str:
    """The element `main` of the page; if it is live, a script is there that shows other periods."""
    return "\n".join(("<main>", *_lines(view, zone, is_live=is_live), "</main>"))


def _styles() -> tuple[str, ...]:
    of_server = "".join(resource("partstream.server.pages", name) for name in ("theme.css", "usage.css"))
    return (of_server + resource(_PACKAGE, "hub.css"),)


def _lines(view: usage.HubView, zone: tzinfo | None, *, is_live: bool) -> Iterator[str]:
    reader = view.reader
    yield f"<h1>{'Hub' if reader.is_admin else f'Hub: {text(reader.name)}'}</h1>"
    read_at = datetime.fromtimestamp(view.read_at, UTC).astimezone(zone)
    read = f"Read {read_at:%Y-%m-%d %H:%M:%S} ({view.usage.days.time_zone})."
    whose = "Your budgets and your answers" + (f", in team {reader.team}." if reader.team else ".")
    if reader.is_admin:
        whose = f"All of {count(view.people, 'person', 'people')} in {count(view.teams, 'team')}."
    yield f'<p class="quiet">{text(whose)} {text(read)}</p>'
    if is_live:
        yield _controls(len(view.usage.of_days))
    yield from totals(view.usage)
    sections = [("budgets", "Budgets"), ("days", "Days"), *(_TITLES[by][:2] for by in view.usage.groups)]
    sections += [("workers", "Workers"), ("changes", "Changes")] if reader.is_admin else []
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in sections)
    yield f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
    yield from budget_section(view)
    yield from _days(view.usage)
    for groups in view.usage.groups.values():
        yield from _section(groups, view)
    if reader.is_admin:
        yield from operation_sections(view, zone)
    yield f'<p class="quiet footnote">{text(_FOOTNOTE)}</p>'


def _controls(days: int) -> str:
    """The buttons of the page: the script listens to them by their `data-` attributes."""
    names = {1: "Today", 7: "7 days", 30: "30 days", 90: "90 days"}
    periods = "".join(
        f'<button type="button" data-days="{one}" aria-pressed="{str(one == days).lower()}">{names[one]}</button>'
        for one in PERIODS
    )
    return (
        f'<div class="controls"><div role="group" aria-label="Period">{periods}</div>'
        '<button type="button" data-action="refresh">Refresh</button>'
        '<button type="button" data-action="leave">Forget my key</button></div>'
    )


# ---- Budgets ----

_NEARLY: Final = 80
"""The percent that a budget is nearly used up at."""
_MOST_SHOWN: Final = 300
"""The most budgets on one page: the others are those of which least is used."""
_LEGEND: Final = resource(_PACKAGE, "legend.html")


def budget_section(view: usage.HubView) -> Iterator[str]:
    """The section of the page; a budget tells its times in its own time zone."""
    yield '<section id="budgets" aria-labelledby="budgets-title"><h2 id="budgets-title">Budgets</h2>'
    shown = sorted(view.budgets, key=_share, reverse=True)[:_MOST_SHOWN]
    yield _LEGEND if view.budgets else "<p>No budget is set.</p>"
    of_teams = sorted(shown, key=lambda one: (not one.team, one.team.casefold(), one.team))
    for team, budgets in groupby(of_teams, key=lambda one: one.team):
        if view.reader.is_admin:
            yield f"<h3>{f'Team {text(team)}' if team else 'Without a team'}</h3>"
        yield '<ul class="budgets">'
        for one in sorted(budgets, key=_order):
            yield "".join(_budget(one, view))
        yield "</ul>"
    left_out = len(view.budgets) - len(shown)
    if left_out:
        yield f"<p>And {count(left_out, 'budget')} of which less is used; <code>partstream hub list</code> has all.</p>"
    yield "</section>"


def _order(budget: usage.BudgetState) -> tuple[bool, float, str, str]:
    """The budgets of the team first, then those of which most is used."""
    return budget.owner is not OwnerKind.TEAM, -_share(budget), budget.name.casefold(), budget.label


def _share(budget: usage.BudgetState) -> float:
    return (budget.spent + budget.reserved) / budget.limit if budget.limit else 1.0


def _budget(budget: usage.BudgetState, view: usage.HubView) -> Iterator[str]:
    style, word, sign = _level(budget)
    yield f'<li class="budget {style}"><div class="budget-head">'
    yield f"<strong><bdi>{text(_budget_name(budget))}</bdi></strong>"
    period = _PERIODS[budget.period]
    yield f' <span class="quiet">{budget.owner.value}, {amount(budget.unit, budget.limit)} {text(period)}</span>'
    if word:
        yield f' <span class="badge"><span aria-hidden="true">{sign}</span> {word}</span>'
    yield f"</div>{_meter(budget)}"
    yield '<dl class="amounts">'
    for name, value in _amounts(budget):
        yield f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>"
    yield f"</dl>{_reset(budget, view.read_at)}</li>"


def _budget_name(budget: usage.BudgetState) -> str:
    return f"{budget.name}: {budget.label}" if budget.label else budget.name


def _amounts(budget: usage.BudgetState) -> Sequence[tuple[str, str]]:
    rows = [
        ("spent", f"{amount(budget.unit, budget.spent)} ({percent(budget.spent, budget.limit)})"),
        ("reserved", amount(budget.unit, budget.reserved)),
        ("left", amount(budget.unit, budget.left)),
    ]
    return [*rows, ("overrun", amount(budget.unit, budget.overrun))] if budget.overrun else rows


def _reset(budget: usage.BudgetState, now: float) -> str:
    said = "never resets"
    if budget.ends_at is not None:
        when = moment(budget.ends_at, ZoneInfo(budget.time_zone))
        said = f"resets {until(budget.ends_at, now)}: {when} ({text(budget.time_zone)})"
    return f'<p class="reset quiet">{said}</p>'


def _meter(budget: usage.BudgetState) -> str:
    """The bar; its label says all that it shows."""
    whole = max(budget.limit, budget.spent + budget.reserved, 1)
    spent, reserved = (f"{part / whole * 100:.3f}%" for part in (budget.spent, budget.reserved))
    words = ", ".join(f"{name} {value}" for name, value in _amounts(budget))
    pieces = f'<rect class="spent" width="{spent}" height="100%"/>' if budget.spent else ""
    if budget.reserved:
        pieces += f'<rect class="reserved" x="{spent}" width="{reserved}" height="100%"/>'
    label = text(f"{_budget_name(budget)}: {words}, of {amount(budget.unit, budget.limit)}")
    return f'<svg class="meter" role="img" aria-label="{label}">{pieces}</svg>'


def _level(budget: usage.BudgetState) -> tuple[str, str, str]:
    """How much of a budget is used: its class, its word and the sign beside the word."""
    if budget.overrun:
        return "none", "overrun", "✗"
    if budget.spent >= budget.limit:
        return "none", "used up", "✗"
    return ("little", "nearly used up", "!") if budget.spent * 100 >= budget.limit * _NEARLY else ("enough", "", "")


# ---- Usage ----

_TOKENS: Final = (Piece("new input", "new"), Piece("cached input", "cached"), Piece("output", "output"))
_COST: Final = (Piece("cost", "cost"),)
_SERIES: Final = ("series-1", "series-2", "series-3", "series-4", "series-5", "series-rest")
"""The classes of the pieces of a plot; the last is that of all others."""

_SUMMED: Final = ("answers", "input", "cached", "output", "cost", "share")
_TITLES: Final = {
    usage.GroupBy.TEAM: ("teams", "Teams", "team"),
    usage.GroupBy.PERSON: ("people", "People", "person"),
    usage.GroupBy.MODEL: ("models", "Models", "model"),
    usage.GroupBy.CLIENT: ("clients", "Clients", "client"),
    usage.GroupBy.SESSION: ("sessions", "Sessions", "session"),
}
"""The id, the title and the first column of each section."""
_USAGE_OF_TEXT: Final = frozenset({"day", "team", "person", "model", "client", "session", "last answer"})
_NAMELESS: Final = {
    usage.GroupBy.SESSION: "no session named",
    usage.GroupBy.CLIENT: "unknown client",
    usage.GroupBy.TEAM: "no team",
}


def totals(report: usage.UsageReport) -> Iterator[str]:
    """The totals of today and of all days of the report."""
    periods = [("Today", report.of_days[-1])]
    if len(report.of_days) > 1:
        periods.append((f"Last {len(report.of_days)} days", report.total))
    yield '<div class="periods">'
    for title, sums in periods:
        rows = (
            ("Cost", money(sums.nanodollars)),
            ("Answers", exact(sums.answers)),
            ("Input", tokens(sums.input_tokens)),
            ("Cached", share(sums.cached_tokens, sums.input_tokens) or "–"),
            ("Output", tokens(sums.output_tokens)),
        )
        entries = "".join(f"<div><dt>{label}</dt><dd>{text(value)}</dd></div>" for label, value in rows)
        yield f'<div><h2>{title}</h2><dl class="totals">{entries}</dl></div>'
    yield "</div>"


def _days(report: usage.UsageReport) -> Iterator[str]:
    yield '<section id="days" aria-labelledby="days-title"><h2 id="days-title">Days</h2>'
    if not report.total.answers:
        yield "<p>None yet.</p></section>"
        return
    costs = [(sums.nanodollars,) for sums in report.of_days]
    columns = _columns(report, costs, [money(sums.nanodollars) for sums in report.of_days])
    yield '<div class="figures">'
    yield figure("Cost a day", bars("Cost a day", columns, _COST, money_tick, "cost"), ())
    cached = [(min(one.cached_tokens, one.input_tokens), one) for one in report.of_days]
    pieces = [(one.input_tokens - from_cache, from_cache, one.output_tokens) for from_cache, one in cached]
    said = ([f"{exact(n)} {piece.name}" for n, piece in zip(one, _TOKENS, strict=True)] for one in pieces)
    words = [", ".join(one) for one in said]
    plot = bars("Tokens a day, by kind", _columns(report, pieces, words), _TOKENS, tokens, "tokens")
    yield figure("Tokens a day", plot, _TOKENS) + "</div>"
    rows = [
        [day.isoformat(), *_cells(sums, report.total)]
        for day, sums in zip(report.days.names, report.of_days, strict=True)
        if sums.answers
    ]
    foot = ["all days", *_cells(report.total, report.total)]
    yield '<details id="days-table"><summary>Days as a table</summary>'
    yield from table("Days", ("day", *_SUMMED), rows[::-1], of_text=_USAGE_OF_TEXT, foot=foot)
    yield "</details>"
    yield "</section>"


def _columns(report: usage.UsageReport, heights: Sequence[Sequence[int]], words: Sequence[str]) -> list[Column]:
    """A column a day; of a day without an answer it says so."""
    return [
        Column(day.isoformat()[5:], f"{day}: {said if sums.answers else 'no answer'}", tuple(map(float, height)))
        for day, sums, height, said in zip(report.days.names, report.of_days, heights, words, strict=True)
    ]


def _section(groups: usage.Groups, view: usage.HubView) -> Iterator[str]:
    name, title, column = _TITLES[groups.by]
    yield f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
    if len(groups.days) > 1 and view.usage.total.nanodollars:
        yield _stacked(groups, view.usage, name, column)
    within, total = usage.NAMES[groups.by][1:], view.usage.total
    rows = [_row(groups.by, group, total, view.read_at) for group in groups.shown]
    if groups.other_groups:
        others = count(groups.other_groups, f"other {column}", f"other {title.lower()}")
        rows.append([others, *("" for _ in within), *_cells(groups.others, total), ""])
    names = (column, *within, *_SUMMED, "last answer")
    foot = ["all", *("" for _ in within), *_cells(groups.whole, total), ""]
    yield from table(title, names, rows, of_text=_USAGE_OF_TEXT, foot=foot)
    yield "</section>"


def _row(by: usage.GroupBy, group: usage.UsageGroup, total: usage.Sums, now: float) -> list[str]:
    shown = text(group.name) if group.name else f'<span class="quiet">{_NAMELESS.get(by, "none")}</span>'
    within = [f"<bdi>{text(one)}</bdi>" for one in group.within]
    last = "" if group.last_at is None else ago(group.last_at, now)
    return [f'<bdi class="name">{shown}</bdi>', *within, *_cells(group.sums, total), last]


def _stacked(groups: usage.Groups, report: usage.UsageReport, name: str, column: str) -> str:
    """The cost of each day, in pieces: the first groups, and all others."""
    named = groups.days[: len(_SERIES) - 1]
    rest = [
        sums.minus(usage.added(*(of_days[place] for _, of_days in named))) for place, sums in enumerate(report.of_days)
    ]
    all_named = [*named, ("others", tuple(rest))] if any(one.answers for one in rest) else named
    styles = [*_SERIES[: len(named)], _SERIES[-1]][: len(all_named)]
    pieces = [
        Piece(one or _NAMELESS.get(groups.by, "none"), style) for (one, _), style in zip(all_named, styles, strict=True)
    ]
    heights = [[of_days[place].nanodollars for _, of_days in all_named] for place in range(len(report.of_days))]
    words = [
        ", ".join(f"{piece.name} {money(height)}" for piece, height in zip(pieces, of_day, strict=True) if height)
        or money(0)
        for of_day in heights
    ]
    title = f"Cost a day, by {column}"
    plot = bars(title, _columns(report, heights, words), pieces, money_tick, f"{name}-cost")
    return figure(title, plot, pieces)


def _cells(sums: usage.Sums, total: usage.Sums) -> tuple[str, ...]:
    about = "~" if sums.estimated else ""
    tokens_sign = about + ("≥ " if sums.uncounted else "")
    cost_sign = about + ("≥ " if sums.unpriced else "")
    notes = ((sums.failed, "not whole"), (sums.unbelievable, "with a report that is not believed"))
    return (
        exact(sums.answers)
        + "".join(f' <span class="quiet">({exact(count)} {what})</span>' for count, what in notes if count),
        tokens_sign + exact(sums.input_tokens),
        share(sums.cached_tokens, sums.input_tokens),
        tokens_sign + exact(sums.output_tokens),
        cost_sign + text(amount(BudgetUnit.MONEY, sums.nanodollars)),
        _share_bar(sums, total),
    )


def _share_bar(sums: usage.Sums, total: usage.Sums) -> str:
    """The share of the cost, or of the tokens where nothing had a cost, as a bar with its number."""
    part, whole = (
        (sums.nanodollars, total.nanodollars)
        if total.nanodollars
        else (sums.input_tokens + sums.output_tokens, total.input_tokens + total.output_tokens)
    )
    width = f"{part / whole * 100:.2f}%" if whole else "0%"
    bar = f'<svg class="share" aria-hidden="true"><rect class="cost" width="{width}" height="100%"/></svg>'
    return f'{bar} <span class="percent">{text(percent(part, whole))}</span>'


# ---- Workers, database and changes ----

_OF_TEXT: Final = frozenset({"worker", "state", "came", "seen", "when", "who", "change", "fields"})


def operation_sections(view: usage.HubView, zone: tzinfo | None) -> Iterator[str]:
    """The sections of workers, database and changes."""
    yield '<section id="workers" aria-labelledby="workers-title"><h2 id="workers-title">Workers and database</h2>'
    if view.database is not None:
        yield from _database(view.database, zone)
    live = sum(one.is_live for one in view.workers)
    yield f"<p>{count(live, 'worker')} of {len(view.workers):,} {'answers' if live == 1 else 'answer'}.</p>"
    workers = sorted(view.workers, key=lambda one: (not one.is_live, one.name))
    if rows := [_worker(one, view.read_at, zone) for one in workers]:
        yield from table("Workers", ("worker", "state", "came", "seen", "budgets kept"), rows, of_text=_OF_TEXT)
    yield '</section><section id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Changes</h2>'
    changes = [
        [moment(one.at, zone), text(one.by), text(one.what), text("; ".join(one.fields))] for one in view.changes
    ]
    yield from table("Changes", ("when", "who", "change", "fields"), changes, of_text=_OF_TEXT)
    yield "</section>"


def _database(database: usage.DatabaseState, zone: tzinfo | None) -> Iterator[str]:
    since = "no answer yet" if database.ledger_since is None else f"since {moment(database.ledger_since, zone)}"
    rows = (
        ("Tables", f"version {database.schema}"),
        ("Directory", f"version {database.directory_version:,}"),
        ("Ledger", since),
        ("Leases", "do not add up" if database.broken else "add up"),
    )
    entries = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    yield f'<dl class="totals facts">{entries}</dl>'
    if database.broken:
        yield f'<ul class="broken">{"".join(f"<li>{text(one)}</li>" for one in database.broken)}</ul>'


def _worker(worker: usage.WorkerState, now: float, zone: tzinfo | None) -> list[str]:
    style, sign, word = ("good", "●", "answers") if worker.is_live else ("quiet", "○", "silent")
    return [
        f'<bdi class="name">{text(worker.name)}</bdi>',
        f'<span class="{style}"><span aria-hidden="true">{sign}</span> {word}</span>',
        moment(worker.started_at, zone),
        "" if worker.seen_at is None else ago(worker.seen_at, now),
        f"{worker.budgets:,}",
    ]


# ---- Amounts and times in words ----

_NANO: Final = Decimal(10) ** 9
_A_CENT: Final = 10_000_000
"""Nanodollars."""
_LEAST: Final = 1_000
_PERIODS: Final = {Period.DAY: "a day", Period.WEEK: "a week", Period.MONTH: "a month", Period.TOTAL: "in all"}
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_WHOLE_NUMBER: Final = 1_000_000


def money(nanodollars: int) -> str:
    """$1,234.56, or below a cent the two digits that matter: $0.0013."""
    if nanodollars < 0:
        return f"-{money(-nanodollars)}"
    dollars = Decimal(nanodollars) / _NANO
    if nanodollars == 0 or nanodollars >= _A_CENT:
        return f"${dollars:,.2f}"
    shown = f"{Decimal(f'{dollars:.2g}'):f}"
    return f"${shown.rstrip('0')}" if nanodollars >= _LEAST else "< $0.000001"


def money_tick(nanodollars: float) -> str:
    """An amount on the scale of a plot."""
    return money(round(nanodollars))


def amount(unit: BudgetUnit, value: int) -> str:
    """An amount of a budget: money, or tokens."""
    shown = exact(value) if value < _WHOLE_NUMBER else tokens(value)
    return money(value) if unit is BudgetUnit.MONEY else f"{shown} tokens"


def percent(part: int, whole: int) -> str:
    """A part in percent, rounded down, so that 100 % is all of it; a little of it is no 0 %."""
    if whole <= 0:
        return "100%" if part else "0%"
    share = part * 100 // whole
    return "< 1%" if part and share == 0 else f"{share}%"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 answer`, `2 answers`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def moment(seconds: float | None, zone: tzinfo | None) -> str:
    """A time as HTML, in the zone of the page; nothing for an unknown one."""
    if seconds is None:
        return ""
    then = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    return f'<time datetime="{then.isoformat(timespec="seconds")}">{text(then.strftime("%Y-%m-%d %H:%M"))}</time>'


def until(seconds: float, now: float) -> str:
    """`in 3 days`, `in 5 hours`, `in a moment`."""
    return _rough(seconds - now, "in {}", "in a moment")


def ago(seconds: float, now: float) -> str:
    """`3 days ago`, `5 minutes ago`, `just now`."""
    return _rough(now - seconds, "{} ago", "just now")


def _rough(seconds: float, form: str, little: str) -> str:
    for size, name in _UNITS:
        if seconds >= size:
            return form.format(count(int(seconds // size), name))
    return little
