"""An outlet that keeps what is sent: for the store, for those who resume a stream, and for those who stop it.

The end of an answer is sent when it is kept: who reads the end may name the answer in the next request, which another
process may get.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import loads
from partstream.protocols.serve import StoredAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from partstream.protocols.serve import AnswerRecord, WireRequest
    from partstream.serving.outgoing import Head, ReplySink

__all__ = ["RecordingReplySink"]

_GOOD: range = range(200, 300)


class RecordingReplySink:
    """See :class:`partstream.serving.outgoing.Outlet`.

    Args:
        outlet: Where the bytes go.
        record: Reads them.
        own: The request as it is kept.
        is_stream: Whether the bytes are frames; otherwise they are one document.
        on_begin: Told the id of the answer as soon as it is known.
        on_end: Keeps the answer; None for an answer of which nothing was said.

    Attributes:
        stored: The answer as it is kept; None before its end.
        stop: Ends the answer on behalf of its client; set by whoever runs it.
    """

    def __init__(
        self,
        outlet: ReplySink,
        record: AnswerRecord,
        own: WireRequest,
        *,
        is_stream: bool,
        on_begin: Callable[[str], object],
        on_end: Callable[[StoredAnswer | None], Awaitable[None]],
    ) -> None:
        self.stored: StoredAnswer | None = None
        self.stop: Callable[[], object] = _nothing
        self._outlet = outlet
        self._record = record
        self._own = own
        self._is_stream = is_stream
        self._on_begin = on_begin
        self._on_end = on_end
        self._is_good = False
        self._has_begun = False
        self._ending: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Future[None]] = []

    # ---- the answer ----

    def start(self, head: Head) -> None:
        """Hands on the head; a reply that tells of a failure is not kept."""
        self._is_good = head.status in _GOOD
        self._outlet.start(head)

    def send(self, data: bytes, /) -> None:
        """Hands on bytes, and reads those of an answer."""
        if not self._is_good:
            self._outlet.send(data)
            return
        self._note(data)
        self._outlet.send(data)

    def end(self, data: bytes = b"", /) -> None:
        """Keeps the answer, and hands on its last bytes then."""
        if self._ending is None:
            if self._is_good and data:
                self._note(data)
            self._ending = asyncio.get_running_loop().create_task(self._keep(data))

    def _note(self, data: bytes) -> None:
        if not self._is_stream:
            self._record.take_document(_object(data))
            return
        self._record.add(data)
        if not self._has_begun and self._record.answer_id is not None:
            self._has_begun = True
            self._on_begin(self._record.answer_id)
        if self._waiting:
            self._wake()

    async def drain(self) -> None:
        """Waits while the client is slow."""
        await self._outlet.drain()

    async def _keep(self, data: bytes) -> None:
        try:
            if self._is_good:
                self.stored = self._record.stored(self._own)
            await self._on_end(self.stored)
        finally:
            self._outlet.end(data)
            self._wake()

    # ---- for others ----

    async def stop_and_keep(self) -> StoredAnswer | None:
        """Ends the answer on behalf of its client; returns it as it is kept."""
        self.cancel()
        self.stop()
        return await self.ended()

    def cancel(self) -> None:
        """Records that the answer is stopped on behalf of its client; the end still has to be written."""
        self._record.cancel()

    async def ended(self) -> StoredAnswer | None:
        """Waits until the answer is over; returns it as it is kept."""
        while self._ending is None:
            await self.changed()
        await asyncio.wait({self._ending})
        return self.stored

    def changed(self) -> asyncio.Future[None]:
        """Is done with the next bytes after this call, or with the end."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return waiter

    @property
    def is_over(self) -> bool:
        """Whether no further frames come."""
        return self._ending is not None and self._ending.done()

    def now(self) -> StoredAnswer | None:
        """The answer as far as it is; None while nothing was said."""
        if self.stored is not None:
            return self.stored
        response, answer_id = self._record.response, self._record.answer_id
        if response is None or answer_id is None:
            return None
        return StoredAnswer(answer_id, None, {}, response)

    @property
    def frames(self) -> Sequence[bytes] | None:
        """The frames so far; None for a document, and for a stream that is too long to be kept."""
        if not self._is_stream:
            return None
        return self._record.frames if self.stored is None else self.stored.frames

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


def _nothing() -> None:
    """Nobody runs the answer yet."""


def _object(data: bytes) -> dict[str, Any]:
    said = loads(data)
    return said if isinstance(said, dict) else {}
