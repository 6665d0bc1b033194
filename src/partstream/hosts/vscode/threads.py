"""Runs a function of other people in a thread of its own; knows no provider.

The threads of `asyncio.to_thread` are few and shared: some functions that never return would hold up everybody else.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_in_thread"]

Result = TypeVar("Result")


async def run_in_thread(function: Callable[[], Result], name: str) -> Result:
    """Runs a function in a new daemon thread and returns its result. A caller that is cancelled leaves it running.

    Raises:
        BaseException: Whatever the function raises. It is raised here and not through a future, which refuses a
            StopIteration and would leave the caller waiting.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name=name, daemon=True).start()
    await done.wait()
    if errors:
        raise errors[0]
    return results[0]
