"""Decodes event streams in which JSON stands bare, without `data:`; knows no protocol.

Servers and proxies that were asked for a stream answer with one JSON document under the name of a stream, in one line
or many, some with `data: [DONE]` appended; others send each event as a line of JSON. The standard ignores such lines,
because it knows no field of their names (docs/wires/chat-completions.md#framing).
"""

from __future__ import annotations

import re
from typing import Final

from partstream.framing import DEFAULT_MAX_EVENT_SIZE
from partstream.sse import ServerSentEvent, SSEDecoder

__all__ = ["BareJSONDecoder"]

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
    """Decodes an event stream, and JSON values between its lines.

    Each object in a list is a value, as Gemini's servers send them and errors (docs/wires/gemini.md#framing).

    Args:
        max_event_size: The most bytes that the lines of one event or value may have.
    """

    __slots__ = ("_depth", "_is_listed", "_value")

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        super().__init__(max_event_size)
        self._value: bytearray | None = None
        self._depth = 0
        self._is_listed = False  # whether a list is open, outside of its values

    def end(self) -> list[ServerSentEvent]:
        """Records that no more bytes come; returns the last event if its end is missing."""
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
            super()._line(b"", events)  # an error behind an event that was not ended
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
        """The place where the next value of a line begins; the end of the line where a list goes on behind it, and None
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
        """The place behind the value that is open, or behind the line where the value goes on."""
        for sign in _SIGNS.finditer(line, place):
            if (step := _STEP.get(sign[0])) is not None:
                self._depth += step
                if self._depth <= 0:
                    self._depth = 0
                    return sign.end()
        return len(line)
