"""Deletes kept requests and answers when the policy of a team says so."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from partstream.hub.directory import Policy
from partstream.hub.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from partstream.hub.directory import Directory
    from partstream.hub.store.store import HubStore

__all__ = ["Retention", "forget_old"]

_logger = logging.getLogger("partstream.hub")

_DAY: Final = 86_400.0
_PAUSE: Final = 3600.0
_WITHOUT_TEAM: Final = Policy()
"""What holds for what was kept of people who have left their team."""


def forget_old(store: HubStore) -> int:
    """Deletes what has been kept for as long as each team wants; how many requests and answers that were.

    Raises:
        StoreUnreachableError: The database cannot be reached.
    """
    directory, now = store.directory(), store.time()
    if directory is None:
        return 0
    forgotten = store.forget_contents_of(now - _WITHOUT_TEAM.content_days * _DAY, ())
    return forgotten + sum(
        store.forget_contents_of(now - days * _DAY, teams) for days, teams in _teams_by_days(directory).items()
    )


def _teams_by_days(directory: Directory) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for team in directory.teams.values():
        found.setdefault(team.policy.content_days, []).append(team.name)
    return found


class Retention:
    """Deletes what is old, once an hour, as long as a worker runs.

    Args:
        use_store: Runs something on the database, in the worker's thread.
        pause: The seconds between two looks.
    """

    def __init__(self, use_store: Callable[[Callable[[HubStore], int]], Awaitable[int]], pause: float = _PAUSE) -> None:
        self._use_store = use_store
        self._pause = pause
        self._looking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to look; the first time after one pause."""
        self._looking = asyncio.create_task(self._look())

    async def stop(self) -> None:
        """Ends it."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            try:
                await self._use_store(forget_old)
            except StoreError as error:
                _logger.warning("what is kept of answers was not looked through: %s", error)
