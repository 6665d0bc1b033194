"""The page of the token usage of days, conversations and responses, for a file (`partstream usage --html`) and for VS
Code, with plots and the tables of their numbers.

The page is whole without a script; its one script replaces its content with a newer page from VS Code. An unknown
number is an empty cell and never 0.
"""

from __future__ import annotations
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from partstream.pages import document as html
from partstream.tokens.usage import UsageSums

if TYPE_CHECKING:
    from partstream.tokens.records import Completions
    from partstream.tokens.usage import DayUsage, ShownConversation, UsageView

# ---- Numbers as text ----

_A_CENT: Final = 0.01
_LEAST_DOLLARS: Final = 0.00001
_THOUSAND: Final = 1_000
_ALMOST_A_MILLION: Final = 999_950


def sum_cells(sums: UsageSums) -> tuple[str, ...]:
    """Answers, input, cached share, output and cost of several answers."""
    cost = sums["cost"]
    sign = ("≥ " if sums["withoutTokens"] else "") + ("~" if sums["estimated"] else "")
    return (
        exact(sums["answers"]),
        sign + exact(sums["inputTokens"]),
        cached_share(sums["cachedTokens"], sums["inputTokens"]),
        sign + exact(sums["outputTokens"]),
        "" if cost is None else ("≥ " if sums["withoutCost"] else "") + dollars(cost),
    )


def tokens(count: float) -> str:
    """950, 42.1K, 128K, 1.2M."""
    if count < _THOUSAND:
        return f"{count:.4g}"
    value, unit = (count / 1_000, "K") if count < _ALMOST_A_MILLION else (count / 1_000_000, "M")
    return f"{value:.1f}".removesuffix(".0") + unit


def exact(count: int | None) -> str:
    """12,345, or nothing for an unknown number."""
    return "" if count is None else f"{count:,}"


def dollars(amount: float) -> str:
    """Cents, or, below a cent, the two digits that matter."""
    if amount == 0 or amount >= _A_CENT:
        return f"${amount:,.2f}"
    return (
        f"< ${_LEAST_DOLLARS:f}".rstrip("0") if amount < _LEAST_DOLLARS else f"${float(f'{amount:.2g}'):f}".rstrip("0")
    )


def share(part: int | None, whole: int | None) -> str:
    """A part in percent; nothing if either is unknown, or if there is nothing to have a part of."""
    return f"{part / whole:.0%}" if part is not None and whole else ""


def cached_share(cached: int | None, whole: int | None) -> str:
    """The share of the input that came from a cache; at most all of it, also where a server reports more."""
    return share(None if cached is None else min(cached, whole or 0), whole)


def completions_text(days: Mapping[str, Completions], today: date, most_days: int) -> str:
    """The completions of today and of the last days in sentences; empty for none. `days` has them by the day, as
    `2026-11-21`."""
    of_today = days.get(today.isoformat())
    lines = [] if of_today is None else [f"Completions today: {of_today.shown} shown, {of_today.accepted} accepted."]
    if any(day != today.isoformat() for day in days):
        shown, accepted = (sum(counts) for counts in zip(*days.values(), strict=True))
        lines.append(f"Completions in {most_days} days: {shown:,} shown, {accepted:,} accepted.")
    return " ".join(lines)


# ---- The page of usage ----

_MOST_DAYS: Final = 92
"""The most days of a plot with a column for every day; a longer plot has columns for days with an answer alone."""
_PLOTTED: Final = 10
_TOKENS: Final = (html.Piece("new input", "new"), html.Piece("cached input", "cached"), html.Piece("output", "output"))
COST: Final = (html.Piece("cost", "cost"),)
_SUMMED: Final = ("answers", "input", "cached", "output", "cost")
_TEXT_COLUMNS: Final = frozenset({"ended", "model", "asked by", "last answer", "day", "removed by the server"})

_NOTHING_YET: Final = (
    "<h1>Token usage</h1>",
    "<p>No answer yet. The tokens and the cost of each answer appear here, by day and by conversation.</p>",
)
_FOOTNOTE: Final = (
    "~: includes estimates for answers whose server reported no numbers. ≥: without answers whose price or tokens are "
    "unknown. Input that is not reported as cached is drawn as new. Costs are those that the servers report, "
    "otherwise computed from your own or listed prices; an empty one means that no price is known, which the setting "
    "prices changes. These numbers never leave this machine."
)


def usage_html(
    view: UsageView, now: datetime, policy: html.ContentPolicy, *, follows: bool = False, note: str = ""
) -> str:
    """The page as one document, with all times in the time zone of `now`; whether it `follows`, by taking newer pages
    from its webview. `note` is a further sentence below it."""
    sections = chain(_head(view, now), _days(view), _conversations(view, now), _answers(view, now))
    lines = sections if view["days"] or view["answers"] else _NOTHING_YET
    body = "\n".join(('<main class="usage">', *lines))
    quiet = "".join(f'<p class="quiet">{html.text(one)}</p>\n' for one in filter(None, (note, _FOOTNOTE)))
    body = f"{html.PATTERNS}\n{body}\n{quiet}</main>"
    scripts = ("".join(html.resource(html.PACKAGE, name) for name in ("replacing.js", "usage.js")),) if follows else ()
    if follows:
        body += '\n<p class="unseen" id="said" role="status"></p>'
    style = html.resource(html.PACKAGE, "usage.css")
    return html.document("Token usage", body, policy, styles=(style,), scripts=scripts)


def _head(view: UsageView, now: datetime) -> Iterator[str]:
    yield "<h1>Token usage</h1>"
    today = now.date().isoformat()
    of_today: list[Any] = [one["sums"] for one in view["days"] if one["day"] == today]
    periods = [("Today", of_today)]
    if any(one["day"] != today for one in view["days"]):
        periods.append((f"Since {min(one['day'] for one in view['days'])}", [one["sums"] for one in view["days"]]))
    for title, rows in periods:
        known = {name: [one[name] for one in rows if one[name] is not None] for name in UsageSums.__annotations__}
        total: Any = {name: sum(numbers) if numbers or name != "cost" else None for name, numbers in known.items()}
        cells = zip(("Answers", "Input", "Cached", "Output", "Cost"), sum_cells(total), strict=True)
        yield f'<h2>{title}</h2><dl class="totals">{html.entries((label, cell or "–") for label, cell in cells)}</dl>'
    yield html.navigation((("days", "Days"), ("conversations", "Conversations"), ("answers", "Answers")))


def _days(view: UsageView) -> Iterator[str]:
    yield '<section id="days"><h2>Days</h2>'
    days = list(reversed(view["days"]))
    if days:
        shown = _every_day(days)
        yield tokens_figure(
            (day, sums and (sums["inputTokens"], sums["cachedTokens"], sums["outputTokens"])) for day, sums in shown
        )
        if any(one["sums"]["cost"] is not None for one in days):
            costs = [
                day_column(day, sum_cells(sums)[-1], (sums["cost"] or 0.0,)) if sums else day_column(day, None, (0.0,))
                for day, sums in shown
            ]
            yield html.figure("Cost a day, in US dollars", html.bars("Cost a day", costs, COST, dollars, "cost"), ())
    rows = [[one["day"], *sum_cells(one["sums"])] for one in view["days"]]
    yield from _table("Days", ("day", *_SUMMED), rows)
    yield "</section>"


def _every_day(days: Sequence[DayUsage]) -> list[tuple[str, UsageSums | None]]:
    """All days between the first and the last, so that gaps show; only those with an answer if they are too many."""
    known = {one["day"]: one["sums"] for one in days}
    first, last = date.fromisoformat(days[0]["day"]), date.fromisoformat(days[-1]["day"])
    count = (last - first).days + 1
    names = [(first + timedelta(number)).isoformat() for number in range(count)] if count <= _MOST_DAYS else [*known]
    return [(name, known.get(name)) for name in names]


def tokens_figure(days: Iterable[tuple[str, tuple[int, int, int] | None]]) -> str:
    """The tokens of each day as a plot, by kind: of its answers the input, those of it from a cache, and the output; of
    a day without an answer None."""
    columns = []
    for day, used in days:
        given, from_cache, output = used or (0, 0, 0)
        cached = min(from_cache, given)
        heights = given - cached, cached, output
        words = ", ".join(f"{exact(count)} {piece.name}" for count, piece in zip(heights, _TOKENS, strict=True))
        columns.append(day_column(day, words if used else None, heights))
    plot = html.bars("Tokens a day, by kind", columns, _TOKENS, tokens, "tokens")
    return html.figure("Tokens a day", plot, _TOKENS)


def day_column(day: str, words: str | None, heights: tuple[float, ...]) -> html.Column:
    """The column of a day in a plot; without words, it had no answer."""
    return html.Column(day[5:], f"{day}: {'no answer' if words is None else words}", heights)


def _conversations(view: UsageView, now: datetime) -> Iterator[str]:
    yield '<section id="conversations"><h2>Conversations</h2>'
    conversations = view["conversations"]
    rows = [[_when(one["endedAt"], now), html.text(one["model"]), *sum_cells(one["sums"])] for one in conversations]
    yield from _table("Conversations", ("last answer", "model", *_SUMMED), rows)
    plotted = [one for one in conversations if len(one["fills"]) > 1][:_PLOTTED]
    if plotted:
        yield "<h3>How full the context window was</h3>"
    for number, one in enumerate(plotted):
        yield _fill_plot(one, f"conversation-{one['number']}", now, is_open=number == 0)
    yield "</section>"


def _fill_plot(conversation: ShownConversation, name: str, now: datetime, *, is_open: bool) -> str:
    fills = conversation["fills"]
    points = []
    for number, one in enumerate(fills, 1):
        part = share(one["inputTokens"], one["maxInputTokens"])
        words = f"answer {number}: {exact(one['inputTokens'])} tokens" + (f", {part} of its limit" if part else "")
        points.append(html.Point(words, one["inputTokens"], one["maxInputTokens"]))
    title = f"Input of each answer of the conversation with {conversation['model']}"
    has_limit = any(point.limit is not None for point in points)
    caption = "Input tokens by answer; the dashed line is what a prompt may take" if has_limit else "Input by answer"
    rows = [
        [
            str(number + 1),
            _when(one["endedAt"], now),
            exact(one["inputTokens"]),
            share(one["inputTokens"], one["maxInputTokens"]),
        ]
        for number, one in enumerate(fills)
    ]
    fill_table = "".join(_table(title, ("answer", "ended", "input", "of its limit"), rows))
    state = " open" if is_open else ""
    summary = f"{html.text(conversation['model'])}, {_when(conversation['endedAt'], now)}, {len(fills)} answers"
    plot = html.figure(caption, html.line(title, points, tokens, name), ())
    return f'<details id="{name}"{state}><summary>{summary}</summary>{plot}{fill_table}</details>'


def _answers(view: UsageView, now: datetime) -> Iterator[str]:
    yield '<section id="answers"><h2>Answers</h2>'
    names = ("ended", "model", "asked by", "input", "of its limit", "cached", "output", "cost", "removed by the server")
    rows = []
    for one in view["answers"]:
        given, sign = one["inputTokens"], "~" if one["source"] == "estimated" else ""
        rows.append(
            [
                _when(one["endedAt"], now),
                html.text(one["model"]),
                html.text(one["askedBy"] or ""),
                sign + exact(given),
                share(given, one["maxInputTokens"]),
                cached_share(one["cachedTokens"], given),
                sign + exact(one["outputTokens"]),
                "" if one["cost"] is None else dollars(one["cost"]),
                html.text("; ".join(one["edits"])),
            ]
        )
    yield from _table("Answers", names, rows)
    yield "</section>"


def _when(seconds: float, now: datetime) -> str:
    """A time as HTML: today's without the day."""
    then = datetime.fromtimestamp(seconds, UTC).astimezone(now.tzinfo)
    return time_html(then, "%H:%M:%S" if then.date() == now.date() else "%Y-%m-%d %H:%M")


def time_html(then: datetime, form: str) -> str:
    """A time as HTML, in a form."""
    return f'<time datetime="{then.isoformat(timespec="seconds")}">{html.text(then.strftime(form))}</time>'


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    return html.table(title, names, rows, of_text=_TEXT_COLUMNS)
