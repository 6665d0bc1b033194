"""Holds the parts of one response between the provider, which reports at any moment, and whoever reads them.

It knows nothing of the provider, of its task or of the contract.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.parts import ResponsePart

__all__ = ["PartBuffer"]


class _State(Enum):
    OPEN = auto()
    ENDED = auto()
    """Nothing more is added; there may be parts, or an error, that nobody has read."""
    DELIVERED = auto()
    """Somebody has read it to its end: a cancellation comes too late."""
    CANCELLED = auto()


class PartBuffer:
    """A progress whose parts are kept: a list that grows until it is settled, and can be waited on.

    Unbounded on purpose: `progress.report` is synchronous in the contract, so a provider cannot be asked to wait.
    The memory is that of one response, for as long as the response is held.

    Attributes:
        parts: What was reported so far, in order.
    """

    __slots__ = ("_changed", "_error", "_state", "parts")

    def __init__(self) -> None:
        self.parts: list[ResponsePart] = []
        self._changed = asyncio.Event()
        self._error: Exception | None = None
        self._state = _State.OPEN

    @property
    def settled(self) -> bool:
        """Whether nothing can be added any more."""
        return self._state is not _State.OPEN

    @property
    def delivered(self) -> bool:
        """Whether somebody has read it to its end, or to its error."""
        return self._state is _State.DELIVERED

    @property
    def cancelled(self) -> bool:
        """Whether it was settled by a cancellation."""
        return self._state is _State.CANCELLED

    def report(self, part: ResponsePart, /) -> None:
        """Adds a part; drops it once the buffer is settled."""
        if self._state is _State.OPEN:
            self.parts.append(part)
            self._changed.set()

    def end(self, error: Exception | None = None) -> None:
        """Settles the buffer: readers get all its parts, then `error` if there is one. Only the first call counts."""
        if self._state is _State.OPEN:
            self._state = _State.ENDED
            self._error = error
            self._changed.set()

    def cancel(self) -> Exception | None:
        """Settles the buffer: readers get nothing more, not even what was added already.

        Returns:
            The error that nobody will read now, if there was one.
        """
        if self._state not in {_State.OPEN, _State.ENDED}:
            return None
        self._state = _State.CANCELLED
        self._changed.set()
        return self._error

    async def has(self, index: int) -> bool:
        """Waits until the part at `index` is there or will never be; says whether it may be delivered.

        Raises:
            LanguageModelError: The response failed after fewer parts than that.
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
