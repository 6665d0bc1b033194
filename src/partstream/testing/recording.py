"""Reads a recorded stream for serving it again, as it was: `.sse` byte for byte, `.jsonl` one event a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError
from partstream.json_codec import JSONDecodeError, loads
from partstream.testing.faults import END_OF_STREAM
from partstream.testing.steps import Send

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from partstream.protocols.serving import ServedProtocol

__all__ = ["RecordingError", "read_recording"]


class RecordingError(CallerError):
    """A file is not a recorded stream.

    Attributes:
        path: The file.
        line: The line that is wrong, from 1; 0 when it is the file as a whole.
        expected: What could stand there.
    """

    def __init__(self, path: Path, line: int, got: str, expected: str) -> None:
        super().__init__(f"{path}{f', line {line}' if line else ''}: got {got}, expected {expected}")
        self.path = path
        self.line = line
        self.expected = expected


# An event ends with an empty line, whichever line ends the recorded server wrote; further empty lines belong to it.
_AFTER_EVENT: Final = re.compile(rb"(?:(?<=\n\n)|(?<=\r\r)|(?<=\r\n\r\n))(?=[^\r\n])")


def read_recording(path: Path, protocol: ServedProtocol) -> tuple[Send, ...]:
    """The recorded events; those of a `.jsonl` are framed, and their end is marked, as `protocol` does it.

    Raises:
        RecordingError: The file is neither, or a line is not a JSON object.
        OSError: The file cannot be read.
    """
    content = path.read_bytes()
    if path.suffix == ".sse":
        return tuple(Send(piece, _name(piece)) for piece in _AFTER_EVENT.split(content) if piece)
    if path.suffix != ".jsonl":
        raise RecordingError(path, 0, f"a file that ends in {path.suffix or 'nothing'!r}", ".jsonl or .sse")
    events = [
        _read_line(path, number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()
    ]
    framed = tuple(Send(protocol.frame(event), str(event.get("type", "message"))) for event in events)
    return (*framed, Send(protocol.end_of_stream, END_OF_STREAM)) if protocol.end_of_stream else framed


def _read_line(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    try:
        event = loads(line)
    except JSONDecodeError as error:
        raise RecordingError(path, number, f"no JSON ({error.msg})", "one event as a JSON object") from error
    if not isinstance(event, dict):
        raise RecordingError(path, number, f"JSON of type {type(event).__name__}", "one event as a JSON object")
    return event


def _name(piece: bytes) -> str:
    """The type of an event out of its bytes, for pace and faults; bytes that hold no event have none."""
    fields = dict(line.partition(b":")[::2] for line in reversed(piece.removeprefix(b"\xef\xbb\xbf").splitlines()))
    if b"data" not in fields:
        return ""
    data = fields[b"data"].strip()
    if data == END_OF_STREAM.encode():
        return END_OF_STREAM
    if b"event" in fields:
        return fields[b"event"].strip().decode(errors="replace")
    try:
        event = loads(data)
    except JSONDecodeError:
        return "message"  # what the SSE standard calls an event without a name
    return str(event.get("type", "message")) if isinstance(event, dict) else "message"
