"""An event loop that does not wait for its own clock: pauses of a generated upstream take no time.

When nothing but a timer can happen next, the clock jumps to it. It stands by the real time as long as somebody outside
of the loop works, in a thread, since nobody can tell how long that takes; targets in other processes need a loop of
their own.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

__all__ = ["VirtualTimeLoop"]

_QUIET_SECONDS: Final = 0.002
"""How long nothing must arrive before the clock jumps: what was sent on loopback is there by then."""
_OF_EXECUTORS: Final = ("asyncio_", "ThreadPoolExecutor")
"""The names of threads that idle after their work."""


class _Selector(selectors.DefaultSelector):
    """Waits for sockets, and instead of waiting for a timer has the clock jump, if it may."""

    def __init__(self, may_jump: Callable[[], bool], jump: Callable[[float], None]) -> None:
        super().__init__()
        self._may_jump = may_jump
        self._jump = jump

    def select(self, timeout: float | None = None) -> Any:
        """What is ready."""
        if timeout is None or timeout <= _QUIET_SECONDS:
            return super().select(timeout)
        # Asked before it looks: a thread that ends its work in between has woken the loop by then.
        may_jump = self._may_jump()
        found = super().select(_QUIET_SECONDS)
        if found:
            return found
        if not may_jump:
            return super().select(timeout - _QUIET_SECONDS)
        self._jump(timeout - _QUIET_SECONDS)
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps over pauses; for `asyncio.Runner(loop_factory=VirtualTimeLoop)`.

    Attributes:
        skipped: The seconds that the clock has jumped in all.
    """

    def __init__(self) -> None:
        self.skipped = 0.0
        self._jobs = 0
        self._threads = frozenset(threading.enumerate())
        super().__init__(_Selector(self._may_skip, self._skip))

    def time(self) -> float:
        """The time of this loop: it goes on by itself, and jumps."""
        return super().time() + self.skipped

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Runs a function in a thread; the clock does not jump meanwhile."""
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._end_job)
        return future

    def _end_job(self, _: asyncio.Future[Any]) -> None:
        self._jobs -= 1

    def _may_skip(self) -> bool:
        return not self._jobs and not any(map(self._works, threading.enumerate()))

    def _skip(self, seconds: float) -> None:
        self.skipped += seconds

    def _works(self, thread: threading.Thread) -> bool:
        return thread not in self._threads and not thread.name.startswith(_OF_EXECUTORS)
