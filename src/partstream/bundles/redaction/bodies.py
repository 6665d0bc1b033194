"""Where the JSON of a body stands in its bytes, whatever its framing: server-sent events, lines, lists, documents.

Reads damaged bodies too: what is no event is text, and every byte of a body belongs to one of the places found here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Body", "Line", "Payload", "body_of"]

_LINES: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_JSON_LINES: Final = re.compile(rb"[^\n]*(?:\n|\Z)")
_BLANKS: Final = b" \t\r\n"
_MARK: Final = b"\xef\xbb\xbf"
_CODED: Final = re.compile(rb'\A([0-9a-z]:)\s*["{\[]')
"""A line of the data stream of the AI SDK: a code, and a JSON value."""
_ENDS: Final = (b"[DONE]",)


@dataclass(frozen=True, slots=True)
class Payload:
    """The JSON of one event, or of several that follow each other.

    Attributes:
        kind: The kind of the event where the framing names it; else empty.
        data: The bytes, to be changed in place.
        segments: Where they stand in the body, each as its first byte and the one behind its last.
    """

    kind: str
    data: bytearray
    segments: tuple[tuple[int, int], ...]

    @property
    def is_json(self) -> bool:
        """Whether it begins like JSON."""
        return self.data.lstrip(_BLANKS).startswith((b"{", b"[", b'"'))


@dataclass(frozen=True, slots=True)
class Line:
    """A line without JSON.

    Attributes:
        field: The name of its field, such as `event`; empty for a comment and for what is no field.
        start: The first byte of its value.
        end: The byte behind its last.
    """

    field: str
    start: int
    end: int


@dataclass(slots=True)
class Body:
    """The places of one body.

    Attributes:
        data: The bytes.
        payloads: The JSON in it.
        lines: What is no JSON.
    """

    data: bytearray
    payloads: list[Payload] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def add(self, kind: str, segments: list[tuple[int, int]]) -> None:
        """Adds the payload of an event, which stands in one or several lines."""
        data = bytearray(b"\n".join(bytes(self.data[start:end]) for start, end in segments))
        if bytes(data.strip(_BLANKS)) not in (b"", *_ENDS):
            self.payloads.append(Payload(kind, data, tuple(segments)))

    def written(self) -> bytes:
        """The body, with what was changed in the payloads."""
        for payload in self.payloads:
            at = 0
            for start, end in payload.segments:
                self.data[start:end] = payload.data[at : at + end - start]
                at += end - start + 1
        return bytes(self.data)


def body_of(data: bytes) -> Body:
    """Finds the JSON in a body."""
    body = Body(bytearray(data))
    start = len(_MARK) if data.startswith(_MARK) else 0
    begins = data[start : start + 4096].lstrip(_BLANKS)
    if begins.startswith((b"{", b"[", b'"')):
        _add_json(body, start)
    elif _CODED.match(begins):
        _add_coded(body)
    else:
        _add_events(body, start)
    return body


def _add_json(body: Body, start: int) -> None:
    """JSON lines if the first line is a whole value, else values that may go over several lines."""
    first = body.data[start:].lstrip(_BLANKS).partition(b"\n")[0].rstrip(_BLANKS)
    if not first.startswith(b"{") or not first.endswith(b"}"):
        body.add("", [(start, len(body.data))])
        return
    for line in _JSON_LINES.finditer(body.data, start):
        if line.end() > line.start():
            body.add("", [line.span()])


def _add_coded(body: Body) -> None:
    for line in _JSON_LINES.finditer(body.data):
        raw = line[0]
        blanks = len(raw) - len(raw.lstrip(_BLANKS))
        code = _CODED.match(raw[blanks:])
        if code is not None:
            body.add(code[1].decode(), [(line.start() + blanks + len(code[1]), line.end())])
        elif raw.strip(_BLANKS):
            body.lines.append(Line("", *line.span()))


def _add_events(body: Body, start: int) -> None:
    name, segments = "", list[tuple[int, int]]()
    for line in _LINES.finditer(body.data, start):
        text = bytes(line[0]).rstrip(b"\r\n")
        if not text:
            if segments:
                body.add(name, segments)
            name, segments = "", []
            continue
        head, colon, value = text.partition(b":")
        at = line.start() + len(head) + len(colon)
        end = line.start() + len(text)
        if head == b"data":
            at += value.startswith(b" ")
            segments.append((at, end))
        elif text.startswith((b"{", b"[")):  # JSON without a field, as some servers say errors
            body.add("", [(line.start(), end)])
        elif head in (b"event", b"id", b"retry") or not head:
            name = value.strip().decode(errors="replace") if head == b"event" else name
            body.lines.append(Line(head.decode(), at, end))
        else:
            body.lines.append(Line("", line.start(), end))
    if segments:
        body.add(name, segments)
