"""Says from time to time that an answer is still waited for; prints nothing itself."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

__all__ = ["MOMENTS", "saying_that_it_waits"]

MOMENTS: Final = (3.0, 15.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0, 600.0)
"""Seconds after the question. A model that a server has to load first takes from some seconds to minutes."""


@asynccontextmanager
async def saying_that_it_waits(
    say: Callable[[float], object], moments: Iterable[float] = MOMENTS
) -> AsyncIterator[Callable[[], object]]:
    """Calls `say` at some moments of the block, with the seconds that have passed, until it is told to stop.

    Yields:
        A function that stops the calls; call it when the answer begins.
    """

    async def wait() -> None:
        passed = 0.0
        for moment in moments:
            await asyncio.sleep(moment - passed)
            passed = moment
            say(passed)

    waiting = asyncio.create_task(wait())
    try:
        yield waiting.cancel
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
