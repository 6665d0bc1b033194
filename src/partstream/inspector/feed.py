"""The newest view of a source, and its last changes by number: a page that lost its connection goes on where it was.

Bounded: of changes that are too many or too old, a page reads the whole view again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import dumps
from partstream.inspector.changes import change_between

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NumberedChange", "ViewFeed"]

_KEPT_BYTES: Final = 8 * 1024 * 1024


class NumberedChange(NamedTuple):
    """A change that was made.

    Attributes:
        number: Its number: one more than that of the change before.
        json: The change as JSON (:mod:`partstream.inspector.changes`).
    """

    number: int
    json: bytes


class ViewFeed:
    """A view that its source changes and that any number of pages read.

    Args:
        kept_bytes: The most bytes of changes that are kept for pages that come back.

    Attributes:
        view: The newest view; None before the first.
        number: The number of the newest change; 0 for a view that never changed.
        has_ended: Whether nothing will change any more.
    """

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self.view: Mapping[str, Any] | None = None
        self.number = 0
        self.has_ended = False
        self._kept: deque[NumberedChange] = deque()
        self._kept_bytes = kept_bytes
        self._size = 0
        self._moved = asyncio.Event()

    def show(self, view: Mapping[str, Any]) -> None:
        """Takes the newest view."""
        before, self.view = self.view, view
        if before is not None:
            change = change_between(before, view)
            if change is None:
                return
            self.number += 1
            self._keep(NumberedChange(self.number, dumps(change)))
        self._move()

    def end(self) -> None:
        """Says that nothing will change any more."""
        self.has_ended = True
        self._move()

    def after(self, number: int) -> list[NumberedChange] | None:
        """The changes after that number; None where they are not all kept, or the number is none of this feed."""
        oldest = self._kept[0].number if self._kept else self.number + 1
        if not oldest - 1 <= number <= self.number:
            return None
        return [change for change in self._kept if change.number > number]

    async def moved(self, number: int) -> None:
        """Waits until there is a view, and more than the change of that number, or until nothing will come."""
        while not self.has_ended and (self.view is None or self.number <= number):
            await self._moved.wait()

    def _keep(self, change: NumberedChange) -> None:
        self._kept.append(change)
        self._size += len(change.json)
        while self._size > self._kept_bytes:
            self._size -= len(self._kept.popleft().json)

    def _move(self) -> None:
        # A new event for the next wait: everybody who waited sees this one.
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
