"""What answers took, as plots and as the tables that say the same: by day, and by each column of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.hub.directory import BudgetUnit
from partstream.hub.page.words import ago, amount, count, money, money_tick, percent
from partstream.hub.usage import GroupBy, added
from partstream.pages.document import text
from partstream.pages.plots import Column, Piece, bars
from partstream.pages.tables import figure, table
from partstream.pages.usage_text import exact, share, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.hub.usage import Groups, HubView, Sums, UsageGroup, UsageReport

__all__ = ["totals", "usage_sections"]

_TOKENS: Final = (Piece("new input", "new"), Piece("cached input", "cached"), Piece("output", "output"))
_COST: Final = (Piece("cost", "cost"),)
_SERIES: Final = ("series-1", "series-2", "series-3", "series-4", "series-5", "series-rest")
"""The classes of the pieces of a plot; the last is that of all others."""

_SUMMED: Final = ("answers", "input", "cached", "output", "cost", "share")
_TITLES: Final = {
    GroupBy.TEAM: ("teams", "Teams", "team"),
    GroupBy.PERSON: ("people", "People", "person"),
    GroupBy.MODEL: ("models", "Models", "model"),
    GroupBy.CLIENT: ("clients", "Clients", "client"),
    GroupBy.SESSION: ("sessions", "Sessions", "session"),
}
"""The id, the title and the first column of each section."""
_WITHIN: Final = {GroupBy.SESSION: ("person", "client")}
"""What else names a group: columns between the name and the numbers."""
_OF_TEXT: Final = frozenset({"day", "team", "person", "model", "client", "session", "last answer"})
_NAMELESS: Final = {GroupBy.SESSION: "no session named", GroupBy.CLIENT: "unknown client", GroupBy.TEAM: "no team"}


def totals(report: UsageReport) -> Iterator[str]:
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


def usage_sections(view: HubView) -> Iterator[str]:
    """The section of days, and one for each column that the report has.

    Args:
        view: What the page shows.
    """
    yield from _days(view.usage)
    for groups in view.usage.groups.values():
        yield from _section(groups, view)


# ---- days ----


def _days(report: UsageReport) -> Iterator[str]:
    yield '<section id="days" aria-labelledby="days-title"><h2 id="days-title">Days</h2>'
    if not report.total.answers:
        yield "<p>None yet.</p></section>"
        return
    costs = [(sums.nanodollars,) for sums in report.of_days]
    columns = _columns(report, costs, [money(sums.nanodollars) for sums in report.of_days])
    yield '<div class="figures">'
    yield figure("Cost a day", bars("Cost a day", columns, _COST, money_tick, "cost"), ())
    pieces = [_pieces(sums) for sums in report.of_days]
    words = [
        ", ".join(f"{exact(n)} {piece.name}" for n, piece in zip(of_day, _TOKENS, strict=True)) for of_day in pieces
    ]
    plot = bars("Tokens a day, by kind", _columns(report, pieces, words), _TOKENS, tokens, "tokens")
    yield figure("Tokens a day", plot, _TOKENS) + "</div>"
    rows = [
        [day.isoformat(), *_cells(sums, report.total)]
        for day, sums in zip(report.days.names, report.of_days, strict=True)
        if sums.answers
    ]
    foot = ["all days", *_cells(report.total, report.total)]
    yield from _folded("Days as a table", table("Days", ("day", *_SUMMED), rows[::-1], of_text=_OF_TEXT, foot=foot))
    yield "</section>"


def _columns(report: UsageReport, heights: Sequence[Sequence[int]], words: Sequence[str]) -> list[Column]:
    """A column a day; of a day without an answer it says so."""
    return [
        Column(day.isoformat()[5:], f"{day}: {said if sums.answers else 'no answer'}", tuple(map(float, height)))
        for day, sums, height, said in zip(report.days.names, report.of_days, heights, words, strict=True)
    ]


def _pieces(sums: Sums) -> tuple[int, int, int]:
    cached = min(sums.cached_tokens, sums.input_tokens)
    return sums.input_tokens - cached, cached, sums.output_tokens


# ---- columns of the ledger ----


def _section(groups: Groups, view: HubView) -> Iterator[str]:
    name, title, column = _TITLES[groups.by]
    yield f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>'
    if len(groups.days) > 1 and view.usage.total.nanodollars:
        yield _stacked(groups, view.usage, name, column)
    within = _WITHIN.get(groups.by, ())
    total = view.usage.total
    rows = [_row(groups.by, group, total, view.read_at) for group in groups.shown]
    if groups.other_groups:
        others = count(
            groups.other_groups, f"other {column}", f"other {'people' if column == 'person' else title.lower()}"
        )
        rows.append([others, *("" for _ in within), *_cells(groups.others, total), ""])
    names = (column, *within, *_SUMMED, "last answer")
    foot = ["all", *("" for _ in within), *_cells(groups.whole, total), ""]
    yield from table(title, names, rows, of_text=_OF_TEXT, foot=foot)
    yield "</section>"


def _row(by: GroupBy, group: UsageGroup, total: Sums, now: float) -> list[str]:
    shown = text(group.name) if group.name else f'<span class="quiet">{_NAMELESS.get(by, "none")}</span>'
    within = [f"<bdi>{text(one)}</bdi>" for one in group.within]
    last = "" if group.last_at is None else ago(group.last_at, now)
    return [f'<bdi class="name">{shown}</bdi>', *within, *_cells(group.sums, total), last]


def _stacked(groups: Groups, report: UsageReport, name: str, column: str) -> str:
    """The cost of each day, in pieces: the first groups, and all others."""
    named = [(text_of, of_days) for text_of, of_days in groups.days[: len(_SERIES) - 1]]
    rest = [sums.minus(added(*(of_days[place] for _, of_days in named))) for place, sums in enumerate(report.of_days)]
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


def _cells(sums: Sums, total: Sums) -> tuple[str, ...]:
    about = "~" if sums.estimated else ""
    tokens_sign = about + ("≥ " if sums.uncounted else "")
    cost_sign = about + ("≥ " if sums.unpriced else "")
    return (
        exact(sums.answers) + (f' <span class="quiet">({exact(sums.failed)} not whole)</span>' if sums.failed else ""),
        tokens_sign + exact(sums.input_tokens),
        share(sums.cached_tokens, sums.input_tokens),
        tokens_sign + exact(sums.output_tokens),
        cost_sign + text(amount(BudgetUnit.MONEY, sums.nanodollars)),
        _share_bar(sums, total),
    )


def _share_bar(sums: Sums, total: Sums) -> str:
    """The share of the cost, or of the tokens where nothing had a cost, as a bar with its number."""
    part, whole = (
        (sums.nanodollars, total.nanodollars)
        if total.nanodollars
        else (sums.input_tokens + sums.output_tokens, total.input_tokens + total.output_tokens)
    )
    width = f"{part / whole * 100:.2f}%" if whole else "0%"
    bar = f'<svg class="share" aria-hidden="true"><rect class="cost" width="{width}" height="100%"/></svg>'
    return f'{bar} <span class="percent">{text(percent(part, whole))}</span>'


def _folded(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield f'<details id="{title.partition(" ")[0].lower()}-table"><summary>{text(title)}</summary>'
    yield from lines
    yield "</details>"
