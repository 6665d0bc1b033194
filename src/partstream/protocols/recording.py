"""Reads a recorded stream from bytes that somebody else has opened: which framing, which protocol, which outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.errors import PartstreamError
from partstream.json_codec import JSONDecodeError, loads
from partstream.protocols.registry import DEFAULT_PROTOCOL, FRAMINGS, PROTOCOLS, Protocol, make_decoder
from partstream.streams import StreamOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.streams import StreamOutput

__all__ = ["RecordingError", "read_recording"]


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
    framing = _framing(data, path)
    row = _protocol(data, path, framing, protocol)
    reader = row.make_reader(options, make_decoder(framing))
    size = chunk_size or len(data) or 1
    for start in range(0, len(data), size):
        yield from reader.feed(data[start : start + size])
    yield from reader.end()


def _framing(data: bytes, path: str) -> str:
    ending = path.rpartition(".")[2]
    if ending in FRAMINGS:
        return ending
    return "jsonl" if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "sse"


def _protocol(data: bytes, path: str, framing: str, name: str | None) -> Protocol:
    if name is not None:
        if name not in PROTOCOLS:
            raise RecordingError(path, f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
        return PROTOCOLS[name]
    decoder = make_decoder(framing)
    types: list[str] = []
    for event, payload in [*decoder.feed(data), *decoder.end()]:
        kind = _event_type(event, payload)
        if kind is not None:
            types.append(kind)
            for row in PROTOCOLS.values():
                if kind.startswith(row.event_types):
                    return row
    if not types and _is_cut(data, framing):
        return PROTOCOLS[DEFAULT_PROTOCOL]
    if not data.strip():
        raise RecordingError(path, "it is empty; expected one JSON event a line (.jsonl) or an event stream (.sse)")
    seen = f"events of the types {', '.join(types[:3])}" if types else "nothing that is a JSON event with a type"
    raise RecordingError(path, f"it holds {seen}; expected events of one of: {', '.join(PROTOCOLS)}")


def _is_cut(data: bytes, framing: str) -> bool:
    """Whether it begins as a stream does and ends inside its first event, so that nobody can tell its protocol."""
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    ends = data.endswith(_ENDS_OF_EVENTS[framing]) or begins.rstrip().endswith(b"}")
    return begins.startswith(_BEGINNINGS[framing]) and not ends


_BEGINNINGS: Final = {"jsonl": (b'{"',), "sse": (b"event:", b"data:", b"id:", b"retry:", b":")}
_ENDS_OF_EVENTS: Final = {"jsonl": (b"\n", b"\r"), "sse": (b"\n\n", b"\r\r", b"\r\n\r\n")}


def _event_type(event: bytes, payload: bytes) -> str | None:
    try:
        value = loads(payload)
    except JSONDecodeError:
        return None
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else (event.decode(errors="replace") or None)
