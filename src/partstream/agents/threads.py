"""Models that run in this process and know no asyncio, such as those of transformers and llama-cpp-python: their
iterators run in a thread, and give their pieces to the event loop as fast as it takes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

__all__ = ["in_thread"]

_Piece = TypeVar("_Piece")

_MOST_WAITING: Final = 16


async def in_thread(
    pieces: Iterable[_Piece], stop: threading.Event | None = None, *, most_waiting: int = _MOST_WAITING
) -> AsyncGenerator[_Piece, None]:
    """The pieces of an iterator that runs in a thread of its own.

    ::

        stop = threading.Event()
        async for text in in_thread(generate(messages, stop), stop):
            yield text

    The thread waits while `most_waiting` pieces wait, so that a model does not run ahead of a slow reader. When this
    generator is closed, as by a cancellation, `stop` is set and the iterator is closed as soon as it gives its next
    piece: no thread can be ended from outside, so it may run on until its current call returns.

    Args:
        pieces: The iterator, best a generator: nothing of it runs outside the thread.
        stop: Set when no more pieces are wanted, for a model that can look at it.
        most_waiting: The most pieces that wait for the event loop.

    Raises:
        Exception: Any error of the iterator, after the pieces before it.

    Example:
        >>> import asyncio
        >>> from partstream import in_thread
        >>> async def main():
        ...     return [piece async for piece in in_thread(["one", "two"])]
        >>> asyncio.run(main())
        ['one', 'two']
    """
    feed = _Feed(pieces, asyncio.get_running_loop(), max(1, most_waiting))
    # A daemon: a model that never returns must not keep the process from ending.
    thread = threading.Thread(target=copy_context().run, args=(feed.run,), name="partstream-pieces", daemon=True)
    thread.start()
    try:
        while (piece := await feed.next()) is not None:
            yield piece[0]
            feed.took_one()
        if feed.error is not None:
            raise feed.error
    finally:
        if stop is not None:
            stop.set()
        feed.close()


class _Feed(Generic[_Piece]):
    """What the thread gives and the event loop takes.

    Attributes:
        error: The error that it ended with, or None.
    """

    def __init__(self, pieces: Iterable[_Piece], loop: asyncio.AbstractEventLoop, most_waiting: int) -> None:
        self.error: BaseException | None = None
        self._pieces = pieces
        self._loop = loop
        self._waiting: deque[_Piece] = deque()
        self._came = asyncio.Event()
        self._places = threading.Semaphore(most_waiting)
        self._is_closed = False
        self._has_ended = False

    def run(self) -> None:
        """Runs the iterator; in the thread."""
        error: BaseException | None = None
        try:
            for piece in self._pieces:
                self._places.acquire()
                if self._is_closed:
                    break
                self._call(partial(self._waiting.append, piece))
        except BaseException as raised:
            error = raised
        close: Callable[[], object] | None = getattr(self._pieces, "close", None)
        if close is not None:
            try:
                close()
            except BaseException as raised:
                error = error or raised
        self._call(partial(self._end, error))

    async def next(self) -> tuple[_Piece] | None:
        """The next piece, as soon as there is one; None when the iterator has ended."""
        while not self._waiting and not self._has_ended:
            self._came.clear()
            await self._came.wait()
        return (self._waiting.popleft(),) if self._waiting else None

    def took_one(self) -> None:
        """Lets the thread give one more piece."""
        self._places.release()

    def close(self) -> None:
        """Has the thread stop at its next piece."""
        self._is_closed = True
        self._places.release()

    def _end(self, error: BaseException | None) -> None:
        self._has_ended, self.error = True, error

    def _call(self, change: Callable[[], object]) -> None:
        """Changes something in the event loop's thread, and wakes the reader."""
        with contextlib.suppress(RuntimeError):  # the event loop has been closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._changed, change)

    def _changed(self, change: Callable[[], object]) -> None:
        change()
        self._came.set()
