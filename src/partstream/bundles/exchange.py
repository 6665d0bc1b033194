"""What a recording holds, as values: exchanges with a server, the answers that they belong to, and the whole of them.

All times are integer nanoseconds of a monotonic clock, or None where the recording has no clock. Those of an exchange
count from the moment in which the first byte of its request was sent; those of an answer from the moment in which the
answer began.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.lm.outputs import StreamOptions
    from partstream.lm.parts import ResponsePart

__all__ = [
    "Bundle",
    "Chunk",
    "ExchangeEnd",
    "Headers",
    "HowEnded",
    "LeftOut",
    "RecordedAnswer",
    "RecordedError",
    "RecordedExchange",
    "RecordedRequest",
    "Redaction",
    "RedactionLevel",
    "ReportedPart",
    "ResponseHead",
]

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
    """An error as it was recorded.

    Attributes:
        type: The name of the error's class.
        message: Its sentence.
        fields: Its facts, by name; values as texts.
    """

    type: str
    message: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it was sent.

    Attributes:
        method: The method of HTTP.
        path: The path, without host and query.
        query: The query without `?`; empty where there is none.
        headers: The header fields.
        body: The bytes of the body.
        sent_at: When its last byte was written.
    """

    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    body: bytes = b""
    sent_at: int | None = None


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response.

    Attributes:
        at: When it was read.
        status: The status of HTTP.
        reason: The reason phrase; empty where none came.
        headers: The header fields.
    """

    at: int | None
    status: int
    reason: str = ""
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One read from the socket.

    Attributes:
        at: When it was read.
        data: The bytes of the body that came, never empty, cut as they came.
    """

    at: int | None
    data: bytes


@dataclass(frozen=True, slots=True)
class ExchangeEnd:
    """The end of an exchange.

    Attributes:
        at: When it was noticed.
        how: How the bytes ended.
        error: What went wrong below the protocol, or None.
    """

    at: int | None
    how: HowEnded
    error: RecordedError | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was left out of an exchange that was too large to be kept whole.

    Attributes:
        reads: The reads of the body that were left out, all of them behind each other.
        bytes: Their bytes.
        after: How many reads stand before them.
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
        protocol: The name of the protocol, or None where nobody has told.
        started_at: The wall time in which it began, in ISO 8601 with its offset, or None.
        request: What was sent, or None where only the response is known.
        head: The head of the response, or None where none came or it is not known.
        chunks: The reads of the body, in order.
        end: How it ended.
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
    """A part as the host got it.

    Attributes:
        at: When, from the beginning of the answer.
        part: The part.
    """

    at: int | None
    part: ResponsePart


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One answer as its host saw it: a question may need several exchanges, such as attempts.

    Attributes:
        number: Its number in the bundle, from 1.
        host: Who asked, such as `vscode`, `chat` or `serve`; None where nobody has told.
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
    """What was replaced in a bundle.

    Attributes:
        level: How much.
        counts: How often each rule has replaced something, by the name of the rule.
        kept: What was kept at the person's wish, such as `text`.
    """

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
        redaction: What was replaced, or None where nobody has redacted anything.
        exchanges: The exchanges, by number.
        answers: The answers, by number; an exchange may name an answer that nobody saw as a host.
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
