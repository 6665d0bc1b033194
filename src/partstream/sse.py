"""Server-sent events: bytes in, events out, by the algorithm of the WHATWG HTML standard; knows no protocol.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

Two differences, both wanted: a last event without its blank line is still dispatched (real servers close the
connection after it), and data stays bytes, because JSON is decoded from bytes. The events do not depend on how the
bytes were cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from partstream.framing import DEFAULT_MAX_EVENT_SIZE, Splitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.errors import EventTooLargeError

__all__ = ["EventDecoder", "JSONLinesDecoder", "SSEDecoder", "ServerSentEvent"]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LINE_FEED: Final = 10


ServerSentEvent: TypeAlias = tuple[bytes, bytes]
"""One event as it came: the value of its last `event:` line in UTF-8, empty when it had none, and the values of its
`data:` lines, joined by line feeds. A plain tuple, because one is made for every event of a response."""


class EventDecoder(Protocol):
    """Turns bytes into events; what the sender does wrong is kept in `error`, never raised."""

    error: EventTooLargeError | None
    """Why no more events come, or None."""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the events that are complete now."""
        ...

    def end(self) -> list[ServerSentEvent]:
        """Says that no more bytes come; returns the last event if its end was missing."""
        ...


class SSEDecoder:
    """Decodes an event stream.

    Args:
        max_event_size: The most bytes that one event may have.

    Attributes:
        error: Set when an event grew over the limit; nothing is returned after that.
        last_event_id: The value of the last `id:` line in UTF-8; as the standard says, it stays until changed.
        retry: The value of the last valid `retry:` line in milliseconds, or None.
    """

    __slots__ = (
        "_after_carriage_return",
        "_expected",
        "_expected_name",
        "_head",
        "_limit",
        "_splitter",
        "error",
        "last_event_id",
        "retry",
    )

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        self._splitter = Splitter(b"\n\n", max_event_size)
        self._limit = max_event_size
        self.error: EventTooLargeError | None = None
        self._head: bytes | None = b""  # the first bytes, until it is known whether they are a byte order mark
        self._after_carriage_return = False
        self._expected: bytes | None = None
        self._expected_name = b""
        self.last_event_id = b""
        self.retry: int | None = None

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the events that are complete now."""
        if self._expected is not None and len(data) <= self._limit:
            # Nearly every chunk of a live response is one event of the type that came before, and nothing else.
            lines = data.splitlines()
            if len(lines) == 3 and lines[0] == self._expected and not lines[2] and data[-1] == _LINE_FEED:
                line = lines[1]
                if line.startswith(b"data: ") and len(line) > 6:
                    return [(self._expected_name, line[6:])]
        return self._feed(data)

    def _feed(self, data: bytes) -> list[ServerSentEvent]:
        if self._head is not None:
            data = self._without_byte_order_mark(data)
        if self._after_carriage_return or data.find(b"\r") >= 0:
            data = self._with_line_feeds(data)
        events: list[ServerSentEvent] = []
        for block in self._splitter.split(data):
            start, _, line = block.partition(b"\ndata: ")
            if line and line.find(b"\n") < 0 and start.find(b"\n") < 0 and start.startswith(b"event: "):
                events.append((start[7:], line))
            else:
                self._lines(block, events)
        self.error = self._splitter.error
        self._expect(events)
        return events

    def _expect(self, events: list[ServerSentEvent]) -> None:
        """Remembers how the next chunk begins if it holds one more event of the same type, at a clean border."""
        clean = self._splitter.is_empty and not self._after_carriage_return and self._head is None
        self._expected_name = events[-1][0] if events else b""
        self._expected = b"event: " + self._expected_name if clean and self._expected_name else None

    def end(self) -> list[ServerSentEvent]:
        """Says that no more bytes come; returns the last event if its blank line was missing."""
        head, self._head = self._head, None
        return self.feed((head or b"") + b"\n\n") if self.error is None else []

    def _without_byte_order_mark(self, data: bytes) -> bytes:
        head = (self._head or b"") + data
        if len(head) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BYTE_ORDER_MARK)

    def _with_line_feeds(self, data: bytes) -> bytes:
        """The same lines, each ended by a line feed, also where CR LF was cut in the middle."""
        if not data:
            return data
        if self._after_carriage_return and data.startswith(b"\n"):
            data = data[1:]
            self._after_carriage_return = False
            if not data:
                return data
        self._after_carriage_return = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _lines(self, block: bytes, events: list[ServerSentEvent]) -> None:
        """Reads a block of any shape: comments, several data lines, ids, blank lines at its start."""
        event = b""
        values: list[bytes] = []
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                values.append(value)
            elif name == b"event":
                event = value
            else:
                _SETTINGS.get(name, _ignore)(self, value)
        data = b"\n".join(values)
        if data:
            events.append((event, data))


def _set_id(decoder: SSEDecoder, value: bytes) -> None:
    if b"\0" not in value:
        decoder.last_event_id = value


def _set_retry(decoder: SSEDecoder, value: bytes) -> None:
    if value.isdigit():
        decoder.retry = int(value)


def _ignore(_decoder: SSEDecoder, _value: bytes) -> None:
    """The standard: comments (an empty name) and fields of any other name are ignored."""


_SETTINGS: Final[dict[bytes, Callable[[SSEDecoder, bytes], None]]] = {b"id": _set_id, b"retry": _set_retry}


class JSONLinesDecoder:
    """Decodes recordings that hold the data of one event a line.

    Args:
        max_event_size: The most bytes that one line may have.

    Attributes:
        error: Set when a line grew over the limit; nothing is returned after that.
    """

    __slots__ = ("_splitter", "_started", "error")

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        self._splitter = Splitter(b"\n", max_event_size)
        self.error: EventTooLargeError | None = None
        self._started = False

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Takes more bytes and returns the lines that are complete now; blank ones are left out."""
        events = [(b"", line) for piece in self._splitter.split(data) if (line := self._line(piece))]
        self.error = self._splitter.error
        return events

    def end(self) -> list[ServerSentEvent]:
        """Says that no more bytes come; returns the last line if its line feed was missing."""
        return self.feed(b"\n") if self.error is None else []

    def _line(self, piece: bytes) -> bytes:
        if not self._started:
            self._started = True
            piece = piece.removeprefix(_BYTE_ORDER_MARK)
        return piece.strip()
