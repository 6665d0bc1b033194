"""Shows one exchange to several watchers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.devtools.bundles.exchange import HowEnded
    from partstream.recorder.forwarded_headers import HeaderFields
    from partstream.recorder.watching import ExchangeWatcher

__all__ = ["SeveralWatchers"]


class SeveralWatchers:
    """Hands on what it sees, in the order of the watchers.

    Args:
        watchers: Who sees it.
    """

    def __init__(self, watchers: Sequence[ExchangeWatcher]) -> None:
        self._watchers = watchers

    @property
    def is_behind(self) -> bool:
        """Whether one of them cannot take more."""
        return any(watcher.is_behind for watcher in self._watchers)

    async def caught_up(self) -> None:
        """Waits for all of them."""
        for watcher in self._watchers:
            await watcher.caught_up()

    def sending(self, at: int) -> None:
        """The first byte of the request is about to be sent."""
        for watcher in self._watchers:
            watcher.sending(at)

    def sent(self, at: int) -> None:
        """The last byte of the request was sent."""
        for watcher in self._watchers:
            watcher.sent(at)

    def head(self, at: int, status: int, reason: str, headers: HeaderFields) -> None:
        """The head of the response was read."""
        for watcher in self._watchers:
            watcher.head(at, status, reason, headers)

    def chunk(self, at: int, data: bytes) -> None:
        """Some bytes of the body were read at once."""
        for watcher in self._watchers:
            watcher.chunk(at, data)

    def end(self, at: int, how: HowEnded, error: Exception | None) -> None:
        """The exchange is over."""
        for watcher in self._watchers:
            watcher.end(at, how, error)
