"""Holds the parts of one response between the provider, which reports at any time, and the readers.

Knows neither the provider nor its task nor the contract.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart

__all__ = ["PartBuffer"]


_TURN_SECONDS: Final = 0.005
"""How long a provider that waits for nothing keeps the event loop to itself; far below what a person notices."""


class _State(Enum):
    OPEN = auto()
    ENDED = auto()
    """No part can follow; parts or an error may still be unread."""
    DELIVERED = auto()
    """A reader has reached the end: a cancellation comes too late."""
    CANCELLED = auto()


class PartBuffer:
    """A progress that keeps its parts in a list, which grows until the buffer is settled and can be awaited.

    Unbounded on purpose: `progress.report` is synchronous in the contract, so a provider cannot be made to wait.
    The buffer holds one response in memory, for as long as somebody holds the response.

    Attributes:
        parts: The parts reported so far, in order.
    """

    __slots__ = ("_changed", "_error", "_next_turn", "_state", "parts")

    def __init__(self) -> None:
        self.parts: list[ResponsePart] = []
        self._changed = asyncio.Event()
        self._error: Exception | None = None
        self._state = _State.OPEN
        self._next_turn = 0.0

    @property
    def settled(self) -> bool:
        """Whether no part can be added any more."""
        return self._state is not _State.OPEN

    @property
    def delivered(self) -> bool:
        """Whether a reader has reached the end, or the error."""
        return self._state is _State.DELIVERED

    @property
    def cancelled(self) -> bool:
        """Whether a cancellation settled the buffer."""
        return self._state is _State.CANCELLED

    def report(self, part: ResponsePart, /) -> None:
        """Adds a part, unless the buffer is settled."""
        if self._state is _State.OPEN:
            self.parts.append(part)
            self._changed.set()

    async def drain(self) -> None:
        """Lets readers take what has come, and whoever cancels cancel: a provider need not wait for anything itself.

        Not at every part: a turn of the event loop takes longer than all else that is done with a part.
        """
        now = monotonic()
        if now >= self._next_turn:
            self._next_turn = now + _TURN_SECONDS
            await asyncio.sleep(0)

    def end(self, error: Exception | None = None) -> None:
        """Settles the buffer: readers get all its parts, then `error`, if any. Only the first call has an effect."""
        if self._state is _State.OPEN:
            self._state = _State.ENDED
            self._error = error
            self._changed.set()

    def cancel(self) -> Exception | None:
        """Settles the buffer: readers get no further part, not even one that was added before.

        Returns:
            The error that no reader will get now, or None.
        """
        if self._state not in {_State.OPEN, _State.ENDED}:
            return None
        self._state = _State.CANCELLED
        self._changed.set()
        return self._error

    async def has(self, index: int) -> bool:
        """Waits until the part at `index` exists or can no longer come; returns whether it may be delivered.

        Raises:
            LanguageModelError: The response failed before that part.
        """
        while index >= len(self.parts) and self._state is _State.OPEN:
            # Clearing cannot lose a wake-up: `set` has already released everyone who was waiting.
            self._changed.clear()
            await self._changed.wait()
        if self._state is _State.CANCELLED:
            return False
        if index < len(self.parts):
            return True
        self._state = _State.DELIVERED
        if self._error is not None:
            raise self._error
        return False
