"""Reads a recorded exchange: which events its bytes hold, when each was there, and what became of it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.exchange import HowEnded
from partstream.inspector.frames import Frame, frames_of
from partstream.json_codec import JSONDecodeError, loads_event, nests_too_deeply
from partstream.outputs import Finish, Outcome, StreamOptions, Unmapped
from partstream.protocols.claims import NamedEvent, claims_of
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.framings import JSON_LINES, LENIENT_SSE, SSE
from partstream.protocols.recording import RecordingError, wire_of
from partstream.protocols.registry import PROTOCOLS
from partstream.protocols.tapped_reader import END_OF_BYTES, FAILURE, ReadStep, Tap, TappedReader
from partstream.upstreams.http_errors import http_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.bundles.exchange import RecordedExchange
    from partstream.errors import EventTooLargeError
    from partstream.inspector.view_shapes import FramingName
    from partstream.outputs import StreamOutput
    from partstream.parts import ResponsePart
    from partstream.protocols.framings import Framing
    from partstream.protocols.protocol import Protocol
    from partstream.sse import ServerSentEvent

__all__ = ["CompletedPart", "ReadAnswer", "ReadEvent", "read_exchange"]

_JSON: Final = "application/json"
_PAGE: Final = "text/html"
_LINES: Final = frozenset({"application/x-ndjson", "application/jsonl", "application/json-lines"})
_EVENTS: Final = "text/event-stream"
_SUCCESS: Final = range(200, 300)
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
        finish: How the answer ended; None where the protocol is not known.
        error: What kept the bytes from being read as an answer: a status of HTTP, an unknown protocol; or None.
    """

    protocol: Protocol | None = None
    is_sure: bool = False
    framing: FramingName | None = None
    events: tuple[ReadEvent, ...] = ()
    parts: tuple[CompletedPart, ...] = ()
    finish: Finish | None = None
    error: Exception | None = None


@dataclass(slots=True)
class _Clock:
    """When which byte was read."""

    ends: list[int]
    times: list[int | None]

    @classmethod
    def of(cls, exchange: RecordedExchange) -> _Clock:
        ends = list(accumulate(len(chunk.data) for chunk in exchange.chunks))
        return cls(ends, [chunk.at for chunk in exchange.chunks])

    def read_of(self, end: int) -> int:
        """The index of the read that brought the byte before `end`."""
        return min(bisect_left(self.ends, end), len(self.ends) - 1) if self.ends else 0

    def at(self, read: int) -> int | None:
        return self.times[read] if read < len(self.times) else None


def read_exchange(exchange: RecordedExchange, options: StreamOptions = StreamOptions()) -> ReadAnswer:  # noqa: B008
    """What an exchange holds; raises for nothing that a server sent.

    Args:
        exchange: The exchange.
        options: How the answer is rendered.
    """
    body, clock = exchange.body, _Clock.of(exchange)
    content_type = _content_type(exchange)
    row = _named(exchange.protocol)
    if exchange.head is not None and (exchange.head.status not in _SUCCESS or content_type == _PAGE):
        return _refusal(exchange, row, clock)
    if not body.strip():
        return _without_events(exchange, row, options)
    try:
        row, framing = wire_of(body, _name_for(content_type, row), exchange.protocol if row is not None else None)
    except RecordingError as error:
        return _unread(body, clock, error)
    if content_type == _JSON != row.accept and row.read_response().events_of is not None:
        return _document(exchange, row, clock, options)
    return _stream(exchange, row, framing, clock, options)


def _named(protocol: str | None) -> Protocol | None:
    return PROTOCOLS[protocol] if protocol is not None and protocol in PROTOCOLS else None


def _content_type(exchange: RecordedExchange) -> str:
    headers = () if exchange.head is None else exchange.head.headers
    found = next((value for name, value in headers if name.lower() == "content-type"), "")
    return found.partition(";")[0].strip().lower()


def _name_for(content_type: str, row: Protocol | None) -> str:
    """A file name with whose ending the framing is told; that of the wire where the head says nothing of use."""
    if content_type in _LINES:
        return "body.jsonl"
    return "body.sse" if content_type == _EVENTS or (content_type and row is None) else "body"


# ---- what is no stream ----


def _whole_body(body: bytes, clock: _Clock, name: str, outputs: Sequence[StreamOutput] = ()) -> ReadEvent:
    read = clock.read_of(len(body))
    return ReadEvent(1, 0, len(body), clock.at(read), read, name, body, _object(body), outputs)


def _refusal(exchange: RecordedExchange, row: Protocol | None, clock: _Clock) -> ReadAnswer:
    """An error of HTTP in place of an answer."""
    head, body = exchange.head, exchange.body
    if head is None:
        raise AssertionError("a refusal has a head")
    corner = None if row is None or row.write_request is None else row.write_request()
    headers = {name.lower(): value for name, value in head.headers}
    then = datetime.fromisoformat(exchange.started_at) if exchange.started_at else datetime(1970, 1, 1, tzinfo=UTC)
    error = http_error(head.status, headers, body, then, COMMON_ERRORS if corner is None else corner.errors)
    finish = Finish(Outcome.FAILED, error=error)
    events = (_whole_body(body, clock, f"HTTP {head.status}", (finish,)),) if body else ()
    return ReadAnswer(row, row is not None, "document" if body else None, events, (), finish, error)


def _without_events(exchange: RecordedExchange, row: Protocol | None, options: StreamOptions) -> ReadAnswer:
    if row is None:
        return ReadAnswer()
    reader = TappedReader(_Steps(), row, options)
    outputs = reader.end()
    finish = outputs[-1] if outputs and isinstance(outputs[-1], Finish) else None
    return ReadAnswer(row, True, None, (), (), None if exchange.end.how is HowEnded.NO_RESPONSE else finish)


def _unread(body: bytes, clock: _Clock, error: RecordingError) -> ReadAnswer:
    """Bytes of no known protocol: their frames alone."""
    framing = JSON_LINES if body.lstrip().startswith(b"{") else LENIENT_SSE
    events = tuple(
        _event_of(number, frame, clock, (), is_late=False) for number, frame in enumerate(frames_of(body, framing), 1)
    )
    return ReadAnswer(None, False, _shown_name(framing), events, (), None, error)


def _document(exchange: RecordedExchange, row: Protocol, clock: _Clock, options: StreamOptions) -> ReadAnswer:
    steps = _Steps()
    reader = TappedReader(steps, row, options)
    body = exchange.body
    outputs = [*reader.feed_document(body), *reader.end()]
    event = _whole_body(body, clock, _kind_of(_object(body)), outputs)
    parts = tuple(CompletedPart(one, 1, event.at) for one in outputs if not isinstance(one, Finish | Unmapped))
    return ReadAnswer(row, exchange.protocol is not None, "document", (event,), parts, _finish_in(outputs))


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
        exchange: Whose stream.
        row: Its protocol.
        framing: How its events are told apart.
        clock: When its bytes were read.
        options: How the answer is rendered.
    """

    def __init__(
        self, exchange: RecordedExchange, row: Protocol, framing: Framing, clock: _Clock, options: StreamOptions
    ) -> None:
        self.events: list[ReadEvent] = []
        self._exchange = exchange
        self._ends = row.ends.data
        self._clock = clock
        self._steps = _Steps()
        self._given = _GivenEvents()
        self._framing = framing
        self._reader = TappedReader(
            self._steps, row, options, framing=replace(framing, make_decoder=lambda: self._given)
        )

    def read(self) -> None:
        """Reads all of them."""
        body = self._exchange.body
        rest: list[Frame] = []
        for frame in frames_of(body, self._framing):
            if frame.is_open and frame.event is not None:
                rest.append(frame)
            else:
                self._read(frame)
        self._end(rest, len(body))

    def _read(self, frame: Frame) -> None:
        is_over = self._reader.finished
        outputs: list[StreamOutput] = []
        if frame.event is not None or frame.error is not None:
            self._given.events = [] if frame.event is None else [frame.event]
            self._given.error = frame.error
            outputs = self._reader.feed(b"")
        is_late = is_over and frame.event is not None and frame.event[1].strip() not in self._ends
        self._add(frame, outputs, is_late=is_late)

    def _end(self, rest: list[Frame], size: int) -> None:
        """What came behind the last whole event, and what the end of the bytes made of it."""
        if self._exchange.end.how is HowEnded.CANCELLED and not self._reader.finished:
            for frame in rest:
                self._add(frame, (), is_late=False)
            return
        self._given.events = [frame.event for frame in rest if frame.event is not None]
        self._steps.take()
        self._reader.end()
        steps = self._steps.take()
        read = [step for step in steps if step.kind != END_OF_BYTES]
        is_read = len(read) == len(rest)
        for number, frame in enumerate(rest):
            self._add(frame, read[number].outputs if is_read else (), is_late=False)
        last = [output for step in steps[len(rest) if is_read else 0 :] for output in step.outputs]
        if last:
            number, at = len(self.events) + 1, self._exchange.end.at
            reads = max(0, len(self._exchange.chunks) - 1)
            self.events.append(ReadEvent(number, size, size, at, reads, END_OF_BYTES, b"", {}, last))

    def _add(self, frame: Frame, outputs: Sequence[StreamOutput], *, is_late: bool) -> None:
        self.events.append(_event_of(len(self.events) + 1, frame, self._clock, outputs, is_late=is_late))


def _stream(
    exchange: RecordedExchange, row: Protocol, framing: Framing, clock: _Clock, options: StreamOptions
) -> ReadAnswer:
    read = _StreamEvents(exchange, row, framing, clock, options)
    read.read()
    events = tuple(read.events)
    outputs = [output for event in events for output in event.outputs]
    parts = tuple(
        CompletedPart(output, event.number, event.at)
        for event in events
        for output in event.outputs
        if not isinstance(output, Finish | Unmapped)
    )
    return ReadAnswer(row, _is_sure(exchange, row, events), _shown_name(framing), events, parts, _finish_in(outputs))


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
