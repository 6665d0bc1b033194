"""The budgets as bars: what is spent, what workers hold in reserve, what is left, and when it begins anew."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from partstream.hub.directory import OwnerKind
from partstream.hub.page.words import amount, count, moment, percent, period_words, until
from partstream.pages.document import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from partstream.hub.usage import BudgetState, HubView

__all__ = ["budget_section"]

_NEARLY: Final = 80
"""The percent that a budget is nearly used up at."""
_MOST_SHOWN: Final = 300
"""The most budgets on one page: the others are those of which least is used."""
_LEGEND: Final = (
    '<ul class="legend"><li><svg viewBox="0 0 20 12" aria-hidden="true"><rect class="spent" x="1" y="1" width="18" '
    'height="10"/></svg>spent</li><li><svg viewBox="0 0 20 12" aria-hidden="true"><rect class="reserved" x="1" y="1" '
    'width="18" height="10"/></svg>reserved for answers that run or come next</li></ul>'
)


def budget_section(view: HubView) -> Iterator[str]:
    """The section of the page; a budget tells its times in its own time zone.

    Args:
        view: What the page shows.
    """
    yield '<section id="budgets" aria-labelledby="budgets-title"><h2 id="budgets-title">Budgets</h2>'
    shown = sorted(view.budgets, key=_share, reverse=True)[:_MOST_SHOWN]
    if not view.budgets:
        yield "<p>No budget is set.</p>"
    else:
        yield _LEGEND
    of_teams = sorted(shown, key=lambda one: (not one.team, one.team.casefold(), one.team))
    for team, budgets in groupby(of_teams, key=lambda one: one.team):
        if view.reader.is_admin:
            yield f"<h3>{f'Team {text(team)}' if team else 'Without a team'}</h3>"
        yield from _list(list(budgets), view)
    left_out = len(view.budgets) - len(shown)
    if left_out:
        yield f"<p>And {count(left_out, 'budget')} of which less is used; <code>partstream hub list</code> has all.</p>"
    yield "</section>"


def _list(budgets: Iterable[BudgetState], view: HubView) -> Iterator[str]:
    yield '<ul class="budgets">'
    for one in sorted(budgets, key=_order):
        yield "".join(_budget(one, view))
    yield "</ul>"


def _order(budget: BudgetState) -> tuple[int, float, str, str]:
    """The budgets of the team first, then those of which most is used."""
    return 0 if budget.owner is OwnerKind.TEAM else 1, -_share(budget), budget.name.casefold(), budget.label


def _share(budget: BudgetState) -> float:
    return (budget.spent + budget.reserved) / budget.limit if budget.limit else 1.0


def _budget(budget: BudgetState, view: HubView) -> Iterator[str]:
    level = _level(budget)
    yield f'<li class="budget {level.style}"><div class="budget-head">'
    yield f"<strong><bdi>{text(_whose(budget))}</bdi></strong>"
    period = period_words(budget.period)
    yield f' <span class="quiet">{budget.owner.value}, {amount(budget.unit, budget.limit)} {text(period)}</span>'
    if level.word:
        yield f' <span class="badge"><span aria-hidden="true">{level.sign}</span> {level.word}</span>'
    yield f"</div>{_meter(budget)}"
    yield '<dl class="amounts">'
    for name, value in _amounts(budget):
        yield f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>"
    yield f"</dl>{_reset(budget, view.read_at)}</li>"


def _whose(budget: BudgetState) -> str:
    return f"{budget.name}: {budget.label}" if budget.label else budget.name


def _amounts(budget: BudgetState) -> Sequence[tuple[str, str]]:
    rows = [
        ("spent", f"{amount(budget.unit, budget.spent)} ({percent(budget.spent, budget.limit)})"),
        ("reserved", amount(budget.unit, budget.reserved)),
        ("left", amount(budget.unit, budget.left)),
    ]
    return [*rows, ("overrun", amount(budget.unit, budget.overrun))] if budget.overrun else rows


def _reset(budget: BudgetState, now: float) -> str:
    if budget.ends_at is None:
        return '<p class="reset quiet">does not begin anew</p>'
    when = moment(budget.ends_at, ZoneInfo(budget.time_zone))
    return f'<p class="reset quiet">resets {until(budget.ends_at, now)}: {when} ({text(budget.time_zone)})</p>'


def _meter(budget: BudgetState) -> str:
    """The bar; its label says all that it shows."""
    whole = max(budget.limit, budget.spent + budget.reserved, 1)
    spent, reserved = (f"{part / whole * 100:.3f}%" for part in (budget.spent, budget.reserved))
    words = ", ".join(f"{name} {value}" for name, value in _amounts(budget))
    pieces = f'<rect class="spent" width="{spent}" height="100%"/>' if budget.spent else ""
    if budget.reserved:
        pieces += f'<rect class="reserved" x="{spent}" width="{reserved}" height="100%"/>'
    label = text(f"{_whose(budget)}: {words}, of {amount(budget.unit, budget.limit)}")
    return f'<svg class="meter" role="img" aria-label="{label}">{pieces}</svg>'


class _Level:
    """How much of a budget is used: its class, its word and the sign beside the word."""

    __slots__ = ("sign", "style", "word")

    def __init__(self, style: str, word: str, sign: str) -> None:
        self.style = style
        self.word = word
        self.sign = sign


_ENOUGH: Final = _Level("enough", "", "")
_LITTLE: Final = _Level("little", "nearly used up", "!")
_NONE: Final = _Level("none", "used up", "✗")
_OVER: Final = _Level("none", "overrun", "✗")


def _level(budget: BudgetState) -> _Level:
    if budget.overrun:
        return _OVER
    if budget.spent >= budget.limit:
        return _NONE
    return _LITTLE if budget.spent * 100 >= budget.limit * _NEARLY else _ENOUGH
