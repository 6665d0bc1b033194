"""Reads a recorded stream from bytes: finds its framing and its protocol, and gives its outputs.

1. **The capture** becomes the bytes of a stream: gzip is unpacked, the heads of HTTP replies are taken off, and JSON
   that does not hold one event in each line is split.
2. **The framing** is the one that the ending of the name says, if the protocol has it, else the one that the first
   bytes show; strict event streams without any event are read leniently.
3. **The protocol** is the named one, else the one that the first events tell. They are looked at without reading an
   answer from them.
4. **The outputs** are held until the first one that is a part or the end: it and the first events show whether the
   recording is of the protocol at all.
"""

from __future__ import annotations
import gzip
import io
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from itertools import islice
from json import JSONDecodeError as JsonJSONDecodeError
from json import JSONDecoder
from typing import Any, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import JSONDecodeError, begun_object, dumps, loads
from partstream.errors import PartstreamError
from partstream.lm.outputs import Finish, StreamOptions, StreamOutput, Unmapped
from partstream.protocols import recognition
from partstream.protocols.protocol import (
    JSON_LINES,
    LENIENT_SSE,
    PROTOCOLS,
    SSE,
    Framing,
    Protocol,
    ProtocolLoadError,
    known_framings,
    loadable_protocols,
)
from partstream.protocols.reader import StreamReader

# ---- The first events ----

_LOOKED_AT: Final = 100  # events, for telling the protocol
_PIECE: Final = 65536  # bytes of a recording that are decoded at a time for that


class RecordingStart:
    """The first events of a recording.

    Args:
        data: The whole recording.
        framing: How its events are separated.
        apparent: How its name and its first bytes suggest that they are separated, where that may be wrong.

    Attributes:
        rows: The protocols whose events are separated in this way.
        events: The JSON objects among the first events.
        is_cut: Whether the recording ends inside its first event.
    """

    def __init__(self, data: bytes, framing: Framing, apparent: Framing | None = None) -> None:
        known = loadable_protocols()[0].values()
        self.rows = [row for row in known if framing.name in {one.name for one in row.framings}]
        self.events = tuple(_first_events(data, framing))
        self.is_cut = _is_cut(data, framing)
        self._begun = tuple(_begun_event(data, framing)) if self.is_cut and not self.events else ()
        other = apparent is not None and apparent.name != framing.name
        self._apparent = RecordingStart(data, apparent) if apparent is not None and other else None

    @property
    def shown(self) -> tuple[recognition.NamedEvent, ...]:
        """The events; without any, what is there of the first one."""
        if self._apparent is not None and self._apparent.shown:
            return self._apparent.shown
        return self.events or self._begun

    @property
    def is_framed_otherwise(self) -> bool:
        """Whether events are there in the framing that its name and its first bytes show, and that one is another."""
        return self._apparent is not None and bool(self._apparent.shown)

    def stream_of_another(self, row: Protocol) -> str | None:
        """The title of the wire that the events are surely of, where it is another."""
        if self._apparent is not None:
            return self._apparent.stream_of_another(row)
        others = (one for one in self.rows if one.name != row.name and recognition.claims_of(one, self.shown).sure)
        other = next(others, None)
        return recognition.name_of_stream(event for _, event in self.shown) if other is None else other.shown_title


def _type_of(event: dict[str, Any]) -> str:
    kind = event.get("type")
    return kind if isinstance(kind, str) else ""


def _decoded(data: bytes, framing: Framing) -> Iterator[tuple[bytes, bytes]]:
    """The first events as their decoder gives them, name and data; the last may be cut."""
    decoder = framing.make_decoder()
    for start in range(0, len(data), _PIECE):
        yield from decoder.feed(data[start : start + _PIECE])
    yield from decoder.end()


def _first_events(data: bytes, framing: Framing) -> Iterator[recognition.NamedEvent]:
    """The JSON objects among the first events, each with the name in the line before it."""
    for name, payload in islice(_decoded(data, framing), _LOOKED_AT):
        try:
            event = loads(payload)
        except JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield recognition.NamedEvent(name.decode(errors="replace"), event)


def _begun_event(data: bytes, framing: Framing) -> Iterator[recognition.NamedEvent]:
    """What is there of a first event that is cut."""
    for name, payload in islice(_decoded(data, framing), 1):
        event, said = begun_object(payload), name.decode(errors="replace")
        if event is not None:
            if said.startswith(_type_of(event)):  # the line before it is whole
                event.pop("type", None)
            yield recognition.NamedEvent(said, event)


def has_events(data: bytes, framing: Framing) -> bool:
    """Whether the bytes hold a JSON object as an event in a framing."""
    return next(_first_events(data, framing), None) is not None


def _is_cut(data: bytes, framing: Framing) -> bool:
    """Tells whether the recording ends inside its first event, so that nothing shows its protocol."""
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_begun = begins.startswith(framing.begins) or any(one.startswith(begins) for one in framing.begins)
    if not is_begun or data.endswith(framing.event_ends):
        return False
    return not begins.rstrip().endswith(b"}") or next(_begun_event(data, framing), None) is not None


# ---- The capture ----

_GZIP: Final = b"\x1f\x8b"
_UNPACKED_AT_ONCE: Final = 1024 * 1024
_BETWEEN: Final = frozenset(" \t\r\n,")
"""Signs between the JSON values of a text."""
_MARK: Final = b"\xef\xbb\xbf"
_HTTP_HEADS: Final = re.compile(
    rb"(?:HTTP/[0-9.]{1,3} [0-9]{3}[^\r\n]*\r?\n(?:[!-9;-~]+:[^\r\n]*\r?\n)*\r?\n)+",
)
"""The heads of HTTP replies before a body, as `curl -i` prints them: that of a redirect or a proxy comes before the
last one."""


@dataclass(frozen=True, slots=True)
class UnpackingLimits:
    """How much a packed file may hold.

    Attributes:
        entries: The most entries of an archive.
        entry_size: The most bytes of one entry, unpacked.
        total_size: The most bytes of all entries, unpacked.
        free_size: Up to so many bytes in all, entries may be packed as well as they can be.
        ratio: Above that, the most bytes that come of one byte of the file.
    """

    entries: int = 50_000
    entry_size: int = 512 * 1024 * 1024
    total_size: int = 1024 * 1024 * 1024
    free_size: int = 64 * 1024 * 1024
    ratio: int = 100

    def most_of(self, packed_size: int) -> int:
        """The most bytes that a file of that many packed bytes may unpack to, all in all."""
        return min(self.total_size, max(self.free_size, self.ratio * packed_size))


MOST_FILE_BYTES: Final = UnpackingLimits().total_size
"""Of a recording that is not packed: a link may lead to a device that never ends."""


def as_stream(data: bytes, name: str, path: str = "") -> tuple[bytes, str]:
    """The bytes of a stream, and the name whose ending tells its framing.

    An array of events, or events on several lines each, become one event a line; the last may be cut. The heads of HTTP
    replies before them are left out.

    Args:
        data: The file.
        name: Its name, or another one with the ending that tells its framing.
        path: Where it came from, for the error; the name where it is not given.

    Raises:
        RecordingError: It is packed with gzip, and broken, or unpacks to more than :class:`UnpackingLimits` allow.
    """
    if data.startswith(_GZIP):
        try:
            data, name = _unpacked(data), name.removesuffix(".gz")
        except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordingError(path or name, f"gzip that cannot be unpacked ({error})") from error
    if (heads := _HTTP_HEADS.match(data)) is not None:
        data = data[heads.end() :]
    lines = _lines(data)
    return (data, name) if lines is None else (lines, "events.jsonl")


def _unpacked(data: bytes) -> bytes:
    most, size = UnpackingLimits().most_of(len(data)), 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        while piece := packed.read(_UNPACKED_AT_ONCE):  # counted before anything is kept
            size += len(piece)
            if size > most:
                raise ValueError(f"it unpacks to more than {most:,} bytes")
        packed.seek(0)
        return packed.read(size)


def _lines(data: bytes) -> bytes | None:
    """One event a line, of an array or of JSON that does not hold one event in each line; None for every other form.

    What the data breaks off with is the last line, without its end.
    """
    begins = data.removeprefix(_MARK).lstrip()
    if not begins.startswith((b"[", b"{")):
        return None
    first_line = begins.partition(b"\n")[0]
    if begins.startswith(b"{") and first_line.rstrip().endswith(b"}"):
        return None  # one event a line
    try:
        values, rest = _sequence(getincrementaldecoder("utf-8")().decode(begins))  # without a character that is cut
    except (UnicodeDecodeError, RecursionError):
        return None
    objects = [one for one in values if isinstance(one, dict)]
    is_begun = rest.startswith("{") and begun_object(rest.encode()) is not None
    if (rest and not is_begun) or not (objects or (is_begun and begins.startswith(b"["))):
        return None
    # The beginning of an object in one line, like the events before it.
    cut = rest[:1] + rest[1:].lstrip().replace("\n", " ").replace("\r", " ")
    return b"".join(dumps(one) + b"\n" for one in objects) + cut.encode()


def _sequence(text: str) -> tuple[list[Any], str]:
    """The JSON values of a text, one after the other, with or without commas between them, and what is no value.

    Of arrays, the elements.
    """
    decoder = JSONDecoder()
    values: list[Any] = []
    depth = position = 0
    while position < len(text):
        sign = text[position]
        if sign in _BETWEEN:
            position += 1
        elif sign == "[" and depth == 0:
            depth, position = 1, position + 1
        elif sign == "]" and depth:
            depth, position = 0, position + 1
        else:
            try:
                value, position = decoder.raw_decode(text, position)
            except JsonJSONDecodeError:
                break
            values.append(value)
    return values, text[position:]


# ---- The recording ----

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
    named_protocol(protocol, path)
    data, name = as_stream(data, path)
    if not data.strip():
        raise RecordingError(path, "it is empty; expected one JSON event a line (.jsonl) or an event stream (.sse)")
    row, framing = wire_of(data, name, protocol, path)
    reader = StreamReader(row, options, framing=framing)

    def outputs() -> Iterator[StreamOutput]:
        size = chunk_size or len(data)
        for place in range(0, len(data), size):
            yield from reader.feed(data[place : place + size])
        yield from reader.end()

    start = RecordingStart(data, framing, _framing(data, name, None))
    held: list[StreamOutput] = []
    waiting = outputs()
    for output in waiting:
        held.append(output)
        if not isinstance(output, Unmapped):
            break
    if not held or not _is_of(row, start, held[-1]):
        raise RecordingError(path, f"it holds {_seen(row, start)}; nothing in it is an event of {row.name}")
    yield from held
    yield from waiting


def wire_of(data: bytes, name: str, protocol: str | None = None, path: str = "") -> tuple[Protocol, Framing]:
    """What the bytes of a stream are: their protocol and their framing.

    Args:
        data: The bytes, as they were on the wire or as :func:`as_stream` gives them.
        name: A name whose ending may tell the framing.
        protocol: The protocol's name, or None to tell it from the events.
        path: Where they came from, for the error; the name where it is not given.

    Raises:
        RecordingError: The protocol is unknown, or the events tell none.
    """
    framing = _framing(data, name, named_protocol(protocol, path or name))
    if framing in (SSE, JSON_LINES) and not has_events(data, framing) and has_events(data, LENIENT_SSE):
        framing = LENIENT_SSE
    row = _protocol(data, path or name, framing, protocol)
    return row, next((one for one in row.framings if one.name == framing.name), framing)


def _is_of(row: Protocol, start: RecordingStart, first: StreamOutput) -> bool:
    """Whether a recording is of a protocol, as far as its first events and the first output show.

    Parts alone do not: a reader takes much for an answer. An end alone neither: every wire has errors.
    """
    if start.is_framed_otherwise:
        return False
    claims = recognition.claims_of(row, start.shown)
    are_most = claims.any and (claims.sure + claims.possible) * 2 >= claims.of
    if claims.sure and are_most:
        return True
    if not isinstance(first, Finish):
        return are_most or start.stream_of_another(row) is None
    if start.stream_of_another(row) is not None:
        return False
    if not start.events:
        return start.is_cut
    return claims.any and not recognition.understood_nothing(first.error)


def _framing(data: bytes, path: str, protocol: Protocol | None) -> Framing:
    """The framing that the file's ending names, if the protocol has it; otherwise the one that the first bytes show."""
    ending = path.rpartition(".")[2]
    all_known = known_framings()
    known = all_known if protocol is None else {framing.name: framing for framing in protocol.framings}
    if ending in known:
        return known[ending]
    begins = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    looks = (one.name for one in all_known.values() if one.looks is not None and one.looks.match(begins))
    guessed = next(looks, "sse")
    return known.get(guessed) or next(iter(known.values()))


def named_protocol(name: str | None, path: str) -> Protocol | None:
    """The protocol of that name, which a person has given or a recording says; None for None.

    Raises:
        RecordingError: It is unknown, or cannot be loaded.
    """
    try:
        if name is not None and name not in PROTOCOLS:
            raise RecordingError(path, f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
        return None if name is None else PROTOCOLS[name]
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
    telling = recognition.ProtocolMatcher(start.rows)
    any(telling.add(event) is not None for event in start.shown)
    if telling.told is not None:
        return telling.told
    if start.is_cut and not start.events and start.stream_of_another(start.rows[0]) is None:
        return start.rows[0]
    raise RecordingError(path, f"it holds {_seen(None, start)}; expected events of one of: {', '.join(PROTOCOLS)}")


def _seen(row: Protocol | None, start: RecordingStart) -> str:
    """Describes the first events for a person who expected those of a protocol."""
    unread = recognition.name_of_stream(event for _, event in start.shown)
    if unread is not None:
        return f"a stream of {unread}, which this version does not read"
    other = None if row is None else start.stream_of_another(row)
    if other is not None:
        return f"a stream of {other}"
    types = list(dict.fromkeys(kind for name, event in start.shown if (kind := _type_of(event) or name)))
    if types:
        return f"events of the types {', '.join(types[:_SHOWN_TYPES])}"
    return "JSON objects without a type" if start.shown else "nothing that is a JSON event"
