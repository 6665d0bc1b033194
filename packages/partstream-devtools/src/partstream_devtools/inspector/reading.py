"""Reads a recorded exchange: which events its bytes hold, when each was there, and what became of it.

1. **Frames**: which bytes each event of a stream has. A decoder of the framing is fed line by line, so nothing here
   knows a framing: an event that comes out ended with that line. Of several events from one line, the last line of the
   data of each tells where it ends.
2. **Reading**: what is no stream (a document, a refusal, nothing) is one event at most. A stream goes through the
   reader of its protocol one event at a time, which tells what each event became; only the events after the last whole
   one go in together with the end of the bytes.
3. **Kinds**: the kind of an event, for its colour and shape, and its text in a few words. The outputs of an event tell
   its kind; without outputs its type does, in the words that the wires share; without a type its fields do.
4. **Reported parts**: the parts that a host got, each with the event that completed it. A provider may cut texts
   otherwise than the server, and do wrong what the server did right: so a text is found by its length, a call by its
   id or its name, and a part that the bytes do not hold has no event.
"""

from __future__ import annotations
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, loads_event, nests_too_deeply
from partstream.errors import EventTooLargeError
from partstream.lm.outputs import FileMode, Finish, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, ResponsePart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, SSE, Framing, Protocol
from partstream.protocols.reader import END_OF_BYTES, FAILURE, ReadStep, Tap, TappedReader
from partstream.protocols.recognition import NamedEvent, claims_of
from partstream_devtools.bundles.exchange import Chunk, HowEnded, RecordedAnswer, RecordedExchange, ReportedPart
from partstream_devtools.bundles.recorded import Content, ContentForm, content_of, end_of, whole_outputs
from partstream_devtools.recorded_stream import RecordingError

if TYPE_CHECKING:
    from partstream.codec.sse import ServerSentEvent
    from partstream_devtools.inspector.shapes import EventKind, FramingName, PartKind

# ---- Frames ----

_LINES: Final = {
    True: re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z"),
    False: re.compile(rb"[^\n]*\n|[^\n]+\Z"),
}
"""A line with its end, where carriage returns end lines too and where they do not."""
_MARK: Final = b"\xef\xbb\xbf"
_BLANKS: Final = b" \t\r\n"
_LIST_SIGNS: Final = b" \t\r\n,[]"
"""The bytes between the values of a list."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one event, from the offset `start` up to `end`.

    Attributes:
        event: Its name and its data; None for what is no event: comments and fields without data, which keep a
            connection alive, or bytes after which nothing is read.
        is_open: Whether the bytes ended before the event did.
        error: What the decoder gave up with here, or None.
    """

    start: int
    end: int
    event: ServerSentEvent | None
    is_open: bool = False
    error: EventTooLargeError | None = None


def frames_of(body: bytes, framing: Framing) -> list[Frame]:
    """The frames of a body, in order. Between them are blanks, or the commas and brackets of a list."""
    return list(_Frames(body, framing).read())


class _Frames:
    def __init__(self, body: bytes, framing: Framing) -> None:
        self._body = body
        self._framing = framing
        self._decoder = framing.make_decoder()
        self._is_event_stream = framing.name == SSE.name
        self._start = len(_MARK) if body.startswith(_MARK) else 0

    def read(self) -> Iterator[Frame]:
        start = 0
        for found in _LINES[self._is_event_stream].finditer(self._body):
            start, end = found.span()
            yield from self._between(self._decoder.feed(found[0]), start, end)
            if (error := self._decoder.error) is not None:
                yield Frame(self._start, len(self._body), None, error=error)
                return
            if self._is_event_stream and not found[0].strip(b"\r\n"):
                start = self._first_sign(self._start, end, b"{")
                if self._body[start : start + 1] != b"{":  # a bare value may have blank lines
                    self._start = end
                    if start < end:
                        yield Frame(start, end, None)  # lines that were no event
        size = len(self._body)
        last = list(self._between(self._decoder.end(), start, size))
        yield from (Frame(one.start, one.end, one.event, is_open=True) for one in last)
        start = self._first_sign(self._start, size, b"{")
        if start < size:
            yield Frame(start, size, None, is_open=not self._body.endswith((b"\n", b"\r")))

    def _between(self, events: list[ServerSentEvent], line: int, end: int) -> Iterator[Frame]:
        """The frames of the events that came out of one line."""
        place = max(line, self._start)
        for number, event in enumerate(events, start=1):
            if number == len(events):
                place = end
            elif not (number == 1 and self._is_before(line, event)):
                last = event[1].rpartition(b"\n")[2]
                found = self._body.find(last, place, end)
                place = end if found < 0 else found + len(last)
            start = self._first_sign(self._start, place, event[1])
            if self._is_event_stream and self._body[start : start + 1] == b"{" and event[1][:1] == b"{":
                # The frame of a bare value ends with the value, because its line may go on after it.
                last = event[1].rpartition(b"\n")[2]
                found = self._body.rfind(last, start, place)
                self._start = place if found < 0 else found + len(last)
            else:
                self._start = place
            yield Frame(start, self._start, event)

    def _is_before(self, line: int, event: ServerSentEvent) -> bool:
        """Whether an event had all its bytes before the line that made it whole, as one whose blank line is missing."""
        if line <= self._start:
            return False
        decoder = self._framing.make_decoder()
        return [*decoder.feed(self._body[self._start : line]), *decoder.end()] == [event]

    def _first_sign(self, start: int, end: int, data: bytes) -> int:
        """The first byte of a frame: blanks before it, and the signs of a list, belong to no event."""
        first = data[:1]
        signs = _LIST_SIGNS if first == b"{" else _BLANKS
        while start < end and self._body[start] in signs:
            start += 1
        return start


# ---- Reading ----

_SURE_OF: Final = 20  # events that are looked at for whether the protocol is sure
_LONGEST_NAME: Final = 80
_KINDS: Final = ("type", "object", "event_type")
"""Fields in which events say their kind; those of some wires have none."""


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """One event of an answer.

    Attributes:
        number: Its number, from 1.
        start: The offset of its first byte in the body.
        end: The offset after its last byte.
        at: When its last byte was read, in nanoseconds, or None.
        read: The index of that read.
        name: Its type in the server's own words; `(comment)` for what holds no data.
        data: Its data.
        event: The JSON object; empty where there is none.
        outputs: What came of it.
        is_late: Whether it came after the end of the answer, so that nothing of it was read.
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
    """When which byte was read."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._ends = list(accumulate(len(chunk.data) for chunk in chunks))
        self._times = [chunk.at for chunk in chunks]

    def read_of(self, end: int) -> int:
        """The index of the read that brought the byte before `end`."""
        return min(bisect_left(self._ends, end), len(self._ends) - 1) if self._ends else 0

    def at(self, read: int) -> int | None:
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
        content = _as_it_came(content_of(exchange, "the recording"), exchange.body)
    except RecordingError as error:
        return _unread(exchange, error)
    chunks = exchange.chunks
    if content.is_packed:
        chunks = (Chunk(chunks[-1].at if chunks else None, content.data),)
    reading = _Reading(exchange, content, chunks, _Clock(chunks), options)
    return _stream(reading) if content.form is ContentForm.STREAM else _whole(reading)


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


def _as_it_came(content: Content, body: bytes) -> Content:
    """The same, of the bytes as they came, where a decoder of the wire finds the same events in them."""
    row = content.protocol
    if not content.is_packed or row is None or content.framing is None:
        return content
    framing = row.framings[0]
    counts = []
    for data, one in ((body, framing), (content.data, content.framing)):
        decoder = one.make_decoder()
        counts.append(len(decoder.feed(data)) + len(decoder.end()))
    return replace(content, framing=framing, data=body, is_packed=False) if counts[0] == counts[1] else content


def _whole(reading: _Reading) -> ReadAnswer:
    """A body that is no stream: a document, an error of HTTP, or nothing."""
    exchange, content, head = reading.exchange, reading.content, reading.exchange.head
    is_left = content.form is ContentForm.NOTHING and exchange.end.how is HowEnded.CANCELLED
    outputs = [] if is_left else whole_outputs(exchange, content, reading.options)
    body, is_document = content.data, content.form is ContentForm.DOCUMENT
    events: tuple[ReadEvent, ...] = ()
    if body and content.form is not ContentForm.NOTHING:
        said = _object(body)
        name = (_kind_of(said) or "(document)") if is_document else "HTTP" if head is None else f"HTTP {head.status}"
        read = reading.clock.read_of(len(body))
        events = (ReadEvent(1, 0, len(body), reading.clock.at(read), read, name, body, said, outputs),)
    row, finish = content.protocol, _finish_in(outputs)
    error = None if is_document or finish is None else finish.error
    framing: FramingName | None = "document" if events else None
    return ReadAnswer(row, row is not None, framing, events, _parts_in(events), finish, reading.chunks, error)


def _unread(exchange: RecordedExchange, error: RecordingError) -> ReadAnswer:
    """Bytes of no known protocol: their frames alone."""
    body, clock = exchange.body, _Clock(exchange.chunks)
    framing = JSON_LINES if body.lstrip().startswith(b"{") else LENIENT_SSE
    events = tuple(
        _event_of(number, frame, clock, (), is_late=False) for number, frame in enumerate(frames_of(body, framing), 1)
    )
    return ReadAnswer(None, False, _shown_name(framing), events, (), None, exchange.chunks, error)


class _GivenEvents:
    """A decoder that returns the events that it was given: they are separate already."""

    def __init__(self) -> None:
        self.events: list[ServerSentEvent] = []
        self.error: EventTooLargeError | None = None

    def feed(self, _data: bytes) -> list[ServerSentEvent]:
        """The events, once."""
        events, self.events = self.events, []
        return events

    @property
    def at_border(self) -> bool:
        """False: the events do not come from bytes."""
        return False

    def end(self) -> list[ServerSentEvent]:
        """The same at the end of the bytes."""
        return self.feed(b"")


class _Steps(Tap):
    """The steps of a reader."""

    def __init__(self) -> None:
        self.steps: list[ReadStep] = []

    def step(self, step: ReadStep) -> None:
        """Keeps a step."""
        self.steps.append(step)


class _StreamEvents:
    """The events of a stream, as they are read one by one."""

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
        """What came after the last whole event, and what the end of the bytes made of it."""
        if self._exchange.end.how is HowEnded.CANCELLED and not self._reader.finished:
            for frame in rest:
                self._add(frame, (), is_late=False)
            return
        self._given.events = [frame.event for frame in rest if frame.event is not None]
        before = len(self._steps.steps)
        outputs = end_of(self._exchange, self._reader)
        read = [step for step in self._steps.steps[before:] if step.kind not in {END_OF_BYTES, FAILURE}]
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
    shown = [NamedEvent(event.name, dict(event.event)) for event in events[:_SURE_OF] if event.event]
    is_sure = reading.exchange.protocol is not None or claims_of(reading.row, shown).sure > 0
    finish = _finish_in(output for event in events for output in event.outputs)
    shape = _shown_name(framing)
    return ReadAnswer(reading.row, is_sure, shape, events, _parts_in(events), finish, reading.chunks)


def _parts_in(events: Sequence[ReadEvent]) -> tuple[CompletedPart, ...]:
    return tuple(
        CompletedPart(output, event.number, event.at)
        for event in events
        for output in event.outputs
        if not isinstance(output, Finish | Unmapped)
    )


def _shown_name(framing: Framing) -> FramingName:
    """How a viewer of the bytes tells the events apart: every framing but that of event streams has one a line."""
    return "sse" if framing.name == SSE.name else "jsonl"


def _finish_in(outputs: Iterable[StreamOutput]) -> Finish | None:
    return next((output for output in outputs if isinstance(output, Finish)), None)


def _event_of(number: int, frame: Frame, clock: _Clock, outputs: Sequence[StreamOutput], *, is_late: bool) -> ReadEvent:
    read = clock.read_of(frame.end)
    name, data = (b"", b"") if frame.event is None else frame.event
    event = _object(data)
    if frame.event is None:
        said = "(cut)" if frame.is_open else "(comment)"
    else:
        said = name.decode(errors="replace") or _kind_of(event)
    if frame.error is not None:
        said = FAILURE
    if not said:
        said = "(chunk)" if event else data.decode(errors="replace")[:_LONGEST_NAME]
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
    """The type of an event, from the field that most wires have for it."""
    return next((kind for name in _KINDS if isinstance(kind := event.get(name), str) and kind), "")


# ---- Kinds and texts ----

_LONGEST: Final = 160  # characters of an event's short text
_MOST_LEVELS: Final = 5  # levels of an event that are looked through for its fields


def kind_of_part(part: object) -> PartKind:
    """The kind of a part; `other` for an object of no known class."""
    match part:
        case TextPart():
            return "text"
        case ThinkingPart():
            return "thinking"
        case ToolCallPart():
            return "call"
        case DataPart():
            return "usage" if part.mime_type == USAGE_MIME_TYPE else "data"
    return "other"


def text_of_part(part: object) -> str:
    """What a part holds: its text, the arguments of a call as JSON, or the media type and size of data."""
    match part:
        case TextPart() | ThinkingPart():
            return str(part.value)
        case ToolCallPart():
            return _json(part.input)
        case DataPart():
            if part.mime_type == USAGE_MIME_TYPE:
                return part.data.decode(errors="replace")
            return f"{part.mime_type}, {len(part.data):,} bytes"
    return f"{type(part).__name__}: no part of a response"


def _json(value: object) -> str:
    try:
        return dumps(value).decode()
    except TypeError:
        return repr(value)


def shortened(text: str) -> str:
    """The beginning of a text, with `…` where it goes on."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_BY_OUTPUT: Final[tuple[tuple[Callable[[StreamOutput], bool], EventKind], ...]] = (
    (lambda one: isinstance(one, ToolCallPart), "call"),
    (lambda one: isinstance(one, TextPart) and bool(one.value), "text"),
    (lambda one: isinstance(one, DataPart) and one.mime_type != USAGE_MIME_TYPE, "data"),
    (lambda one: isinstance(one, ThinkingPart) and bool(one.value), "thinking"),
    (lambda one: isinstance(one, Finish) and one.error is not None, "error"),
    (lambda one: isinstance(one, Finish), "end"),
    (lambda one: isinstance(one, DataPart), "usage"),
    (lambda one: isinstance(one, Unmapped), "unmapped"),
)
"""The description of an output's event; the first row that fits one of the outputs."""

_BY_TYPE: Final[tuple[tuple[re.Pattern[str], EventKind], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)  # type: ignore[misc]
    for pattern, kind in (
        (r"^\(comment\)$|ping|heart.?beat|keep.?alive", "keepalive"),
        (r"error|fail|abort|^HTTP ", "error"),
        (r"^\[DONE\]$|finish|completed|message_stop|end of the bytes", "end"),
        (r"usage", "usage"),
        (r"(tool|function|argument|call).*(delta|args|input)|partial_json|tool.?(call|output|result)", "call"),
        (r"(reason|think).*delta", "thinking"),
        (r"(text|content|refusal).*delta", "text"),
        (r"start|created|in_progress|queued|added|begin", "start"),
        (r"done|stop|end", "end"),
    )
)
"""What the type of an event says, where nothing came of it; the first row that fits."""
_LONGEST_TYPE: Final = 200

_BY_FIELD: Final[tuple[tuple[frozenset[str], EventKind], ...]] = (
    (frozenset({"error"}), "error"),
    (
        frozenset({"tool_calls", "function_call", "functionCall", "partial_json", "arguments", "argsTextDelta"}),
        "call",
    ),
    (frozenset({"reasoning", "reasoning_content", "thinking", "signature"}), "thinking"),
    (frozenset({"finish_reason", "finishReason", "done_reason", "stop_reason"}), "end"),
    (frozenset({"usage", "usageMetadata"}), "usage"),
    (frozenset({"role"}), "start"),
)
"""What the fields of an event say that have a value; the first row that fits."""

_PIECE_OF_CALL: Final = frozenset(
    {"arguments", "partial_json", "delta", "inputTextDelta", "argsTextDelta", "name", "args", "input_text_delta"}
)
"""Fields that hold a piece of a call, which becomes a part only when the call is whole."""


def kind_of_event(event: ReadEvent) -> EventKind:
    """The kind of an event."""
    for fits, kind in _BY_OUTPUT:
        if any(map(fits, event.outputs)):
            return kind
    found = {name for name, value in _fields(event.event, _MOST_LEVELS) if value not in (None, "", [], {})}
    by_field = next((kind for names, kind in _BY_FIELD if names & found), None)
    if by_field == "call":  # a piece of a call, whatever the type of its event says
        return by_field
    for pattern, kind in _BY_TYPE:
        if pattern.search(event.name, 0, _LONGEST_TYPE):
            return kind
    return by_field or "other"


def _fields(value: object, levels: int) -> Iterator[tuple[str, Any]]:
    if levels and isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _fields(inner, levels - 1)
    elif levels and isinstance(value, list):
        for inner in value[:_MOST_LEVELS]:
            yield from _fields(inner, levels - 1)


def changed_the_answer(event: ReadEvent, kind: EventKind) -> bool:
    """Whether an event brought something of the answer: keep-alives, comments and empty deltas do not."""
    if any(_has_content(output) for output in event.outputs):
        return True
    return kind == "call" and any(True for _ in _pieces(event.event))


def _pieces(event: Mapping[str, Any]) -> Iterator[str]:
    """The pieces of a call that an event holds."""
    found = ((name, value) for name, value in _fields(event, _MOST_LEVELS) if name in _PIECE_OF_CALL)
    yield from (value for _, value in found if isinstance(value, str) and value)


def _has_content(output: StreamOutput) -> bool:
    match output:
        case TextPart() | ThinkingPart():
            return bool(output.value)
        case ToolCallPart():
            return True
        case DataPart():
            return output.mime_type != USAGE_MIME_TYPE
    return False


def said_by(event: ReadEvent, kind: EventKind) -> str:
    """What an event says, in a few words: what came of it, else the pieces of a call in it, else its fields."""
    shown = " ".join(word for output in event.outputs if (word := _said(output)))
    if not shown and kind == "call":
        shown = " ".join(_pieces(event.event))
    if not shown and event.event:
        shown = _json({name: value for name, value in event.event.items() if name != "type"})
    return shortened(shown or event.data.decode(errors="replace").strip())


def _said(output: StreamOutput) -> str:
    match output:
        case TextPart() | ThinkingPart():
            return output.value
        case ToolCallPart():
            return f"{output.name}({_json(output.input)})"
        case DataPart():
            return text_of_part(output)
        case Finish():
            return _end(output)
    return ""


def _end(finish: Finish) -> str:
    words: Sequence[str | None] = (
        finish.outcome.value,
        None if finish.reason is None else finish.reason.raw or finish.reason.unified.value,
        None if finish.error is None else str(finish.error),
    )
    return ": ".join(word for word in words if word)


# ---- Reported parts ----


@dataclass(frozen=True, slots=True)
class Difference:
    """What of the bytes the host did not get, or got otherwise.

    Attributes:
        sentence: What it is.
        is_of_provider: Whether only the provider can have made it: no setting of the host, and nothing that the
            recording leaves out.
    """

    sentence: str
    is_of_provider: bool


def as_reported(read: Sequence[CompletedPart], reported: Sequence[ReportedPart], offset: int) -> list[CompletedPart]:
    """The parts that a host got, each with the event that completed it among those that the bytes hold; `offset` is
    the nanoseconds from the beginning of the answer to that of the exchange."""
    places = _Places(read)
    return [
        CompletedPart(one.part, places.event_of(one.part), None if one.at is None else one.at - offset)
        for one in reported
    ]


class _Places:
    """Where the parts of the bytes are, while those of the host are found one by one."""

    def __init__(self, read: Sequence[CompletedPart]) -> None:
        kinds = (TextPart, ThinkingPart)
        self._texts = {kind: _Text([one for one in read if isinstance(one.part, kind)]) for kind in kinds}
        self._calls = [one for one in read if isinstance(one.part, ToolCallPart)]
        self._data = [one for one in read if isinstance(one.part, DataPart)]

    def event_of(self, part: object) -> int | None:
        """The event that completed a part of the host."""
        if isinstance(part, TextPart | ThinkingPart):
            return self._texts[type(part)].event_after(len(part.value))
        if isinstance(part, ToolCallPart):
            calls = [(one, one.part) for one in self._calls if isinstance(one.part, ToolCallPart)]
            same_id = (one for one, call in calls if call.call_id == part.call_id)
            same_name = (one for one, call in calls if call.name == part.name)
            return self._take(self._calls, next(same_id, None) or next(same_name, None))
        if isinstance(part, DataPart):
            found = next((one for one in self._data if one.part == part), None)
            return self._take(self._data, found)
        return None

    @staticmethod
    def _take(waiting: list[CompletedPart], found: CompletedPart | None) -> int | None:
        if found is None:
            return None
        waiting.remove(found)
        return found.event


class _Text:
    """One text of the bytes, by how far each of its parts goes."""

    def __init__(self, parts: Sequence[CompletedPart]) -> None:
        self._parts = parts
        self._next = 0
        self._end = 0
        self._said = 0

    def event_after(self, length: int) -> int | None:
        """The event with which the next `length` characters were there."""
        self._said += length
        while self._end < self._said and self._next < len(self._parts):
            part = self._parts[self._next].part
            self._end += len(part.value) if isinstance(part, TextPart | ThinkingPart) else 0
            self._next += 1
        return self._parts[self._next - 1].event if self._next and self._end >= self._said else None


def differs(
    read: Sequence[CompletedPart],
    reported: Sequence[CompletedPart],
    exchange: RecordedExchange,
    answer: RecordedAnswer,
    *,
    has_error: bool,
) -> Difference | None:
    """What of the bytes the host did not get, or got otherwise; None where it got the same.

    The exchange says what the host asked to have shown; an error, if the answer `has_error`, may be said by a text at
    its end.
    """
    shown, is_whole = exchange.shown, exchange.left_out is None and not answer.left_out
    for kind, word in ((TextPart, "text"), (ThinkingPart, "thinking")):
        left, right = _joined(read, kind), _joined(reported, kind)
        if kind is ThinkingPart and shown is not None and shown.thinking is ThinkingMode.OFF:
            left = ""
        if left == right or (kind is TextPart and has_error and right.startswith(left)):
            continue
        sentence = f"the host got another {word}: {len(right):,} characters, the bytes hold {len(left):,}"
        if shown is None:
            sentence += "; the recording does not say which display settings the host used"
        # A file that could not be fetched is a link in the text.
        has_data = any(isinstance(one.part, DataPart) for one in read)
        is_certain = shown is not None and not (kind is TextPart and shown.files is FileMode.FETCH and has_data)
        return Difference(sentence, is_certain and is_whole)
    left_calls, right_calls = _calls(read), _calls(reported)
    if left_calls != right_calls:
        return Difference(f"the host got other calls: {len(right_calls)}, the bytes hold {len(left_calls)}", is_whole)
    return None


def _joined(parts: Sequence[CompletedPart], kind: type[TextPart | ThinkingPart]) -> str:
    return "".join(one.part.value for one in parts if isinstance(one.part, kind))


def _calls(parts: Sequence[CompletedPart]) -> list[tuple[str, object]]:
    return [(one.part.name, one.part.input) for one in parts if isinstance(one.part, ToolCallPart)]
