"""Reads a recorded stream from bytes that somebody else has opened: which framing, which protocol, which outputs."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import PartstreamError
from partstream.json_codec import JSONDecodeError, loads
from partstream.outputs import StreamOptions
from partstream.protocols.claims import Claim
from partstream.protocols.registry import FRAMINGS, PROTOCOLS, Protocol, make_decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.outputs import StreamOutput

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
    reader = row.make_reader(options, make_decoder(framing))
    size = chunk_size or len(data) or 1
    for start in range(0, len(data), size):
        yield from reader.feed(data[start : start + size])
    yield from reader.end()


def _framing(data: bytes, path: str, protocol: str | None) -> str:
    """By what the ending promises, as far as the protocol comes in it; else by the first bytes."""
    ending = path.rpartition(".")[2]
    known = PROTOCOLS[protocol].framings if protocol is not None else tuple(FRAMINGS)
    if ending in known:
        return ending
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    guessed = next((name for name, looks in _LOOKS.items() if looks.match(begins)), "sse")
    return guessed if guessed in known else known[0]


_LOOKS: Final = {"jsonl": re.compile(rb"\{"), "data": re.compile(rb'[0-9a-z]:\s*["{\[]')}
"""How the first bytes of a framing look."""


def _known(name: str | None, path: str) -> str | None:
    if name is not None and name not in PROTOCOLS:
        raise RecordingError(path, f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return name


def _protocol(data: bytes, path: str, framing: str, name: str | None) -> Protocol:
    """The protocol that is named; else the first that is sure of one of the first events; else the one that takes
    most of them for its own."""
    if name is not None:
        return PROTOCOLS[name]
    rows = [row for row in PROTOCOLS.values() if framing in row.framings]
    claims: Counter[str] = Counter()
    types: list[str] = []
    for event in _first_events(data, framing):
        kind = event.get("type") if isinstance(event.get("type"), str) else None
        types += [kind] if kind is not None else []
        for row in rows:
            claim = row.claim(kind, event)
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


def _first_events(data: bytes, framing: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the first events; what names its type only in the line before it has it inside."""
    decoder = make_decoder(framing)
    for name, payload in islice((*decoder.feed(data), *decoder.end()), _LOOKED_AT):
        try:
            event = loads(payload)
        except JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield {"type": name.decode(errors="replace"), **event} if name else event


def _is_cut(data: bytes, framing: str) -> bool:
    """Whether it begins as a stream does and ends inside its first event, so that nobody can tell its protocol."""
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    ends = data.endswith(_ENDS_OF_EVENTS[framing]) or begins.rstrip().endswith(b"}")
    return begins.startswith(_BEGINNINGS[framing]) and not ends


_BEGINNINGS: Final = {"jsonl": (b'{"',), "data": (b"",), "sse": (b"event:", b"data:", b"id:", b"retry:", b":")}
_ENDS_OF_EVENTS: Final = {"jsonl": (b"\n", b"\r"), "data": (b"\n", b"\r"), "sse": (b"\n\n", b"\r\r", b"\r\n\r\n")}
