"""Reads a recorded stream from bytes: finds its framing and its protocol, and gives its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import PartstreamError
from partstream.outputs import Finish, StreamOptions, Unmapped
from partstream.protocols.capture import CaptureError, as_stream
from partstream.protocols.protocol import JSON_LINES, LENIENT_SSE, PROTOCOLS, SSE, ProtocolLoadError, known_framings
from partstream.protocols.reader import StreamReader
from partstream.protocols.recognition import claims_of, name_of_stream, protocol_of, understood_nothing
from partstream.protocols.recording_start import RecordingStart, has_events, types_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.outputs import StreamOutput
    from partstream.protocols.protocol import Framing, Protocol

__all__ = ["RecordingError", "read_recording", "wire_of"]

_SHOWN_TYPES: Final = 3


class RecordingError(PartstreamError):
    """A recording cannot be read.

    Attributes:
        path: Which one.
        reason: What is wrong with it, and what was expected.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read {path}: {reason}")
        self.path = path
        self.reason = reason


def read_recording(
    data: bytes,
    path: str,
    protocol: str | None = None,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
    chunk_size: int | None = None,
) -> Iterator[StreamOutput]:
    """Replays a recording.

    Args:
        data: The whole recording.
        path: Where it came from; its ending tells the framing (`.jsonl`, `.sse`), else its first bytes do. An array of
            events, events on several lines each, and what gzip has packed are read too.
        protocol: The protocol's name, or None to tell it from the events.
        options: How the adapter renders what it reads.
        chunk_size: How many bytes to feed at a time; None for all at once.

    Yields:
        The outputs, a Finish the last of them.

    Raises:
        RecordingError: Nothing in it can be read as an event of the protocol, or the protocol is unknown.
    """
    _known(protocol, path)
    try:
        data, name = as_stream(data, path)
    except CaptureError as error:
        raise RecordingError(path, str(error)) from error
    if not data.strip():
        raise RecordingError(path, "it is empty; expected one JSON event a line (.jsonl) or an event stream (.sse)")
    row, framing = wire_of(data, name, protocol, path)
    reader = StreamReader(row, options, framing=framing)
    yield from _understood(
        _outputs(reader, data, chunk_size), RecordingStart(data, framing, _framing(data, name, None)), path, row
    )


def wire_of(data: bytes, name: str, protocol: str | None = None, path: str = "") -> tuple[Protocol, Framing]:
    """What the bytes of a stream are: their protocol and their framing.

    Args:
        data: The bytes, as they were on the wire or as :func:`partstream.protocols.capture.as_stream` gives them.
        name: A name whose ending may tell the framing.
        protocol: The protocol's name, or None to tell it from the events.
        path: Where they came from, for the error; the name where it is not given.

    Raises:
        RecordingError: The protocol is unknown, or the events tell none.
    """
    framing = _framing(data, name, _known(protocol, path or name))
    if framing in (SSE, JSON_LINES) and not has_events(data, framing) and has_events(data, LENIENT_SSE):
        framing = LENIENT_SSE
    row = _protocol(data, path or name, framing, protocol)
    return row, next((one for one in row.framings if one.name == framing.name), framing)


def _outputs(reader: StreamReader, data: bytes, chunk_size: int | None) -> Iterator[StreamOutput]:
    size = chunk_size or len(data) or 1
    for start in range(0, len(data), size):
        yield from reader.feed(data[start : start + size])
    yield from reader.end()


def _understood(
    outputs: Iterable[StreamOutput], start: RecordingStart, path: str, row: Protocol
) -> Iterator[StreamOutput]:
    """The outputs, unless the recording is not of the protocol.

    Raises:
        RecordingError: It is not.
    """
    held: list[StreamOutput] = []
    waiting = iter(outputs)
    for output in waiting:
        held.append(output)
        if not isinstance(output, Unmapped):
            break
    if not held or not _is_of(row, start, held[-1]):
        raise RecordingError(path, f"it holds {_seen(row, start)}; nothing in it is an event of {row.name}")
    yield from held
    yield from waiting


def _is_of(row: Protocol, start: RecordingStart, first: StreamOutput) -> bool:
    """Whether a recording is of a protocol, as far as its first events and the first output show.

    Parts alone do not: a reader takes much for an answer. An end alone neither: every wire has errors.
    """
    if start.is_framed_otherwise:
        return False
    claims = claims_of(row, start.shown)
    if claims.sure and claims.most:
        return True
    if not isinstance(first, Finish):
        return claims.most or start.stream_of_another(row) is None
    if start.stream_of_another(row) is not None:
        return False
    if not start.events:
        return start.is_cut
    return claims.any and not understood_nothing(first.error)


def _framing(data: bytes, path: str, protocol: str | None) -> Framing:
    """The framing that the file's ending names, if the protocol has it; otherwise the one that the first bytes show."""
    ending = path.rpartition(".")[2]
    all_known = known_framings()
    known = all_known if protocol is None else {framing.name: framing for framing in PROTOCOLS[protocol].framings}
    if ending in known:
        return known[ending]
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    looks = (one.name for one in all_known.values() if one.looks is not None and one.looks.match(begins))
    guessed = next(looks, "sse")
    return known.get(guessed) or next(iter(known.values()))


def _known(name: str | None, path: str) -> str | None:
    try:
        if name is not None and name not in PROTOCOLS:
            raise RecordingError(path, f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
        return None if name is None else PROTOCOLS[name].name
    except ProtocolLoadError as error:
        raise RecordingError(path, str(error)) from error


def _protocol(data: bytes, path: str, framing: Framing, name: str | None) -> Protocol:
    """The named protocol; otherwise the one that the first events tell.

    Raises:
        RecordingError: They tell none.
    """
    if name is not None:
        return PROTOCOLS[name]
    start = RecordingStart(data, framing)
    told = protocol_of(start.rows, start.shown)
    if told is not None:
        return told
    if start.is_cut and not start.events and start.stream_of_another(start.rows[0]) is None:
        return start.rows[0]
    raise RecordingError(path, f"it holds {_seen(None, start)}; expected events of one of: {', '.join(PROTOCOLS)}")


def _seen(row: Protocol | None, start: RecordingStart) -> str:
    """Describes the first events for a person who expected those of a protocol."""
    unread = name_of_stream(event for _, event in start.shown)
    if unread is not None:
        return f"a stream of {unread}, which this version does not read"
    other = None if row is None else start.stream_of_another(row)
    if other is not None:
        return f"a stream of {other}"
    types = types_of(start.shown)
    if types:
        return f"events of the types {', '.join(types[:_SHOWN_TYPES])}"
    return "JSON objects without a type" if start.shown else "nothing that is a JSON event"
