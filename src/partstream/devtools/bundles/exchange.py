"""What a recording of exchanges with a model server holds, as values, and what the body of a response is.

No I/O and no clock: the owner of a socket or a file gives the bytes and the times. All times are integer nanoseconds of
a monotonic clock, or None where the recording has no clock. Those of an exchange count from the moment in which the
first byte of its request was sent; those of an answer from the moment in which the answer began. Wall times are text in
ISO 8601; they are read and written apart from the standard library's `datetime`, whose module can tell the time, and
which holds no nanoseconds. docs/bundles.md describes the file for other programs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.codec.json_codec import JSONDecodeError, loads, nests_too_deeply
from partstream.codec.text import bare_media_type
from partstream.devtools.recorded_stream import CaptureError, RecordingError, as_stream, read_recording, wire_of
from partstream.errors import PartstreamError
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import MODEL, WireRequest, fits_path, literal_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from partstream.lm.outputs import InboundRequest, StreamOptions
    from partstream.lm.parts import ResponsePart
    from partstream.protocols.protocol import Framing, Protocol


# ---- Values ----

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values of header fields, in their order; a name may come several times."""


class HowEnded(StrEnum):
    """How the bytes of an exchange ended."""

    WHOLE = "whole"
    """The body came to its end."""
    CUT = "cut"
    """The connection broke, or a limit of time or size ended it, before the end of the body."""
    CANCELLED = "cancelled"
    """The client left."""
    NO_RESPONSE = "no-response"
    """No head of a response came."""


class RedactionLevel(StrEnum):
    """How much of what people, machines and models said is out of a recording."""

    KEYS = "keys"
    """Keys, cookies and ids of people are replaced; texts stay."""
    STRUCTURE = "structure"
    """Texts are replaced too, by stand-ins of the same length."""
    NONE = "none"
    """Nothing is replaced."""


@dataclass(frozen=True, slots=True)
class RecordedError:
    """An error as it was recorded: the name of its class, its sentence, and its facts as texts."""

    type: str
    message: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it was sent, without host; `sent_at` is when its last byte was written."""

    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    body: bytes = b""
    sent_at: int | None = None


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response, and when it was read; the reason is empty where none came."""

    at: int | None
    status: int
    reason: str = ""
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One read from the socket: when, and the bytes of the body that came, never empty, cut as they came."""

    at: int | None
    data: bytes


def cut_like(chunks: Sequence[Chunk], data: bytes) -> tuple[Chunk, ...]:
    """The reads with other bytes of the same number."""
    ends = accumulate(len(chunk.data) for chunk in chunks)
    return tuple(Chunk(chunk.at, data[end - len(chunk.data) : end]) for chunk, end in zip(chunks, ends, strict=True))


@dataclass(frozen=True, slots=True)
class ExchangeEnd:
    """When and how the bytes of an exchange ended, and what went wrong below the protocol, or None."""

    at: int | None
    how: HowEnded
    error: RecordedError | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was left out of an exchange that was too large to be kept whole.

    Attributes:
        reads, bytes: The reads of the body that were left out, one after the other, and their bytes.
        after: The number of reads before them.
        request_bytes: The bytes that are missing at the end of the request's body.
    """

    reads: int = 0
    bytes: int = 0
    after: int = 0
    request_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One request to a server, and what came back.

    Attributes:
        number: Its number in the bundle, from 1.
        answer: The number of the answer that it belongs to.
        protocol: The name of the protocol, or None where it is not known.
        started_at: The wall time in which it began, in ISO 8601 with its offset, or None.
        request: What was sent, or None where only the response is known.
        head: The head of the response, or None where none came or it is not known.
        offset: Nanoseconds from the beginning of its answer, or None.
        left_out: What was left out; None where all is there.
        shown: What the host asked to have shown of the answer, such as thinking; None where it is not known.
    """

    number: int
    answer: int
    protocol: str | None
    started_at: str | None
    request: RecordedRequest | None
    head: ResponseHead | None
    chunks: tuple[Chunk, ...]
    end: ExchangeEnd
    offset: int | None = None
    left_out: LeftOut | None = None
    shown: StreamOptions | None = None

    @property
    def body(self) -> bytes:
        """The bytes of the response's body."""
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def has_clock(self) -> bool:
        """Whether it is known when each read came."""
        return all(chunk.at is not None for chunk in self.chunks) and (bool(self.chunks) or self.end.at is not None)


@dataclass(frozen=True, slots=True)
class ReportedPart:
    """A part as the host got it, and when, from the beginning of the answer."""

    at: int | None
    part: ResponsePart


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One answer as its host saw it: a question may need several exchanges, such as attempts.

    Attributes:
        number: Its number in the bundle, from 1.
        host: Who asked, such as `vscode`, `chat` or `serve`; None where it is not known.
        model: The model that was asked, or None.
        started_at: The wall time in which it began, in ISO 8601 with its offset, or None.
        offset: Nanoseconds from the beginning of the first answer of the bundle, or None.
        reported: The parts that the host got, in order.
        outcome: `completed`, `incomplete`, `failed`, `truncated` or `cancelled`; None where it is not known.
        error: The error that the host got, or None.
        left_out: How many parts were left out, of an answer that was too large to be kept whole.
    """

    number: int
    host: str | None = None
    model: str | None = None
    started_at: str | None = None
    offset: int | None = None
    reported: tuple[ReportedPart, ...] = ()
    outcome: str | None = None
    error: RecordedError | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was replaced in a bundle: how often by the name of each rule, and what was kept as the person wished."""

    level: RedactionLevel
    counts: Mapping[str, int] = field(default_factory=dict)
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """All that one file holds.

    Attributes:
        source: What it was made from, such as `record`, `vscode`, `chat`, `har` or `sse`; no name of a host.
        made_by: The program that made it, with its version.
        versions: Versions of what took part, such as `partstream`, `python`, `os` and `vscode`.
        redaction: What was replaced, or None without a redaction.
        exchanges: The exchanges, by number.
        answers: The answers, by number; an exchange may name an answer that no host saw.
        notes: What a person should know of the recording, such as what a file of another program did not hold.
    """

    source: str
    made_by: str
    versions: Mapping[str, str] = field(default_factory=dict)
    redaction: Redaction | None = None
    exchanges: tuple[RecordedExchange, ...] = ()
    answers: tuple[RecordedAnswer, ...] = ()
    notes: tuple[str, ...] = ()

    def exchanges_of(self, answer: int) -> tuple[RecordedExchange, ...]:
        """The exchanges of an answer, in order."""
        return tuple(exchange for exchange in self.exchanges if exchange.answer == answer)


# ---- The content of a body ----

_SUCCESS: Final = range(200, 300)
_ASKED_WITH: Final = "POST"
"""The method of requests to models."""
_JSON: Final = "application/json"
_PAGE: Final = "text/html"
_ENDINGS: Final = {
    "text/event-stream": "sse",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/json-lines": "jsonl",
}
"""By media type, the ending of a file's name that tells the same."""


class ContentForm(Enum):
    """The kinds of a body."""

    STREAM = auto()
    DOCUMENT = auto()
    """One JSON document in place of a stream."""
    REFUSAL = auto()
    """An error of HTTP, or the page of a proxy."""
    NOTHING = auto()
    """No head of a response came, or no byte of a body."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a body is.

    Attributes:
        form: Its kind.
        protocol: What it is written in; None for a refusal of an unknown protocol, and where nothing came.
        framing: How the stream separates its events; None for every other kind.
        data: Its bytes without packing.
        is_packed: Whether the reads hold something else than these bytes: they are packed, or follow heads of HTTP.
    """

    form: ContentForm
    protocol: Protocol | None
    framing: Framing | None
    data: bytes
    is_packed: bool = False


def content_of(exchange: RecordedExchange, path: str, protocol: str | None = None) -> Content:
    """What the body of an exchange is; `path` is where it came from, for an error.

    A protocol that a person names counts before that of the recording, that of the path which was asked, and that of
    the events.

    Raises:
        RecordingError: Nothing in it is an event of the protocol, or of any, or the protocol is unknown.
    """
    name = protocol or (exchange.protocol if exchange.protocol is not None and exchange.protocol in PROTOCOLS else None)
    row = _row(name, path) or protocol_asked(exchange)
    body, head = exchange.body, exchange.head
    if head is not None and (head.status not in _SUCCESS or media_type_of(exchange) == _PAGE):
        return Content(ContentForm.REFUSAL, row, None, body)
    if not body.strip():
        return Content(ContentForm.NOTHING, row, None, body)
    if _is_document(exchange, row):
        return Content(ContentForm.DOCUMENT, row, None, body)
    named = f"body.{_ENDINGS.get(media_type_of(exchange), '')}"
    try:
        data, named = as_stream(body, named)
    except CaptureError as error:
        raise RecordingError(path, str(error)) from error
    if name is None or protocol is not None:
        _check(data, named, protocol, path)
    row, framing = wire_of(data, named, name, path)
    return Content(ContentForm.STREAM, row, framing, data, data != body)


def _check(data: bytes, named: str, protocol: str | None, path: str) -> None:
    """Refuses what holds no event; the error names what people know, and not what the body was called here."""
    try:
        next(read_recording(data, named, protocol), None)
    except RecordingError as error:
        raise RecordingError(path, error.reason) from error


def answers_in(bundle: Bundle) -> tuple[RecordedExchange, ...]:
    """The exchanges with a model: a client also asks a server which models it has. All where none is surely one."""
    return tuple(one for one in bundle.exchanges if _is_an_answer(one)) or bundle.exchanges


def _is_an_answer(exchange: RecordedExchange) -> bool:
    if exchange.protocol is not None or exchange.request is None:
        return True
    if exchange.request.method != _ASKED_WITH:
        return False
    try:
        return content_of(exchange, "").protocol is not None
    except RecordingError:
        return False


def media_type_of(exchange: RecordedExchange) -> str:
    """The media type that the head names, in lower case without parameters; empty where there is none."""
    headers = () if exchange.head is None else exchange.head.headers
    said = next((value for name, value in headers if name.lower() == "content-type"), "")
    return bare_media_type(said)


def protocol_asked(exchange: RecordedExchange) -> Protocol | None:
    """The only protocol that has an endpoint at the path which was asked; None where none has, or several have."""
    if exchange.request is None:
        return None
    path = exchange.request.path
    fitting = [row for row in PROTOCOLS.values() if any(base_path_of(one, path) is not None for one in _patterns(row))]
    return fitting[0] if len(fitting) == 1 else None


def base_path_of(pattern: str, path: str) -> str | None:
    """What comes before the part of a path that fits a pattern; None where no part does."""
    if not literal_size(pattern.strip("/")):
        return None
    before = pattern.partition(MODEL)[0]
    place = path.find(before) if MODEL in pattern else len(path) - len(pattern)
    return path[:place] if place >= 0 and fits_path(pattern, path[place:]) else None


def _patterns(row: Protocol) -> Iterator[str]:
    if row.read_request is not None:
        yield from row.read_request().paths
    if row.write_request is not None:
        yield row.write_request().path


def _row(name: str | None, path: str) -> Protocol | None:
    if name is None:
        return None
    if name not in PROTOCOLS:
        raise RecordingError(path, f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def _is_document(exchange: RecordedExchange, row: Protocol | None) -> bool:
    if media_type_of(exchange) != _JSON or row is None or row.accept == _JSON:
        return False
    return row.read_response().events_of is not None


# ---- Recorded requests ----


def asked_of(request: RecordedRequest, row: Protocol) -> InboundRequest | None:
    """What a request asks for; None where it cannot be read as one of the protocol."""
    if row.read_request is None or nests_too_deeply(request.body):
        return None
    try:
        body = loads(request.body)
    except JSONDecodeError:
        return None
    if not isinstance(body, dict):
        return None
    corner = row.read_request()
    patterns = corner.paths or (() if row.write_request is None else (row.write_request().path,))
    for pattern in patterns:
        base_path = base_path_of(pattern, request.path)
        if base_path is None:
            continue
        headers = {name.lower(): value for name, value in request.headers}
        path = request.path[len(base_path) :]
        try:
            return corner.read(WireRequest(path, body, headers, request.query, request.method, base_path))
        except PartstreamError:
            return None  # a request that its server may have refused too
    return None


def tools_asked(request: RecordedRequest | None, row: Protocol) -> tuple[str, ...] | None:
    """The names of the tools that a request offers; None where it cannot be read."""
    asked = None if request is None else asked_of(request, row)
    return None if asked is None else tuple(tool.name for tool in asked.options.tools)


# ---- Wall times ----

SECOND: Final = 1_000_000_000
_TEXT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,20}))?\s*(?:([Zz])|([+-])(\d\d):?(\d\d))?", re.ASCII
)
_DAYS_BEFORE_MONTH: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_TO_1970: Final = 719_162
"""From the first day of the year 1."""
_DAY: Final = 86_400


def nanoseconds_of(text: str) -> int | None:
    """The nanoseconds since 1970 of a time in ISO 8601, in UTC where it names no offset; None for what is no time."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute < 60 and second <= 60):
        return None
    days = _days_before(year) + _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and _is_leap(year)) + day - 1
    seconds = (days - _DAYS_TO_1970) * _DAY + hour * 3600 + minute * 60 + second
    if match[9]:
        offset = int(match[10]) * 3600 + int(match[11]) * 60
        seconds -= offset if match[9] == "+" else -offset
    return seconds * SECOND + int((match[7] or "").ljust(9, "0")[:9])


def wall_time_of(nanoseconds: int) -> str:
    """A time in ISO 8601, in UTC, with microseconds; of one before the year 1 or after 9999, that of 1970."""
    days, rest = divmod(nanoseconds // 1000, _DAY * 1_000_000)
    days += _DAYS_TO_1970
    if not 0 <= days < _days_before(10_000):
        return wall_time_of(0)
    year = days * 400 // 146_097 + 1
    while _days_before(year) > days:
        year -= 1
    while _days_before(year + 1) <= days:
        year += 1
    days -= _days_before(year)
    month = 12
    while (first := _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and _is_leap(year))) > days:
        month -= 1
    seconds, micro = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micro:06}"
    return f"{year:04}-{month:02}-{days - first + 1:02}T{clock}+00:00"


def _days_before(year: int) -> int:
    """From the first day of the year 1 to that of a year, in the Gregorian calendar."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
