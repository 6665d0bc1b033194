"""Reads a recorded exchange: which events its bytes hold, when each was there, and what became of it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, loads_event, nests_too_deeply
from partstream.devtools.bundles.exchange import Chunk, Content, ContentForm, HowEnded, content_of
from partstream.devtools.bundles.recorded import end_of, recorded_failure, refusal_of
from partstream.devtools.recorded_stream import RecordingError
from partstream.errors import UpstreamConnectionError
from partstream.inspector.frames import Frame, frames_of
from partstream.lm.outputs import Finish, Outcome, StreamOptions, ThinkingMode, Unmapped
from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, SSE
from partstream.protocols.reader import END_OF_BYTES, FAILURE, ReadStep, StreamReader, Tap, TappedReader
from partstream.protocols.recognition import NamedEvent, claims_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.codec.sse import ServerSentEvent
    from partstream.devtools.bundles.exchange import RecordedExchange
    from partstream.devtools.inspector.shapes import FramingName
    from partstream.errors import EventTooLargeError, UpstreamError
    from partstream.lm.outputs import StreamOutput
    from partstream.lm.parts import ResponsePart
    from partstream.protocols.protocol import Framing, Protocol

__all__ = ["CompletedPart", "ReadAnswer", "ReadEvent", "read_exchange"]

_THE_RECORDING: Final = "the recording"
_DOCUMENT: Final = "(document)"
_SURE_OF: Final = 20
"""Events that are looked at for whether the protocol is sure."""
_COMMENT: Final = "(comment)"
_CHUNK: Final = "(chunk)"
_CUT: Final = "(cut)"
_LONGEST_NAME: Final = 80
_KINDS: Final = ("type", "object", "event_type")
"""Fields in which events say their kind; those of some wires have none."""


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """One event of an answer.

    Attributes:
        number: Its number, from 1.
        start: The offset of its first byte in the body.
        end: The offset behind its last byte.
        at: When its last byte was read, in nanoseconds, or None.
        read: The index of that read.
        name: Its type in the server's own words; `(comment)` for what holds no data.
        data: Its data.
        event: The JSON object; empty where there is none.
        outputs: What came of it.
        is_late: Whether it came behind the end of the answer, so that nothing was read of it.
    """

    number: int
    start: int
    end: int
    at: int | None
    read: int
    name: str
    data: bytes
    event: Mapping[str, Any]
    outputs: Sequence[StreamOutput]
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class CompletedPart:
    """A part and what completed it.

    Attributes:
        part: The part.
        event: The number of the event; None for a part of which no event is known.
        at: When, in nanoseconds, or None.
    """

    part: ResponsePart
    event: int | None
    at: int | None


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What the bytes of an exchange hold.

    Attributes:
        protocol: What they are, or None where nothing tells.
        is_sure: Whether the recording or an event says so.
        framing: `sse`, `jsonl` or `document`; None where there are no bytes.
        events: The events.
        parts: The parts, in order.
        finish: How the answer ended; None where the protocol is not known, and where the client left.
        chunks: The reads that the places of the events count in: one alone, of bytes that were packed.
        error: What kept the bytes from being read as an answer: a status of HTTP, an unknown protocol; or None.
    """

    protocol: Protocol | None = None
    is_sure: bool = False
    framing: FramingName | None = None
    events: tuple[ReadEvent, ...] = ()
    parts: tuple[CompletedPart, ...] = ()
    finish: Finish | None = None
    chunks: tuple[Chunk, ...] = ()
    error: Exception | None = None


class _Clock:
    """When which byte was read.

    Args:
        chunks: The reads.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._ends = list(accumulate(len(chunk.data) for chunk in chunks))
        self._times = [chunk.at for chunk in chunks]

    def read_of(self, end: int) -> int:
        """The index of the read that brought the byte before `end`."""
        return min(bisect_left(self._ends, end), len(self._ends) - 1) if self._ends else 0

    def at(self, read: int) -> int | None:
        """When a read was."""
        return self._times[read] if read < len(self._times) else None


def read_exchange(exchange: RecordedExchange, call_id_prefix: str = "") -> ReadAnswer:
    """What an exchange holds, rendered as its host asked for it; raises for nothing that a server sent.

    Thinking that a host did not want is in the bytes all the same, and among the parts.

    Args:
        exchange: The exchange.
        call_id_prefix: What goes before every call id; a recording does not say it.
    """
    options = replace(exchange.shown or StreamOptions(), call_id_prefix=call_id_prefix)
    if options.thinking is ThinkingMode.OFF:
        options = replace(options, thinking=ThinkingMode.PART)
    try:
        content = _where_it_stands(content_of(exchange, _THE_RECORDING), exchange.body)
    except RecordingError as error:
        return _unread(exchange, error)
    chunks = exchange.chunks
    if content.is_packed:
        chunks = (Chunk(chunks[-1].at if chunks else None, content.data),)
    reading = _Reading(exchange, content, chunks, _Clock(chunks), options)
    return _READ[content.form](reading)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What all forms of a body are read from."""

    exchange: RecordedExchange
    content: Content
    chunks: tuple[Chunk, ...]
    clock: _Clock
    options: StreamOptions

    @property
    def row(self) -> Protocol:
        """The protocol, which streams and documents have."""
        if self.content.protocol is None:
            raise AssertionError("a stream or a document without a protocol")
        return self.content.protocol


def _where_it_stands(content: Content, body: bytes) -> Content:
    """The same, of the bytes as they came, where a decoder of the wire finds the same events in them."""
    row = content.protocol
    if not content.is_packed or row is None or content.framing is None:
        return content
    framing = row.framings[0]
    if len(_decoded(body, framing)) != len(_decoded(content.data, content.framing)):
        return content
    return replace(content, framing=framing, data=body, is_packed=False)


def _decoded(data: bytes, framing: Framing) -> list[ServerSentEvent]:
    decoder = framing.make_decoder()
    return [*decoder.feed(data), *decoder.end()]


# ---- what is no stream ----


def _whole_body(reading: _Reading, name: str, outputs: Sequence[StreamOutput]) -> ReadEvent:
    body = reading.content.data
    read = reading.clock.read_of(len(body))
    return ReadEvent(1, 0, len(body), reading.clock.at(read), read, name, body, _object(body), outputs)


def _refusal(reading: _Reading) -> ReadAnswer:
    """An error of HTTP in place of an answer."""
    head, content = reading.exchange.head, reading.content
    error = refusal_of(reading.exchange, content)
    finish = Finish(Outcome.FAILED, error=error)
    name = "HTTP" if head is None else f"HTTP {head.status}"
    events = (_whole_body(reading, name, (finish,)),) if content.data else ()
    row = content.protocol
    return ReadAnswer(row, row is not None, "document" if events else None, events, (), finish, reading.chunks, error)


def _nothing(reading: _Reading) -> ReadAnswer:
    """No byte of a body came."""
    row, end = reading.content.protocol, reading.exchange.end
    is_left = end.how is HowEnded.CANCELLED
    error = None if is_left else recorded_failure(reading.exchange) or _silence(reading.exchange)
    finish = None if error is None else Finish(Outcome.FAILED, error=error)
    return ReadAnswer(row, row is not None, None, (), (), finish, reading.chunks, error)


def _silence(exchange: RecordedExchange) -> UpstreamError:
    if exchange.head is None:
        return UpstreamConnectionError("the server", "no response came")
    return UpstreamConnectionError("the server", "it was closed before the first event")


def _unread(exchange: RecordedExchange, error: RecordingError) -> ReadAnswer:
    """Bytes of no known protocol: their frames alone."""
    body, clock = exchange.body, _Clock(exchange.chunks)
    framing = JSON_LINES if body.lstrip().startswith(b"{") else LENIENT_SSE
    events = tuple(
        _event_of(number, frame, clock, (), is_late=False) for number, frame in enumerate(frames_of(body, framing), 1)
    )
    return ReadAnswer(None, False, _shown_name(framing), events, (), None, exchange.chunks, error)


def _document(reading: _Reading) -> ReadAnswer:
    """One JSON document in place of a stream."""
    reader = StreamReader(reading.row, reading.options)
    body = reading.content.data
    outputs = [*reader.feed_document(body), *reader.end()]
    event = _whole_body(reading, _kind_of(_object(body)) or _DOCUMENT, outputs)
    parts = tuple(CompletedPart(one, 1, event.at) for one in outputs if not isinstance(one, Finish | Unmapped))
    return ReadAnswer(reading.row, True, "document", (event,), parts, _finish_in(outputs), reading.chunks)


# ---- a stream ----


class _GivenEvents:
    """A decoder that returns what it was given: the events are told apart already."""

    def __init__(self) -> None:
        self.events: list[ServerSentEvent] = []
        self.error: EventTooLargeError | None = None

    def feed(self, _data: bytes) -> list[ServerSentEvent]:
        """The events that it was given."""
        return self._take()

    def repeated(self, _data: bytes) -> bytes | None:
        """None: there is no short way."""
        return None

    def end(self) -> list[ServerSentEvent]:
        """The events that it was given."""
        return self._take()

    def _take(self) -> list[ServerSentEvent]:
        events, self.events = self.events, []
        return events


class _Steps(Tap):
    """The steps of a reader since they were taken last."""

    def __init__(self) -> None:
        self._steps: list[ReadStep] = []

    def step(self, step: ReadStep) -> None:
        """Keeps a step."""
        self._steps.append(step)

    def take(self) -> list[ReadStep]:
        """The steps."""
        steps, self._steps = self._steps, []
        return steps


class _StreamEvents:
    """The events of a stream, as they are read one by one.

    Args:
        reading: What is read.
        framing: How the events are told apart.
    """

    def __init__(self, reading: _Reading, framing: Framing) -> None:
        self.events: list[ReadEvent] = []
        self._exchange = reading.exchange
        self._body = reading.content.data
        self._reads = len(reading.chunks)
        self._ends = reading.row.ends.data
        self._clock = reading.clock
        self._steps = _Steps()
        self._given = _GivenEvents()
        self._framing = framing
        given = replace(framing, make_decoder=lambda: self._given)
        self._reader = TappedReader(self._steps, reading.row, reading.options, framing=given)

    def read(self) -> None:
        """Reads all of them."""
        rest: list[Frame] = []
        for frame in frames_of(self._body, self._framing):
            if frame.is_open and frame.event is not None:
                rest.append(frame)
            else:
                self._read(frame)
        self._end(rest)

    def _read(self, frame: Frame) -> None:
        is_over = self._reader.finished
        outputs: list[StreamOutput] = []
        if frame.event is not None or frame.error is not None:
            self._given.events = [] if frame.event is None else [frame.event]
            self._given.error = frame.error
            outputs = self._reader.feed(b"")
        is_late = is_over and frame.event is not None and frame.event[1].strip() not in self._ends
        self._add(frame, outputs, is_late=is_late)

    def _end(self, rest: list[Frame]) -> None:
        """What came behind the last whole event, and what the end of the bytes made of it."""
        if self._exchange.end.how is HowEnded.CANCELLED and not self._reader.finished:
            for frame in rest:
                self._add(frame, (), is_late=False)
            return
        self._given.events = [frame.event for frame in rest if frame.event is not None]
        self._steps.take()
        outputs = end_of(self._exchange, self._reader)
        read = [step for step in self._steps.take() if step.kind not in {END_OF_BYTES, FAILURE}]
        is_read = len(read) == len(rest)
        taken = 0
        for number, frame in enumerate(rest):
            own = read[number].outputs if is_read else ()
            taken += len(own)
            self._add(frame, own, is_late=False)
        if last := outputs[taken:]:
            number, size = len(self.events) + 1, len(self._body)
            at, read_of = self._exchange.end.at, max(0, self._reads - 1)
            self.events.append(ReadEvent(number, size, size, at, read_of, END_OF_BYTES, b"", {}, last))

    def _add(self, frame: Frame, outputs: Sequence[StreamOutput], *, is_late: bool) -> None:
        self.events.append(_event_of(len(self.events) + 1, frame, self._clock, outputs, is_late=is_late))


def _stream(reading: _Reading) -> ReadAnswer:
    framing = reading.content.framing or reading.row.framings[0]
    read = _StreamEvents(reading, framing)
    read.read()
    events = tuple(read.events)
    outputs = [output for event in events for output in event.outputs]
    parts = tuple(
        CompletedPart(output, event.number, event.at)
        for event in events
        for output in event.outputs
        if not isinstance(output, Finish | Unmapped)
    )
    is_sure = _is_sure(reading.exchange, reading.row, events)
    return ReadAnswer(reading.row, is_sure, _shown_name(framing), events, parts, _finish_in(outputs), reading.chunks)


_READ: Final[Mapping[ContentForm, Callable[[_Reading], ReadAnswer]]] = {
    ContentForm.STREAM: _stream,
    ContentForm.DOCUMENT: _document,
    ContentForm.REFUSAL: _refusal,
    ContentForm.NOTHING: _nothing,
}


def _shown_name(framing: Framing) -> FramingName:
    """How whoever shows the bytes tells the events apart: every framing but that of events has one a line."""
    return "sse" if framing.name == SSE.name else "jsonl"


def _finish_in(outputs: Sequence[StreamOutput]) -> Finish | None:
    return next((output for output in outputs if isinstance(output, Finish)), None)


def _is_sure(exchange: RecordedExchange, row: Protocol, events: Sequence[ReadEvent]) -> bool:
    if exchange.protocol is not None:
        return True
    shown = [NamedEvent(event.name, dict(event.event)) for event in events[:_SURE_OF] if event.event]
    return claims_of(row, shown).sure > 0


def _event_of(number: int, frame: Frame, clock: _Clock, outputs: Sequence[StreamOutput], *, is_late: bool) -> ReadEvent:
    read = clock.read_of(frame.end)
    name, data = (b"", b"") if frame.event is None else frame.event
    event = _object(data)
    if frame.event is None:
        said = _CUT if frame.is_open else _COMMENT
    else:
        said = name.decode(errors="replace") or _kind_of(event)
    if frame.error is not None:
        said = FAILURE
    if not said:
        said = _CHUNK if event else data.decode(errors="replace")[:_LONGEST_NAME]
    return ReadEvent(number, frame.start, frame.end, clock.at(read), read, said, data, event, outputs, is_late)


def _object(data: bytes) -> Mapping[str, Any]:
    """The JSON object in data; empty for anything else."""
    if not data or nests_too_deeply(data):
        return {}
    try:
        value = loads_event(data)
    except (JSONDecodeError, RecursionError):
        return {}
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return value if isinstance(value, dict) else {}


def _kind_of(event: Mapping[str, Any]) -> str:
    """What an event says of its kind, in the field that most wires have for it."""
    return next((kind for name in _KINDS if isinstance(kind := event.get(name), str) and kind), "")
