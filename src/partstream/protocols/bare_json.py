"""Decodes event streams in which JSON stands bare, without `data:`; knows no protocol.

Servers and proxies that were asked for a stream answer with one JSON document under the name of a stream, in one line
or many, some with `data: [DONE]` glued behind it; others send each event as a line of JSON (facts of Chat Completions
1). The standard ignores such lines, because a field of theirs has no name that it knows: nothing else is lost by
reading them.
"""

from __future__ import annotations

import re
from typing import Final

from partstream.framing import DEFAULT_MAX_EVENT_SIZE
from partstream.sse import ServerSentEvent, SSEDecoder

__all__ = ["BareJSONDecoder"]

_BEGINS: Final = re.compile(rb"[ \t]*(?:\{|\[[ \t]*(?:\{|\Z|DONE\]))")
"""A line with which a value begins: an object, a list of objects, or the mark of the end. Other lists are words."""
_SIGNS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)
_STEP: Final = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}
_FIELDS: Final = (b"data:", b"event:", b"id:", b"retry:")


class BareJSONDecoder(SSEDecoder):
    """Decodes an event stream, and JSON values between its lines.

    Args:
        max_event_size: The most bytes that the lines of one event or value may have.
    """

    __slots__ = ("_depth", "_value")

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        super().__init__(max_event_size)
        self._value: bytearray | None = None
        self._depth = 0

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last event if its end is missing."""
        events = super().end()
        if self._value is not None and self.error is None:
            events.append((b"", bytes(self._value)))
        return events

    def _line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if self._value is not None and line.startswith(_FIELDS):
            self._close()  # what seemed to be a value never came to its end
        if self._value is None:
            if self._data is not None or not _BEGINS.match(line):
                super()._line(line, events)
                return
            self._value, self._depth = bytearray(), 0
        end = self._find_end(line)
        self._size += end + 1
        self._check_size(0)
        if self.error is not None:
            return
        self._value += line[:end] + b"\n"
        if self._depth == 0:
            events.append((b"", bytes(self._value.strip())))
            self._close()
            if rest := line[end:].strip():
                self._line(rest, events)

    def _close(self) -> None:
        self._value = None
        self._size = 0

    def _find_end(self, line: bytes) -> int:
        """The place behind the value that is open, or behind the line where the value goes on."""
        for sign in _SIGNS.finditer(line):
            if (step := _STEP.get(sign[0])) is not None:
                self._depth += step
                if self._depth <= 0:
                    self._depth = 0
                    return sign.end()
        return len(line)
