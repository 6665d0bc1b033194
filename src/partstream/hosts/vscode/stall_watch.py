"""Warns that the event loop is blocked, and names the line that blocks it; code that does not return cannot be stopped.

A thread asks the event loop for a sign of life every few seconds. While the loop is blocked, no message can be sent, so
the warning goes to standard error, which the extension shows; once the loop goes on, the log has it too.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from partstream.runtime.progress import outermost_foreign_line

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

__all__ = ["STALL_SECONDS", "StallWatch"]

STALL_SECONDS: Final = 5.0
"""The seconds without a sign of life after which the event loop counts as blocked."""

_logger = logging.getLogger("partstream.hosts.vscode")


class StallWatch:
    """Watches one event loop from a thread of its own, until the loop is closed.

    Args:
        loop: The event loop, which runs on the thread that makes the watch.
        seconds: The seconds without a sign of life after which the loop counts as blocked; half as many pass between
            two questions.
        say: Takes a line for people at once, on the watching thread.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        seconds: float = STALL_SECONDS,
        say: Callable[[str], object] = lambda line: sys.stderr.write(f"{line}\n"),
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._say = say
        self._thread_of_loop = threading.get_ident()
        self._sign = threading.Event()

    def start(self) -> None:
        """Starts watching."""
        threading.Thread(target=self._run, name="partstream-stall-watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._sign.clear()
            try:
                self._loop.call_soon_threadsafe(self._sign.set)
            except RuntimeError:  # the loop is closed
                return
            if not self._sign.wait(self._seconds):
                self._blocked()
            time.sleep(self._seconds / 2)

    def _blocked(self) -> None:
        since = time.monotonic() - self._seconds
        who = self._who()
        self._say(
            f"partstream: all requests have waited for {self._seconds:g} s: {who} blocks the event loop. "
            "Run a function that takes long in a thread, for example with `asyncio.to_thread`."
        )
        self._sign.wait()
        _logger.warning("%s has blocked the event loop for %.1f s: all requests waited", who, time.monotonic() - since)

    def _who(self) -> str:
        """The request whose task runs, and the line of the provider's code that it is in."""
        task = asyncio.current_task(self._loop)
        frame = sys._current_frames().get(self._thread_of_loop)  # noqa: SLF001 - the documented way to another thread
        place = None if frame is None else outermost_foreign_line(frame)
        return f"{'code' if task is None else task.get_name()}{'' if place is None else f' at {place}'}"
