"""A door for a host whose event loop only runs while an answer comes, such as a chat: a thread stands at it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

    from partstream.capturing.door import CaptureSocket

__all__ = ["CaptureSocketThread"]

_END_SECONDS: Final = 2.0


class CaptureSocketThread:
    """Holds a door open inside its `with` block.

    Args:
        door: The door.
    """

    def __init__(self, door: CaptureSocket) -> None:
        self._door = door
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run, name="partstream-door", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_open.wait(_END_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._hold_open())

    async def _hold_open(self) -> None:
        await self._door.open()
        self._is_open.set()
        try:
            await self._closing.wait()
        finally:
            await self._door.aclose()
