"""Tells whoever runs an answer what usage was kept while it ran, wherever in the provider's code that happened.

An answer may ask upstreams, which enter their tokens into the ledger themselves. Whoever counts the answer as well has
to know that, so that no token is counted twice, and learns its cost.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.tokens.ledger.rows import UsageRow

__all__ = ["note_usage", "watched_usage"]

_WATCHED: Final[ContextVar[list[UsageRow] | None]] = ContextVar("watched_usage", default=None)


@contextmanager
def watched_usage() -> Iterator[list[UsageRow]]:
    """Gives a list that gets the usage that is kept in this task, and in tasks that it starts meanwhile."""
    rows: list[UsageRow] = []
    token = _WATCHED.set(rows)
    try:
        yield rows
    finally:
        _WATCHED.reset(token)


def note_usage(row: UsageRow) -> None:
    """Adds a usage that was kept to the list of whoever watches."""
    rows = _WATCHED.get()
    if rows is not None:
        rows.append(row)
