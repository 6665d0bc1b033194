"""Connects an event loop with the process's standard input and output; does not know what the bytes mean.

One thread reads and one writes, on every platform: asyncio cannot wait for a parent process's pipes on Windows, nor
for files anywhere, and one tested way is better than two. A thread adds about 50 microseconds per piece, and the host
at the other end collects parts for 30 ms anyway.
"""

from __future__ import annotations

import os
import sys
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

__all__ = ["Reader", "Writer", "claim_standard_streams"]

READ_SIZE: Final = 64 * 1024
"""The most bytes of one read."""

READ_AHEAD: Final = 16
"""The pieces that may wait for the event loop before reading pauses."""


def claim_standard_streams() -> tuple[int, int]:
    """Takes standard input and output for the protocol; returns their new file descriptors.

    From now on, all prints go to standard error, also those of child processes, and reading standard input gives its
    end: user code can neither corrupt the protocol nor take bytes from it.
    """
    sys.stdout.flush()
    reading, writing = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - exists on Windows only

        msvcrt.setmode(reading, os.O_BINARY)
        msvcrt.setmode(writing, os.O_BINARY)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True, errors="backslashreplace")
    return reading, writing


class Reader:
    """Reads a file descriptor to its end and hands the pieces to the event loop.

    Args:
        descriptor: The file descriptor.
        loop: The event loop that calls the two functions.
        on_data: Takes each piece.
        on_end: Called once, after the last piece.
        on_closed: Called once on the reading thread when the peer has closed its end, also while the loop is blocked.
    """

    def __init__(
        self,
        descriptor: int,
        loop: AbstractEventLoop,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
        on_closed: Callable[[], None] = lambda: None,
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._on_data = on_data
        self._on_end = on_end
        self._on_closed = on_closed
        self._ahead = threading.Semaphore(READ_AHEAD)

    def start(self) -> None:
        """Starts reading."""
        # A daemon: a read cannot be interrupted, and the process must be able to end during one.
        threading.Thread(target=self._run, name="partstream-reader", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._ahead.acquire()
            try:
                data = os.read(self._descriptor, READ_SIZE)
            except OSError:
                data = b""  # the pipe broke: the peer has gone, which is an end like any other
            if not data:
                self._on_closed()
            if not _call_soon(self._loop, self._deliver, data) or not data:
                return

    def _deliver(self, data: bytes) -> None:
        self._ahead.release()
        if data:
            self._on_data(data)
        else:
            self._on_end()


class Writer:
    """Writes to a file descriptor, one piece at a time; while the peer does not read, the next piece waits.

    Args:
        descriptor: The file descriptor.
        loop: The event loop on which the other methods are called.
        take: Returns the next piece; empty if there is none.
        on_broken: Called once when the peer has gone.
    """

    def __init__(
        self,
        descriptor: int,
        loop: AbstractEventLoop,
        take: Callable[[], bytes],
        on_broken: Callable[[], None],
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._take = take
        self._on_broken = on_broken
        self._pieces: SimpleQueue[bytes] = SimpleQueue()
        self._busy = False
        self._broken = False
        self._when_idle: list[Callable[[], None]] = []

    def start(self) -> None:
        """Starts writing; :meth:`wake` announces output."""
        threading.Thread(target=self._run, name="partstream-writer", daemon=True).start()

    def wake(self) -> None:
        """Announces that output waits; several calls in one turn of the loop have the effect of one."""
        if not self._busy and not self._broken:
            self._busy = True
            self._loop.call_soon(self._next)

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, when all output is written or the peer has gone."""
        if self._busy:
            self._when_idle.append(callback)
        else:
            callback()

    def _next(self) -> None:
        piece = b"" if self._broken else self._take()
        if piece:
            self._pieces.put(piece)
            return
        self._busy = False
        callbacks, self._when_idle = self._when_idle, []
        for callback in callbacks:
            callback()

    def _run(self) -> None:
        while True:
            rest = memoryview(self._pieces.get())
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                _call_soon(self._loop, self._break)
                return
            if not _call_soon(self._loop, self._next):
                return

    def _break(self) -> None:
        self._broken = True
        self._next()
        self._on_broken()


def _call_soon(loop: AbstractEventLoop, callback: Callable[..., None], *arguments: object) -> bool:
    """Calls `callback` on the loop's thread; returns False if the loop has ended."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        return False
    return True
