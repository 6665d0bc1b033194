"""The page of the hub as one document: as a file, and as the frame that a server sends to whoever asks.

The frame holds nothing of the hub: its script gets the content with the reader's key, in a header. The content is the
same HTML that a file holds, so that a file says what the page says, without a script.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from partstream.hub.page.budgets import budget_section
from partstream.hub.page.operation import operation_sections
from partstream.hub.page.usage import totals, usage_sections
from partstream.pages.document import document, resource, text
from partstream.pages.tables import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from partstream.hub.usage import HubView
    from partstream.pages.policy import ContentPolicy

__all__ = ["PERIODS", "content_html", "file_html", "frame_html"]

_PACKAGE: Final = "partstream.hub.page"
PERIODS: Final = (1, 7, 30, 90)
"""The days that a reader chooses between."""

_SERIES_PATTERNS: Final = (
    '<svg class="unseen" aria-hidden="true" width="0" height="0"><defs>'
    '<pattern id="series-2-pattern" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="series-2-line" x1="0" x2="0" y1="0" y2="5"/></pattern>'
    '<pattern id="series-3-pattern" width="4" height="4" patternUnits="userSpaceOnUse">'
    '<line class="series-3-line" x1="0" x2="4" y1="2" y2="2"/></pattern>'
    '<pattern id="series-4-pattern" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<circle class="series-4-dot" cx="2.5" cy="2.5" r="1.6"/></pattern>'
    '<pattern id="series-5-pattern" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
    '<line class="series-5-line" x1="0" x2="0" y1="0" y2="5"/></pattern>'
    '<pattern id="reserved-pattern" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="reserved-line" x1="0" x2="0" y1="0" y2="6"/></pattern>'
    "</defs></svg>"
)
_FOOTNOTE: Final = (
    "~: includes estimates, for answers that were cut or whose server reported no numbers. ≥: without answers whose "
    "tokens or price are unknown. Spent and reserved together "
    "are never more than the limit. What is reserved and not needed goes back when the answer ends. Cached input is "
    "that part of the input that came from a prompt cache. No prompt and no answer is on this page."
)


def file_html(view: HubView, zone: tzinfo | None, policy: ContentPolicy) -> str:
    """The page as a file, which needs no other and asks for none.

    Args:
        view: What it shows.
        zone: The time zone of its times; None for that of this machine.
        policy: How the page names what it allows.
    """
    body = f"{_patterns()}\n{content_html(view, zone)}"
    return document("Hub - Partstream", body, policy, styles=_styles())


def frame_html(policy: ContentPolicy) -> str:
    """The page as a server sends it: without any data, which its script gets.

    Args:
        policy: How the page names what it allows; it must let the script connect to its own server.
    """
    body = (
        f"{_patterns()}\n<main><h1>Hub</h1><noscript><p>This page needs its script, which asks the hub with your key. "
        "<code>partstream hub usage --html FILE</code> writes the same as a file that needs none.</p></noscript></main>"
        '\n<p class="unseen" id="said" role="status"></p>'
    )
    scripts = (resource("partstream.pages", "replacing.js") + resource(_PACKAGE, "hub.js"),)
    return document("Hub - Partstream", body, policy, styles=_styles(), scripts=scripts)


def content_html(view: HubView, zone: tzinfo | None, *, is_live: bool = False) -> str:
    """What stands between `<main>` and `</main>`, with both.

    Args:
        view: What it shows.
        zone: The time zone of its times; None for that of this machine.
        is_live: Whether a script is there that shows other periods.
    """
    return "\n".join(("<main>", *_lines(view, zone, is_live=is_live), "</main>"))


def _patterns() -> str:
    return PATTERNS + _SERIES_PATTERNS


def _styles() -> tuple[str, ...]:
    names = (("partstream.pages", "theme.css"), ("partstream.pages", "usage.css"), (_PACKAGE, "hub.css"))
    return ("".join(resource(package, name) for package, name in names),)


def _lines(view: HubView, zone: tzinfo | None, *, is_live: bool) -> Iterator[str]:
    reader = view.reader
    yield f"<h1>{'Hub' if reader.is_admin else f'Hub: {text(reader.name)}'}</h1>"
    read_at = datetime.fromtimestamp(view.read_at, UTC).astimezone(zone)
    read = f"Read {read_at:%Y-%m-%d %H:%M:%S} ({view.usage.days.time_zone})."
    yield f'<p class="quiet">{text(_whose(view))} {text(read)}</p>'
    if is_live:
        yield _controls(len(view.usage.of_days))
    yield from totals(view.usage)
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in _sections(view))
    yield f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
    yield from budget_section(view)
    yield from usage_sections(view)
    if reader.is_admin:
        yield from operation_sections(view, zone)
    yield f'<p class="quiet footnote">{text(_FOOTNOTE)}</p>'


def _whose(view: HubView) -> str:
    if view.reader.is_admin:
        people = "1 person" if view.people == 1 else f"{view.people:,} people"
        teams = "1 team" if view.teams == 1 else f"{view.teams:,} teams"
        return f"All of {people} in {teams}."
    return "Your budgets and your answers" + (f", in team {view.reader.team}." if view.reader.team else ".")


def _controls(days: int) -> str:
    """The buttons of the page: the script listens to them by their `data-` attributes."""
    names = {1: "Today", 7: "7 days", 30: "30 days", 90: "90 days"}
    periods = "".join(
        f'<button type="button" data-days="{one}"{_pressed(is_it=one == days)}>{names[one]}</button>' for one in PERIODS
    )
    return (
        f'<div class="controls"><div role="group" aria-label="Period">{periods}</div>'
        '<button type="button" data-action="refresh">Refresh</button>'
        '<button type="button" data-action="leave">Forget my key</button></div>'
    )


def _pressed(*, is_it: bool) -> str:
    return f' aria-pressed="{"true" if is_it else "false"}"'


def _sections(view: HubView) -> Iterator[tuple[str, str]]:
    yield "budgets", "Budgets"
    yield "days", "Days"
    for by in view.usage.groups:
        yield _IDS[by], _IDS[by].capitalize()
    if view.reader.is_admin:
        yield "workers", "Workers"
        yield "changes", "Changes"


_IDS: Final = {"team": "teams", "person": "people", "model": "models", "client": "clients", "session": "sessions"}
