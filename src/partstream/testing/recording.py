"""Reads a recorded stream for replaying it: `.sse` and `.ndjson` files byte for byte, a `.jsonl` file one event a line,
a `.json` file as an array of events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.devtools.recorded_stream import as_stream
from partstream.errors import CallerError
from partstream.protocols.protocol import JSON_LINES, SSE
from partstream.protocols.reader import StreamReader
from partstream.testing.cut_events import kind_of_frame, kind_of_line, marked_by
from partstream.testing.steps import END_OF_STREAM, UNNAMED, Send

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.protocols.protocol import Protocol
    from partstream.protocols.serve import ResponseWriterSpec

__all__ = ["NotARecordingError", "read_recording"]


class NotARecordingError(CallerError):
    """A file is not a recorded stream.

    Attributes:
        path: The file.
        line: The number of the wrong line, from 1; 0 if the error concerns the whole file.
        expected: The expected content.
    """

    def __init__(self, path: Path, line: int, got: str, expected: str) -> None:
        super().__init__(f"{path}{f', line {line}' if line else ''}: got {got}, expected {expected}")
        self.path = path
        self.line = line
        self.expected = expected


# An event ends with an empty line, with any kind of line ending; additional empty lines belong to the same event.
_AFTER_EVENT: Final = re.compile(rb"(?:(?<=\n\n)|(?<=\r\r)|(?<=\r\n\r\n))(?=[^\r\n])")


def read_recording(path: Path, content: bytes, protocol: Protocol, writes: ResponseWriterSpec) -> tuple[Send, ...]:
    """The recorded events; those of `.jsonl` and `.json` files get the protocol's framing and its mark of the end.

    A piece of the answer is an event from which `protocol` reads a part. A recording of another protocol is replayed
    too, but has no pieces and therefore no pace.

    Args:
        path: The file.
        content: Its bytes.
        protocol: The protocol of the path that replays the recording.
        writes: The protocol's corner that writes responses.

    Raises:
        NotARecordingError: The file has another ending, or a line is not a JSON object.
    """
    if path.suffix == ".sse":
        pieces = [piece for piece in _AFTER_EVENT.split(content) if piece]
        sends = (Send(piece, kind_of_frame(piece, protocol)) for piece in pieces)
        return tuple(marked_by(StreamReader(protocol, framing=SSE), sends))
    if path.suffix == ".ndjson":
        lines = content.splitlines(keepends=True)
        sends = (Send(line, kind_of_line(line, protocol)) for line in lines)
        return tuple(marked_by(StreamReader(protocol, framing=JSON_LINES), sends))
    if path.suffix not in {".jsonl", ".json"}:
        raise NotARecordingError(
            path, 0, f"a file that ends in {path.suffix or 'nothing'!r}", ".json, .ndjson, .jsonl or .sse"
        )
    if path.suffix == ".json":
        content, _ = as_stream(content, path.name)
    events = [
        _read_line(path, number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()
    ]
    sends = (Send(writes.frame(event), protocol.kind(event) or UNNAMED) for event in events)
    framed = marked_by(StreamReader(protocol), sends)
    return (*framed, *([Send(writes.end_of_stream, END_OF_STREAM)] if writes.end_of_stream else []))


def _read_line(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        event = loads(line)
    except JSONDecodeError as error:
        raise NotARecordingError(path, number, f"no JSON ({error.msg})", "one event as a JSON object") from error
    if not isinstance(event, dict):
        raise NotARecordingError(path, number, f"JSON of type {type(event).__name__}", "one event as a JSON object")
    return event
