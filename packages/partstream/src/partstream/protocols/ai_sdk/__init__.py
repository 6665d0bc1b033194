"""The streams of the Vercel AI SDK, versions 4 to 7: one reader, and the framings of each.

- `fullStream` of `streamText`: chunks as objects, in recordings as lines of JSON.
- The UI message stream of versions 5 to 7: server-sent events for browsers.
- The data stream of version 4: lines of `<code>:<JSON>`. The codes are a short form of the chunks of that version; only
  this module knows them.
- `textStream`: plain text, in programs as strings, on the wire as UTF-8. It has no mark of its end and no errors, so
  the end of the bytes is the end of a whole answer (docs/wires/ai-sdk.md#text-stream).

Source: data stream protocol v1 and text stream protocol of `ai` 4.3.19 and 5.0.277; recordings.
"""

from __future__ import annotations
import re
from codecs import getincrementaldecoder
from typing import Any, Final

from partstream.codec.json_codec import dumps
from partstream.codec.sse import JSONLinesDecoder, ServerSentEvent
from partstream.protocols.protocol import JSON_LINES, SSE, EndMark, Framing, Protocol, Terminators, loaded

_READ: Final = "partstream.protocols.ai_sdk.read_response"
_WRITE: Final = "partstream.protocols.ai_sdk.serve"

FULL_STREAM: Final = Protocol(
    name="ai-sdk",
    read_response=loaded(_READ, "FullStreamReader"),
    write_response=loaded(_WRITE, "FullStreamWriter"),
    framings=(JSON_LINES, SSE),
    has_chunks=True,
)

UI_STREAM: Final = Protocol(
    name="ai-sdk-ui",
    read_response=loaded(_READ, "UIStreamReader"),
    write_response=loaded(_WRITE, "UIStreamWriter"),
    # An application that writes the stream itself may end it with this alone.
    ends=Terminators(data={b"[DONE]": EndMark(completes=True)}),
    has_chunks=True,
)

# ---- The data stream ----

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


class DataStreamDecoder(JSONLinesDecoder):
    """Turns lines into chunks."""

    def feed(self, data: bytes) -> list[ServerSentEvent]:  # noqa: D102
        return [(b"", _chunk(line)) for _, line in super().feed(data)]

    def end(self) -> list[ServerSentEvent]:  # noqa: D102
        # The first letters of a line that was cut are a number as likely as not: no line, and nothing wrong.
        return [(b"", _chunk(line)) for _, line in super().end() if b":" in line]


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


def write_line(event: dict[str, Any]) -> bytes:
    """The line of a chunk.

    Raises:
        KeyError: Its type has no code.
    """
    code, name = _CODE_OF[event["type"]]
    value = {one: value for one, value in event.items() if one != "type"} if name is None else event[name]
    return code + b":" + dumps(value) + b"\n"


DATA_STREAM: Final = Protocol(
    name="ai-sdk-data",
    read_response=loaded(_READ, "DataStreamReader"),
    write_response=loaded(_WRITE, "DataStreamWriter"),
    framings=(
        Framing(
            name="data",
            make_decoder=DataStreamDecoder,
            media_type="text/plain",
            looks=re.compile(rb'[0-9a-z]:\s*["{\[]'),
            begins=(b"",),
            event_ends=(b"\n",),
        ),
    ),
    has_chunks=True,
)


# ---- The text stream ----


def text_chunk(text: str) -> dict[str, Any]:
    """The chunk of a piece of plain text."""
    return {"type": "text-delta", "delta": text}


class TextDecoder:
    """Turns the bytes of plain text into chunks; an :class:`partstream.codec.sse.EventDecoder`.

    The whole characters of each piece of bytes are one chunk. What is no UTF-8 becomes U+FFFD, as in a browser.
    """

    error: None = None

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8-sig")("replace")

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Reads more bytes and returns the chunk of the characters that are whole."""
        return self._framed(self._decoder.decode(data))

    @property
    def at_border(self) -> bool:
        """Whether no byte before counts any more: a piece is no event of its own, so it is never known."""
        return False

    def end(self) -> list[ServerSentEvent]:
        """Says that no more bytes come; returns what is left of a character that was cut."""
        return self._framed(self._decoder.decode(b"", final=True))

    @staticmethod
    def _framed(text: str) -> list[ServerSentEvent]:
        return [(b"", dumps(text_chunk(text)))] if text else []


TEXT_STREAM: Final = Protocol(
    name="ai-sdk-text",
    read_response=loaded(_READ, "TextStreamReader"),
    framings=(
        Framing(
            name="text",
            make_decoder=TextDecoder,
            media_type="text/plain",
            looks=re.compile(rb"(?!)"),  # every text looks like one: it is read only where it is named
            begins=(b"",),
            event_ends=(b"",),
        ),
    ),
    ends=Terminators(data={}),
    has_chunks=True,
    text_event=text_chunk,
)
