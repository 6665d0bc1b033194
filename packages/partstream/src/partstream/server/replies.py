"""How a response becomes a reply: from its parts to bytes, and from bytes to the client.

A :class:`ReplyWriter` takes the outputs of one response, as events or as one document. It decides the status before the
head: a response that fails before its first part is an HTTP status, and an event after it. :class:`ReplyTimer` does
what depends on time alone.

:class:`AnswerBytes` has a fast path. Nearly all parts differ from the part before them in their text alone, and so do
the bytes. A part takes the slow path once: as an event, then as JSON, then as a frame. With the next one, the bytes
around the text are kept, and only the text is written.

A :class:`BufferedReplySink` takes the bytes: a bounded buffer that one task empties. What one turn of the event loop
wrote is one `send`; where the server takes bytes without `send`, a part is written where it is reported. The server's
`send` waits for a slow client, so the buffer fills, and :meth:`BufferedReplySink.drain` makes the provider wait
(docs/wires/serving.md#slow-clients).

A large file is never written at once: 30 MB in base64, in JSON and in a frame take a quarter of a second of the event
loop. Its wire writes a stand-in, and :class:`FileFrame` puts the file there, slice by slice, as the client takes it.
"""

from __future__ import annotations
import asyncio
import logging
import re
import secrets
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec import limits
from partstream.codec.checks import dataclass, narrow, replace
from partstream.codec.json_codec import dumps, dumps_text
from partstream.codec.limits import LARGE_BYTES, PIECE
from partstream.errors import AnswerTooLargeError, CallerError, TimeoutPhase, UpstreamTimeoutError
from partstream.lm import parts
from partstream.lm.outputs import FastPathWriter, Finish, IdleWriter, Outcome
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, Usage
from partstream.protocols.serve import ResponseWriter, StreamForm, WireEvent
from partstream.runtime.progress import AnswerExcerpt, thinking_text
from partstream.server.requests import failure_of

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest, Repeated, Reply, StreamOutput
    from partstream.server.settings import ServingSettings
    from partstream.upstream.forwarding import Passage

_FAILED: Final = frozenset({Outcome.FAILED, Outcome.TRUNCATED})
_logger = logging.getLogger("partstream.serving")


class ReplyWriter:
    """Takes the outputs of one response and writes a reply. A stream has events, each as soon as its part comes: the
    first part decides that the status is 200, and a failure before it becomes an HTTP status. A document is written at
    the end, for which its status waits.

    Args:
        request_id: The id of the request, which a failure holds where its wire has a place for it.
        leave_unsaid: Takes the names of what the client does not get of the answer, before the head of a document.
    """

    def __init__(
        self,
        writes: type[ResponseWriter],
        asked: InboundRequest,
        reply: Reply,
        sink: BufferedReplySink,
        request_id: str,
        leave_unsaid: Callable[[Collection[str]], object],
    ) -> None:
        self._leave_unsaid = leave_unsaid
        self._writes = writes
        self._asked = asked
        self._reply = reply
        self._request_id = request_id
        self._sink = sink
        self._send = sink.send
        self._is_stream = asked.stream
        self._form = writes.stream_form(asked)
        self._begun = False
        self._events: list[WireEvent] = []  # of a document
        self._files: dict[bytes, bytes] = {}  # large ones, by the base64 of their stand-ins

    @cached_property
    def _bytes(self) -> AnswerBytes:
        return AnswerBytes(self._writes(self._asked, self._reply), self._form)

    @property
    def events(self) -> int:
        """The events that were written; a document has none."""
        return self._bytes.events if "_bytes" in vars(self) else 0

    def take(self, part: parts.ResponsePart, /) -> None:
        """Writes a part."""
        if part.__class__ is DataPart:
            part = self._stand_in(part)
        if not self._is_stream:
            self._events += self._bytes.writer.write(part)
            return
        data = self._bytes.write(part)
        if not self._begun:
            self._start_stream()
        if data:
            if self._files and isinstance(framed := self._framed(data), FileFrame):
                self._sink.send_file(framed)
            else:
                self._send(data)

    def finish(self, finish: Finish) -> None:
        """Writes the end, which is the last; a failure becomes an HTTP status where the head is not sent yet."""
        if not self._begun and finish.outcome in _FAILED and finish.error is not None:
            self._fail(finish.error)
            return
        if self._is_stream:
            framed, rest = self._framed(self._bytes.write(finish)), self._bytes.end()
        else:
            self._events += self._bytes.writer.write(finish)
        self._leave_unsaid((*finish.dropped, *self._bytes.writer.dropped))
        if not self._is_stream:
            status, document = self._writes.document(self._events)
            framed, rest = self._framed(dumps(document)), b""
            self._start(Head(status, json_headers(framed)))
        elif not self._begun:
            self._start_stream()
        if isinstance(framed, FileFrame):
            self._sink.send_file(framed)
            framed = b""
        self._sink.end(framed + rest)

    def break_off(self, error: Exception) -> None:
        """Ends the reply as far as possible: the end could not be written because of a fault of ours."""
        if self._begun:
            self._sink.end()
        else:
            self._fail(error)

    def open(self) -> None:
        """Sends the head of a stream although no part has come, with a comment that carries it through proxies: a
        failure is an event from now on. That of a document waits for its end."""
        if self._is_stream and not self._begun:
            self._start_stream()
            self.keep_alive()

    def keep_alive(self) -> None:
        """Writes a comment, which only shows that the connection lives, once the head of a stream is sent."""
        if self._begun and self._form.keep_alive:
            self._send(self._form.keep_alive)

    def idle(self) -> None:
        """Writes the wire's own event for a model that still works, if it has one, once the head is sent."""
        if self._begun and isinstance(self._bytes.writer, IdleWriter):
            self._send(self._bytes.write_events(self._bytes.writer.idle()))

    def _start(self, head: Head) -> None:
        self._begun = True
        self._sink.start(head)

    def _start_stream(self) -> None:
        self._begun = True
        self._sink.start(Head(200, stream_headers(self._form.content_type)))

    def _stand_in(self, part: DataPart) -> DataPart:
        """The part of a file, with a stand-in for bytes that are many: they go in where it is written."""
        if len(part.data) <= LARGE_BYTES or not part.mime_type.startswith(_IN_BASE64):
            return part
        data = part.data[:_HEAD] + secrets.token_bytes(24)  # what shows the type, and what nothing else says
        self._files[b64encode(data)] = part.data
        return replace(part, data=data)

    def _framed(self, data: bytes) -> bytes | FileFrame:
        """Bytes with the files that belong into them."""
        found = [mark for mark in self._files if mark in data] if self._files else ()
        return FileFrame(data, {mark: self._files[mark] for mark in found}) if found else data

    def _fail(self, error: Exception) -> None:
        """Writes a whole reply that reports a failure, in the wire's own words."""
        said = self._writes.failed(replace(failure_of(error), request_id=self._request_id))
        body = dumps(said.body)
        self._start(Head(said.status, (*json_headers(body), *said.headers)))
        self._sink.end(body)


_IN_BASE64: Final = ("image/", "audio/", "video/", "application/pdf", "application/octet-stream")
"""Beginnings of the types that each wire writes in base64, or not at all."""
_HEAD: Final = 96
"""Bytes of a file that show its type; whole groups of base64."""


class FileFrame:
    """Bytes of a reply around large files.

    Args:
        around: Bytes with stand-ins.
        files: The files, by the base64 of their stand-ins.
    """

    def __init__(self, around: bytes, files: Mapping[bytes, bytes]) -> None:
        self._files = files
        self._pieces: list[bytes] = re.split(b"(%b)" % b"|".join(map(re.escape, files)), around)
        self._size = sum(-(-len(files[one]) // 3) * 4 if one in files else len(one) for one in self._pieces)

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join(self.slices())

    def slices(self) -> Iterator[bytes]:
        """The bytes, none of them more than a turn of the event loop can write."""
        for piece in self._pieces:
            if (data := self._files.get(piece)) is None:
                yield piece
                continue
            for place in range(0, len(data), _SLICE):
                yield b64encode(data[place : place + _SLICE])


_SLICE: Final = 3 * PIECE


def stream_headers(content_type: str) -> tuple[tuple[str, str], ...]:
    """The headers of a stream; without the last one nginx buffers it (docs/wires/serving.md#headers-of-a-stream)."""
    return (("content-type", content_type), ("cache-control", "no-cache"), ("x-accel-buffering", "no"))


def json_headers(body: bytes | FileFrame) -> tuple[tuple[str, str], ...]:
    """The headers of a JSON document."""
    return (("content-type", "application/json"), ("content-length", str(len(body))))


# ---- The parts of a provider ----

_MOST_USAGES: Final = 8


class ReplyProgress:
    """Writes the parts of one response, which keep the contract.

    It drains and takes the end too. Usage and cost come as a part from the provider.

    Attributes:
        passage: The way of the upstream's own bytes through this reply; None for a reply that is made of parts.
        first_part_at: When the first part came, in the time of the event loop.
        kept: The parts that are kept to count their tokens.
        state: The last metadata of thinking, which lists the state of all of it.
    """

    first_part_at: float | None = None
    has_calls = False
    has_threads = False
    state: Mapping[str, Any] | None = None

    def __init__(
        self,
        reply: ReplyWriter,
        sink: BufferedReplySink,
        on_failure: Callable[[BaseException], object],
        followers: Iterable[Callable[[parts.ResponsePart], object]],
        passage: Passage | None,
    ) -> None:
        self.passage = passage
        self._take = reply.take
        self._followers = tuple(followers)
        self.drain = sink.drain  # waits while the client is slow
        self._on_failure = on_failure
        self._loop = sink.loop
        self._thread = get_ident()
        self.kept = AnswerExcerpt(limits.MOST_ANSWER_TEXT)
        self._keep = self.kept.keep
        self._usages: deque[DataPart] = deque(maxlen=_MOST_USAGES)

    def report(self, part: parts.ResponsePart, /) -> None:
        """Writes a part; a thread of the provider's own hands it to the event loop.

        Raises:
            AnswerTooLargeError: The answer has more text, or a call more values, than others can wait for.
            ClientTooSlowError: The provider never waits, and far too many bytes wait for the client.
        """
        if get_ident() != self._thread:
            self.has_threads = True
            self._loop.call_soon_threadsafe(self._report_later, part)
            return
        if part.__class__ is not TextPart:
            if isinstance(part, DataPart) and part.mime_type == parts.USAGE_MIME_TYPE:
                self._usages.append(part)
                return
            if isinstance(part, ThinkingPart):
                text = thinking_text(part)
                part = part if text is part.value else replace(part, value=text)
                self.state = part.metadata or self.state
            if isinstance(part, parts.ToolCallPart):
                self.has_calls = True
                if limits.values_left(part.input, limits.MOST_ARGUMENT_VALUES) < 0:
                    raise AnswerTooLargeError("values in the arguments of one call", limits.MOST_ARGUMENT_VALUES)
                if limits.is_long(part.input, limits.MOST_ARGUMENT_BYTES):
                    raise AnswerTooLargeError("bytes of the arguments of one call", limits.MOST_ARGUMENT_BYTES)
        self._keep(part)
        if self.first_part_at is None:
            self.first_part_at = self._loop.time()
        self._take(part)
        for follow in self._followers:
            follow(part)

    @property
    def usage(self) -> Usage | None:
        """The usage that the provider has reported as a part; the end of a response mostly says it before."""
        return next(filter(None, (parts.usage_in(one)[0] for one in reversed(self._usages))), None)

    @property
    def cost(self) -> float | None:
        """The cost that the provider has reported last."""
        has_cost = self._usages and parts.COST_KEY.encode() in self._usages[-1].data
        return parts.usage_in(self._usages[-1])[1] if has_cost else None

    def _report_later(self, part: parts.ResponsePart) -> None:
        try:
            self.report(part)
        except Exception as error:
            self._on_failure(error)

    def finish(self, finish: Finish, /) -> None:
        """Takes the end; :attr:`partstream.runtime.progress.CheckedProgress.said_finish` keeps it."""


# ---- Time ----


class ReplyTimer:
    """The one timer of a response; made in the task that hands the bytes to the client.

    It opens a reply that has no part yet, keeps a silent one alive, and ends one that takes too long: `end` writes the
    end. Where the client does not take that end in `stop_seconds`, the task is cancelled.
    """

    def __init__(
        self,
        reply: ReplyWriter,
        buffered: BufferedReplySink,
        settings: ServingSettings,
        end: Callable[[Finish], object],
    ) -> None:
        self.gives_up = False
        self._reply = reply
        self._buffered = buffered
        self._settings = settings
        self._loop = buffered.loop
        self._task = asyncio.current_task(self._loop)
        self._end: Callable[[Finish], object] | None = end
        self._event_at = self._loop.time()
        self._events = 0
        self._ends_at = self._event_at + settings.answer_seconds
        self._after(settings.head_seconds, self._open)

    def stop(self) -> None:
        """Ends the timer."""
        self._handle.cancel()
        self._end = self._task = None
        if self.gives_up and (task := asyncio.current_task(self._loop)) is not None:
            task.uncancel()

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        at = self._loop.time() + seconds
        self._handle = self._loop.call_at(*((self._ends_at, self._time_out) if at > self._ends_at else (at, then)))

    def _time_out(self) -> None:
        if (end := self._end) is not None:
            self._end = None
            self._ends_at += self._settings.stop_seconds
            self._handle = self._loop.call_at(self._ends_at, self._time_out)
            error = UpstreamTimeoutError(TimeoutPhase.TOTAL, self._settings.answer_seconds)
            end(Finish(Outcome.FAILED, error=error))
        elif self._task is not None:
            self.gives_up = True
            self._task.cancel()

    def _open(self) -> None:
        if self._buffered.is_open:
            self._reply.open()
        self._after(self._settings.keep_alive_seconds, self._beat)

    def _beat(self) -> None:
        """Writes something if the reply was silent; bytes that wait for a slow client already show that it lives."""
        if not self._buffered.is_open:
            self._after(self._settings.answer_seconds, self._beat)
            return
        now = self._loop.time()
        if self._reply.events != self._events:
            self._events, self._event_at = self._reply.events, self._buffered.sent_at
        silent_since = self._buffered.sent_at
        if not self._buffered.waits and now - silent_since >= self._settings.keep_alive_seconds:
            if now - self._event_at >= self._settings.idle_event_seconds:
                self._reply.idle()
                self._events, self._event_at = self._reply.events, now
            else:
                self._reply.keep_alive()
            silent_since = now
        self._after(max(silent_since + self._settings.keep_alive_seconds - now, 0.001), self._beat)


# ---- The bytes of a stream ----

_TEXT: Final = "6ff1d3c19bfc45a0"
_NUMBER: Final = 7_361_952_840_173_605
"""A text and a number that no event holds by chance; where one does, the response takes the slow path."""


class AnswerBytes:
    """The bytes of one response's stream, and the number of its events."""

    def __init__(self, writer: ResponseWriter, form: StreamForm) -> None:
        self.events = 0
        self.writer = writer
        self._form = form
        self._writes_repeated = narrow(writer, FastPathWriter)
        self._separator = form.start
        self._written: StreamOutput | None = None  # on the slow path, just before; learned if one of its class follows
        self._taken: type | None = None  # the class of the parts that the fast path takes
        self._id: str | None = None
        self._repeat: Callable[[str], bytes] | None = None

    def write(self, output: StreamOutput) -> bytes:
        """Takes the next output and returns its bytes, possibly none.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if output.__class__ is self._written.__class__:
            self._learn(self._written)
        if output.__class__ is self._taken and self._repeat is not None:
            text = output.value  # type: ignore[union-attr]
            # Thinking goes on with the thinking before it, which has the same id and no metadata.
            if (
                text.__class__ is str
                and text
                and (self._taken is TextPart or (output.id == self._id and not (output.metadata or output.entries)))  # type: ignore[union-attr]
            ):
                try:
                    written = self._repeat(text)
                except UnicodeEncodeError:
                    pass
                else:
                    self.events += 1
                    return written
        self._taken = self._repeat = None
        self._written = output
        return self.write_events(self.writer.write(output))

    def end(self) -> bytes:
        """The bytes after the last event."""
        return self._form.end if self.events else self._form.start + self._form.end

    def write_events(self, events: Sequence[WireEvent]) -> bytes:
        """The bytes of events that belong to no output, such as those of a model that still works."""
        pieces: list[bytes] = []
        for event in events:
            pieces += (self._separator, self._form.frame(event))
            self._separator = self._form.separator
            self.events += 1
        return b"".join(pieces)

    def _learn(self, output: StreamOutput) -> None:
        """Keeps the bytes around the text of a part that was written."""
        self._written = None
        if self._writes_repeated is None or not isinstance(output, TextPart | ThinkingPart):
            return
        if isinstance(output, parts.RefusalPart):
            return
        if isinstance(output, ThinkingPart):
            if output.metadata:
                return
            self._id = output.id
        if not output.value or not isinstance(output.value, str):
            return
        repeated = self._writes_repeated.repeated(output)
        if repeated is not None:
            self._repeat = _repeat_of(repeated, self._form)
            self._taken = None if self._repeat is None else type(output)


def _repeat_of(repeated: Repeated, form: StreamForm) -> Callable[[str], bytes] | None:
    """A function that writes the frame of a text; None where the place of the text in the frame is not sure."""
    frame = form.separator + form.frame(repeated.event(_TEXT, _NUMBER))
    before, *more = frame.split(dumps_text(_TEXT))
    if len(more) != 1 or _TEXT.encode() in before + more[0]:
        return None
    after, note = more[0], repeated.note
    if not repeated.is_numbered:

        def write(text: str) -> bytes:
            quoted = dumps_text(text)
            note(text)
            return before + quoted + after

        return write
    number = b"%d" % _NUMBER
    head, *rest = before.split(number)
    if len(rest) != 1 or number in after:
        return None
    middle = rest[0]

    def write_numbered(text: str) -> bytes:
        quoted = dumps_text(text)
        return b"%b%d%b%b%b" % (head, note(text), middle, quoted, after)

    return write_numbered


# ---- The way to the client ----


@dataclass(slots=True)  # not frozen, see `RawRequest`
class Head:
    """The status and the headers of a reply, names in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]


class ClientTooSlowError(CallerError):
    """A provider did not wait although `size` bytes wait for its client, far more than the `limit`."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"{size:,} bytes of the answer wait for a slow client, expected at most {limit:,}: "
            "await `progress.drain()` between reports"
        )
        self.size = size
        self.limit = limit


Deliver: TypeAlias = "Callable[[Head | None, bytes, bool], Awaitable[None]]"
"""Sends the head of a reply, once, bytes, and whether they are the last; waits while the client is slow."""


class BufferedReplySink:
    """Takes the head and the bytes of a response, which a task of its own sends: see :meth:`pump`.

    Args:
        deliver: Sends what was written: the head if it was not sent before, the bytes, and whether they are the last.
            Waits while the client is slow.
        buffer_bytes: How many bytes wait before :meth:`drain` waits.
        write: Writes bytes after the head at once, or returns False where only `deliver` can; None for none.
        begin: Writes the head with the first bytes at once, or returns False where only `deliver` can; None for none.

    Attributes:
        is_closed: Whether the client has left: later bytes are ignored.
        sent_at: When bytes were sent last, in the time of that loop.
    """

    def __init__(
        self,
        deliver: Deliver,
        buffer_bytes: int,
        backlog_bytes: int,
        write: Callable[[bytes], bool] | None = None,
        begin: Callable[[Head, bytes], bool] | None = None,
    ) -> None:
        self.head: Head | None = None
        self.is_closed = False
        self.bytes = 0
        self._deliver = deliver
        self._buffer_bytes = buffer_bytes
        self._backlog_bytes = backlog_bytes
        self._pieces: list[bytes | FileFrame] = []
        self._has_files = False
        self._size = 0
        self._write = write
        self._begin = begin
        self._direct: Callable[[bytes], bool] | None = None  # `write` while nothing waits and the head is sent
        self._direct_writes = 0  # since the last drain
        self._ended = self._ends_soon = False
        self._is_head_sent = False
        self.loop = self._loop = asyncio.get_running_loop()
        self.sent_at = self._loop.time()
        self._wake: asyncio.Future[None] | None = None
        self._room: asyncio.Event | None = None  # for those who wait for it: most clients are never slow

    def start(self, head: Head) -> None:
        """Sets the head. It goes with the first bytes, or with the turn of the event loop that ends without any."""
        self.head = head
        if self._begin is None:
            self._wake_up()
        else:
            self._loop.call_soon(self._send_head)

    def _send_head(self) -> None:
        if not self._is_head_sent:
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
        if not self._is_head_sent and self._begin is not None and self.head is not None and not size:
            # What follows in this turn of the event loop goes together with the next turn.
            begin, self._begin = self._begin, None
            if begin(self.head, data):
                self._is_head_sent = True
                self.sent_at = self._loop.time()
                self.bytes += len(data)
                return
        if size > self._backlog_bytes:
            raise ClientTooSlowError(size, self._backlog_bytes)
        self._pieces.append(data)
        self._size = size + len(data)
        if self._wake is not None:
            self._wake_up()

    def send_soon(self, data: bytes, /) -> None:
        """Takes bytes that the end may follow in this turn of the event loop: they go to the client together."""
        if not self.is_closed:
            self._direct, self._ends_soon = None, True
            self._pieces.append(data)
            self._size += len(data)
            self._loop.call_soon(self._wake_up)

    def send_file(self, frame: FileFrame, /) -> None:
        """Takes the next bytes, with large files among them, unless the client has left."""
        if self.is_closed:
            return
        if self._size > self._backlog_bytes:
            raise ClientTooSlowError(self._size, self._backlog_bytes)
        self._direct = self._begin = None
        self._has_files = True
        self._pieces.append(frame)
        self._size += len(frame)
        self._wake_up()

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
        self._make_room()
        self._wake_up()

    @property
    def is_open(self) -> bool:
        """Whether the reply may still grow: its end is not written, and the client has not left."""
        return not (self._ended or self.is_closed)

    @property
    def waits(self) -> bool:
        """Whether bytes wait."""
        return bool(self._pieces)

    async def drain(self) -> None:
        """Waits while more than `buffer_bytes` wait."""
        if self._direct_writes > 1:  # the provider has several parts at once: one write for all of them costs less
            self._direct = self._write = None
        self._direct_writes = 0
        if self._size > self._buffer_bytes:
            self._room = self._room or asyncio.Event()
            await self._room.wait()
        elif not (self._is_head_sent or self._ends_soon):
            await asyncio.sleep(0)  # a provider that never waits must not hold back its first part
        elif not (self._size or self._ended or self.is_closed):
            self._direct = self._write

    async def pump(self) -> None:
        """Sends what is written, until the end is sent or the client has left; large files in slices, between which
        others have their turn."""
        pieces = self._pieces
        while not self.is_closed:
            if not (pieces or self._ended or (self.head is not None and not self._is_head_sent)):
                self._wake = self._loop.create_future()
                await self._wake
                continue
            waiting, has_files, self._has_files = pieces[:], self._has_files, False
            pieces.clear()
            last = self._ended and not has_files
            for data in _slices_of(waiting) if has_files else (b"".join(waiting),):  # type: ignore[arg-type]
                head, self._is_head_sent = None if self._is_head_sent else self.head, True
                await self._deliver(head, data, last)
                self.sent_at = self._loop.time()
                self.bytes += len(data)
                self._size -= len(data)
                if has_files:
                    if self.is_closed:
                        return  # type: ignore[unreachable] # it may have closed meanwhile
                    await asyncio.sleep(0)
            if self._size <= self._buffer_bytes:
                self._make_room()
            if last:
                return
            if not (pieces or self.is_closed):
                self._direct = self._write

    def _make_room(self) -> None:
        room, self._room = self._room, None
        if room is not None:
            room.set()

    def _wake_up(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)


def _slices_of(pieces: Iterable[bytes | FileFrame]) -> Iterator[bytes]:
    for piece in pieces:
        yield from (piece,) if isinstance(piece, bytes) else piece.slices()
