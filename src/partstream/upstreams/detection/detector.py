"""Finds out what an upstream speaks when it is first asked, once for all who wait, and again when it was wrong."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import asked_protocols
from partstream.upstreams.detection.finding import detect
from partstream.upstreams.detection.memory import DetectionFile

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection_rules import Detected
    from partstream.upstream.http import Connections

__all__ = ["Detector"]

_logger = logging.getLogger("partstream.upstreams")

_GUESS_SECONDS: Final = 2.0
"""How long a guess serves at least: one answer asks several times."""
_GUESS_FACTOR: Final = 12.0
"""How much longer it serves than it took to make: nobody waits for a silent server before each question."""
_LONGEST_GUESS: Final = 120.0
_PAUSE_SECONDS: Final = 30.0
"""How long nobody is asked again after the same was found out twice."""


class Detector:
    """What one upstream speaks; serves any number of callers on one event loop.

    Args:
        configuration: The upstream; its own protocol is of no interest.
        connections: The connections to it.
        clock: The seconds since 1970.
    """

    def __init__(
        self, configuration: GatewayConfiguration, connections: Connections, clock: Callable[[], float] = time.time
    ) -> None:
        self._configuration = configuration
        self._connections = connections
        self._clock = clock
        folder = configuration.protocol_folder or configuration.cache_folder
        self._file = None if folder is None else DetectionFile(folder, configuration.base_url)
        self._known: Detected | None = None
        self._confirmed_at: float | None = None
        self._guess: tuple[Detected, float] | None = None
        """A guess, and until when it serves."""
        self._running: asyncio.Task[Detected] | None = None

    @property
    def known(self) -> Detected | None:
        """What was found out for certain; None if nothing was."""
        return self._known

    async def detected(self) -> Detected:
        """What the upstream speaks; a guess where it does not tell, or where it cannot be asked.

        Raises:
            CredentialError: The key cannot be had.
            ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
        """
        if self._known is not None:
            return self._known
        if self._guess is not None and 0 < self._guess[1] - self._clock() <= _LONGEST_GUESS:
            return self._guess[0]
        return await self._one_for_all(self._remembered_or_asked)

    async def detected_again(self, wrong: Detected) -> Detected:
        """What the upstream speaks after a request failed in what was found out before.

        Raises:
            CredentialError: The key cannot be had.
            ConnectionSetupError: The proxy or the certificates that this machine names are of no use.
        """
        if self._known is not None and self._known != wrong:
            return self._known  # another request has met it before
        if self._confirmed_at is not None and 0 <= self._clock() - self._confirmed_at < _PAUSE_SECONDS:
            return wrong
        again = await self._one_for_all(self._asked)
        is_same = (again.protocol, again.base_url) == (wrong.protocol, wrong.base_url)
        self._confirmed_at = self._clock() if is_same else None
        return again

    async def aclose(self) -> None:
        """Stops asking; the object may be used again."""
        task, self._running = self._running, None
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _one_for_all(self, find: Callable[[], Coroutine[Any, Any, Detected]]) -> Detected:
        task = self._running
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            self._running = task = asyncio.create_task(find())
            task.add_done_callback(_retrieve)
        # Shielded: a caller that stops waiting must not stop the requests that others wait for.
        return await asyncio.shield(task)

    async def _remembered_or_asked(self) -> Detected:
        if self._file is not None:
            remembered = await asyncio.to_thread(self._file.load, self._clock())
            if remembered is not None and remembered.protocol in asked_protocols():
                return self._keep(remembered)
        return await self._asked()

    async def _asked(self) -> Detected:
        self._known = None
        began = self._clock()
        found = await detect(self._configuration, self._connections)
        if not found.is_certain:
            if self._file is not None:
                await asyncio.to_thread(self._file.remove)
            if self._guess is None or self._guess[0] != found:
                _logger.info("%s: %s", self._configuration.shown_url, found.says)
            now = self._clock()
            serves = max(_GUESS_SECONDS, (now - began) * _GUESS_FACTOR)
            self._guess = (found, now + min(serves, _LONGEST_GUESS))
            return found
        if self._file is not None:
            await asyncio.to_thread(self._file.save, found, self._clock())
        return self._keep(found)

    def _keep(self, found: Detected) -> Detected:
        self._known = found
        _logger.info("%s: %s", found.shown_url, found.says)
        return found


def _retrieve(task: asyncio.Task[Detected]) -> None:
    """Takes the error of a task for which nobody waits any more."""
    if not task.cancelled():
        task.exception()
