"""What runs the hub: its workers, its database, and who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.hub.page.words import ago, count, moment
from partstream.pages.document import text
from partstream.pages.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from partstream.hub.usage import DatabaseState, HubView, WorkerState

__all__ = ["operation_sections"]

_OF_TEXT: Final = frozenset({"worker", "state", "came", "seen", "when", "who", "change", "fields"})


def operation_sections(view: HubView, zone: tzinfo | None) -> Iterator[str]:
    """The sections of workers, database and changes.

    Args:
        view: What the page shows.
        zone: The time zone of its times; None for that of this machine.
    """
    yield '<section id="workers" aria-labelledby="workers-title"><h2 id="workers-title">Workers and database</h2>'
    if view.database is not None:
        yield from _database(view.database, zone)
    live = sum(one.is_live for one in view.workers)
    yield f"<p>{count(live, 'worker')} of {len(view.workers):,} {'answers' if live == 1 else 'answer'}.</p>"
    rows = [
        _worker(one, view.read_at, zone) for one in sorted(view.workers, key=lambda one: (not one.is_live, one.name))
    ]
    if rows:
        yield from table("Workers", ("worker", "state", "came", "seen", "budgets held"), rows, of_text=_OF_TEXT)
    yield '</section><section id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Changes</h2>'
    changes = [
        [moment(one.at, zone), text(one.by), text(one.what), text("; ".join(one.fields))] for one in view.changes
    ]
    yield from table("Changes", ("when", "who", "change", "fields"), changes, of_text=_OF_TEXT)
    yield "</section>"


def _database(database: DatabaseState, zone: tzinfo | None) -> Iterator[str]:
    since = "no answer yet" if database.ledger_since is None else f"since {moment(database.ledger_since, zone)}"
    rows = (
        ("Tables", f"version {database.schema}"),
        ("Directory", f"version {database.directory_version:,}"),
        ("Ledger", since),
        ("Leases", "add up" if not database.broken else "do not add up"),
    )
    entries = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    yield f'<dl class="totals facts">{entries}</dl>'
    if database.broken:
        yield f'<ul class="broken">{"".join(f"<li>{text(one)}</li>" for one in database.broken)}</ul>'


def _worker(worker: WorkerState, now: float, zone: tzinfo | None) -> list[str]:
    state = (
        '<span aria-hidden="true">●</span> answers' if worker.is_live else '<span aria-hidden="true">○</span> silent'
    )
    seen = "" if worker.seen_at is None else ago(worker.seen_at, now)
    return [
        f'<bdi class="name">{text(worker.name)}</bdi>',
        f'<span class="{"good" if worker.is_live else "quiet"}">{state}</span>',
        moment(worker.started_at, zone),
        seen,
        f"{worker.budgets:,}",
    ]
