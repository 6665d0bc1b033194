"""The page of the hub: budgets, usage, workers and changes, as HTML that needs no other file; and its routes.

    GET  /hub           the frame of the page
    GET  /hub/join      the page that a link to join opens
    GET  /hub/v1/page   the content, with the key in a header: `?days=30&zone=Europe/Berlin`

The same HTML is written in two ways. A file holds all of it, and no script. A server sends a frame that holds nothing
of the hub, so it needs no key; its script gets the content with the reader's key, in a header. Amounts are exact
integers, shown with as few digits as a reader needs; every plot has a table or a label that says the same in words.

There is no cookie and no CORS: a page of another site cannot send the key, because it does not have it, and cannot read
an answer. The database is read in a thread of its own over a connection of its own, so that no page makes a worker wait
that reserves or settles.

The page that a link to join opens is the same for every person, and holds neither a code nor a name: its script takes
the code, which follows `#` in its URL, and gives the hub nothing until the person wants it. A link that opens the page
of the hub holds such a code too, for which the page gets a key of its own: it shows the page and asks no model, is
accepted for hours, and is one of the person's keys (`partstream hub key list` shows it, `revoke` ends it).
"""

from __future__ import annotations
import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from partstream.codec.checks import dataclass
from partstream.codec.system import SharedRoom
from partstream.codec.text import counted
from partstream.pages import document as html
from partstream.pages.usage import (
    COST,
    cached_share,
    day_column,
    dollars,
    exact,
    time_html,
    tokens,
    tokens_figure,
)
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.requests import RequestFailedError, RequestHead
from partstream.server.settings import OwnerHandler, OwnerReply, OwnerRoute
from partstream.tokens.amounts import DOLLAR, BudgetUnit
from partstream_hub import usage
from partstream_hub.budgets import answered
from partstream_hub.directory import ZONE, Directory, OwnerKind, known_zone
from partstream_hub.hub import unreachable
from partstream_hub.store.values import StoreError, StoreUnreachableError

if TYPE_CHECKING:
    from partstream.server.application import ServingApp
    from partstream.server.clients import Caller
    from partstream_hub.store.store import HubStore

# ---- The whole page ----

_PACKAGE: Final = "partstream_hub.page"
PERIODS: Final = {1: "Today", 7: "7 days", 30: "30 days", 90: "90 days"}  # the days that a reader chooses between
_SHAPES: Final = html.PATTERNS + html.resource(_PACKAGE, "patterns.svg")
_FRAME: Final = html.resource(_PACKAGE, "frame.html")
_LEGEND: Final = html.resource(_PACKAGE, "legend.html")
_FOOTNOTE: Final = html.resource(_PACKAGE, "footnote.html")


def file_html(view: usage.HubView, zone: tzinfo | None, policy: html.ContentPolicy) -> str:
    """The page as a file, which needs no other and asks for none; `policy` is how the page names what it allows."""
    return html.document("Hub - Partstream", f"{_SHAPES}\n{content_html(view, zone)}", policy, styles=_styles())


def frame_html(policy: html.ContentPolicy) -> str:
    """The page as a server sends it, without any data; the policy must let its script connect to its own server."""
    scripts = (html.resource(html.PACKAGE, "replacing.js") + html.resource(_PACKAGE, "hub.js"),)
    return html.document("Hub - Partstream", f"{_SHAPES}\n{_FRAME}", policy, styles=_styles(), scripts=scripts)


def content_html(view: usage.HubView, zone: tzinfo | None, *, is_live: bool = False) -> str:
    """The element `main` of the page; if it is live, a script is there that shows other periods."""
    return "\n".join(("<main>", *_lines(view, zone, is_live=is_live), "</main>"))


def _styles() -> tuple[str, ...]:
    return html.resource(html.PACKAGE, "usage.css"), html.resource(_PACKAGE, "hub.css")


def _lines(view: usage.HubView, zone: tzinfo | None, *, is_live: bool) -> Iterator[str]:
    reader = view.reader
    yield f"<h1>{'Hub' if reader.is_admin else f'Hub: {html.text(reader.name)}'}</h1>"
    read_at = datetime.fromtimestamp(view.read_at, UTC).astimezone(zone)
    whose = "Your budgets and your answers" + (f", in team {reader.team}." if reader.team else ".")
    if reader.is_admin:
        people = f"{view.people:,} {'person' if view.people == 1 else 'people'}"
        whose = f"All of {people} in {counted(view.teams, 'team')}."
    whose += f" Read {read_at:%Y-%m-%d %H:%M:%S} ({view.usage.days.time_zone})."
    yield f'<p class="quiet">{html.text(whose)}</p>'
    if is_live:  # the script listens to the buttons by their `data-` attributes
        periods = "".join(
            f'<button type="button" data-days="{days}" aria-pressed="{str(days == len(view.usage.of_days)).lower()}">'
            f"{name}</button>"
            for days, name in PERIODS.items()
        )
        yield (
            f'<div class="controls"><div role="group" aria-label="Period">{periods}</div>'
            '<button type="button" data-action="refresh">Refresh</button>'
            '<button type="button" data-action="leave">Forget my key</button></div>'
        )
    yield from _totals(view.usage)
    sections = [("budgets", "Budgets", _budgets(view)), ("days", "Days", _days(view.usage))]
    sections += ((*_TITLES[groups.by][:2], _groups(groups, view)) for groups in view.usage.groups.values())
    if reader.is_admin:
        sections += [("workers", "Workers and database", _workers(view, zone))]
        sections += [("changes", "Changes", _changes(view, zone))]
    yield html.navigation((name, title.partition(" and ")[0]) for name, title, _ in sections)
    for name, title, lines in sections:
        yield f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
        yield from lines
        yield "</section>"
    yield _FOOTNOTE


# ---- Budgets ----

_NEARLY: Final = 80  # the percent that a budget is nearly used up at
_MOST_SHOWN: Final = 300  # the most budgets on one page: the others are those of which least is used


def _budgets(view: usage.HubView) -> Iterator[str]:
    """The budgets of each team, its own first; a budget tells its times in its own time zone."""
    shown = sorted(sorted(view.budgets, key=lambda one: one.label), key=_share, reverse=True)[:_MOST_SHOWN]
    shown.sort(
        key=lambda one: (one.rule.owner.kind is not OwnerKind.TEAM, -_share(one), one.name.casefold(), one.label)
    )
    shown.sort(key=lambda one: (not one.team, one.team.casefold(), one.team))
    yield _LEGEND if view.budgets else "<p>No budget is set.</p>"
    for team, budgets in groupby(shown, key=lambda one: one.team):
        if view.reader.is_admin:
            yield f"<h3>{f'Team {html.text(team)}' if team else 'Without a team'}</h3>"
        yield f'<ul class="budgets">{"".join(_budget(one, view.read_at) for one in budgets)}</ul>'
    if rest := len(view.budgets) - len(shown):
        yield f"<p>And {counted(rest, 'budget')} of which less is used; <code>partstream hub list</code> has all.</p>"


def _share(budget: usage.BudgetState) -> float:
    window = budget.window
    return (window.spent + window.reserved) / window.limit if window.limit else 1.0


def _budget(budget: usage.BudgetState, now: float) -> str:
    rule, window = budget.rule, budget.window
    limit = amount(rule.unit, window.limit)
    name = f"{budget.name}: {budget.label}" if budget.label else budget.name
    amounts = {
        "spent": f"{amount(rule.unit, window.spent)} ({percents([window.spent], window.limit)[0]})",
        "reserved": amount(rule.unit, window.reserved),
        "left": amount(rule.unit, window.free),
        **({"overrun": amount(rule.unit, window.overrun)} if window.overrun else {}),
    }
    style, badge = "enough", ""
    if window.overrun or window.spent >= window.limit:
        style, badge = "none", f"✗</span> {'overrun' if window.overrun else 'used up'}"
    elif window.spent * 100 >= window.limit * _NEARLY:
        style, badge = "little", "!</span> nearly used up"
    if badge:
        badge = f' <span class="badge"><span aria-hidden="true">{badge}</span>'
    # The bar; its label says all that it shows.
    whole = max(window.limit, window.spent + window.reserved, 1)
    spent, reserved = (f"{part / whole * 100:.3f}%" for part in (window.spent, window.reserved))
    pieces = f'<rect class="spent" width="{spent}" height="100%"/>' if window.spent else ""
    if window.reserved:
        pieces += f'<rect class="reserved" x="{spent}" width="{reserved}" height="100%"/>'
    label = html.text(f"{name}: {', '.join(f'{one} {value}' for one, value in amounts.items())}, of {limit}")
    resets = "never resets"
    if window.ends_at is not None:
        when = moment(window.ends_at, ZoneInfo(rule.time_zone))
        resets = f"resets {roughly(window.ends_at, now)}: {when} ({html.text(rule.time_zone)})"
    return (
        f'<li class="budget {style}"><div class="budget-head"><strong><bdi>{html.text(name)}</bdi></strong>'
        f' <span class="quiet">{rule.owner.kind}, {limit} {rule.period.each}</span>{badge}</div>'
        f'<svg class="meter" role="img" aria-label="{label}">{pieces}</svg>'
        f'<dl class="amounts">{html.entries(amounts.items())}</dl><p class="reset quiet">{resets}</p></li>'
    )


# ---- Usage ----

_SERIES: Final = ("series-1", "series-2", "series-3", "series-4", "series-5", "series-rest")
"""The classes of the pieces of a plot; the last is that of all others."""
_SUMMED: Final = ("answers", "input", "cached", "output", "cost", "share")
_TITLES: Final = {
    usage.GroupBy.TEAM: ("teams", "Teams", "team", "no team"),
    usage.GroupBy.PERSON: ("people", "People", "person", "none"),
    usage.GroupBy.MODEL: ("models", "Models", "model", "none"),
    usage.GroupBy.CLIENT: ("clients", "Clients", "client", "unknown client"),
    usage.GroupBy.SESSION: ("sessions", "Sessions", "session", "no session named"),
}
"""The id, the title and the first column of each section, and what is said where an answer has none."""
_OF_TEXT: Final = frozenset(
    "day team person model client session worker state started when who change fields".split()  # noqa: SIM905
) | {"last answer", "last seen"}


def _totals(report: usage.UsageReport) -> Iterator[str]:
    """The totals of today and of all days of the report."""
    periods = [("Today", report.of_days[-1]), (f"Last {len(report.of_days)} days", report.total)]
    yield '<div class="periods">'
    for title, sums in periods[: len(report.of_days)]:
        rows = (
            ("Cost", money(sums.nanodollars)),
            ("Answers", exact(sums.answers)),
            ("Input", tokens(sums.input_tokens)),
            ("Cached", cached_share(sums.cached_tokens, sums.input_tokens) or "–"),
            ("Output", tokens(sums.output_tokens)),
        )
        yield f'<div><h2>{title}</h2><dl class="totals">{html.entries(rows)}</dl></div>'
    yield "</div>"


def _days(report: usage.UsageReport) -> Iterator[str]:
    if not report.total.answers:
        yield "<p>None yet.</p>"
        return
    costs = _columns(report, [(one.nanodollars,) for one in report.of_days], [money(one[4]) for one in report.of_days])
    yield '<div class="figures">'
    yield html.figure("Cost a day", html.bars("Cost a day", costs, COST, money, "cost"), ())
    kinds = (
        (one.input_tokens, one.cached_tokens, one.output_tokens) if one.answers else None for one in report.of_days
    )
    yield tokens_figure(zip(map(date.isoformat, report.days.names), kinds, strict=True)) + "</div>"
    days = zip(report.days.names, report.of_days, strict=True)
    used = [(day.isoformat(), sums) for day, sums in days if sums.answers]
    cells = _cells([sums for _, sums in used], report.total)
    rows = [[day, *one] for (day, _), one in zip(used, cells, strict=True)]
    foot = ["all days", *_cells([report.total], report.total)[0]]
    yield '<details id="days-table"><summary>Days as a table</summary>'
    yield from html.table("Days", ("day", *_SUMMED), rows[::-1], of_text=_OF_TEXT, foot=foot)
    yield "</details>"


def _columns(report: usage.UsageReport, heights: Sequence[Sequence[int]], words: Sequence[str]) -> list[html.Column]:
    """A column a day; of a day without an answer it says so."""
    return [
        day_column(day.isoformat(), said if sums.answers else None, tuple(map(float, height)))
        for day, sums, height, said in zip(report.days.names, report.of_days, heights, words, strict=True)
    ]


def _groups(groups: usage.Groups, view: usage.HubView) -> Iterator[str]:
    name, title, column, nameless = _TITLES[groups.by]
    within, total = usage.NAMES[groups.by][1:], view.usage.total
    if len(groups.days) > 1 and total.nanodollars:
        yield _stacked(groups, view.usage, name, column, nameless)
    rows = []
    for one in groups.shown:
        shown = html.text(one.name) if one.name else f'<span class="quiet">{nameless}</span>'
        named = [f'<bdi class="name">{shown}</bdi>', *(f"<bdi>{html.text(other)}</bdi>" for other in one.within)]
        last = "" if one.last_at is None else roughly(one.last_at, view.read_at)
        rows.append((named, one.sums, last))
    empty = ["" for _ in within]
    if groups.other_groups:
        others = f"{groups.other_groups:,} other {column if groups.other_groups == 1 else title.lower()}"
        rows.append(([others, *empty], groups.others, ""))
    cells = zip(rows, _cells([sums for _, sums, _ in rows], total), strict=True)
    shown_rows = [[*named, *of_row, last] for (named, _, last), of_row in cells]
    names, foot = (column, *within, *_SUMMED, "last answer"), ["all", *empty, *_cells([total], total)[0], ""]
    yield from html.table(title, names, shown_rows, of_text=_OF_TEXT, foot=foot)


def _stacked(groups: usage.Groups, report: usage.UsageReport, name: str, column: str, nameless: str) -> str:
    """The cost of each day, in pieces: the first groups, and all others."""
    named = groups.days[: len(_SERIES) - 1]
    rest = [
        sums.minus(usage.added(*(of_days[place] for _, of_days in named))) for place, sums in enumerate(report.of_days)
    ]
    pieces = [html.Piece(one or nameless, style) for (one, _), style in zip(named, _SERIES, strict=False)]
    stacked = [of_days for _, of_days in named]
    if any(one.answers for one in rest):
        pieces, stacked = [*pieces, html.Piece("others", _SERIES[-1])], [*stacked, tuple(rest)]
    heights = [[of_days[place].nanodollars for of_days in stacked] for place in range(len(report.of_days))]
    words = [
        ", ".join(f"{piece.name} {money(height)}" for piece, height in zip(pieces, of_day, strict=True) if height)
        or money(0)
        for of_day in heights
    ]
    title = f"Cost a day, by {column}"
    plot = html.bars(title, _columns(report, heights, words), pieces, money, f"{name}-cost")
    return html.figure(title, plot, pieces)


def _cells(rows: Sequence[usage.Sums], total: usage.Sums) -> list[tuple[str, ...]]:
    """The cells of rows that add up to a total; the last is the share of the cost, or of the tokens where nothing had a
    cost, as a bar with its number."""
    has_cost = total.nanodollars
    *parts, whole = (one.nanodollars if has_cost else one.input_tokens + one.output_tokens for one in (*rows, total))
    cells: list[tuple[str, ...]] = []
    for sums, part, percent in zip(rows, parts, percents(parts, whole), strict=True):
        about = "~" if sums.estimated else ""
        tokens_sign, cost_sign = about + ("≥ " if sums.uncounted else ""), about + ("≥ " if sums.unpriced else "")
        notes = ((sums.failed, "not whole"), (sums.unbelievable, "with a report that is not believed"))
        width = f"{part / whole * 100:.2f}%" if whole else "0%"
        bar = f'<svg class="share" aria-hidden="true"><rect class="cost" width="{width}" height="100%"/></svg>'
        answers = exact(sums.answers)
        answers += "".join(f' <span class="quiet">({exact(number)} {what})</span>' for number, what in notes if number)
        cells.append(
            (
                answers,
                tokens_sign + exact(sums.input_tokens),
                cached_share(sums.cached_tokens, sums.input_tokens),
                tokens_sign + exact(sums.output_tokens),
                cost_sign + html.text(money(sums.nanodollars)),
                f'{bar} <span class="percent">{html.text(percent)}</span>',
            )
        )
    return cells


# ---- Workers, database and changes ----


def _workers(view: usage.HubView, zone: tzinfo | None) -> Iterator[str]:
    database, live = view.database, sum(one.is_live for one in view.workers)
    if database is not None:
        since = "no answer yet" if database.ledger_since is None else f"since {moment(database.ledger_since, zone)}"
        facts = {
            "Tables": f"version {database.schema}",
            "Directory": f"version {database.directory_version:,}",
            "Ledger": since,
            "Budgets": "do not add up" if database.broken else "add up",
        }
        shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
        yield f'<dl class="totals facts">{shown}</dl>'
        if database.broken:
            yield f'<ul class="broken">{"".join(f"<li>{html.text(one)}</li>" for one in database.broken)}</ul>'
    yield f"<p>{counted(live, 'worker')} of {len(view.workers):,} {'answers' if live == 1 else 'answer'}.</p>"
    rows = []
    for one in sorted(view.workers, key=lambda one: (not one.is_live, one.name)):
        style, sign, word = ("good", "●", "answers") if one.is_live else ("quiet", "○", "silent")
        state = f'<span class="{style}"><span aria-hidden="true">{sign}</span> {word}</span>'
        seen = "" if one.seen_at is None else roughly(one.seen_at, view.read_at)
        name = f'<bdi class="name">{html.text(one.name)}</bdi>'
        rows.append([name, state, moment(one.started_at, zone), seen, f"{one.answers:,}"])
    if rows:
        yield from html.table(
            "Workers", ("worker", "state", "started", "last seen", "running answers"), rows, of_text=_OF_TEXT
        )


def _changes(view: usage.HubView, zone: tzinfo | None) -> Iterator[str]:
    rows = [
        [moment(one.time, zone), *map(html.text, (one.by, one.action, "; ".join(usage.changed_fields(one))))]
        for one in view.changes
    ]
    yield from html.table("Changes", ("when", "who", "change", "fields"), rows, of_text=_OF_TEXT)


# ---- Amounts and times in words ----

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_WHOLE_NUMBER: Final = 1_000_000


def money(nanodollars: float) -> str:
    """$1,234.56, or below a cent the two digits that matter: $0.0013."""
    return dollars(nanodollars / DOLLAR)


def amount(unit: BudgetUnit, value: int) -> str:
    """An amount of a budget: money, or tokens."""
    shown = exact(value) if value < _WHOLE_NUMBER else tokens(value)
    return money(value) if unit is BudgetUnit.MONEY else f"{shown} tokens"


def percents(parts: Sequence[int], whole: int) -> list[str]:
    """Parts in percent, rounded so that those of all of it add up to 100 %, which no part is alone unless it is all of
    it; a little of it is no 0 %."""
    if whole <= 0:
        return ["100%" if part else "0%" for part in parts]
    shares = [part * 100 // whole for part in parts]
    lost = sum(parts) * 100 // whole - sum(shares)
    raised = (place for place, share in enumerate(shares) if share < 99)
    for place in sorted(raised, key=lambda place: -(parts[place] * 100 % whole))[: max(lost, 0)]:
        shares[place] += 1
    return ["< 1%" if part and share == 0 else f"{share}%" for part, share in zip(parts, shares, strict=True)]


def moment(seconds: float | None, zone: tzinfo | None) -> str:
    """A time as HTML, in the zone of the page; nothing for an unknown one."""
    if seconds is None:
        return ""
    return time_html(datetime.fromtimestamp(seconds, UTC).astimezone(zone), "%Y-%m-%d %H:%M")


def roughly(seconds: float, now: float) -> str:
    """A time as its distance from now: `in 3 days`, `5 minutes ago`, `just now`."""
    away = abs(seconds - now)
    rough = next((counted(int(away // size), name) for size, name in _UNITS if away >= size), None)
    if rough is None:
        return "in a moment" if seconds > now else "just now"
    return f"in {rough}" if seconds > now else f"{rough} ago"


# ---- The page to join ----


def join_html(policy: html.ContentPolicy) -> str:
    """The page to join; the policy must let its script connect to its own server."""
    body, style, script = (html.resource(_PACKAGE, name) for name in ("join.html", "hub.css", "join.js"))
    return html.document("Join the hub - Partstream", body, policy, styles=(style,), scripts=(script,))


# ---- Routes ----

PAGE: Final = "/hub"
JOIN: Final = "/hub/join"
CONTENT: Final = "/hub/v1/page"
_logger = logging.getLogger("partstream.hub")
_NOTHING_RUNS: Final = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
"""For the content: a reader who opens it by itself sees a document in which nothing runs."""
_RETRY_SECONDS: Final = 2.0
_MOST_KEPT: Final = 32
_DAYS: Final = 30
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}", re.ASCII)


@dataclass(eq=False)
class HubPage:
    """The page of one worker, which opens a connection to the database for this page alone."""

    open_store: Callable[[], HubStore]
    read_seconds: float = 10.0  # the most that a page waits for the database
    most_waiting: int = 8  # pages that are read or wait for it, one after the other; a quarter of them for one reader
    slow_seconds: float = 1.0  # what took longer to read is kept for a while,
    rest: float = 5.0  # for as many times as long: most of the time the database is left alone, however many look

    def __post_init__(self) -> None:
        self._store: HubStore | None = None
        self._directory: Directory | None = None
        self._thread = ThreadPoolExecutor(1, "hub-page")
        self._waiting: list[str] = []  # by whom
        self._kept: SharedRoom[tuple[float, str]] = SharedRoom(_MOST_KEPT)

    def add_to(self, app: ServingApp) -> None:
        """Puts the page up, and closes its connection when the application ends."""
        app.add_route("GET", PAGE, OwnerRoute(_frame(frame_html), is_open=True, title="The page of the hub"))
        app.add_route("GET", JOIN, OwnerRoute(_frame(join_html), is_open=True))
        app.add_route("GET", CONTENT, OwnerRoute(self._content))
        app.lifetimes.append(self)

    async def start(self) -> None:
        """Opens nothing: most workers show no page."""

    async def stop(self) -> None:
        """Closes the connection to the database."""
        if self._store is not None:
            closing = asyncio.get_running_loop().run_in_executor(self._thread, self._store.close)
            with suppress(StoreUnreachableError):
                await answered(closing, self.read_seconds)
        self._thread.shutdown(wait=False, cancel_futures=True)  # a thread whose database is silent never ends

    async def _content(self, request: RequestHead, _body: bytes, caller: Caller) -> OwnerReply:
        days, zone = _asked(request.query)
        share = max(1, self.most_waiting // 4)
        if len(self._waiting) >= self.most_waiting or self._waiting.count(caller.name) >= share:
            said = "too many people have the page open now; try again"
            raise RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=_RETRY_SECONDS))
        self._waiting.append(caller.name)
        try:
            loop = asyncio.get_running_loop()
            reading = loop.run_in_executor(self._thread, self._read, caller.name, days, zone)
            content = await answered(reading, self.read_seconds)
        except StoreUnreachableError as error:
            raise unreachable(error) from error
        except StoreError as error:
            _logger.exception("the page of the hub cannot be read")
            said = "the hub's database cannot be read; the server's log says why"
            raise RequestFailedError(ServedFailure(FailureKind.INTERNAL, said)) from error
        finally:
            self._waiting.remove(caller.name)
        if content is None:
            raise RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, "the page is for people of this hub"))
        return OwnerReply(content.encode(), html.HTML, headers=(*html.HEADERS, _NOTHING_RUNS))

    def _read(self, person: str, days: int, zone: ZoneInfo) -> str | None:
        """The content for a person; None if there is no such person. Runs in the thread."""
        if self._store is None:
            self._store = self.open_store()
        known = self._directory
        directory = self._directory = self._store.directory(known.version if known else None) or known or Directory()
        if (reader := directory.people.get(person)) is None:
            return None
        until, content = self._kept.find(reader, (days, zone.key)) or (0.0, "")
        begins = time.monotonic()
        if begins < until:
            return content
        content = content_html(usage.overview(self._store, directory, reader, days, zone, zone.key), zone, is_live=True)
        ends = time.monotonic()
        if ends - begins >= self.slow_seconds:
            self._kept.keep(reader, (days, zone.key), (ends + self.rest * (ends - begins), content))
        return content


def _frame(make: Callable[[html.Nonces], str]) -> OwnerHandler:
    """Answers with a frame, whose script and style have a nonce of their own each time."""

    async def show(*_: object) -> OwnerReply:
        page = make(html.Nonces(secrets.token_urlsafe(16), connect="'self'"))
        return OwnerReply(page.encode(), html.HTML, headers=(*html.HEADERS, html.FRAMED))

    return show


def _asked(query: str) -> tuple[int, ZoneInfo]:
    """The days and the time zone that a query names, as far as there are such."""
    try:
        given = dict(parse_qsl(query, max_num_fields=8))
    except ValueError:
        raise _wrong("query", "more than 8 fields, expected days and zone") from None
    days, name = given.get("days", str(_DAYS)), given.get("zone", "UTC")
    if days not in map(str, PERIODS):
        raise _wrong("days", f"something else, expected one of {', '.join(map(str, PERIODS))}")
    zone = known_zone(name) if _ZONE.fullmatch(name) else None
    if zone is None:
        raise _wrong("zone", f"something else, expected {ZONE.description}")
    return int(days), zone


def _wrong(name: str, got: str) -> RequestFailedError:
    return RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, f"{name}: got {got}", param=name))
