"""A folder of recorded streams, each with the outcome that a right reader reaches beside it.

`NAME.expected.json` is the outcome; `NAME.sse` or `NAME.ndjson` the body as it came, or `NAME.jsonl` its
events as one JSON value a line, which are framed as the protocol frames them. What is missing in the outcome is not
judged. Its fields: `text`, `thinking`, `tool_calls` (`name`, `input`), `input_tokens`, `output_tokens`, `error` (null
for an answer without one), `finish`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.answer_streams import form_of, framed
from partstream.errors import CallerError

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.protocols.protocol import Protocol

__all__ = ["RecordedStream", "recorded_streams"]

_EXPECTED: Final = ".expected.json"
_BODIES: Final = (".sse", ".ndjson")


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """One recorded stream.

    Attributes:
        name: Its name.
        data: The bytes that the server sent.
        expected: The expected outcome.
    """

    name: str
    data: bytes
    expected: dict[str, Any]


def recorded_streams(folder: Path, protocol: Protocol) -> list[RecordedStream]:
    """The recordings of a folder, by name; of its folder named after the protocol where it has one.

    Raises:
        CallerError: The folder has no recording, or one cannot be read.
    """
    own = folder / protocol.name.replace("-", "_")
    place = own if own.is_dir() else folder
    try:
        found = [_recorded(path, protocol) for path in sorted(place.glob(f"*{_EXPECTED}"))]
    except (OSError, ValueError) as error:
        raise CallerError(f"--recordings: a recording in {place} cannot be read: {error}") from error
    if not found:
        raise CallerError(f"--recordings: {place} has no file whose name ends with {_EXPECTED}")
    return found


def _recorded(path: Path, protocol: Protocol) -> RecordedStream:
    name = path.name.removesuffix(_EXPECTED)
    expected = json.loads(path.read_bytes())
    if not isinstance(expected, dict):
        raise ValueError(f"{path.name} holds {type(expected).__name__}, expected an object")  # noqa: TRY004 - of JSON
    for ending in _BODIES:
        body = path.with_name(name + ending)
        if body.is_file():
            return RecordedStream(name, body.read_bytes(), expected)
    lines = path.with_name(f"{name}.jsonl").read_bytes().splitlines()
    events = [json.loads(line) for line in lines if line.strip()]
    return RecordedStream(name, b"".join(one.data for one in framed(events, form_of(protocol))), expected)
