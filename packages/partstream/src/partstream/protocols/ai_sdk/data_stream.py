"""The data stream of version 4 of the AI SDK: lines of `<code>:<JSON>`, each read as its chunk.

The codes are a short form of the chunks of that version; only this module knows them. Source: data stream protocol v1;
recordings of 4.3.19.
"""

from __future__ import annotations
import re
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps
from partstream.codec.sse import DEFAULT_MAX_EVENT_SIZE, JSONLinesDecoder, ServerSentEvent
from partstream.protocols.protocol import Framing, Protocol, loaded

if TYPE_CHECKING:
    from partstream.errors import EventTooLargeError
    from partstream.protocols.ai_sdk.errors import Chunk

_LINES: Final = Framing(
    name="data",
    make_decoder=lambda: DataStreamDecoder(),  # noqa: PLW0108 - the class follows
    media_type="text/plain",
    looks=re.compile(rb'[0-9a-z]:\s*["{\[]'),
    begins=(b"",),
    event_ends=(b"\n",),
)

PROTOCOL: Final = Protocol(
    name="ai-sdk-data",
    read_response=loaded("partstream.protocols.ai_sdk.read_response", "DATA_STREAM"),
    write_response=loaded("partstream.protocols.ai_sdk.serve", "WRITE_DATA_STREAM"),
    framings=(_LINES,),
    has_chunks=True,
)


# A code, the type of its chunk, and the field that its value is; None where the value holds the chunk's fields.
_ROWS: Final = (
    ("0", "text-delta", "textDelta"),
    ("2", "data-data", "data"),
    ("3", "error", "error"),
    ("8", "message-annotations", "value"),
    ("9", "tool-call", None),
    ("a", "tool-result", None),
    ("b", "tool-call-streaming-start", None),
    ("c", "tool-call-delta", None),
    ("d", "finish", None),
    ("e", "step-finish", None),
    ("f", "step-start", None),
    ("g", "reasoning", "textDelta"),
    ("h", "source", "source"),
    ("i", "redacted-reasoning", None),
    ("j", "reasoning-signature", None),
    ("k", "file", None),
)


def _opening(kind: str, name: str | None) -> bytes:
    head = b'{"type":' + dumps(kind)
    return head if name is None else head + b"," + dumps(name) + b":"


CODES: Final = {code.encode(): (_opening(kind, name), name is None) for code, kind, name in _ROWS}
"""How the chunk of each code begins, and whether the value's own fields follow."""

_CODE_OF: Final = {kind: (code.encode(), name) for code, kind, name in _ROWS}


class DataStreamDecoder:
    """Turns bytes into chunks; an :class:`partstream.codec.sse.EventDecoder`."""

    __slots__ = ("_lines",)

    def __init__(self, max_event_size: int = DEFAULT_MAX_EVENT_SIZE) -> None:
        self._lines = JSONLinesDecoder(max_event_size)

    @property
    def error(self) -> EventTooLargeError | None:
        """Set when a line grew over the limit; nothing is returned after that."""
        return self._lines.error

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Reads more bytes and returns the chunks that are complete."""
        return [(b"", _chunk(line)) for _, line in self._lines.feed(data)]

    @property
    def at_border(self) -> bool:
        """Whether no byte before counts any more."""
        return self._lines.at_border

    def end(self) -> list[ServerSentEvent]:
        """Says that no more bytes come; returns the last chunk if its line feed was missing."""
        # The first letters of a line that was cut are a number as likely as not: no line, and nothing wrong.
        return [(b"", _chunk(line)) for _, line in self._lines.end() if b":" in line]


def _chunk(line: bytes) -> bytes:
    """The JSON text of a line's chunk; a line of another form stays as it is."""
    code, colon, value = line.partition(b":")
    if not colon or len(code) != 1 or not code.isalnum():
        return line
    opening, spreads = CODES.get(code) or (_opening(code.decode(), "value"), False)
    if not spreads:
        return opening + value + b"}"
    inner = value.strip()
    if not inner.startswith(b"{"):
        return line
    rest = inner[1:].lstrip()
    return opening + (b"" if rest == b"}" else b",") + rest


def write_line(chunk: Chunk) -> bytes:
    """The line of a chunk.

    Raises:
        KeyError: Its type has no code.
    """
    code, name = _CODE_OF[chunk["type"]]
    value = {one: value for one, value in chunk.items() if one != "type"} if name is None else chunk[name]
    return code + b":" + dumps(value) + b"\n"
