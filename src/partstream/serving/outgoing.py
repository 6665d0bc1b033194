"""The bytes of one reply on their way to the client: a bounded buffer, which one task hands to the server.

Nothing is queued: what one turn of the event loop wrote is one `send`. Where the server takes bytes without `send`, a
part is written where it is reported. The server's `send` waits for a slow client, so the buffer fills, and
:meth:`Outgoing.drain` lets the provider wait (docs/wires/serving.md#slow-clients).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["BufferedReplySink", "ClientTooSlowError", "Head", "ReplySink"]


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a reply.

    Attributes:
        status: The HTTP status.
        headers: The headers, names in lower case.
    """

    status: int
    headers: tuple[tuple[str, str], ...]


class ClientTooSlowError(CallerError):
    """A provider did not wait although its client was far behind.

    Attributes:
        size: The bytes that wait.
        limit: The most bytes that may wait.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"{size:,} bytes of the answer wait for a slow client, expected at most {limit:,}: "
            "await `progress.drain()` between reports"
        )
        self.size = size
        self.limit = limit


class ReplySink(Protocol):
    """Where an answer goes: an HTTP reply, or one turn of a WebSocket."""

    def start(self, head: Head) -> None:
        """Sets the head; called once, before everything else. Without a meaning for a WebSocket but for its status."""
        ...

    def send(self, data: bytes, /) -> None:
        """Takes the next bytes: whole frames.

        Raises:
            ClientTooSlowError: Far too many bytes wait.
        """
        ...

    def end(self, data: bytes = b"", /) -> None:
        """Takes the last bytes, however many wait; nothing follows."""
        ...

    async def drain(self) -> None:
        """Waits until the client has caught up; returns at once if it keeps up."""
        ...


class BufferedReplySink:
    """An outlet that a task of its own empties: see :meth:`pump`.

    Args:
        deliver: Hands over what was written: the head if it was not handed over before, the bytes, and whether they are
            the last. Waits while the client is slow.
        buffer_bytes: How many bytes wait before :meth:`drain` waits.
        backlog_bytes: How many bytes wait at most.
        write: Writes bytes behind the head at once, or returns False where only `deliver` can; None for none.

    Attributes:
        head: The head, once it is set.
        is_closed: Whether the client has left: whatever is written goes nowhere.
        sent_at: When bytes were handed over last, in the time of the event loop.
        bytes: The bytes that were handed over.
    """

    __slots__ = (
        "_backlog_bytes",
        "_buffer_bytes",
        "_deliver",
        "_direct",
        "_direct_writes",
        "_ended",
        "_is_head_sent",
        "_loop",
        "_pieces",
        "_size",
        "_waiting",
        "_wake",
        "_write",
        "bytes",
        "head",
        "is_closed",
        "sent_at",
    )

    def __init__(
        self,
        deliver: Callable[[Head | None, bytes, bool], Awaitable[None]],
        buffer_bytes: int,
        backlog_bytes: int,
        write: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.head: Head | None = None
        self.is_closed = False
        self.bytes = 0
        self._deliver = deliver
        self._buffer_bytes = buffer_bytes
        self._backlog_bytes = backlog_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._write = write
        self._direct: Callable[[bytes], bool] | None = None  # `write` while nothing waits and the head is sent
        self._direct_writes = 0  # since the last drain
        self._ended = False
        self._is_head_sent = False
        self._loop = asyncio.get_running_loop()
        self.sent_at = self._loop.time()
        self._wake: asyncio.Future[None] | None = None
        self._waiting: list[asyncio.Future[None]] = []

    def start(self, head: Head) -> None:
        """Sets the head. It goes with the first bytes, or with the turn of the event loop that ends without any."""
        self.head = head
        self._wake_up()

    def send(self, data: bytes, /) -> None:
        """Takes the next bytes; ignores them once the client has left.

        Raises:
            ClientTooSlowError: More than `backlog_bytes` wait.
        """
        direct = self._direct
        if direct is not None:
            if direct(data):
                self.sent_at = self._loop.time()
                self.bytes += len(data)
                self._direct_writes += 1
                return
            self._direct = None
        if self.is_closed:
            return
        size = self._size
        if size > self._backlog_bytes:
            raise ClientTooSlowError(size, self._backlog_bytes)
        self._pieces.append(data)
        self._size = size + len(data)
        wake = self._wake
        if wake is not None:
            self._wake = None
            if not wake.done():
                wake.set_result(None)

    def end(self, data: bytes = b"", /) -> None:
        """Takes the last bytes, however many wait."""
        if data and not self.is_closed:
            self._pieces.append(data)
            self._size += len(data)
        self._ended = True
        self._direct = None
        self._wake_up()

    def close(self) -> None:
        """Gives up everything that waits: the client has left."""
        self.is_closed = True
        self._direct = None
        self._pieces.clear()
        self._size = 0
        self._resume()
        self._wake_up()

    @property
    def is_open(self) -> bool:
        """Whether the reply may still grow: its end is not written, and the client has not left."""
        return not (self._ended or self.is_closed)

    @property
    def waits(self) -> bool:
        """Whether bytes wait."""
        return bool(self._pieces)

    @property
    def is_full(self) -> bool:
        """Whether a provider should wait."""
        return self._size > self._buffer_bytes

    async def drain(self) -> None:
        """Waits while more than `buffer_bytes` wait."""
        if self._direct_writes > 1:  # the provider has several parts at once: one write for all of them costs less
            self._direct = self._write = None
        self._direct_writes = 0
        if self._size > self._buffer_bytes:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiter)
            await waiter
        elif not self._is_head_sent:
            await asyncio.sleep(0)  # a provider that never waits must not hold back its first part

    async def pump(self) -> None:
        """Hands over what is written, until the end is handed over or the client has left."""
        pieces, create_future = self._pieces, self._loop.create_future
        while not self.is_closed:
            if not (pieces or self._ended or (self.head is not None and not self._is_head_sent)):
                self._wake = create_future()
                await self._wake
                continue
            data, last = pieces[0] if len(pieces) == 1 else b"".join(pieces), self._ended
            pieces.clear()
            head = None if self._is_head_sent else self.head
            self._is_head_sent = True
            await self._deliver(head, data, last)
            self.sent_at = self._loop.time()
            self.bytes += len(data)
            self._size -= len(data)
            if self._waiting and not self.is_full:
                self._resume()
            if last:
                return
            if not (pieces or self.is_closed):
                self._direct = self._write

    def _wake_up(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)

    def _resume(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)
