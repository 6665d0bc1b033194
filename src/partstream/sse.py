"""Decodes bytes into server-sent events, by the algorithm of the WHATWG HTML standard; knows no protocol.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

Three intended differences: a last event without its blank line is still dispatched (real servers close the connection
after it); data stays bytes, because JSON is decoded from bytes; `id` and `retry` are ignored, because the answer of a
model is never resumed. The events do not depend on how the bytes are split.
"""

from __future__ import annotations

from itertools import repeat
from typing import Final, Protocol, TypeAlias

from partstream.errors import EventTooLargeError
from partstream.framing import DEFAULT_MAX_EVENT_SIZE, LineSplitter

__all__ = ["SHORT_EVENT", "EventDecoder", "JSONLinesDecoder", "SSEDecoder", "ServerSentEvent"]

SHORT_EVENT: Final = 512
"""Bytes. A shorter event has no room for what takes a reader long, such as hundreds of levels of brackets."""

ServerSentEvent: TypeAlias = tuple[bytes, bytes]
"""One event as it came: the value of its last `event:` line in UTF-8 (empty without such a line), and the values of its
`data:` lines joined by line feeds. A plain tuple, because one is made for every event of a response."""


_CARRIAGE_RETURN: Final = 13
_ONE_READ: Final = 2048
"""Bytes. A chunk that holds one event, as servers write it, is smaller."""


class EventDecoder(Protocol):
    """Decodes bytes into events; keeps an error of the sender in `error` and never raises it."""

    @property
    def error(self) -> EventTooLargeError | None:
        """The error after which no event is returned, or None."""
        ...

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the events that are now complete."""
        ...

    def repeated(self, data: bytes) -> bytes | None:
        """The event's data, if `data` is exactly one short event with the name of the event before.

        Otherwise None; then `data` was not taken, and the caller must feed it.
        """
        ...

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last event if its end is missing."""
        ...


class SSEDecoder:
    """Decodes an event stream.

    Args:
        max_event_size: The most bytes that the lines of one event may have.

    Attributes:
        error: Set once an event exceeds the limit; no event is returned after it.
    """

    __slots__ = (
        "_at_border",
        "_data",
        "_event",
        "_limit",
        "_short",
        "_size",
        "_splitter",
        "_usual_name",
        "_usual_size",
        "_usual_start",
        "error",
    )

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
        value = self.repeated(data)
        if value is not None:
            return [(self._usual_name, value)]
        if len(data) > _ONE_READ:
            return self._read_large(data)
        return (self._usual_events(data) if len(data) > self._short else None) or self._read(data)

    def repeated(self, data: bytes) -> bytes | None:
        """The short way: nearly every chunk of a live response is one event with the name of the event before."""
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
        events += self._read(data)
        return events

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
            self._add(value)
        elif name == b"event":
            self._event = value

    def _add(self, value: bytes) -> None:
        """Takes one more data line. All but the first go into one buffer: an event may have millions of them."""
        if self._data is None:
            self._data = value
            return
        if isinstance(self._data, bytes):
            self._data = bytearray(self._data)
        self._data += b"\n"
        self._data += value

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

    Args:
        max_event_size: The most bytes that one line may have.

    Attributes:
        error: Set once a line exceeds the limit; no event is returned after it.
    """

    __slots__ = ("_at_border", "_limit", "_short", "_splitter", "error")

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        self._splitter = LineSplitter(carriage_returns=False)
        self._limit = max_event_size
        self._short = min(max_event_size, SHORT_EVENT)
        self._at_border = False  # whether the next byte starts a line that may be returned
        self.error: EventTooLargeError | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the lines that are now complete, without blank lines."""
        return self._events(self._splitter.split(data)) if self.error is None else []

    def repeated(self, data: bytes) -> bytes | None:
        """The one line of `data`, if it is short and ends with the first line feed.

        Otherwise None, and the caller must feed it; also a line that is no event, such as a blank one."""
        if self._at_border:
            value, end, rest = data.partition(b"\n")
            if end and not rest and len(value) <= self._short:
                return value
        return None

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last line if its line feed is missing."""
        return self._events(self._splitter.end()) if self.error is None else []

    def _events(self, lines: list[bytes]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        for line in lines:
            if len(line) > self._limit:
                self.error = EventTooLargeError(len(line), self._limit)
                self._at_border = False
                return events
            if stripped := line.strip():
                events.append((b"", stripped))
        if self._splitter.pending_size > self._limit:
            self.error = EventTooLargeError(self._splitter.pending_size, self._limit)
            self._splitter.drop_pending()
        self._at_border = self._splitter.at_border and self.error is None
        return events
