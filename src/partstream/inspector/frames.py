"""The frames of a stream: which bytes each event stands in, for every framing.

A decoder is fed line by line: an event that comes out ended there. Of several events that come out of one line, the
last line of the data of each tells where it ends. So nothing here knows a framing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import SSE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.codec.sse import ServerSentEvent
    from partstream.errors import EventTooLargeError
    from partstream.protocols.protocol import Framing

__all__ = ["Frame", "frames_of"]

_LINES: Final = {
    True: re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z"),
    False: re.compile(rb"[^\n]*\n|[^\n]+\Z"),
}
"""A line with its end, where carriage returns end lines too and where they do not."""
_MARK: Final = b"\xef\xbb\xbf"
_BLANKS: Final = b" \t\r\n"
_LIST_SIGNS: Final = b" \t\r\n,[]"
"""What stands between the values of a list."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where one event stands.

    Attributes:
        start: The offset of its first byte.
        end: The offset behind its last byte.
        event: Its name and its data; None for what is no event: comments and fields without data, which keep a
            connection alive, or bytes behind which nothing is read.
        is_open: Whether the bytes ended before the event did.
        error: What the decoder gave up with here, or None.
    """

    start: int
    end: int
    event: ServerSentEvent | None
    is_open: bool = False
    error: EventTooLargeError | None = None


def frames_of(body: bytes, framing: Framing) -> list[Frame]:
    """The frames of a body, in order. What stands between them is blank, or commas and brackets of a list.

    Args:
        body: All bytes of the stream.
        framing: How its events are told apart.
    """
    return list(_Frames(body, framing).read())


class _Frames:
    """Reads the frames of one body.

    Args:
        body: The bytes.
        framing: How its events are told apart.
    """

    def __init__(self, body: bytes, framing: Framing) -> None:
        self._body = body
        self._framing = framing
        self._decoder = framing.make_decoder()
        self._is_event_stream = framing.name == SSE.name
        self._start = len(_MARK) if body.startswith(_MARK) else 0

    def read(self) -> Iterator[Frame]:
        """The frames."""
        start = 0
        for found in _LINES[self._is_event_stream].finditer(self._body):
            start, end = found.span()
            yield from self._between(self._decoder.feed(found[0]), start, end)
            if (error := self._decoder.error) is not None:
                yield Frame(self._start, len(self._body), None, error=error)
                return
            if self._is_event_stream and not found[0].strip(b"\r\n"):
                yield from self._comment(end)
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
                place = self._end_of(event[1], place, end)
            start = self._first_sign(self._start, place, event[1])
            self._start = self._without_signs(start, place, event[1])
            yield Frame(start, self._start, event)

    def _is_before(self, line: int, event: ServerSentEvent) -> bool:
        """Whether an event had all its bytes before the line that made it whole, as one whose blank line is missing."""
        if line <= self._start:
            return False
        decoder = self._framing.make_decoder()
        return [*decoder.feed(self._body[self._start : line]), *decoder.end()] == [event]

    def _end_of(self, data: bytes, place: int, end: int) -> int:
        """The place behind an event in a line that holds further ones."""
        last = data.rpartition(b"\n")[2]
        found = self._body.find(last, place, end)
        return end if found < 0 else found + len(last)

    def _first_sign(self, start: int, end: int, data: bytes) -> int:
        """The first byte of a frame: blanks before it, and the signs of a list, belong to no event."""
        first = data[:1]
        signs = _LIST_SIGNS if first == b"{" else _BLANKS
        while start < end and self._body[start] in signs:
            start += 1
        return start

    def _without_signs(self, start: int, end: int, data: bytes) -> int:
        """The end of a frame: that of a bare value ends with the value, because its line may go on behind it."""
        if self._is_event_stream and self._body[start : start + 1] == b"{" and data[:1] == b"{":
            last = data.rpartition(b"\n")[2]
            found = self._body.rfind(last, start, end)
            return end if found < 0 else found + len(last)
        return end

    def _comment(self, end: int) -> Iterator[Frame]:
        """The frame of lines that were no event."""
        start = self._first_sign(self._start, end, b"{")
        if self._body[start : start + 1] == b"{":
            return  # a value that stands bare may have blank lines
        self._start = end
        if start < end:
            yield Frame(start, end, None)
