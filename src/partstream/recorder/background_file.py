"""A file that is written by a thread of its own, so that a disk that is slow or full holds nobody up.

Each piece is written with one call and without a buffer: what was written stays when the process is killed.
"""

from __future__ import annotations

import asyncio
import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["BackgroundFile"]

_MOST_BEHIND: Final = 64 * 1024 * 1024
"""Bytes that are not written yet; with more, whoever brings them has to wait."""


class BackgroundFile:
    """A new file, for the user alone; belongs to one event loop.

    Args:
        path: Where it is; nothing may stand there.
        on_failure: Called in the event loop when it cannot be written any more; what comes afterwards is lost.

    Attributes:
        path: The same.
        size: The bytes that were written.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, path: Path, on_failure: Callable[[OSError], object] = lambda error: None) -> None:
        self.path = path
        self.size = 0
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Callable[[], object], int] | None] = SimpleQueue()
        self._brought = 0  # bytes; changed in the event loop alone
        self._done = 0  # bytes; changed in the thread alone
        self._somebody_waits = False
        self._room = asyncio.Event()
        self._failed = False
        # A daemon: a disk that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits to be written that nobody should bring more."""
        return self._brought - self._done > _MOST_BEHIND

    def do(self, job: Callable[[], object], size: int) -> None:
        """Has the thread do something that appends to the file.

        Args:
            job: What is done; called in the thread, after all that was brought before.
            size: About how many bytes it holds.
        """
        self._brought += size
        self._jobs.put((job, size))

    def append(self, data: bytes) -> None:
        """Writes bytes; called in the thread."""
        if self._failed:
            return
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            self.size += len(data)
        except OSError as error:
            self._failed = True
            self._loop.call_soon_threadsafe(self._on_failure, error)

    async def caught_up(self) -> None:
        """Waits while :attr:`is_behind`."""
        while self.is_behind:
            self._room.clear()
            self._somebody_waits = True
            if self.is_behind:  # the thread may have looked before it was told
                await self._room.wait()

    async def close(self) -> None:
        """Closes the file when all that was brought is written."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (brought := self._jobs.get()) is not None:
            job, size = brought
            job()
            self._done += size
            if self._somebody_waits and not self.is_behind:
                self._somebody_waits = False
                self._loop.call_soon_threadsafe(self._room.set)
        os.close(self._descriptor)
