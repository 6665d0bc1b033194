"""Decodes bytes into server-sent events, lines of JSON, or bare JSON; knows no protocol.

The events do not depend on how the bytes are split, and decoding takes linear time and memory.
"""

from __future__ import annotations
import re
from itertools import repeat
from typing import Final, Protocol, TypeAlias

from partstream.errors import EventTooLargeError

# ---- Lines ----

DEFAULT_MAX_EVENT_SIZE: Final = 64 * 1024 * 1024
"""The most bytes of an event. The largest field of the OpenResponses schema is a file of 32 MiB in base64."""

_LINE_FEED: Final = 10
_CARRIAGE_RETURN: Final = 13
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class LineSplitter:
    """Splits bytes into lines and drops a byte order mark at their start.

    An incomplete line grows in one buffer, and only new bytes are searched: searching the whole tail on every read made
    a 2 MB event in reads of 1,460 bytes three hundred times slower than in one read. A list of the pieces would cost 90
    bytes for each: `bytes.join` describes every piece in memory.

    Args:
        carriage_returns: Whether CR and CR LF end a line too; otherwise CR is a byte like any other.
    """

    def __init__(self, *, carriage_returns: bool = True) -> None:
        self._carriage_returns = carriage_returns
        self._pending = bytearray()
        self._head: bytes | None = b""  # the first bytes, until it is known whether they are a byte order mark
        self._after_carriage_return = False
        self.pending_size = 0

    @property
    def at_border(self) -> bool:
        """Whether the next byte starts a line, whatever that byte is."""
        return not (self._pending or self._after_carriage_return) and self._head is None

    def split(self, data: bytes) -> list[bytes]:
        """Takes more bytes and returns the lines that are now complete, without their line ends."""
        if self._head is not None:
            data = self._without_byte_order_mark(data)
        if self._after_carriage_return and data:
            self._after_carriage_return = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        if self._pending:
            self._keep(data)
            if data.find(b"\n") < 0 and not (self._carriage_returns and data.find(b"\r") >= 0):
                return []
            data = bytes(self._pending)
            self.drop_pending()
        if not self._carriage_returns:
            *lines, rest = data.split(b"\n")
            self._keep(rest)
            return lines
        lines = data.splitlines()
        if data[-1] == _CARRIAGE_RETURN:
            self._after_carriage_return = True
        elif data[-1] != _LINE_FEED:
            self._keep(lines.pop())
        return lines

    def end(self) -> list[bytes]:
        """Records that no more bytes come; returns the last line if it has no line end."""
        head, self._head = self._head, None
        if head:
            self._keep(head)
        line = bytes(self._pending)
        self.drop_pending()
        return [line] if line else []

    def drop_pending(self) -> None:
        """Drops the incomplete line."""
        self._pending.clear()
        self.pending_size = 0

    def _keep(self, piece: bytes) -> None:
        self._pending += piece
        self.pending_size += len(piece)

    def _without_byte_order_mark(self, data: bytes) -> bytes:
        head = (self._head or b"") + data
        if len(head) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BYTE_ORDER_MARK)


# ---- Server-sent events ----

SHORT_EVENT: Final = 512
"""Bytes. A shorter event has no room for values that take long to read, such as hundreds of levels of brackets."""

ServerSentEvent: TypeAlias = tuple[bytes, bytes]
"""One event as it came: the value of its last `event:` line in UTF-8 (empty without such a line), and the values of its
`data:` lines joined by line feeds. A plain tuple, because one is made for every event of a response."""
_ONE_READ: Final = 2048
"""Bytes. A chunk that holds one event, as servers write it, is smaller."""


class EventDecoder(Protocol):
    """Decodes bytes into events; keeps an error of the sender in `error` and never raises it."""

    @property
    def error(self) -> EventTooLargeError | None:
        """The error after which no event is returned, or None."""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the events that are now complete."""

    @property
    def at_border(self) -> bool:
        """Whether the next bytes are read as the first ones of a stream are: no byte before counts any more."""

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last event if its end is missing."""


class SSEDecoder:
    """Decodes an event stream by the algorithm of the WHATWG HTML standard.

    https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation; three differences
    are intended: a last event without its blank line is still dispatched (real servers close the connection after it);
    data stays bytes, because JSON is decoded from bytes; `id` and `retry` are ignored, because a model's response is
    never resumed.
    """

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        self._splitter = LineSplitter()
        self._limit = max_event_size
        self._short = min(max_event_size, SHORT_EVENT)
        self._at_border = False  # whether the next byte starts an event
        self._expect(b"")
        self._event = b""
        self._data: bytes | bytearray | None = None  # the values of the event's data lines so far
        self._size = 0
        self.error: EventTooLargeError | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the events that are now complete."""
        value = self._usual_event(data)
        if value is not None:
            return [(self._usual_name, value)]
        if len(data) > _ONE_READ:
            return self._read_large(data)
        return self._usual_events(data) or self._read(data)

    @property
    def at_border(self) -> bool:
        """Whether no byte before counts any more."""
        return self._at_border

    def _usual_event(self, data: bytes) -> bytes | None:
        """The fast path: nearly every chunk of a live response is one event with the name of the event before."""
        size = self._usual_size
        if data[:size] == self._usual_start and self._at_border and len(data) <= self._short:
            value, _, rest = data[size:].partition(b"\n")
            if rest != b"\n":
                if rest != b"\r\n":
                    return None
                value = value.removesuffix(b"\r")  # the lines end with both
            if _CARRIAGE_RETURN not in value:
                return value or None
        return None

    def _read_large(self, data: bytes) -> list[ServerSentEvent]:
        """Reads a chunk that holds many events and may start and end in the middle of an event."""
        events: list[ServerSentEvent] = []
        if not self._at_border:
            begin = data.find(b"\n\n") + 2
            events += self._read(data[:begin])
            data = data[begin:]
        end = data.rfind(b"\n\n") + 2
        if end > 1:
            whole = data[:end]
            events += self._usual_events(whole) or self._read(whole)
            data = data[end:]
        return events + self._read(data)

    def _usual_events(self, data: bytes) -> list[ServerSentEvent] | None:
        """The short way for many events at once; None unless all of them have the name of the event before."""
        start = self._usual_start
        if not (self._at_border and data.startswith(start) and data.endswith(b"\n\n") and len(data) <= self._limit):
            return None
        values = data[len(start) : -2].split(b"\n\n" + start)
        lines = (start.count(b"\n") + 2) * len(values)
        if data.count(b"\n") != lines or data.find(b"\r") >= 0 or b"" in values:
            return None
        return list(zip(repeat(self._usual_name), values, strict=False))

    def _read(self, data: bytes) -> list[ServerSentEvent]:
        """Reads lines of any shape."""
        events: list[ServerSentEvent] = []
        for line in self._splitter.split(data):
            self._line(line, events)
        self._check_size(self._splitter.pending_size)
        self._at_border = self._splitter.at_border and not self._size
        if events and events[-1][0] != self._usual_name:
            self._expect(events[-1][0])
        return events

    def _expect(self, name: bytes) -> None:
        self._usual_name = name
        self._usual_start = b"event: " + name + b"\ndata: " if name else b"data: "
        self._usual_size = len(self._usual_start)

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last event if its blank line is missing."""
        events: list[ServerSentEvent] = []
        for line in (*self._splitter.end(), b""):
            self._line(line, events)
        return events

    def _line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        """One step of the standard's algorithm. Ignores comments (fields with an empty name) and unknown fields."""
        if self.error is not None:
            return
        if not line:
            if self._data:
                events.append((self._event, bytes(self._data)))
            self._event = b""
            self._data = None
            self._size = 0
            return
        self._size += len(line)
        self._check_size(0)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            if self._data is None:
                self._data = value
                return
            if isinstance(self._data, bytes):  # an event may have millions of data lines: all go into one buffer
                self._data = bytearray(self._data)
            self._data += b"\n" + value
        elif name == b"event":
            self._event = value

    def _check_size(self, pending: int) -> None:
        if self._size + pending > self._limit and self.error is None:
            self.error = EventTooLargeError(self._size + pending, self._limit)
            self._size += pending  # never 0 again: no event follows
            self._data = None
        if self.error is not None:
            self._splitter.drop_pending()


class JSONLinesDecoder:
    """Decodes recordings that hold the data of one event per line.

    Only a line feed ends a line. A carriage return is a blank, as JSON says (RFC 8259 section 2): before the line feed,
    where some programs write it, and between two tokens. So do the readers of such lines in the AI SDK, and the
    descriptions of JSON Lines (https://jsonlines.org) and NDJSON (https://github.com/ndjson/ndjson-spec).
    """

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        self._splitter = LineSplitter(carriage_returns=False)
        self._limit = max_event_size
        self.error: EventTooLargeError | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the lines that are now complete, without blank lines."""
        return self._events(self._splitter.split(data)) if self.error is None else []

    @property
    def at_border(self) -> bool:
        """Whether no byte before counts any more."""
        return self._splitter.at_border and self.error is None

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last line if its line feed is missing."""
        return self._events(self._splitter.end()) if self.error is None else []

    def _events(self, lines: list[bytes]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        for line in lines:
            if len(line) > self._limit:
                self.error = EventTooLargeError(len(line), self._limit)
                return events
            if stripped := line.strip():
                events.append((b"", stripped))
        if self._splitter.pending_size > self._limit:
            self.error = EventTooLargeError(self._splitter.pending_size, self._limit)
            self._splitter.drop_pending()
        return events


# ---- Bare JSON ----

_BEGINS: Final = re.compile(rb"[ \t]*(?=\{|\[DONE\])")
"""What a value begins with: an object, or the mark of the end. Other words in brackets are no value."""
_OPENS_LIST: Final = re.compile(rb"[ \t]*\[(?=[ \t]*(?:\{|\Z))")
_MAY_BEGIN: Final = frozenset({b"{", b"[", b" ", b"\t"})
"""What the line begins with where a value or a list begins."""
_BETWEEN: Final = re.compile(rb"[ \t,]*")
_BLANK: Final = re.compile(rb"[ \t]*\Z")
_SIGNS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)
_STEP: Final = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_FIELDS: Final = (b"data:", b"event:", b"id:", b"retry:")


class BareJSONDecoder(SSEDecoder):
    """Decodes an event stream, and JSON values without `data:` between its lines.

    Some servers and proxies respond to a request for a stream with one JSON document under the name of a stream, in one
    line or many, some with `data: [DONE]` appended; others send each event as a line of JSON. The standard ignores such
    lines, because it knows no field of their names (docs/wires/chat-completions.md#framing). Each object in a list is a
    value, as Gemini's servers send them and errors (docs/wires/gemini.md#framing).
    """

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        super().__init__(max_event_size)
        self._value: bytearray | None = None
        self._depth = 0
        self._is_listed = False  # whether a list is open, outside of its values

    @property
    def at_border(self) -> bool:  # noqa: D102
        return self._at_border and self._value is None and not self._is_listed

    def end(self) -> list[ServerSentEvent]:  # noqa: D102
        events = super().end()
        if self._value is not None and self.error is None:
            events.append((b"", bytes(self._value)))
        return events

    def _line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if self._value is None and not self._is_listed and line[:1] not in _MAY_BEGIN:  # nearly every line
            super()._line(line, events)
            return
        if line.startswith(_FIELDS):
            self._close()  # what seemed to be a value or a list never came to its end
            self._is_listed = False
        elif self._data is not None and line.startswith(b"{"):
            super()._line(b"", events)  # an error after an event without its end
        place = 0
        while self.error is None:
            if self._value is None:
                begin = None if self._data is not None else self._find_value(line, place)
                if begin is None:
                    super()._line(line[place:].strip() if place else line, events)
                    return
                if begin == len(line):
                    return
                self._value, self._depth, place = bytearray(), 0, begin
            end = self._find_end(line, place)
            self._size += end - place + 1
            self._check_size(0)
            self._value += line[place:end] + b"\n"
            if self._depth or self.error is not None:
                return
            events.append((b"", bytes(self._value.strip())))
            self._close()
            place = end
            if _BLANK.match(line, place):
                return

    def _close(self) -> None:
        if self._value is not None:
            self._value = None
            self._size = 0

    def _find_value(self, line: bytes, place: int) -> int | None:
        """The place where the next value of a line begins; the end of the line where the list continues, and None
        where the rest is for the standard."""
        if (opened := None if self._is_listed else _OPENS_LIST.match(line, place)) is not None:
            self._is_listed, place = True, opened.end()
        if self._is_listed:
            between = _BETWEEN.match(line, place)
            place = place if between is None else between.end()
            if not line.startswith(b"]", place):
                return place if line.startswith(b"{", place) else len(line)
            self._is_listed = False
            place += 1
            if _BLANK.match(line, place):
                return len(line)
        found = _BEGINS.match(line, place)
        return None if found is None else found.end()

    def _find_end(self, line: bytes, place: int) -> int:
        """The place after the open value, or after the line if the value continues."""
        for sign in _SIGNS.finditer(line, place):
            if (step := _STEP.get(sign[0])) is not None:
                self._depth += step
                if self._depth <= 0:
                    self._depth = 0
                    return sign.end()
        return len(line)
