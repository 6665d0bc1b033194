"""The page of token usage: days, conversations and answers, each as a plot and as the table that says the same.

One page for a file (`partstream usage --html`) and for VS Code. It is whole without a script; the one that it may have
takes a newer page from VS Code and puts it in the place of what is shown.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from partstream.pages.usage_text import answer_cells, dollars, exact, share, sum_cells, tokens, total_rows
from partstream.vscode.pages.document import (
    PATTERNS,
    Column,
    Piece,
    Point,
    bars,
    document,
    figure,
    line,
    resource,
    table,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.tokens.usage import ContextFill, DayUsage, ListedAnswer, ShownConversation, UsageSums, UsageView
    from partstream.vscode.pages.document import ContentPolicy

__all__ = ["usage_html"]

_PACKAGE: Final = "partstream.vscode.pages.document"
_MOST_DAYS: Final = 92
"""The most days of a plot with a column for every day; a longer plot has columns for days with an answer alone."""
_PLOTTED: Final = 10
"""The most conversations that are plotted."""

_TOKENS: Final = (Piece("new input", "new"), Piece("cached input", "cached"), Piece("output", "output"))
_COST: Final = (Piece("cost", "cost"),)

_SUMMED: Final = ("answers", "input", "cached", "output", "cost")
_TEXT_COLUMNS: Final = frozenset({"ended", "model", "asked by", "last answer", "day", "removed by the server"})

_FOOTNOTE: Final = (
    "~: includes estimates for answers whose server reported no numbers. ≥: without answers whose price or tokens are "
    "unknown. Input of which nobody says that it was cached is drawn as new. Costs are those that the servers report, "
    "otherwise computed from known list prices. These numbers never leave this machine."
)


def usage_html(view: UsageView, now: datetime, policy: ContentPolicy, *, follows: bool = False) -> str:
    """The page as one document.

    Args:
        view: What answers took.
        now: The time, with the time zone in which the page shows all times.
        policy: How the page names what it allows.
        follows: Whether the page takes newer pages from the webview that it stands in.
    """
    body = "\n".join(
        ('<main class="usage">', *_head(view, now), *_days(view), *_conversations(view, now), *_answers(view, now))
    )
    body = f'{PATTERNS}\n{body}\n<p class="quiet">{text(_FOOTNOTE)}</p>\n</main>'
    scripts = ("".join(resource(_PACKAGE, name) for name in ("replacing.js", "usage.js")),) if follows else ()
    if follows:
        body += '\n<p class="unseen" id="said" role="status"></p>'
    styles = (resource(_PACKAGE, "theme.css") + resource(_PACKAGE, "usage.css"),)
    return document("Token usage", body, policy, styles=styles, scripts=scripts)


def _head(view: UsageView, now: datetime) -> Iterator[str]:
    yield "<h1>Token usage</h1>"
    today = now.date().isoformat()
    of_today = [one["sums"] for one in view["days"] if one["day"] == today]
    periods = [("Today", of_today)]
    if any(one["day"] != today for one in view["days"]):
        periods.append((f"Since {min(one['day'] for one in view['days'])}", [one["sums"] for one in view["days"]]))
    for title, rows in periods:
        entries = "".join(f"<div><dt>{label}</dt><dd>{text(value)}</dd></div>" for label, value in total_rows(rows))
        yield f'<h2>{title}</h2><dl class="totals">{entries}</dl>'
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in _SECTIONS)
    yield f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


_SECTIONS: Final = (("days", "Days"), ("conversations", "Conversations"), ("answers", "Answers"))


# ---- days ----


def _days(view: UsageView) -> Iterator[str]:
    yield '<section id="days"><h2>Days</h2>'
    days = list(reversed(view["days"]))
    if days:
        columns = [_column(day, sums, _pieces(sums), _in_words(sums)) for day, sums in _every_day(days)]
        yield figure("Tokens a day", bars("Tokens a day, by kind", columns, _TOKENS, tokens, "tokens"), _TOKENS)
        if any(one["sums"]["cost"] is not None for one in days):
            costs = [
                _column(day, sums, ((sums["cost"] or 0.0) if sums else 0.0,), sum_cells(sums)[-1] if sums else "")
                for day, sums in _every_day(days)
            ]
            yield figure("Cost a day, in US dollars", bars("Cost a day", costs, _COST, dollars, "cost"), ())
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


def _column(day: str, sums: UsageSums | None, heights: tuple[float, ...], words: str) -> Column:
    return Column(day[5:], f"{day}: {words if sums else 'no answer'}", heights)


def _pieces(sums: UsageSums | None) -> tuple[float, float, float]:
    if sums is None:
        return 0.0, 0.0, 0.0
    cached = min(sums["cachedTokens"], sums["inputTokens"])
    return sums["inputTokens"] - cached, cached, sums["outputTokens"]


def _in_words(sums: UsageSums | None) -> str:
    pieces = zip(_pieces(sums), _TOKENS, strict=True)
    return ", ".join(f"{exact(round(count))} {piece.name}" for count, piece in pieces)


# ---- conversations ----


def _conversations(view: UsageView, now: datetime) -> Iterator[str]:
    yield '<section id="conversations"><h2>Conversations</h2>'
    conversations = view["conversations"]
    rows = [[_when(one["endedAt"], now), text(one["model"]), *sum_cells(one["sums"])] for one in conversations]
    yield from _table("Conversations", ("last answer", "model", *_SUMMED), rows)
    plotted = [one for one in conversations if len(one["fills"]) > 1][:_PLOTTED]
    if plotted:
        yield "<h3>How full the context window was</h3>"
    for number, one in enumerate(plotted):
        yield _fill_plot(one, f"conversation-{one['number']}", now, is_open=number == 0)
    yield "</section>"


def _fill_plot(conversation: ShownConversation, name: str, now: datetime, *, is_open: bool) -> str:
    fills = conversation["fills"]
    points = [Point(_fill(number, one), one["inputTokens"], one["maxInputTokens"]) for number, one in enumerate(fills)]
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
    summary = f"{text(conversation['model'])}, {_when(conversation['endedAt'], now)}, {len(fills)} answers"
    plot = figure(caption, line(title, points, tokens, name), ())
    return f'<details id="{name}"{state}><summary>{summary}</summary>{plot}{fill_table}</details>'


def _fill(number: int, fill: ContextFill) -> str:
    part = share(fill["inputTokens"], fill["maxInputTokens"])
    return f"answer {number + 1}: {exact(fill['inputTokens'])} tokens" + (f", {part} of its limit" if part else "")


# ---- answers ----


def _answers(view: UsageView, now: datetime) -> Iterator[str]:
    yield '<section id="answers"><h2>Answers</h2>'
    names = ("ended", "model", "asked by", "input", "of its limit", "cached", "output", "cost", "removed by the server")
    yield from _table("Answers", names, [_answer(one, now) for one in view["answers"]])
    yield "</section>"


def _answer(answer: ListedAnswer, now: datetime) -> list[str]:
    removed = text("; ".join(answer["edits"]))
    who = text(answer["askedBy"] or "")
    return [_when(answer["endedAt"], now), text(answer["model"]), who, *answer_cells(answer), removed]


# ---- what all of them need ----


def _when(seconds: float, now: datetime) -> str:
    """A time as HTML: today's without the day."""
    then = datetime.fromtimestamp(seconds, UTC).astimezone(now.tzinfo)
    shown = then.strftime("%H:%M:%S" if then.date() == now.date() else "%Y-%m-%d %H:%M")
    return f'<time datetime="{then.isoformat(timespec="seconds")}">{shown}</time>'


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    return table(title, names, rows, of_text=_TEXT_COLUMNS)
