"""JSON-RPC 2.0 in LSP's framing: a connection without I/O, a fair outbox, the standard streams; knows no method.

Input: a frame is `Content-Length: N`, optional further header fields, an empty line and N bytes; lines end with CR LF
(LSP 3.17, "Base Protocol"). :class:`FrameDecoder` splits bytes into frames and knows no JSON. :class:`Connection`
decodes their bodies and keeps no request. A mistake of the peer comes out as a :class:`Malformed` with its code from
JSON-RPC 2.0 section 5.1.

Output: :class:`Outbox` sends messages first, then the streams in turn. Items are bytes when they come in, so sizes are
bytes on the wire and no later step fails. A stream is the queue of one request: its items go out joined as arrays in as
few notifications as the turns allow, and its last message follows all its items.

Threads: one reads and one writes, on every platform. asyncio cannot wait for a parent process's pipes on Windows, nor
for files anywhere, and one tested way is better than two. A thread adds about 50 microseconds per piece, and the host
at the other end collects parts for 30 ms anyway.
"""

from __future__ import annotations
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from enum import IntEnum
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.limits import LARGE_BYTES, MOST_VALUES, measure
from partstream.errors import CallerError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

DEFAULT_MAX_BODY_SIZE: Final = 256 * 1024 * 1024
"""The most bytes of a body. The largest messages are conversations with many images."""

BEGINNING_SIZE: Final = 1024
"""The bytes that are kept of a body over the limit."""

MAX_HEADER_SIZE: Final = 4096
"""The most bytes of a header. Real headers have about 30."""

_END_OF_HEADER = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class FrameTooLarge:
    """A body over the limit; the decoder skips its bytes and reads the frames after it."""

    size: int  # the bytes of the body, by its header
    limit: int  # the most bytes of a body
    # the first bytes of the body, at most `BEGINNING_SIZE`, by which its sender may be answered
    beginning: bytes = b""


@dataclass(frozen=True, slots=True)
class MalformedHeader:
    """A header without a valid length: no later frame can be read."""

    got: bytes  # the start of the header
    reason: str  # the mistake in the header


Frame: TypeAlias = bytes | FrameTooLarge | MalformedHeader
"""The output of a decoder: a body, or the reason why a frame has none."""


class FrameDecoder:
    """Splits a stream of bytes into frames, in whichever pieces the bytes arrive."""

    def __init__(self, limit: int = DEFAULT_MAX_BODY_SIZE) -> None:
        self._limit = limit
        self._header = bytearray()
        self._pieces: list[bytes] = []
        self._missing: int | None = None  # bytes of the body still to come; None while a header is read
        self._size = 0
        self._skipping = False
        self._broken = False

    def feed(self, data: bytes) -> list[Frame]:
        """Takes more bytes and returns the frames that are now complete; none after a malformed header."""
        frames: list[Frame] = []
        position = 0
        while position < len(data) and not self._broken:
            read = self._read_header if self._missing is None else self._read_body
            position = read(data, position, frames)
        return frames

    def _read_header(self, data: bytes, position: int, frames: list[Frame]) -> int:
        before = len(self._header)
        self._header += data[position : position + MAX_HEADER_SIZE]
        end = self._header.find(_END_OF_HEADER, max(0, before - len(_END_OF_HEADER) + 1))
        if end < 0:
            if len(self._header) >= MAX_HEADER_SIZE:
                self._break(frames, bytes(self._header), f"no end within {MAX_HEADER_SIZE} bytes")
            return position + len(self._header) - before
        position += end + len(_END_OF_HEADER) - before
        header = bytes(self._header[:end])
        length = _content_length(header)
        if isinstance(length, str):
            self._break(frames, header, length)
            return position
        self._header.clear()
        if length == 0:
            frames.append(b"")
            return position
        self._missing = self._size = length
        self._skipping = length > self._limit
        return position

    def _read_body(self, data: bytes, position: int, frames: list[Frame]) -> int:
        assert self._missing is not None  # noqa: S101 - for the type checker: a body is being read
        piece = data[position : position + self._missing]
        self._missing -= len(piece)
        if not self._skipping:
            self._pieces.append(piece)
        elif self._pieces or self._missing + len(piece) == self._size:
            # The beginning of a body over the limit is enough to report it.
            self._pieces.append(piece[:BEGINNING_SIZE])
            beginning = b"".join(self._pieces)[:BEGINNING_SIZE]
            if len(beginning) == BEGINNING_SIZE or self._missing == 0:
                frames.append(FrameTooLarge(self._size, self._limit, beginning))
                self._pieces = []
        if self._missing == 0:
            self._missing = None
            if not self._skipping:
                frames.append(b"".join(self._pieces))
                self._pieces = []
        return position + len(piece)

    def _break(self, frames: list[Frame], header: bytes, reason: str) -> None:
        self._broken = True
        frames.append(MalformedHeader(header[:80], reason))


def encode_frame(body: bytes) -> bytes:
    """The frame of one body."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _content_length(header: bytes) -> int | str:
    """The length in a header, or the mistake in the header."""
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            return f"the line {line[:80]!r} is not a header field"
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            if not digits.isdigit() or len(digits) > 18:
                return f"Content-Length is {digits[:80]!r}, not a number of bytes"
            return int(digits)
    return "no Content-Length"


# ---- Connection ----

RequestId: TypeAlias = int | str


class ErrorCode(IntEnum):
    """The codes of error responses: JSON-RPC 2.0 section 5.1, LSP 3.17 `ErrorCodes`, and our own from -32000."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    SERVER_NOT_INITIALIZED = -32002
    REQUEST_CANCELLED = -32800
    LANGUAGE_MODEL_FAILED = -32010
    """The model or its provider failed; the data is a :class:`partstream.vscode.rpc_types.ErrorData`."""
    PROTOCOL_VERSION_MISMATCH = -32011
    """The data is a :class:`partstream.vscode.rpc_types.VersionMismatchData`."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the peer, which waits for exactly one response with this id."""

    id: RequestId
    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification of the peer, which gets no response."""

    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class Response:
    """The peer's response to a request of ours; the id is None if the peer could not read ours."""

    id: RequestId | None
    result: Any = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """The peer sent an invalid message, and gets an error response with these fields."""

    id: RequestId | None  # the request's id, or None if it could not be read
    code: ErrorCode
    message: str  # what was got and what was expected
    is_fatal: bool = False  # whether no further message can be read from the connection


Incoming: TypeAlias = Request | Notification | Response | Malformed


class Connection:
    """Decodes the bytes of one peer."""

    def __init__(self, max_body_size: int = DEFAULT_MAX_BODY_SIZE) -> None:
        self._decoder = FrameDecoder(max_body_size)

    def receive(self, data: bytes) -> list[Incoming]:
        """Takes more bytes, split anywhere, and returns the messages that are now complete."""
        return [
            _read_body(frame) if isinstance(frame, bytes) else _unreadable(frame) for frame in self._decoder.feed(data)
        ]


def encode_result(request_id: RequestId, result: object) -> bytes:
    """The frame of a successful response."""
    return encode_frame(dumps({"jsonrpc": "2.0", "id": request_id, "result": result}))


def encode_error(request_id: RequestId | None, code: int, message: str, data: Mapping[str, Any] | None = None) -> bytes:
    """The frame of an error response; `request_id` is None if the request's id could not be read."""
    error: dict[str, Any] = {"code": int(code), "message": message}
    if data is not None:
        error["data"] = data
    return encode_frame(dumps({"jsonrpc": "2.0", "id": request_id, "error": error}))


def encode_request(request_id: RequestId, method: str, params: object) -> bytes:
    """The frame of a request of ours."""
    given = {} if params is None else {"params": params}
    return encode_frame(dumps({"jsonrpc": "2.0", "id": request_id, "method": method, **given}))


def encode_notification(method: str, params: object) -> bytes:
    """The frame of a notification."""
    return encode_frame(dumps({"jsonrpc": "2.0", "method": method, "params": params}))


def _unreadable(frame: FrameTooLarge | MalformedHeader) -> Malformed:
    if isinstance(frame, FrameTooLarge):
        message = f"got a message of {frame.size:,} bytes, expected at most {frame.limit:,}"
        return Malformed(_id_in(frame.beginning), ErrorCode.INVALID_REQUEST, message)
    message = f"got the header {frame.got!r}: {frame.reason}; expected `Content-Length: N` and an empty line"
    return Malformed(None, ErrorCode.PARSE_ERROR, message, is_fatal=True)


def _id_in(beginning: bytes) -> RequestId | None:
    """The id at the beginning of a request that cannot be read whole; None if there is none.

    Without it, the peer would wait for ever. JSON-RPC libraries write the id before the params.
    """
    found = _ID.match(beginning)
    if found is None:
        return None
    request_id = loads(found[1])
    return request_id if isinstance(request_id, int | str) else None


_ID: Final = re.compile(
    rb"""\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(-?\d{1,15}|"[^"\\]*")\s*[,}]"""
)


def _read_body(body: bytes) -> Incoming:
    if len(body) > LARGE_BYTES and measure(body).values > MOST_VALUES:  # they take thirty times their bytes
        text = f"got a message of more than {MOST_VALUES:,} values"
        return Malformed(_id_in(body[:BEGINNING_SIZE]), ErrorCode.INVALID_REQUEST, text)
    try:
        message = loads(body)
    except JSONDecodeError as error:
        text = f"got {body[:80]!r}, expected JSON: {error}"
        return Malformed(_id_in(body[:BEGINNING_SIZE]), ErrorCode.PARSE_ERROR, text)
    if not isinstance(message, dict):
        return _invalid(None, f"got {type(message).__name__}, expected an object (batches are not supported)")
    request_id = message.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str | None):
        return _invalid(None, f"got the id {request_id!r}, expected a string or a whole number")
    if message.get("jsonrpc") != "2.0":
        return _invalid(request_id, f"got jsonrpc {message.get('jsonrpc')!r}, expected '2.0'")
    return _read_valid(message, request_id)


def _read_valid(message: Mapping[str, Any], request_id: RequestId | None) -> Incoming:
    method = message.get("method")
    if method is None and ("result" in message or "error" in message):
        return Response(request_id, message.get("result"), message.get("error"))
    if not isinstance(method, str):
        return _invalid(request_id, f"got the method {method!r}, expected a string")
    if "id" not in message:
        return Notification(method, message.get("params"))
    if request_id is not None:
        return Request(request_id, method, message.get("params"))
    return _invalid(None, "got the id null, expected a string or a whole number")


def _invalid(request_id: RequestId | None, text: str) -> Malformed:
    return Malformed(request_id, ErrorCode.INVALID_REQUEST, text)


# ---- Outbox ----

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
    """A producer did not wait although much of its output was unread."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"{size:,} bytes of the answer wait for a slow reader, expected at most {limit:,}: "
            "await `progress.drain()` between reports"
        )
        self.size = size  # the bytes that wait
        self.limit = limit  # the most bytes that may wait


class ItemStream:
    """One request's queue; made by :meth:`Outbox.open`."""

    def __init__(self, outbox: Outbox, head: bytes, tail: bytes) -> None:
        self._outbox = outbox
        self._head = head
        self._tail = tail
        self._items: deque[bytes] = deque()
        self._last: bytes | None = None
        self._low: list[Callable[[], None]] = []
        self.closed = False  # whether it refuses further items
        self.size = 0
        self.has_turn = False  # kept by the outbox

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
        if self.closed or self.size <= LOW_WATER:
            callback()
        else:
            self._low.append(callback)

    def finish(self, message: bytes) -> None:
        """Closes the stream; `message`, a frame, goes out after its items."""
        self.closed = True
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
    """All output to one peer that waits to be written."""

    def __init__(self) -> None:
        # Called when the outbox is no longer empty; set by the writer. Until then, the output waits.
        self.on_waiting: Callable[[], None] = lambda: None
        self._messages: deque[bytes] = deque()
        self._turns: deque[ItemStream | MinorMessages] = deque()

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

    def schedule(self, queue: ItemStream | MinorMessages) -> None:
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
            if self._messages:
                piece = self._messages.popleft()
            else:
                queue = self._turns.popleft()
                piece = queue.take()
                queue.has_turn = queue.is_waiting
                if queue.has_turn:
                    self._turns.append(queue)
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)


# ---- Stdio ----

READ_SIZE: Final = 64 * 1024

READ_AHEAD: Final = 16
"""The pieces that may wait for the event loop before reading pauses."""


def claim_standard_streams() -> tuple[int, int]:
    """Takes standard input and output for the protocol; returns their new file descriptors.

    From now on, all prints go to standard error, also those of child processes, and reading standard input gives its
    end: user code can neither corrupt the protocol nor take bytes from it.
    """
    sys.stdout.flush()
    reading, writing = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - exists on Windows only

        msvcrt.setmode(reading, os.O_BINARY)
        msvcrt.setmode(writing, os.O_BINARY)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True, errors="backslashreplace")
    return reading, writing


class Reader:
    """Reads a file descriptor to its end and hands the pieces to the event loop.

    Args:
        loop: The event loop that calls the two functions.
        on_end: Called once, after the last piece.
        on_closed: Called once on the reading thread when the peer has closed its end, also while the loop is blocked.
    """

    def __init__(
        self,
        descriptor: int,
        loop: AbstractEventLoop,
        on_data: Callable[[bytes], None],
        on_end: Callable[[], None],
        on_closed: Callable[[], None] = lambda: None,
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._on_data = on_data
        self._on_end = on_end
        self._on_closed = on_closed
        self._ahead = threading.Semaphore(READ_AHEAD)

    def start(self) -> None:
        """Starts reading."""
        # A daemon: a read cannot be interrupted, and the process must be able to end during one.
        threading.Thread(target=self._run, name="partstream-reader", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._ahead.acquire()
            try:
                data = os.read(self._descriptor, READ_SIZE)
            except OSError:
                data = b""  # the pipe broke: the peer has gone, which is an end like any other
            if not data:
                self._on_closed()
            if not _call_soon(self._loop, self._deliver, data) or not data:
                return

    def _deliver(self, data: bytes) -> None:
        self._ahead.release()
        if data:
            self._on_data(data)
        else:
            self._on_end()


class Writer:
    """Writes to a file descriptor, one piece at a time; while the peer does not read, the next piece waits.

    Args:
        loop: The event loop on which the other methods are called.
        take: Returns the next piece; empty if there is none.
        on_broken: Called once when the peer has gone.
    """

    def __init__(
        self, descriptor: int, loop: AbstractEventLoop, take: Callable[[], bytes], on_broken: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._take = take
        self._on_broken = on_broken
        self._pieces: SimpleQueue[bytes] = SimpleQueue()
        self._busy = False
        self._broken = False
        self._when_idle: list[Callable[[], None]] = []

    def start(self) -> None:
        """Starts writing; :meth:`wake` announces output."""
        threading.Thread(target=self._run, name="partstream-writer", daemon=True).start()

    def wake(self) -> None:
        """Announces that output waits; several calls in one turn of the loop have the effect of one."""
        if not self._busy and not self._broken:
            self._busy = True
            self._loop.call_soon(self._next)

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, when all output is written or the peer has gone."""
        if self._busy:
            self._when_idle.append(callback)
        else:
            callback()

    def _next(self) -> None:
        piece = b"" if self._broken else self._take()
        if piece:
            self._pieces.put(piece)
            return
        self._busy = False
        callbacks, self._when_idle = self._when_idle, []
        for callback in callbacks:
            callback()

    def _run(self) -> None:
        while True:
            rest = memoryview(self._pieces.get())
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                _call_soon(self._loop, self._break)
                return
            if not _call_soon(self._loop, self._next):
                return

    def _break(self) -> None:
        self._broken = True
        self._next()
        self._on_broken()


def _call_soon(loop: AbstractEventLoop, callback: Callable[..., None], *arguments: object) -> bool:
    """Calls `callback` on the loop's thread; returns False if the loop has ended."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        return False
    return True
