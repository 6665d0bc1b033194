"""What a recording of exchanges with a model server holds, as values, and what the body of a response is.

No I/O and no clock: the owner of a socket or a file gives the bytes and the times. All times are integer nanoseconds of
a monotonic clock, or None where the recording has no clock. Those of an exchange count from the moment in which the
first byte of its request was sent; those of an answer from the moment in which the answer began. Wall times are text in
ISO 8601. docs/maintainers/bundle-format.md describes the file for other programs.
"""

from __future__ import annotations
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.codec.checks import dataclass, field, replace

if TYPE_CHECKING:
    from partstream.lm.outputs import StreamOptions
    from partstream.lm.parts import ResponsePart

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


@dataclass(slots=True)  # not frozen, see `RawRequest`
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


@dataclass(slots=True)  # not frozen, see `RawRequest`
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
        dropped: The names of the fields of the client's request that reached no model, such as `tools[].web_search`.
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
    dropped: tuple[str, ...] = ()


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

    def last_alone(self) -> tuple[Bundle, tuple[RecordedExchange, ...]]:
        """A bundle of the last answer alone, and the exchanges of those before it."""
        last = self.answers[-1]
        own = enumerate(self.exchanges_of(last.number), 1)
        exchanges = tuple(replace(exchange, number=number, answer=1) for number, exchange in own)
        answer = replace(last, number=1, offset=None if last.offset is None else 0)
        before = tuple(exchange for exchange in self.exchanges if exchange.answer != last.number)
        return replace(self, exchanges=exchanges, answers=(answer,)), before


# ---- Wall times ----

SECOND: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(?:[.,](\d{1,20}))?\s*(?:[Zz]|([+-]\d\d):?(\d\d))?", re.ASCII
)


def nanoseconds_of(text: str) -> int | None:
    """The nanoseconds since 1970 of a time in ISO 8601, in UTC where it names no offset; None for what is no time."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    day, minute, second, fraction, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}{hours or '+00'}:{minutes or '00'}")
    except ValueError:
        return None
    # Apart from the rest: a leap second is one too many, and the library's times hold no nanoseconds.
    seconds = (moment - _EPOCH) // timedelta(seconds=1) + int(second)
    return seconds * SECOND + int((fraction or "").ljust(9, "0")[:9])


def wall_time_of(nanoseconds: int) -> str:
    """A time in ISO 8601, in UTC, with microseconds; of one before the year 1 or after 9999, that of 1970."""
    try:
        moment = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        moment = _EPOCH
    return moment.isoformat(timespec="microseconds")


def begun_answers(starts: Sequence[int | None]) -> tuple[RecordedAnswer, ...]:
    """An answer for each exchange, which only says when it began: in nanoseconds since 1970, None where unknown."""
    first = min((start for start in starts if start is not None), default=0)
    return tuple(
        RecordedAnswer(number)
        if start is None
        else RecordedAnswer(number, started_at=wall_time_of(start), offset=start - first)
        for number, start in enumerate(starts, 1)
    )
