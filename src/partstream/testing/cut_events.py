"""Cuts the bytes of a served answer into its events, for what is done to events: faults, pace, and counting them.

A server's bytes are all that is known here, so that the server need not know of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.sse import SSEDecoder
from partstream.lm.outputs import Finish, Unmapped
from partstream.protocols.protocol import JSON_LINES, SSE
from partstream.protocols.reader import StreamReader
from partstream.testing.steps import END_OF_STREAM, START_OF_STREAM, UNNAMED, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import StreamForm

__all__ = ["EventCutter", "kind_of_frame", "kind_of_json", "kind_of_line", "marked_by"]

_BEHIND_EVENTS: Final = {SSE.media_type: re.compile(rb"\n\r?\n"), JSON_LINES.media_type: re.compile(rb"\n")}
"""What stands behind an event, by media type; other streams have something between their events."""


class EventCutter:
    """Cuts one stream.

    Args:
        protocol: The protocol of the stream.
        form: How its events stand in its bytes.
        has_kinds: Whether somebody needs the kinds of events, which costs reading them; without, all are unnamed.
        has_pieces: Whether somebody needs to know where the pieces of the answer begin, which costs as much.
    """

    def __init__(
        self, protocol: Protocol, form: StreamForm, *, has_kinds: bool = False, has_pieces: bool = False
    ) -> None:
        media_type = form.content_type.partition(";")[0].strip()
        self._protocol = protocol
        self._form = form
        self._ends = _BEHIND_EVENTS.get(media_type, _BEHIND_EVENTS[SSE.media_type])
        self._kind = kind_of_line if media_type == JSON_LINES.media_type else kind_of_frame
        self._has_kinds = has_kinds
        framing = JSON_LINES if media_type == JSON_LINES.media_type else SSE
        self._reader = StreamReader(protocol, framing=framing) if has_pieces else None
        self._begun = not form.start
        self._separator = b""
        self._kept = b""

    def cut(self, data: bytes, *, is_last: bool = False) -> Iterator[Send]:
        """The events in the next bytes of the stream; the bytes of an event that is not whole wait for the rest.

        Args:
            data: The bytes.
            is_last: Whether no more come: what has waited comes out then, whole or not.
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
        """Of a stream whose events have something behind them."""
        place = 0
        for behind in self._ends.finditer(data):
            frame = data[place : behind.end()]
            place = behind.end()
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
        if name in protocol.ends.names or data.strip() in protocol.ends.data:
            return END_OF_STREAM
        return name.decode(errors="replace") or kind_of_json(data, protocol)
    return ""


def kind_of_line(line: bytes, protocol: Protocol) -> str:
    """The kind of the event in a line; empty for a blank line."""
    return kind_of_json(line, protocol) if line.strip() else ""


def kind_of_json(data: bytes, protocol: Protocol) -> str:
    """The kind of the event in the JSON, or :data:`partstream.testing.steps.UNNAMED`."""
    try:
        event = loads(data)
    except JSONDecodeError:
        return UNNAMED
    return (protocol.kind(event) if isinstance(event, dict) else None) or UNNAMED
