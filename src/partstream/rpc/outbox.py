"""Orders the output to one peer fairly: messages first, then the streams in turn; does no I/O.

Items are bytes when they come in, so sizes are bytes on the wire and nothing fails later. A stream is a request's own
queue: its items go out joined as arrays in as few notifications as the turns allow, and its last message follows all
its items.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from partstream.errors import CallerError
from partstream.rpc.framing import encode_frame

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BACKLOG_LIMIT", "HIGH_WATER", "LOW_WATER", "BacklogError", "ItemStream", "MinorMessages", "Outbox"]

HIGH_WATER: Final = 64 * 1024
"""Bytes. The producer of a stream that holds more should wait."""

LOW_WATER: Final = 16 * 1024
"""Bytes. A waiting producer continues when its stream holds no more than this."""

BACKLOG_LIMIT: Final = 16 * 1024 * 1024
"""Bytes. A stream that holds more refuses further items from a producer that does not wait."""

BATCH_SIZE: Final = 64 * 1024
"""Bytes that are written in one piece, about: a message may have to wait for one piece."""

SHARE: Final = 16 * 1024
"""Bytes that a stream puts into one notification before the next stream's turn, about."""


MINOR_LIMIT: Final = 1024 * 1024
"""The most bytes of minor messages that wait; further messages are dropped."""


class BacklogError(CallerError):
    """A producer did not wait although its consumer was far behind.

    Attributes:
        size: The bytes that wait.
        limit: The most bytes that may wait.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"{size:,} bytes of the answer wait for a slow reader, expected at most {limit:,}: "
            "await `progress.drain()` between reports"
        )
        self.size = size
        self.limit = limit


class _Queue(Protocol):
    """A queue that takes turns."""

    has_turn: bool

    @property
    def is_waiting(self) -> bool: ...

    def take(self) -> bytes: ...


class ItemStream:
    """One request's queue; made by :meth:`Outbox.open`."""

    __slots__ = ("_closed", "_head", "_items", "_last", "_low", "_outbox", "_tail", "has_turn", "size")

    def __init__(self, outbox: Outbox, head: bytes, tail: bytes) -> None:
        self._outbox = outbox
        self._head = head
        self._tail = tail
        self._items: deque[bytes] = deque()
        self._last: bytes | None = None
        self._low: list[Callable[[], None]] = []
        self._closed = False
        self.size = 0
        self.has_turn = False  # kept by the outbox

    @property
    def closed(self) -> bool:
        """Whether the stream refuses further items."""
        return self._closed

    @property
    def is_full(self) -> bool:
        """Whether the producer should wait."""
        return self.size > HIGH_WATER

    def put(self, item: bytes) -> None:
        """Adds one item, a JSON text.

        Raises:
            BacklogError: The stream already holds more than :data:`BACKLOG_LIMIT`.
        """
        if self.size > BACKLOG_LIMIT:
            raise BacklogError(self.size, BACKLOG_LIMIT)
        self._items.append(item)
        self.size += len(item)
        self._outbox.schedule(self)

    def when_low(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, as soon as the stream holds at most :data:`LOW_WATER` bytes or is closed."""
        if self._closed or self.size <= LOW_WATER:
            callback()
        else:
            self._low.append(callback)

    def finish(self, message: bytes) -> None:
        """Closes the stream; `message`, a frame, goes out after its items."""
        self._closed = True
        self._last = message
        self._outbox.schedule(self)
        self._tell()

    def discard(self, message: bytes) -> None:
        """Closes the stream and drops its waiting items; `message`, a frame, goes out now."""
        self._items.clear()
        self.size = 0
        self.finish(message)

    def take(self) -> bytes:
        """The next notification, followed by the last message once no items are left."""
        items: list[bytes] = []
        taken = 0
        while self._items and taken < SHARE:
            item = self._items.popleft()
            items.append(item)
            taken += len(item)
        self.size -= taken
        if self.size <= LOW_WATER:
            self._tell()
        frame = encode_frame(self._head + b",".join(items) + self._tail) if items else b""
        if self._items or self._last is None:
            return frame
        last, self._last = self._last, None
        return frame + last

    @property
    def is_waiting(self) -> bool:
        """Whether something waits to be taken."""
        return bool(self._items) or self._last is not None

    def _tell(self) -> None:
        callbacks, self._low = self._low, []
        for callback in callbacks:
            callback()


class MinorMessages:
    """A queue of messages that are dropped if the reader is slow; made by :meth:`Outbox.open_minor`."""

    __slots__ = ("_frames", "_outbox", "_size", "has_turn")

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._frames: deque[bytes] = deque()
        self._size = 0
        self.has_turn = False  # kept by the outbox

    def put(self, frame: bytes) -> bool:
        """Adds a message; returns False if too much waits and the message was dropped."""
        if self._size + len(frame) > MINOR_LIMIT and self._frames:
            return False
        self._frames.append(frame)
        self._size += len(frame)
        self._outbox.schedule(self)
        return True

    def take(self) -> bytes:
        """The next messages."""
        taken = bytearray()
        while self._frames and len(taken) < SHARE:
            taken += self._frames.popleft()
        self._size -= len(taken)
        return bytes(taken)

    @property
    def is_waiting(self) -> bool:
        """Whether something waits to be taken."""
        return bool(self._frames)


class Outbox:
    """All output to one peer that waits to be written.

    Attributes:
        on_waiting: Called when the outbox is no longer empty; set by the writer.
    """

    __slots__ = ("_messages", "_turns", "on_waiting")

    def __init__(self) -> None:
        self.on_waiting: Callable[[], None] = _nothing
        self._messages: deque[bytes] = deque()
        self._turns: deque[_Queue] = deque()

    def post(self, frame: bytes) -> None:
        """Adds a message that goes out before all items."""
        idle = not self.is_waiting
        self._messages.append(frame)
        if idle:
            self.on_waiting()

    def open(self, head: bytes, tail: bytes) -> ItemStream:
        """Makes a stream; its notifications are `head`, then items separated by commas, then `tail`."""
        return ItemStream(self, head, tail)

    def open_minor(self) -> MinorMessages:
        """Makes a queue for messages that may be dropped; it takes turns like a stream."""
        return MinorMessages(self)

    def schedule(self, queue: _Queue) -> None:
        """Gives a queue a turn; called by the queue."""
        if queue.has_turn:
            return
        queue.has_turn = True
        idle = not self.is_waiting
        self._turns.append(queue)
        if idle:
            self.on_waiting()

    @property
    def is_waiting(self) -> bool:
        """Whether something waits to be taken."""
        return bool(self._messages or self._turns)

    def take(self) -> bytes:
        """The next piece to write: frames of about :data:`BATCH_SIZE` bytes in all; empty if nothing waits."""
        pieces: list[bytes] = []
        size = 0
        while size < BATCH_SIZE and self.is_waiting:
            piece = self._messages.popleft() if self._messages else self._take_turn()
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _take_turn(self) -> bytes:
        queue = self._turns.popleft()
        piece = queue.take()
        queue.has_turn = queue.is_waiting
        if queue.has_turn:
            self._turns.append(queue)
        return piece


def _nothing() -> None:
    """Does nothing: until a writer is set, the output waits."""
