"""What the owner of a server runs beside its requests, from the start of the application to its end."""

from __future__ import annotations

import logging
from typing import Protocol

__all__ = ["Lifetime", "Lifetimes"]

_logger = logging.getLogger("partstream.serving")


class Lifetime(Protocol):
    """Something that runs as long as the application."""

    async def start(self) -> None:
        """Begins, before the first request. An error ends the start of the server."""
        ...

    async def stop(self) -> None:
        """Ends, after the last answer."""
        ...


class Lifetimes:
    """All that runs as long as one application."""

    def __init__(self) -> None:
        self._all: list[Lifetime] = []

    def add(self, lifetime: Lifetime) -> None:
        """Adds one; it is started after those before it, and stopped before them."""
        self._all.append(lifetime)

    async def start(self) -> None:
        """Starts all.

        Raises:
            Exception: What the first one raises that cannot start.
        """
        for one in self._all:
            await one.start()

    async def stop(self) -> None:
        """Stops all; the log says which of them fails."""
        for one in reversed(self._all):
            try:
                await one.stop()
            except Exception:
                _logger.exception("%s could not be stopped", type(one).__name__)
