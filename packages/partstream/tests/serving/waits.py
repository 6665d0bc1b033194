"""How long others wait while an event loop has work, in processor time and on a machine of known speed."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

LONGEST_TURN = 0.05
"""Seconds, on a machine as fast as :data:`REFERENCE` says."""
REFERENCE = 0.019
"""Seconds that :func:`on_known_machine` takes there for one loop."""
V = TypeVar("V")


def on_known_machine(wait: float) -> float:
    """The seconds that a wait takes there at most. The best of some short loops says how much slower this machine is
    now; they run only for a wait that is too long here."""
    if wait < LONGEST_TURN:
        return wait
    seconds = []
    for _ in range(9):
        begun = time.thread_time()
        sum(map(len, map(str, range(200_000))))
        seconds.append(time.thread_time() - begun)
    return wait / max(1.0, min(seconds) / REFERENCE)


def in_short_waits(work: Callable[[], Awaitable[V]]) -> V:
    """What the work gives, while which others wait no longer than they may: also for a thread that keeps the
    interpreter to itself. Other work of the machine makes a wait longer and never shorter, so that the best of three
    times counts."""
    longest = []
    for _ in range(3):
        waits: list[float] = []

        async def looked(waits: list[float] = waits) -> V:
            async def look() -> None:
                while True:
                    begun = time.process_time()
                    await asyncio.sleep(0.001)
                    waits.append(time.process_time() - begun)

            looking = asyncio.create_task(look())
            try:
                return await work()
            finally:
                looking.cancel()

        result = asyncio.run(looked())
        longest.append(on_known_machine(max(waits)))
        if longest[-1] < LONGEST_TURN:
            break
    assert min(longest) < LONGEST_TURN, longest
    return result
