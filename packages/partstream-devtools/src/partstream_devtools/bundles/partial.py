"""A recording while it grows: a file that is only appended to, so that a program that dies leaves what came.

Records follow each other: a sign, the length of what follows in 4 bytes, and the record. A record of the sign `J` is a
JSON object that says its `kind`; one of the sign `C` is a read of an exchange: its number in 4 bytes, then the read as
in `response.chunks`; one of the sign `B` is, after the same number, a piece of a large body of a request: no text in
JSON, because one call would write it while nothing else of the process runs. What is cut at the end is left out, and an
exchange without an end is cut where it stops. docs/maintainers/bundle-format.md has the table of kinds.
"""

from __future__ import annotations
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import dumps
from partstream.codec.limits import PIECE
from partstream_devtools.bundles import documents
from partstream_devtools.bundles.archive import FORMAT
from partstream_devtools.bundles.exchange import Bundle, ExchangeEnd, HowEnded, RecordedError

if TYPE_CHECKING:
    from partstream_devtools.bundles.exchange import Chunk, RecordedAnswer, RecordedExchange, Redaction, ResponseHead

PARTIAL_ENDING: Final = ".partstream.part"

PARTIAL_BEGINS: Final = b"PSPART\r\n"
"""No text begins so, and a transfer that changes line ends is noticed."""
_RECORD: Final = Struct(">sI")
_NUMBER: Final = Struct(">I")
_JSON, _CHUNK, _BODY = b"J", b"C", b"B"

_STOPS_HERE: Final = RecordedError(
    "InterruptedRecording", "the recording ends here: the program that made it ended before the answer did"
)


class PartialRecording:
    """Appends what comes to a file, each record with one call.

    `append` appends bytes to the file and flushes them. The other arguments are those of
    :class:`~partstream_devtools.bundles.exchange.Bundle`.
    """

    def __init__(
        self,
        append: Callable[[bytes], object],
        source: str,
        made_by: str,
        versions: dict[str, str] | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self._append = append
        said = {"format": FORMAT, "source": source, "made_by": made_by, "versions": versions or {}}
        append(
            PARTIAL_BEGINS + _json_record("recording", 0, {**said, "redaction": documents.redaction_json(redaction)})
        )

    def begin(self, exchange: RecordedExchange) -> None:
        """An exchange began: its head, chunks and end follow by calls of their own, those that it has do not count."""
        said, body = documents.exchange_json(exchange, None), b""
        if exchange.request is not None:
            body = exchange.request.body if len(exchange.request.body) > PIECE else b""
            said["request"] = documents.request_json(replace(exchange.request, body=b"") if body else exchange.request)
        self._append(_json_record("exchange", exchange.number, said))
        for place in range(0, len(body), PIECE):
            self._record(_BODY, exchange.number, body[place : place + PIECE])

    def head(self, number: int, head: ResponseHead) -> None:
        """The head of an exchange's response came."""
        self._append(_json_record("head", number, documents.head_json(head)))

    def chunk(self, number: int, chunk: Chunk) -> None:
        """A read of an exchange's body came."""
        if chunk.data:
            self._record(_CHUNK, number, documents.chunk_bytes(chunk))

    def _record(self, sign: bytes, number: int, data: bytes) -> None:
        self._append(_RECORD.pack(sign, _NUMBER.size + len(data)) + _NUMBER.pack(number) + data)

    def end(self, number: int, end: ExchangeEnd) -> None:
        """An exchange ended."""
        self._append(_json_record("end", number, documents.end_json(end)))

    def answer(self, answer: RecordedAnswer) -> None:
        """An answer ended, as its host saw it."""
        parts = documents.reported_lines(answer.reported).decode()
        self._append(_json_record("answer", answer.number, {**documents.answer_json(answer), "reported": parts}))


def _json_record(kind: str, number: int, said: dict[str, Any]) -> bytes:
    data = dumps({"kind": kind, "number": number, **said})
    return _RECORD.pack(_JSON, len(data)) + data


# ---- Reading ----


def read_partial(data: bytes) -> Bundle:
    """What a recording holds that may have been interrupted: an exchange without an end is cut where it stops.

    Raises:
        NotABundleError: It does not begin as such a recording.
        BundleError: A whole record is wrong.
    """
    if not data.startswith(PARTIAL_BEGINS):
        raise documents.NotABundleError("the file", f"bytes that begin with {data[:8]!r}", f"{PARTIAL_BEGINS!r}")
    read = _Read()
    for sign, record, where in _records(data):
        if sign in (_CHUNK, _BODY):
            read.take_bytes(sign, record, where)
        elif sign == _JSON:
            read.take_document(documents.read_object(record, where))
        else:
            raise documents.BundleContentError(where, f"a record of the sign {sign!r}", "J, C or B")
    return read.bundle


def _records(data: bytes) -> Iterator[tuple[bytes, bytes, str]]:
    """The whole records, each with its sign and its place."""
    place = len(PARTIAL_BEGINS)
    while place + _RECORD.size <= len(data):
        sign, size = _RECORD.unpack_from(data, place)
        begin = place + _RECORD.size
        if begin + size > len(data):
            return
        yield sign, data[begin : begin + size], f"the record at byte {place}"
        place = begin + size


@dataclass(slots=True)
class _Growing:
    """An exchange whose records are read."""

    begun: RecordedExchange
    body: list[bytes] = field(default_factory=list)
    head: ResponseHead | None = None
    chunks: list[Chunk] = field(default_factory=list)
    end: ExchangeEnd | None = None
    protocol: str | None = None

    @property
    def exchange(self) -> RecordedExchange:
        protocol = self.protocol or self.begun.protocol
        end = self.end or self._cut
        request = self.begun.request
        if request is not None and self.body:
            request = replace(request, body=b"".join((request.body, *self.body)))
        chunks = tuple(self.chunks)
        return replace(self.begun, protocol=protocol, request=request, head=self.head, chunks=chunks, end=end)

    @property
    def _cut(self) -> ExchangeEnd:
        """The end of an exchange that has none: where its last read came."""
        if self.head is None and not self.chunks:
            return ExchangeEnd(None, HowEnded.NO_RESPONSE, _STOPS_HERE)
        return ExchangeEnd(self.chunks[-1].at if self.chunks else None, HowEnded.CUT, _STOPS_HERE)


class _Read:
    """What was read so far."""

    def __init__(self) -> None:
        self._facts = Bundle("", "")
        self._exchanges: dict[int, _Growing] = {}
        self._answers: dict[int, RecordedAnswer] = {}

    def take_document(self, said: documents.JSONFields) -> None:
        match said.text("kind"):
            case "recording":
                self._take_recording(said)
            case "exchange":
                asked = said.optional_object("request")
                request = None if asked is None else documents.read_request(asked)
                exchange = documents.read_exchange(said, request, None, (), ExchangeEnd(None, HowEnded.NO_RESPONSE))
                self._exchanges[exchange.number] = _Growing(exchange)
            case "head":
                growing = self._growing(said.number("number"), said.where)
                growing.head = documents.read_head(said)
            case "end":
                growing = self._growing(said.number("number"), said.where)
                growing.end = documents.read_end(said)
                growing.protocol = said.optional_text("protocol") or growing.protocol
            case "answer":
                answer = documents.read_answer(
                    said, documents.read_reported(said.text("reported").encode(), f"{said.where}, field 'reported'")
                )
                self._answers[answer.number] = answer
            case kind:
                known = "recording, exchange, head, end, answer"
                raise documents.BundleContentError(said.where, f"a record of the kind {kind[:40]!r}", f"one of {known}")

    def take_bytes(self, sign: bytes, record: bytes, where: str) -> None:
        if len(record) < _NUMBER.size:
            raise documents.BundleContentError(where, f"{len(record)} bytes", "the number of an exchange and bytes")
        (number,) = _NUMBER.unpack_from(record)
        if sign == _BODY:
            self._growing(number, where).body.append(record[_NUMBER.size :])
            return
        chunk, end = documents.read_chunk(record, where, _NUMBER.size)
        if end != len(record):
            raise documents.BundleContentError(where, f"{len(record) - end} bytes after the read", "one read")
        self._growing(number, where).chunks.append(chunk)

    @property
    def bundle(self) -> Bundle:
        return replace(
            self._facts,
            exchanges=tuple(self._exchanges[number].exchange for number in sorted(self._exchanges)),
            answers=tuple(self._answers[number] for number in sorted(self._answers)),
        )

    def _growing(self, number: int, where: str) -> _Growing:
        if number not in self._exchanges:
            raise documents.BundleContentError(where, f"the exchange {number}", "one that has begun before")
        return self._exchanges[number]

    def _take_recording(self, said: documents.JSONFields) -> None:
        if said.raw("format") != FORMAT:
            got = repr(said.raw("format"))
            raise documents.UnknownFormError(
                said.where, f"the format {got[:40]}", f"{FORMAT}; a newer partstream may read it"
            )
        self._facts = Bundle(
            source=said.text("source"),
            made_by=said.text("made_by"),
            versions=said.text_by_name("versions"),
            redaction=documents.read_redaction(said.optional_object("redaction")),
        )
