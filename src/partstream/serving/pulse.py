"""What happens to a reply by time alone: its head goes out, and comments keep it alive while the model is silent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.serving.outgoing import BufferedReplySink
    from partstream.serving.replies import ReplyWriter
    from partstream.serving.settings import ServingSettings

__all__ = ["KeepAlive"]


class KeepAlive:
    """One timer for one answer, not one for each event.

    Args:
        reply: The reply.
        outgoing: Its bytes.
        settings: How long silences may be.
    """

    __slots__ = ("_event_at", "_events", "_handle", "_loop", "_outgoing", "_reply", "_settings")

    def __init__(self, reply: ReplyWriter, outgoing: BufferedReplySink, settings: ServingSettings) -> None:
        self._reply = reply
        self._outgoing = outgoing
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._event_at = self._loop.time()
        self._events = 0
        self._handle = self._loop.call_later(settings.head_seconds, self._open)

    def stop(self) -> None:
        """Ends the timer."""
        self._handle.cancel()

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        self._handle = self._loop.call_later(seconds, what)

    def _open(self) -> None:
        if self._outgoing.is_open:
            self._reply.open()
            self._after(self._settings.keep_alive_seconds, self._beat)

    def _beat(self) -> None:
        """Writes something if the reply was silent; what waits for a slow client already says that it lives."""
        if not self._outgoing.is_open:
            return
        now = self._loop.time()
        if self._reply.events != self._events:
            self._events, self._event_at = self._reply.events, self._outgoing.sent_at
        silent_since = self._outgoing.sent_at
        if not self._outgoing.waits and now - silent_since >= self._settings.keep_alive_seconds:
            if now - self._event_at >= self._settings.idle_event_seconds:
                self._reply.idle()
                self._events, self._event_at = self._reply.events, now
            else:
                self._reply.keep_alive()
            silent_since = now
        self._after(max(silent_since + self._settings.keep_alive_seconds - now, 0.001), self._beat)
