"""Reads a recorded stream from bytes: finds its framing and its protocol, and gives its outputs."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import PartstreamError
from partstream.json_codec import JSONDecodeError, loads
from partstream.outputs import Finish, StreamOptions, Unmapped
from partstream.protocols.capture import CaptureError, as_stream
from partstream.protocols.foreign import name_of_stream
from partstream.protocols.framings import JSON_LINES, LENIENT_SSE, SSE
from partstream.protocols.likeness import understood_nothing
from partstream.protocols.protocol import Claim
from partstream.protocols.reader import StreamReader
from partstream.protocols.registry import PROTOCOLS, ProtocolLoadError, known_framings, loadable_protocols

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.outputs import StreamOutput
    from partstream.protocols.framings import Framing
    from partstream.protocols.protocol import Protocol

__all__ = ["RecordingError", "read_recording"]

_LOOKED_AT: Final = 100
"""Events, for telling the protocol."""
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
    known = _known(protocol, path)
    try:
        data, name = as_stream(data, path)
    except CaptureError as error:
        raise RecordingError(path, str(error)) from error
    if not data.strip():
        raise RecordingError(path, "it is empty; expected one JSON event a line (.jsonl) or an event stream (.sse)")
    framing = _framing(data, name, known)
    if framing in (SSE, JSON_LINES) and not _has_events(data, framing) and _has_events(data, LENIENT_SSE):
        framing = LENIENT_SSE
    row = _protocol(data, path, framing, protocol)
    framing = next((one for one in row.framings if one.name == framing.name), framing)
    reader = StreamReader(row, options, framing=framing)
    yield from _understood(_outputs(reader, data, chunk_size), data, path, framing, row)


def _outputs(reader: StreamReader, data: bytes, chunk_size: int | None) -> Iterator[StreamOutput]:
    size = chunk_size or len(data) or 1
    for start in range(0, len(data), size):
        yield from reader.feed(data[start : start + size])
    yield from reader.end()


def _understood(
    outputs: Iterable[StreamOutput], data: bytes, path: str, framing: Framing, row: Protocol
) -> Iterator[StreamOutput]:
    """The outputs, unless nothing of the recording was understood.

    Raises:
        RecordingError: There is nothing but events without a part, and none of them is surely of the protocol.
    """
    held: list[StreamOutput] = []
    waiting = iter(outputs)
    for output in waiting:
        held.append(output)
        if not isinstance(output, Unmapped):
            break
    if held and _means_nothing(held[-1]) and not _is_cut(data, framing) and not _is_surely(row, data, framing):
        seen, _ = _seen(data, framing)
        raise RecordingError(path, f"it holds {seen}; nothing in it is an event of {row.name}")
    yield from held
    yield from waiting


def _means_nothing(output: StreamOutput) -> bool:
    """Tells whether an output is a Finish of a reader that understood nothing."""
    return isinstance(output, Finish) and understood_nothing(output.error)


def _is_surely(row: Protocol, data: bytes, framing: Framing) -> bool:
    """Whether one of the first events is of a protocol and of no other, and most of them may be."""
    claim = row.read_response().claim
    events = list(_first_events(data, framing))
    if name_of_stream(event for _, event in events):
        return False
    claims = [claim(row.kind(event) or name or None, event) for name, event in events]
    return Claim.SURE in claims and claims.count(Claim.NO) * 2 <= len(claims)


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
    """The named protocol.

    Otherwise the first one that is certain of one of the first events; otherwise the one that accepts most of them,
    if it accepts at least half. A single event may belong to many protocols.
    """
    if name is not None:
        return PROTOCOLS[name]
    rows = [row for row in loadable_protocols()[0].values() if framing.name in {one.name for one in row.framings}]
    claims: Counter[str] = Counter()
    count = 0
    for name_of_event, event in _first_events(data, framing):
        count += 1
        for row in rows:
            kind = row.kind(event) or (name_of_event or None)
            claim = row.read_response().claim(kind, event)
            if claim is Claim.SURE:
                return row
            claims[row.name] += claim
    best, claimed = claims.most_common(1)[0] if claims else ("", 0)
    if claimed and claimed * 2 >= count:
        return PROTOCOLS[best]
    seen, has_types = _seen(data, framing)
    if not has_types and _is_cut(data, framing):
        return rows[0]
    raise RecordingError(path, f"it holds {seen}; expected events of one of: {', '.join(PROTOCOLS)}")


def _seen(data: bytes, framing: Framing) -> tuple[str, bool]:
    """Describes the first events for a person who expected others."""
    named = list(_first_events(data, framing))
    if foreign := name_of_stream(event for _, event in named):
        return f"a stream of {foreign}, which this version does not read", True
    types = list(dict.fromkeys(kind for name, event in named if (kind := _type_of(event) or name)))
    if types:
        return f"events of the types {', '.join(types[:_SHOWN_TYPES])}", True
    return "JSON objects without a type" if named else "nothing that is a JSON event", False


def _type_of(event: dict[str, Any]) -> str:
    kind = event.get("type")
    return kind if isinstance(kind, str) else ""


def _first_events(data: bytes, framing: Framing) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects among the first events, each with the name in the line before it."""
    decoder = framing.make_decoder()
    for name, payload in islice((*decoder.feed(data), *decoder.end()), _LOOKED_AT):
        try:
            event = loads(payload)
        except JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield name.decode(errors="replace"), event


def _has_events(data: bytes, framing: Framing) -> bool:
    return next(_first_events(data, framing), None) is not None


def _is_cut(data: bytes, framing: Framing) -> bool:
    """Tells whether the recording ends inside its first event, so that nothing shows its protocol."""
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    ends = data.endswith(framing.event_ends) or begins.rstrip().endswith(b"}")
    is_begun = begins.startswith(framing.begins) or any(one.startswith(begins) for one in framing.begins)
    return is_begun and not ends
