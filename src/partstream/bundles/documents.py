"""The values of a recording as JSON documents, and back: one table for the file and for a recording that still grows.

docs/bundles.md describes each document for other programs.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, fields
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.errors import BundleContentError
from partstream.bundles.json_fields import read_object
from partstream.codec.json_codec import dumps, find_non_json, shorten
from partstream.devtools.bundles.exchange import (
    Chunk,
    ExchangeEnd,
    HowEnded,
    LeftOut,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    Redaction,
    RedactionLevel,
    ReportedPart,
    ResponseHead,
)
from partstream.errors import UnexpectedValueError
from partstream.lm.outputs import CitationMode, ExecutedCode, FileMode, StreamOptions, ThinkingMode, ThinkTags
from partstream.lm.parts import part_json, part_of_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.bundles.json_fields import JSONFields
    from partstream.settings.kinds import Choice

__all__ = [
    "answer_json",
    "chunk_bytes",
    "chunks_bytes",
    "end_json",
    "exchange_json",
    "head_json",
    "read_answer",
    "read_chunk",
    "read_chunks",
    "read_end",
    "read_exchange",
    "read_head",
    "read_redaction",
    "read_reported",
    "read_request",
    "redaction_json",
    "reported_lines",
    "request_json",
]

_CHUNK: Final = Struct(">QI")
"""The time in nanoseconds, and the number of bytes that follow."""
_NO_TIME: Final = (1 << 64) - 1
_SHOWN: Final[Mapping[str, type[Choice]]] = {
    "thinking": ThinkingMode,
    "citations": CitationMode,
    "files": FileMode,
    "think_tags": ThinkTags,
    "executed_code": ExecutedCode,
}
"""The fields of :class:`partstream.lm.outputs.StreamOptions` that say what a host shows, and their values."""


# ---- an exchange ----


def exchange_json(exchange: RecordedExchange, end: ExchangeEnd | None) -> dict[str, Any]:
    """What is known of an exchange as a whole; without an end, of one that still runs."""
    facts: dict[str, Any] = {
        "number": exchange.number,
        "answer": exchange.answer,
        "protocol": exchange.protocol,
        "started_at": exchange.started_at,
        "offset": exchange.offset,
    }
    if exchange.left_out is not None:
        facts["left_out"] = asdict(exchange.left_out)
    if exchange.shown is not None:
        facts["shown"] = {name: getattr(exchange.shown, name) for name in _SHOWN}
    return facts if end is None else {**facts, "end": end_json(end)}


def read_exchange(
    said: JSONFields,
    request: RecordedRequest | None,
    head: ResponseHead | None,
    chunks: tuple[Chunk, ...],
    end: ExchangeEnd | None = None,
) -> RecordedExchange:
    """The exchange, of its own document and of what else belongs to it."""
    return RecordedExchange(
        number=said.number("number"),
        answer=said.number("answer"),
        protocol=said.optional_text("protocol"),
        started_at=said.optional_text("started_at"),
        request=request,
        head=head,
        chunks=chunks,
        end=read_end(said.object("end")) if end is None else end,
        offset=said.time("offset"),
        left_out=None if said.raw("left_out") is None else _read_left_out(said.count_by_name("left_out")),
        shown=_read_shown(said.optional_object("shown")),
    )


def _read_shown(said: JSONFields | None) -> StreamOptions | None:
    if said is None:
        return None
    modes: dict[str, Any] = {name: said.choice(name, words) for name, words in _SHOWN.items()}
    return StreamOptions(**modes)


def _read_left_out(counts: dict[str, int]) -> LeftOut:
    return LeftOut(**{field.name: counts.get(field.name, 0) for field in fields(LeftOut)})


def request_json(request: RecordedRequest) -> dict[str, Any]:
    """A request; its body as text where it is UTF-8, else in base64."""
    facts = {"method": request.method, "path": request.path, "query": request.query, "headers": list(request.headers)}
    return {**facts, **_body_json(request.body), "sent_at": request.sent_at}


def _body_json(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(body).decode()}


def read_request(said: JSONFields) -> RecordedRequest:
    """The request of its document."""
    return RecordedRequest(
        method=said.text("method"),
        path=said.text("path"),
        query=said.text("query"),
        headers=said.pairs("headers"),
        body=_read_body(said),
        sent_at=said.time("sent_at"),
    )


def _read_body(said: JSONFields) -> bytes:
    if said.raw("body_base64") is None:
        return said.text("body").encode(errors="surrogatepass")
    try:
        return b64decode(said.text("body_base64"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BundleContentError(
            f"{said.where}, field 'body_base64'", f"a text that is not ({error})", "base64"
        ) from error


def head_json(head: ResponseHead) -> dict[str, Any]:
    """The head of a response."""
    return {"at": head.at, "status": head.status, "reason": head.reason, "headers": list(head.headers)}


def read_head(said: JSONFields) -> ResponseHead:
    """The head of its document."""
    return ResponseHead(said.time("at"), said.status("status"), said.text("reason"), said.pairs("headers"))


def end_json(end: ExchangeEnd) -> dict[str, Any]:
    """The end of an exchange."""
    return {"at": end.at, "how": end.how.value, "error": _error_json(end.error)}


def read_end(said: JSONFields) -> ExchangeEnd:
    """The end of its document."""
    return ExchangeEnd(said.time("at"), said.choice("how", HowEnded), _read_error(said.optional_object("error")))


def _error_json(error: RecordedError | None) -> dict[str, Any] | None:
    return None if error is None else {"type": error.type, "message": error.message, "fields": list(error.fields)}


def _read_error(said: JSONFields | None) -> RecordedError | None:
    return None if said is None else RecordedError(said.text("type"), said.text("message"), said.pairs("fields"))


# ---- the reads of a body ----


def chunk_bytes(chunk: Chunk) -> bytes:
    """One read: its time in 8 bytes, its length in 4, both with the highest byte first, and what came."""
    at = _NO_TIME if chunk.at is None else chunk.at
    return _CHUNK.pack(at, len(chunk.data)) + chunk.data


def chunks_bytes(chunks: Iterable[Chunk]) -> bytes:
    """All reads of a body."""
    return b"".join(chunk_bytes(chunk) for chunk in chunks if chunk.data)


def read_chunk(data: bytes, where: str, place: int = 0) -> tuple[Chunk, int]:
    """The read that begins at a place, and the place behind it.

    Raises:
        BundleContentError: It goes on behind the end, or is empty, or its time is none.
    """
    if len(data) - place < _CHUNK.size:
        raise BundleContentError(f"{where}, byte {place}", f"{len(data) - place} bytes", "a read, of 12 bytes or more")
    at, size = _CHUNK.unpack_from(data, place)
    begin = place + _CHUNK.size
    if not 0 < size <= len(data) - begin:
        left = len(data) - begin
        raise BundleContentError(f"{where}, byte {place}", f"a read of {size:,} bytes", f"one of 1 to {left:,} bytes")
    if at != _NO_TIME and at >> 63:
        raise BundleContentError(f"{where}, byte {place}", f"the time {at}", "nanoseconds below 2**63")
    return Chunk(None if at == _NO_TIME else at, data[begin : begin + size]), begin + size


def read_chunks(data: bytes, where: str) -> tuple[Chunk, ...]:
    """All reads of a body."""
    chunks: list[Chunk] = []
    place = 0
    while place < len(data):
        chunk, place = read_chunk(data, where, place)
        chunks.append(chunk)
    return tuple(chunks)


# ---- an answer ----


def answer_json(answer: RecordedAnswer) -> dict[str, Any]:
    """An answer without its parts."""
    facts = {
        "number": answer.number,
        "host": answer.host,
        "model": answer.model,
        "started_at": answer.started_at,
        "offset": answer.offset,
        "outcome": answer.outcome,
        "error": _error_json(answer.error),
    }
    return {**facts, "left_out": answer.left_out} if answer.left_out else facts


def read_answer(said: JSONFields, reported: tuple[ReportedPart, ...]) -> RecordedAnswer:
    """The answer of its document and its parts."""
    return RecordedAnswer(
        number=said.number("number"),
        host=said.optional_text("host"),
        model=said.optional_text("model"),
        started_at=said.optional_text("started_at"),
        offset=said.time("offset"),
        reported=reported,
        outcome=said.optional_text("outcome"),
        error=_read_error(said.optional_object("error")),
        left_out=0 if said.raw("left_out") is None else said.number("left_out"),
    )


def reported_lines(reported: Iterable[ReportedPart]) -> bytes:
    """The parts that a host got, a line each.

    A field that JSON cannot represent, such as arguments with an infinite number, is replaced by what shows it, and the
    line says so with `"inexact": true`.
    """
    return b"".join(_reported_line(one) for one in reported)


def _reported_line(reported: ReportedPart) -> bytes:
    part = part_json(reported.part)
    if find_non_json(part, "part") is None:
        return dumps({"at": reported.at, "part": part}) + b"\n"
    shown = {name: _as_json(value) for name, value in part.items()}
    return dumps({"at": reported.at, "part": shown, "inexact": True}) + b"\n"


def _as_json(value: Any) -> Any:
    if find_non_json(value, "value") is None:
        return value
    return {"shown": shorten(value)} if isinstance(value, Mapping) else shorten(value)


def read_reported(data: bytes, where: str) -> tuple[ReportedPart, ...]:
    """The parts of their lines."""
    return tuple(_read_reported(data, where))


def _read_reported(data: bytes, where: str) -> Iterator[ReportedPart]:
    for number, line in enumerate(data.splitlines(), start=1):
        place = f"{where}, line {number}"
        said = read_object(line, place)
        try:
            yield ReportedPart(said.time("at"), part_of_json(said.raw("part"), f"{place}, field 'part'"))
        except BundleContentError:
            raise
        except UnexpectedValueError as error:
            raise BundleContentError(error.where, error.got, error.expected) from error


# ---- redaction ----


def redaction_json(redaction: Redaction | None) -> dict[str, Any] | None:
    """What was replaced."""
    if redaction is None:
        return None
    counts = dict(sorted(redaction.counts.items()))
    return {"level": redaction.level.value, "counts": counts, "kept": list(redaction.kept)}


def read_redaction(said: JSONFields | None) -> Redaction | None:
    """The redaction of its document."""
    if said is None:
        return None
    return Redaction(said.choice("level", RedactionLevel), said.count_by_name("counts"), said.texts("kept"))
