"""The faults of the replay upstream: each one turns the steps of a correct reply into the steps of a faulty reply.

A reply is a sequence of steps, which the owner of the socket carries out. A fault is a pure function and a row of
:data:`FAULTS`. A reply can have several faults, applied in the given order. If a fault takes a count of events, the
default is half of them. A fault of events does not change a reply without events.

:class:`EventCutter` cuts the bytes of a served answer into its events, for faults, pace and counts. It knows the bytes
alone, so that the server need not know of it; reading the kinds and the pieces of events costs time, so that both are
read only where they are needed.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from partstream.codec.checks import dataclass, replace
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.sse import SSEDecoder
from partstream.errors import CallerError
from partstream.lm.outputs import Finish, Unmapped
from partstream.protocols.protocol import JSON_LINES, SSE, Protocol
from partstream.protocols.reader import StreamReader
from partstream.protocols.serve import StreamForm
from partstream_devtools.testing.directives import NamedValue

# ---- Steps ----

START_OF_STREAM: Final = "start of stream"
"""The value of :attr:`Send.event` for what comes before the first event, such as the bracket of a JSON array."""

END_OF_STREAM: Final = "end of stream"
"""The value of :attr:`Send.event` for the mark after the last event."""

UNNAMED: Final = "message"
"""The value of :attr:`Send.event` for events without a kind; the default type in the standard of server-sent events."""

EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
"""The media type of a stream of server-sent events."""


@dataclass(frozen=True, slots=True)
class Head:
    """Sends status and header fields; the body that follows is chunked."""

    status: int
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Send:
    """Sends `data` as one chunk in one write.

    Attributes:
        data: At least one byte.
        event: The kind of the event that begins with these bytes, or :data:`UNNAMED` if it has no kind;
            :data:`START_OF_STREAM` and :data:`END_OF_STREAM` for what comes before the first event and after the last;
            empty for all other bytes.
        piece: Whether a piece of the answer begins with these bytes.
        again: The bytes of the event where it is sent once more; empty where they are the same.
        whole: How many events end in these bytes, of a read that was recorded: it may hold many.
    """

    data: bytes
    event: str = ""
    piece: bool = False
    again: bytes = b""
    whole: int = 0

    @property
    def events(self) -> int:
        """How many events are counted for these bytes."""
        return self.whole or int(self.is_event)

    @property
    def is_event(self) -> bool:
        """Whether an event begins with these bytes."""
        return self.event not in {"", START_OF_STREAM, END_OF_STREAM}


@dataclass(frozen=True, slots=True)
class Stall:
    """Sends nothing for some seconds, or, for None, until the client disconnects."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Until:
    """Sends nothing until so many seconds after the request came."""

    seconds: float


class EndKind(StrEnum):
    """How a reply ends."""

    WHOLE = "whole"
    """The body has its proper end; the connection stays usable."""
    CLOSED = "closed"
    """The connection is closed (FIN) without the end of the body."""
    RESET = "reset"
    """The connection is reset (RST), as after the death of a server process."""


@dataclass(frozen=True, slots=True)
class End:
    """The last step of every reply."""

    kind: EndKind = EndKind.WHOLE


Step: TypeAlias = Head | Send | Stall | Until | End


def document(
    status: int, body: bytes, content_type: str = "application/json", headers: Iterable[tuple[str, str]] = ()
) -> tuple[Step, ...]:
    """A reply of one piece."""
    return Head(status, (("content-type", content_type), *headers)), Send(body), End()


def event_stream(events: Iterable[Send], content_type: str = EVENT_STREAM) -> Iterator[Step]:
    """A stream of events; each event is made when it is sent, so that a long answer starts as early as a short one."""
    yield Head(200, (("content-type", content_type), ("cache-control", "no-cache")))
    yield from events
    yield End()


class Pace:
    """Adds a pause of so many seconds before each piece of one answer except the first.

    A model needs time for the content that it generates. All other events arrive without a pause, as with real servers.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first = True

    def over(self, steps: Iterable[Step]) -> Iterator[Step]:
        """The next steps of the reply with the pauses between them."""
        for step in steps:
            if self._seconds and isinstance(step, Send) and step.piece:
                if not self._first:
                    yield Stall(self._seconds)
                self._first = False
            yield step


# ---- Applying faults ----

_Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """The circumstances of a reply that faults can depend on.

    `attempt` counts the arrivals of this same request, including this one; `now` is in seconds since 1970; `error_body`
    makes an error body in the protocol of the request, from HTTP status and message.
    """

    attempt: int
    now: float
    error_body: Callable[[int, str], bytes]


class UnknownFaultError(CallerError):
    """An unknown fault, or an invalid value of a fault: `name` and the `expected` names or values."""

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"unknown fault {name!r}; expected {expected}")
        self.name = name
        self.expected = expected


class Fault(NamedTuple):
    """A row of the table: the form of the value (such as `[=SECONDS]`), the effect for the client, and the function."""

    value: str
    description: str
    apply: Callable[[_Steps, str, ReplyContext], _Steps]


def apply_faults(steps: Iterable[Step], faults: Iterable[NamedValue], context: ReplyContext) -> _Steps:
    """Applies the faults to a reply, one after the other.

    Raises:
        UnknownFaultError: A fault is not in the table, or its value is invalid.
    """
    steps = tuple(steps)
    for choice in faults:
        name, value = choice
        fault = FAULTS.get(name)
        if fault is None:
            raise UnknownFaultError(name, f"one of {', '.join(FAULTS)}")
        required = fault.value and not fault.value.startswith("[")
        if (required and not value) or (value and not fault.value):
            raise UnknownFaultError(str(choice), name + fault.value)
        try:
            steps = fault.apply(steps, value, context)
        except (ValueError, OverflowError, OSError) as error:  # a number, or a date too far away
            raise UnknownFaultError(str(choice), name + fault.value) from error
    return steps


# ---- Faults ----


def _status(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    """429, 429:2 (Retry-After in seconds), 429:2:date (as an HTTP date; RFC 9110, 10.2.3 allows both)."""
    code, _, retry = value.partition(":")
    seconds, _, form = retry.partition(":")
    status, headers = int(code), []
    if not 400 <= status <= 599 or form not in {"", "date"}:
        raise ValueError(value)
    if retry:
        moment = formatdate(context.now + int(seconds), usegmt=True) if form else str(int(seconds))
        headers.append(("retry-after", moment))
    body = context.error_body(status, f"The replay upstream was asked to answer with status {status}.")
    return document(status, body, headers=headers)


def _status_then_ok(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    count, _, status = value.partition(":")
    if context.attempt > int(count):
        return steps
    return _status(steps, status or "503", context)


def _context_length(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    """The words of Chat Completions servers; many servers use them for every protocol."""
    limit, count = map(int, value.split(":"))
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {count} tokens."
    )
    return document(400, context.error_body(400, message))


def _html(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    """The page that a proxy or a captive portal sends instead of the answer."""
    page = b"<!doctype html><title>Sign in</title><h1>Sign in to the network</h1>\n"
    return document(200, page, content_type="text/html; charset=utf-8")


def _seconds(value: str) -> float | None:
    seconds = float(value) if value else None
    if seconds is not None and not 0 <= seconds <= 3600:
        raise ValueError(value)
    return seconds


def _stall(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    count, _, seconds = value.partition(":")
    return _insert(steps, _position(steps, count), Stall(_seconds(seconds)))


def _ends_after(kind: EndKind) -> Callable[[_Steps, str, ReplyContext], _Steps]:
    def ends(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
        return *steps[: _position(steps, value)], End(kind)

    return ends


def _split(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    """Cuts every write into pieces of N bytes, also inside a line or a character."""
    size = int(value)
    if size < 1:
        raise ValueError(value)
    result: list[Step] = []
    for step in steps:
        if isinstance(step, Send) and step.data:
            starts = range(0, len(step.data), size)
            pieces = [Send(step.data[start : start + size]) for start in starts]
            result += (replace(pieces[0], event=step.event, piece=step.piece), *pieces[1:])
        else:
            result.append(step)
    return tuple(result)


def _missing(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    return tuple(step for step in steps if not (isinstance(step, Send) and step.event == value))


def _duplicate(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    """Sends every event, or every event of the type, twice in a row; the mark of the end is sent once."""
    result: list[Step] = []
    for step in steps:
        result.append(step)
        if isinstance(step, Send) and step.is_event and value in {"", step.event}:
            result.append(replace(step, data=step.again or step.data))
    return tuple(result)


def _malformed(steps: _Steps, value: str, context: ReplyContext) -> _Steps:
    """Cuts off the data of one event: its framing is correct, its JSON is incomplete."""
    position = _position(steps, value)
    step = steps[position]
    if not (isinstance(step, Send) and step.is_event):
        return steps
    text = step.data.rstrip(b"\r\n")
    broken = replace(step, data=text[: -(len(text) // 4)] + step.data[len(text) :])
    return *steps[:position], broken, *steps[position + 1 :]


def _body_start(steps: _Steps) -> int:
    """The index of the step that sends the first byte of the body."""
    return next((index for index, step in enumerate(steps) if isinstance(step, Head)), -1) + 1


def _position(steps: _Steps, count: str) -> int:
    """The index after `count` events, by default after half of them; after the last event if there are fewer."""
    around = {START_OF_STREAM, END_OF_STREAM}
    places = [index for index, step in enumerate(steps) if isinstance(step, Send) and step.event not in around]
    wanted = int(count) if count else len(places) // 2
    if wanted < 0:
        raise ValueError(count)
    if wanted < len(places):
        return places[wanted]
    return places[-1] + 1 if places else len(steps) - 1


def _insert(steps: _Steps, position: int, step: Step) -> _Steps:
    return *steps[:position], step, *steps[position:]


FAULTS: Final[dict[str, Fault]] = {
    "status": Fault(
        "=CODE[:SECONDS[:date]]",
        "An HTTP error, with Retry-After in seconds or as a date that many seconds ahead.",
        _status,
    ),
    "status_then_ok": Fault(
        "=N[:CODE[:SECONDS[:date]]]",
        "The same request fails N times, by default with 503, and then succeeds.",
        _status_then_ok,
    ),
    "context_length": Fault("=LIMIT:TOKENS", "HTTP 400: the input has more tokens than the limit.", _context_length),
    "html": Fault("", "Status 200 with an HTML page.", _html),
    "stall_before_headers": Fault(
        "[=SECONDS]",
        "Silence before the head of the reply; without a number, forever.",
        lambda steps, value, _: (Stall(_seconds(value)), *steps),
    ),
    "stall_before_events": Fault(
        "[=SECONDS]",
        "The head arrives at once, then silence.",
        lambda steps, value, _: _insert(steps, _body_start(steps), Stall(_seconds(value))),
    ),
    "stall": Fault("[=N[:SECONDS]]", "Silence after N events.", _stall),
    # Some servers and proxies do not close the connection after the terminal event.
    "keep_open": Fault(
        "[=SECONDS]",
        "The connection stays open after the last byte of the answer.",
        lambda steps, value, _: _insert(steps, len(steps) - 1, Stall(_seconds(value))),
    ),
    "cut_before_headers": Fault("", "The connection is reset instead of an answer.", lambda *_: (End(EndKind.RESET),)),
    "cut": Fault("[=N]", "The connection is reset after N events.", _ends_after(EndKind.RESET)),
    "close": Fault("[=N]", "The connection is closed after N events, in the middle.", _ends_after(EndKind.CLOSED)),
    "truncate": Fault("[=N]", "The body ends properly, but after N events.", _ends_after(EndKind.WHOLE)),
    "split": Fault("=N", "The bytes arrive N at a time.", _split),
    "no_done": Fault(
        "",
        "The end of the stream is not marked.",
        lambda steps, _, context: _missing(steps, END_OF_STREAM, context),
    ),
    "malformed": Fault("[=N]", "The JSON of event N (from 0) is cut off.", _malformed),
    "duplicate": Fault("[=TYPE]", "Every event, or every event of the type, arrives twice.", _duplicate),
    "missing": Fault("=TYPE", "Events of the type are left out.", _missing),
}
"""All faults by name."""


# ---- Cutting a stream into events ----

_AFTER_EVENTS: Final = {SSE.media_type: re.compile(rb"\n\r?\n"), JSON_LINES.media_type: re.compile(rb"\n")}
"""What ends an event, by media type; other streams have something between their events."""


class EventCutter:
    """Cuts one stream.

    Args:
        protocol: The protocol of the stream.
        form: How its bytes hold its events.
        has_kinds: Whether to read the kinds of events; without, all are unnamed.
        has_pieces: Whether to find where the pieces of the answer begin.
    """

    def __init__(
        self, protocol: Protocol, form: StreamForm, *, has_kinds: bool = False, has_pieces: bool = False
    ) -> None:
        media_type = form.content_type.partition(";")[0].strip()
        self._protocol = protocol
        self._form = form
        self._ends = _AFTER_EVENTS.get(media_type, _AFTER_EVENTS[SSE.media_type])
        self._kind = kind_of_line if media_type == JSON_LINES.media_type else kind_of_frame
        self._has_kinds = has_kinds
        framing = JSON_LINES if media_type == JSON_LINES.media_type else SSE
        self._reader = StreamReader(protocol, framing=framing) if has_pieces else None
        self._begun = not form.start
        self._separator = b""
        self._kept = b""

    def cut(self, data: bytes, *, is_last: bool = False) -> Iterator[Send]:
        """The events in the next bytes of the stream; the bytes of an event that is not whole wait for the rest.

        With `is_last`, what has waited comes too, whole or not.
        """
        data, self._kept = self._kept + data, b""
        if not self._begun and data:
            self._begun = True
            yield Send(self._form.start, START_OF_STREAM)
            data = data.removeprefix(self._form.start)
        sends = self._separated(data) if self._form.separator else self._ended(data)
        yield from sends if self._reader is None else marked_by(self._reader, sends, self._readable)
        if is_last and self._kept:
            yield Send(self._kept)

    def _ended(self, data: bytes) -> Iterator[Send]:
        """Of a stream whose events have an end."""
        place = 0
        for after in self._ends.finditer(data):
            frame = data[place : after.end()]
            place = after.end()
            yield Send(frame, END_OF_STREAM if frame == self._form.end else self._kind_in(frame))
        self._kept = data[place:]

    def _separated(self, data: bytes) -> Iterator[Send]:
        """Of a stream with something between its events; of an array, one whole event comes at a time."""
        end = self._form.end if self._form.end and data.endswith(self._form.end) else b""
        separator = self._form.separator
        for event in data.removesuffix(end).split(separator):
            if event:
                kind = kind_of_json(event, self._protocol) if self._has_kinds else UNNAMED
                yield Send(self._separator + event, kind, again=separator + event)
                self._separator = separator
        if end:
            yield Send(end, END_OF_STREAM)

    def _kind_in(self, frame: bytes) -> str:
        if frame.startswith(b":"):  # a comment, which keeps the connection alive
            return ""
        return self._kind(frame, self._protocol) if self._has_kinds else UNNAMED

    def _readable(self, send: Send) -> bytes:
        """The bytes of an event as the reader of answers takes them."""
        separator = self._form.separator
        return b"data: " + send.data.removeprefix(separator) + b"\n\n" if separator and send.is_event else send.data


def marked_by(
    reader: StreamReader, sends: Iterable[Send], readable: Callable[[Send], bytes] = lambda send: send.data
) -> Iterator[Send]:
    """Marks the events from which the reader gets a part as pieces of the answer; the mark of the end is none."""
    for send in sends:
        outputs = [] if reader.finished else reader.feed(readable(send))
        is_piece = send.event != END_OF_STREAM and any(not isinstance(one, Finish | Unmapped) for one in outputs)
        yield Send(send.data, send.event, is_piece, send.again)


def kind_of_frame(frame: bytes, protocol: Protocol) -> str:
    """The kind of the server-sent event in the bytes; empty for bytes without an event."""
    decoder = SSEDecoder()
    for name, data in (*decoder.feed(frame), *decoder.end()):
        if data.strip() in protocol.ends.data:
            return END_OF_STREAM
        return name.decode(errors="replace") or kind_of_json(data, protocol)
    return ""


def kind_of_line(line: bytes, protocol: Protocol) -> str:
    """The kind of the event in a line; empty for a blank line."""
    return kind_of_json(line, protocol) if line.strip() else ""


def kind_of_json(data: bytes, protocol: Protocol) -> str:
    """The kind of the event in the JSON, or :data:`partstream_devtools.testing.faults.UNNAMED`."""
    try:
        event = loads(data)
    except JSONDecodeError:
        return UNNAMED
    return (protocol.kind(event) if isinstance(event, dict) else None) or UNNAMED
