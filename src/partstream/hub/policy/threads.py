"""Runs the functions of a policy beside the event loop of the server, for a limited time.

A policy may be slow, hang, or end its thread: none of it holds up the server. Plain functions run in threads, of which
there are a few; functions with `async` in one event loop of their own. All threads are daemons, so that one that hangs
does not keep the process alive.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, TypeAlias, TypeVar

from partstream.errors import UnexpectedValueError

__all__ = ["PolicyBusyError", "PolicyFailedError", "PolicyThreads"]

T = TypeVar("T")

_logger = logging.getLogger("partstream.hub")

_MOST_THREADS: Final = 16
_MOST_WAITING: Final = 1000

_Job: TypeAlias = tuple["Future[Any]", Callable[[], Any]]


class PolicyBusyError(Exception):
    """So many calls of the policy have not ended that no further one is begun."""


class PolicyFailedError(Exception):
    """A function of a policy has raised, whatever it was.

    Attributes:
        reason: The class of the error; of one of ours, which holds nothing of a request, its text too.
    """

    def __init__(self, error: BaseException) -> None:
        text = f": {error}" if type(error) is UnexpectedValueError else ""
        self.reason = f"{type(error).__name__}{text}"
        super().__init__(self.reason)


class PolicyThreads:
    """The threads in which one policy runs.

    Args:
        seconds: How long a function with `async` may take before it is cancelled; a plain one cannot be.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._is_closed = False
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._open = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def call(self, function: Callable[..., Any], argument: object, read: Callable[[object], T]) -> Future[T]:
        """Begins a call.

        Args:
            function: A function of the policy, with `async` or without.
            argument: Its argument.
            read: Reads what it gives back, in the same thread: that may run code of the policy too.

        Returns:
            The future of what was read, or of a :class:`PolicyFailedError` for any error, `SystemExit` too. Cancelling
            it leaves out a call that has not begun.

        Raises:
            PolicyBusyError: Too many calls have not ended, or no more are begun.
        """
        if self._is_closed or self._open >= _MOST_WAITING:
            raise PolicyBusyError
        future: Future[T] = Future()
        with self._lock:
            self._open += 1
        future.add_done_callback(self._note_end)
        if inspect.iscoroutinefunction(function):
            loop = self._running_loop()
            loop.call_soon_threadsafe(self._begin, future, lambda: self._awaited(future, function, argument, read))
        else:
            self._jobs.put((future, lambda: read(function(argument))))
            self._need_thread()
        return future

    def close(self) -> None:
        """Begins no more calls; those that run are not waited for."""
        self._is_closed = True
        for _ in range(self._threads):
            self._jobs.put(None)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _note_end(self, _future: Future[Any]) -> None:
        with self._lock:
            self._open -= 1

    # ---- plain functions ----

    def _need_thread(self) -> None:
        with self._lock:
            if self._threads >= min(self._open, _MOST_THREADS):
                return
            self._threads += 1
        Thread(target=self._work, name="partstream-policy", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            _finish(*job)

    # ---- functions with async ----

    def _begin(self, future: Future[Any], run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._loop is not None and future.set_running_or_notify_cancel():
            task = self._loop.create_task(run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._run, args=(self._loop,), name="partstream-policy-loop", daemon=True).start()
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while not self._is_closed:
            try:
                loop.run_forever()
            except BaseException as error:  # a task of the policy's own has ended with SystemExit
                _logger.error("the event loop of the policy was interrupted by %s", type(error).__name__)  # noqa: TRY400
        loop.close()

    async def _awaited(
        self,
        future: Future[Any],
        function: Callable[[object], Coroutine[Any, Any, object]],
        argument: object,
        read: Callable[[object], Any],
    ) -> None:
        """Runs a call; raises nothing, because `SystemExit` of a task ends its event loop."""
        try:
            async with asyncio.timeout(self._seconds):
                result = read(await function(argument))
        except BaseException as error:
            _fail(future, error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)


def _finish(future: Future[Any], run: Callable[[], Any]) -> None:
    """Runs a call and says what came of it; whoever has stopped waiting is told nothing."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = run()
    except BaseException as error:
        _fail(future, error)
    else:
        with suppress(InvalidStateError):
            future.set_result(result)


def _fail(future: Future[Any], error: BaseException) -> None:
    with suppress(InvalidStateError):
        future.set_exception(PolicyFailedError(error))
