"""Reads a recorded stream from bytes that somebody else has opened: which framing, which protocol, which outputs."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import PartstreamError
from partstream.json_codec import JSONDecodeError, loads
from partstream.outputs import StreamOptions
from partstream.protocols.protocol import Claim
from partstream.protocols.reader import StreamReader
from partstream.protocols.registry import PROTOCOLS, ProtocolLoadError, known_framings, loadable_protocols

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.outputs import StreamOutput
    from partstream.protocols.framings import Framing
    from partstream.protocols.protocol import Protocol

__all__ = ["RecordingError", "read_recording"]

_LOOKED_AT: Final = 100
"""Events, for telling the protocol."""


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
        path: Where it came from; its ending tells the framing (`.jsonl`, `.sse`), else its first bytes do.
        protocol: The protocol's name, or None to tell it from the events.
        options: How the adapter renders what it reads.
        chunk_size: How many bytes to feed at a time; None for all at once.

    Yields:
        The outputs, a Finish the last of them.

    Raises:
        RecordingError: Nothing in it can be read as an event, or the protocol is unknown.
    """
    framing = _framing(data, path, _known(protocol, path))
    row = _protocol(data, path, framing, protocol)
    reader = StreamReader(row, options, framing=framing)
    size = chunk_size or len(data) or 1
    for start in range(0, len(data), size):
        yield from reader.feed(data[start : start + size])
    yield from reader.end()


def _framing(data: bytes, path: str, protocol: str | None) -> Framing:
    """By what the ending promises, as far as the protocol comes in it; else by the first bytes."""
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
    """The protocol that is named; else the first that is sure of one of the first events; else the one that takes
    most of them for its own."""
    if name is not None:
        return PROTOCOLS[name]
    rows = [row for row in loadable_protocols()[0].values() if framing.name in {one.name for one in row.framings}]
    claims: Counter[str] = Counter()
    types: list[str] = []
    for name_of_event, event in _first_events(data, framing):
        for row in rows:
            kind = row.kind(event) or (name_of_event or None)
            types += [kind] if kind and row is rows[0] else []
            claim = row.read_response().claim(kind, event)
            if claim is Claim.SURE:
                return row
            claims[row.name] += claim
    if any(claims.values()):
        return PROTOCOLS[claims.most_common(1)[0][0]]
    if not types and _is_cut(data, framing):
        return rows[0]
    if not data.strip():
        raise RecordingError(path, "it is empty; expected one JSON event a line (.jsonl) or an event stream (.sse)")
    seen = f"events of the types {', '.join(types[:3])}" if types else "nothing that is a JSON event with a type"
    raise RecordingError(path, f"it holds {seen}; expected events of one of: {', '.join(PROTOCOLS)}")


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


def _is_cut(data: bytes, framing: Framing) -> bool:
    """Whether it begins as a stream does and ends inside its first event, so that nobody can tell its protocol."""
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    ends = data.endswith(framing.event_ends) or begins.rstrip().endswith(b"}")
    return begins.startswith(framing.begins) and not ends
