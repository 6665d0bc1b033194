"""HTTP Archives: exports of Chrome and Firefox, of other tools, and our own, which keep every read of a body.

Files come from browsers, with hundreds of entries that have nothing to do with a model, and from strangers. So what
looks like an answer is taken, the rest is counted in the notes, and every field is checked. Our own fields keep what
HAR has no place for: `_chunks` the reads of a body, `_partstream` the rest. Another program may drop them, and the file
is a HAR still; :data:`LOSSES` says what a written HAR does not hold.

Events are found in the bytes apart from :mod:`partstream.codec.sse`, which reads what servers send wrong: a block here
ends where a browser's does, at an empty line (HTML Standard, section 9.2.6), and its bytes are known.

Sources: HAR 1.2 (softwareishard.com/blog/har-12-spec); Chrome's `_eventSourceMessages` and `_webSocketMessages`, and
what its importer demands (devtools-frontend, `front_end/models/har/`).
"""

from __future__ import annotations
import re
from base64 import b64encode
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from partstream._version import __version__
from partstream.codec.checks import as_amount
from partstream.codec.json_codec import dumps
from partstream.codec.text import bare_media_type
from partstream_devtools.bundles import documents
from partstream_devtools.bundles import exchange as exchanges

# ---- The form ----

HAR_BEGINS: Final = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{')
LARGEST: Final = 256 * 1024 * 1024  # bytes of a file: the objects of its JSON take several times as much
MOST_ENTRIES: Final = 20_000

OWN: Final = "_partstream"
READS: Final = "_chunks"
EVENTS: Final = "_eventSourceMessages"
BASE64: Final = "base64"
EVENT_STREAM: Final = "text/event-stream"
UNKNOWN_TYPE: Final = "x-unknown"
"""Chrome's word for a body of no type."""
UNKNOWN_HOST: Final = "http://recorded.invalid"
"""A recording holds no name of a host, and a HAR demands one: RFC 6761 section 6.4 keeps this one free."""

MILLISECOND: Final = 1_000_000

LOSSES: Final = (
    "The parts that a host reported, with their times: HAR knows nothing above the bytes.",
    "The name of the server: a recording does not hold it, so addresses begin with recorded.invalid.",
    "Only partstream reads the fields with the reads of a body; other programs see the times of whole events.",
    "Where a recording has no wall time, entries begin in 1970: HAR demands one.",
)
"""What a HAR that is written does not hold, or not for every reader."""


# ---- Blocks of events ----

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BLOCK_END: Final = re.compile(rb"(?:\r\n|\n|\r)(?:\r\n|\n|\r)+")
_MARK: Final = b"\xef\xbb\xbf"


class EventBlock(NamedTuple):
    """An event that a browser shows, and the byte after its last empty line; without a name it is a `message`."""

    end: int
    name: str
    id: str
    data: str


def event_blocks(body: bytes) -> Iterator[EventBlock]:
    """The events of a body that are whole and have data."""
    start = len(_MARK) if body.startswith(_MARK) else 0
    for ending in _BLOCK_END.finditer(body):
        fields: dict[bytes, list[bytes]] = {}
        for line in _LINE_END.split(body[start : ending.start()]):
            name, _, value = line.partition(b":")
            fields.setdefault(name, []).append(value.removeprefix(b" "))
        start = ending.end()
        if b"data" in fields:
            yield EventBlock(
                start,
                fields.get(b"event", [b"message"])[-1].decode(errors="replace") or "message",
                fields.get(b"id", [b""])[-1].decode(errors="replace"),
                b"\n".join(fields[b"data"]).decode(errors="replace"),
            )


def written_event(name: str, event_id: str, data: str) -> bytes:
    """An event as a server writes it; a line break in its name or its id would be another field, and is left out."""
    lines = [] if name in ("", "message") else [f"event: {_one_line(name)}"]
    lines += [f"id: {_one_line(event_id)}"] if event_id else []
    lines += [f"data: {line}" for line in re.split(r"\r\n|\n|\r", data)]
    return "".join(f"{line}\n" for line in (*lines, "")).encode(errors="replace")


def _one_line(text: str) -> str:
    return re.sub(r"[\r\n]", "", text)


# ---- Reading ----

_STREAMS: Final = frozenset({EVENT_STREAM, "application/x-ndjson", "application/ndjson", "application/jsonl"})
_DOCUMENTS: Final = frozenset({"application/json", "application/problem+json"})
_LONGEST: Final = 1e12  # milliseconds
_DAY: Final = 86_400 * exchanges.SECOND
_BEFORE_SENDING: Final = ("blocked", "dns", "connect")
"""The times of an entry before its request is sent; `ssl` is a part of `connect`."""
_OF_A_HOST: Final = frozenset({"host", ":authority"})


def read_har(data: bytes) -> exchanges.Bundle:
    """The answers in a HAR, each as an exchange.

    Times are known where the file has `_eventSourceMessages` that fit the body, or our own `_chunks`.

    Raises:
        BundleTooLargeError: The file is too large, or has too many entries.
        BundleContentError: A field is not what HAR demands.
    """
    if len(data) > LARGEST:
        raise documents.BundleTooLargeError("the file", len(data), LARGEST, "bytes")
    log = documents.read_object(data.removeprefix(b"\xef\xbb\xbf"), "the HAR").object("log")
    rows = log.objects("entries")
    if len(rows) > MOST_ENTRIES:
        raise documents.BundleTooLargeError(log.where, len(rows), MOST_ENTRIES, "entries")
    own = log.optional_object(OWN)
    entries = [*map(_Entry, rows)]
    taken = entries if own is not None else [entry for entry in entries if entry.may_be_an_answer]
    notes = [] if own is None else list(own.texts("notes"))
    if len(taken) < len(entries):
        notes.append(f"left out {len(entries) - len(taken)} entries that look like no answers of a model")
    found = []
    for number, entry in enumerate(taken, 1):
        found.append(entry.exchange(number))
        notes += [f"exchange {number}: {note}" for note in entry.notes]
    return exchanges.Bundle(
        "har" if own is None else own.text("source"),
        f"partstream {__version__}" if own is None else own.text("made_by"),
        {} if own is None else own.text_by_name("versions"),
        None if own is None else documents.read_redaction(own.optional_object("redaction")),
        tuple(found),
        exchanges.begun_answers([entry.started for entry in taken])
        if own is None
        else tuple(documents.read_answer(row, ()) for row in own.objects("answers")),
        notes=tuple(notes),
    )


class _Entry:
    """One entry.

    `started` is when its request began to be sent, in nanoseconds since 1970, or None; `notes` say what was unreadable.
    """

    def __init__(self, said: documents.JSONFields) -> None:
        self._said = said
        self._own = said.optional_object(OWN)
        self._request = said.object("request")
        self._response = said.object("response")
        self._content = self._response.optional_object("content") or documents.JSONFields(
            {}, f"{said.where}, no content"
        )
        self._timings = said.optional_object("timings") or documents.JSONFields({}, f"{said.where}, no timings")
        self._type = bare_media_type(self._content.optional_text("mimeType") or "")
        began = exchanges.nanoseconds_of(said.optional_text("startedDateTime") or "")
        self._waited = sum(_milliseconds(self._timings, name) for name in _BEFORE_SENDING)
        self.started = None if began is None else began + self._waited
        self.notes: list[str] = []

    @property
    def may_be_an_answer(self) -> bool:
        """Whether it is a stream, or a document that answers a request with a body."""
        if self._type in _STREAMS or isinstance(self._said.raw(EVENTS), list):
            return True
        return self._type in _DOCUMENTS and self._request.raw("postData") is not None

    def exchange(self, number: int) -> exchanges.RecordedExchange:
        """The exchange of the entry."""
        own = self._own
        if self._said.raw("_webSocketMessages"):
            self.notes.append("the messages of its WebSocket are left out")
        started_at = None if self.started is None else exchanges.wall_time_of(self.started)
        if own is not None:
            request = None if own.raw("request") is False else self._asked()
            return documents.read_exchange(own, request, self._head(), self._chunks())
        return exchanges.RecordedExchange(
            number,
            number,
            None,
            started_at,
            self._asked(),
            self._head(),
            self._chunks(),
            self._end(),
            offset=None if self.started is None else 0,
        )

    def _asked(self) -> exchanges.RecordedRequest:
        url = self._request.text("url")
        try:
            address = urlsplit(url)
        except ValueError as error:
            raise documents.BundleContentError(
                f"{self._request.where}, field 'url'", repr(url)[:60], "a URL"
            ) from error
        sent_at = _milliseconds(self._timings, "send") if self._own is None else self._own.time("sent_at")
        return exchanges.RecordedRequest(
            self._request.text("method"),
            address.path or "/",
            address.query,
            _headers(self._request),
            self._request_body(),
            sent_at,
        )

    def _request_body(self) -> bytes:
        posted = self._request.optional_object("postData")
        if posted is None:
            return b""
        return _body(posted, posted.optional_text("_encoding"))

    def _head(self) -> exchanges.ResponseHead | None:
        if self._response.raw("status") in (0, None):  # how browsers say that none came
            return None
        at = _milliseconds(self._timings, "send") + _milliseconds(self._timings, "wait")
        # The body is unpacked in a HAR, whatever the header says.
        headers = tuple(pair for pair in _headers(self._response) if pair[0].lower() != "content-encoding")
        return exchanges.ResponseHead(
            at if self._own is None else self._own.time("head_at"),
            self._response.status("status"),
            self._response.optional_text("statusText") or "",
            headers if self._own is None else _headers(self._response),
        )

    def _end(self) -> exchanges.ExchangeEnd:
        error = self._response.optional_text("_error")
        said = exchanges.RecordedError("HARError", error) if error else None
        at = max(0, _milliseconds(self._said, "time") - self._waited)
        if self._response.raw("status") in (0, None):
            return exchanges.ExchangeEnd(at, exchanges.HowEnded.NO_RESPONSE, said)
        return exchanges.ExchangeEnd(at, exchanges.HowEnded.CUT if error else exchanges.HowEnded.WHOLE, said)

    def _chunks(self) -> tuple[exchanges.Chunk, ...]:
        text = self._content.optional_text("text")
        encoding = self._content.optional_text("encoding")
        body = _body(self._content, encoding)
        if self._own is None and not encoding and (sent := _misread(text or "")) is not None:
            body = sent
            self.notes.append("its body was saved in Windows-1252, as browsers read a stream that names no charset")
        if self._own is not None:
            return self._own_chunks(body)
        if isinstance(self._said.raw(EVENTS), list) and (messages := self._said.objects(EVENTS)):
            return self._chunks_of_events(body, messages)
        if text is None and self._type != UNKNOWN_TYPE and self._response.raw("status") not in (0, None):
            self.notes.append("the HAR was saved without the body")
        return (exchanges.Chunk(None, body),) if body else ()

    def _own_chunks(self, body: bytes) -> tuple[exchanges.Chunk, ...]:
        """The reads as we wrote them; one read without a time where another program has changed the body."""
        rows = self._said.raw(READS)
        sizes = [row[1] for row in rows if _is_read(row)] if isinstance(rows, list) else []
        if not isinstance(rows, list) or len(sizes) < len(rows) or sum(sizes) != len(body):
            self.notes.append(f"the field {READS} does not fit the body: its times are left out")
            return (exchanges.Chunk(None, body),) if body else ()
        ends = accumulate(sizes)
        return tuple(exchanges.Chunk(row[0], body[end - row[1] : end]) for row, end in zip(rows, ends, strict=True))

    def _chunks_of_events(self, body: bytes, messages: list[documents.JSONFields]) -> tuple[exchanges.Chunk, ...]:
        """The body as events came, each with its time."""
        times = self._times_of(messages)
        if not body:
            pieces = [
                written_event(
                    one.optional_text("eventName") or "", one.optional_text("eventId") or "", one.text("data")
                )
                for one in messages
            ]
            self.notes.append(f"its bytes are made of {EVENTS}: the HAR was saved without the body")
            return tuple(exchanges.Chunk(at, piece) for at, piece in zip(times, pieces, strict=True))
        blocks = list(event_blocks(body))
        if [block.data for block in blocks] != [one.text("data") for one in messages]:
            self.notes.append(f"{EVENTS} do not fit the body: their times are left out")
            return (exchanges.Chunk(None, body),)
        ends = [block.end for block in blocks]
        pieces = [body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True)]
        last = times[-1]
        return tuple(exchanges.Chunk(at, piece) for at, piece in zip([*times, last], pieces, strict=True) if piece)

    def _times_of(self, messages: list[documents.JSONFields]) -> list[int | None]:
        """When each message came, from the beginning of the request; none if they are unknown."""
        if self.started is not None:
            for unit in (exchanges.SECOND, MILLISECOND):  # Chrome has seconds; others write what Date.now() says
                times = [as_amount(one.raw("time"), _LONGEST * 10) for one in messages]
                since = [None if time is None else int(time * unit) - self.started for time in times]
                known = [time for time in since if time is not None]
                if len(known) == len(messages) and all(-_DAY < time < _DAY for time in known):
                    return [*accumulate((max(0, time) for time in known), max)]
        self.notes.append(f"{EVENTS} have no times that fit the entry")
        return [None] * len(messages)


def _is_read(row: Any) -> bool:
    if not (isinstance(row, list) and len(row) == 2):
        return False
    at, size = row
    is_time = at is None or (type(at) is int and 0 <= at < 1 << 63)
    return is_time and type(size) is int and size > 0


def _headers(message: documents.JSONFields) -> tuple[tuple[str, str], ...]:
    """The header fields, without the name of the host and the fields that HTTP/2 has in place of a first line."""
    rows = () if message.raw("headers") is None else message.objects("headers")
    pairs = ((one.text("name"), one.text("value")) for one in rows)
    return tuple((name, value) for name, value in pairs if name.lower() not in _OF_A_HOST and not name.startswith(":"))


def _milliseconds(said: documents.JSONFields, name: str) -> int:
    """A time of a HAR in nanoseconds; 0 for one that is not known, which is -1 there."""
    value = as_amount(said.raw(name), _LONGEST)
    return 0 if value is None else int(value * MILLISECOND)


def _misread(text: str) -> bytes | None:
    """The bytes of a text that came as UTF-8 and was read as Windows-1252; None for a text that was read right.

    A stream of events is UTF-8, whatever its head says. Chromium trusts the head when it saves a HAR, and takes
    Windows-1252 where that names no charset (tests/bundles/fixtures/chromium.har). A text that was read right is next
    to never UTF-8 once more.
    """
    if text.isascii():
        return None
    try:
        sent = b"".join(_in_windows_1252(sign) for sign in text)
        sent.decode()
    except UnicodeError:
        return None
    return sent


def _in_windows_1252(sign: str) -> bytes:
    try:
        return sign.encode("cp1252")
    except UnicodeEncodeError:  # five bytes have no sign there, and browsers read them as control characters
        return sign.encode("latin-1")


def _body(said: documents.JSONFields, encoding: str | None) -> bytes:
    return said.content("text", is_base64=(encoding or "").lower() == BASE64)


# ---- Writing ----

_NOT_KNOWN: Final = -1
_HTTP: Final = "HTTP/1.1"


def write_har(bundle: exchanges.Bundle) -> bytes:
    """The bytes of a HAR 1.2 with all exchanges of a bundle."""
    own = {
        "source": bundle.source,
        "made_by": bundle.made_by,
        "versions": dict(bundle.versions),
        "redaction": documents.redaction_json(bundle.redaction),
        "notes": list(bundle.notes),
        "answers": [documents.answer_json(answer) for answer in bundle.answers],
    }
    log = {
        "version": "1.2",
        "creator": {"name": "partstream", "version": __version__},
        "pages": [],
        "entries": [_entry(exchange) for exchange in bundle.exchanges],
        "comment": " ".join(LOSSES),
        OWN: own,
    }
    return dumps({"log": log}) + b"\n"


def _entry(exchange: exchanges.RecordedExchange) -> dict[str, Any]:
    sent = (exchange.request.sent_at if exchange.request is not None else None) or 0
    head = (exchange.head.at if exchange.head is not None else None) or sent
    last = max((chunk.at for chunk in exchange.chunks if chunk.at is not None), default=head)
    end = max(last, exchange.end.at or 0)
    send, wait, receive = (max(0, span) / MILLISECOND for span in (sent, head - sent, end - head))
    entry: dict[str, Any] = {
        "startedDateTime": exchanges.wall_time_of(exchanges.nanoseconds_of(exchange.started_at or "") or 0),
        "time": send + wait + receive,
        "request": _request(exchange.request),
        "response": _response(exchange),
        "cache": {},
        "timings": {
            **dict.fromkeys((*_BEFORE_SENDING, "ssl"), _NOT_KNOWN),
            "send": send,
            "wait": wait,
            "receive": receive,
        },
        READS: [[chunk.at, len(chunk.data)] for chunk in exchange.chunks],
        # What HAR has no place for, or only in milliseconds; headers and texts of bodies are not repeated.
        OWN: {
            **documents.exchange_json(exchange, exchange.end),
            "request": exchange.request is not None,
            "sent_at": None if exchange.request is None else exchange.request.sent_at,
            "head_at": None if exchange.head is None else exchange.head.at,
        },
    }
    if bare_media_type(_media_type(exchange)) == EVENT_STREAM:
        entry["_resourceType"] = "eventsource"
        entry[EVENTS] = list(_messages(exchange))
    return entry


def _request(request: exchanges.RecordedRequest | None) -> dict[str, Any]:
    request = request or exchanges.RecordedRequest("GET", "/")
    query = request.query
    said: dict[str, Any] = {
        "method": request.method,
        "url": f"{UNKNOWN_HOST}{request.path}{'?' if query else ''}{query}",
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _header_fields(request.headers),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True, errors="replace")
        ],
        "headersSize": _NOT_KNOWN,
        "bodySize": len(request.body),
    }
    if request.body:
        text, encoding = _text_of(request.body)
        said["postData"] = {"mimeType": _first(request.headers, "content-type"), "text": text}
        if encoding:
            said["postData"]["_encoding"] = encoding
    return said


def _response(exchange: exchanges.RecordedExchange) -> dict[str, Any]:
    head, body = exchange.head or exchanges.ResponseHead(None, 0), exchange.body
    text, encoding = _text_of(body)
    content: dict[str, Any] = {"size": len(body), "mimeType": _media_type(exchange) or UNKNOWN_TYPE, "text": text}
    if encoding:
        content["encoding"] = encoding
    error = exchange.end.error
    said = {
        "status": head.status,
        "statusText": head.reason,
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _header_fields(head.headers),
        "content": content,
        "redirectURL": _first(head.headers, "location"),
        "headersSize": _NOT_KNOWN,
        "bodySize": len(body),
    }
    return said if error is None else {**said, "_error": error.message}


def _messages(exchange: exchanges.RecordedExchange) -> Iterator[dict[str, Any]]:
    """The events as Chrome's table shows them: with the time of the read in which each ended, in seconds since 1970."""
    began = exchanges.nanoseconds_of(exchange.started_at or "") or 0
    reads = iter(exchange.chunks)
    read: exchanges.Chunk | None = None
    come = 0
    for block in event_blocks(exchange.body):
        while come < block.end and (following := next(reads, None)) is not None:
            read = following
            come += len(read.data)
        at = 0 if read is None or read.at is None else read.at
        yield {
            "time": (began + at) / exchanges.SECOND,
            "eventName": block.name,
            "eventId": block.id,
            "data": block.data,
        }


def _media_type(exchange: exchanges.RecordedExchange) -> str:
    return "" if exchange.head is None else _first(exchange.head.headers, "content-type")


def _first(headers: exchanges.Headers, name: str) -> str:
    return next((value for field, value in headers if field.lower() == name), "")


def _header_fields(headers: exchanges.Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _text_of(body: bytes) -> tuple[str, str]:
    """A body as text, and how it is encoded there; empty for a text as it is."""
    try:
        return body.decode(), ""
    except UnicodeDecodeError:
        return b64encode(body).decode(), BASE64
