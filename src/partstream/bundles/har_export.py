"""Writes an HTTP Archive that Chrome and other programs take; :data:`LOSSES` says what it does not hold."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from partstream._version import __version__
from partstream.bundles.event_blocks import event_blocks
from partstream.bundles.har_form import (
    BASE64,
    EVENT_STREAM,
    EVENTS,
    LOSSES,
    MILLISECOND,
    OWN,
    READS,
    SECOND,
    UNKNOWN_HOST,
    UNKNOWN_TYPE,
)
from partstream.codec.json_codec import dumps
from partstream.codec.text import bare_media_type
from partstream.devtools.bundles.documents import answer_json, exchange_json, redaction_json
from partstream.devtools.bundles.exchange import nanoseconds_of, wall_time_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.devtools.bundles.exchange import Bundle, Chunk, Headers, RecordedExchange, RecordedRequest

__all__ = ["write_har"]

_NOT_KNOWN: Final = -1
_HTTP: Final = "HTTP/1.1"


def write_har(bundle: Bundle) -> bytes:
    """The bytes of a HAR 1.2 with all exchanges of a bundle."""
    own = {
        "source": bundle.source,
        "made_by": bundle.made_by,
        "versions": dict(bundle.versions),
        "redaction": redaction_json(bundle.redaction),
        "notes": list(bundle.notes),
        "answers": [answer_json(answer) for answer in bundle.answers],
    }
    log = {
        "version": "1.2",
        "creator": {"name": "partstream", "version": __version__},
        "pages": [],
        "entries": [_entry(exchange) for exchange in bundle.exchanges],
        "comment": " ".join(sentence for _, sentence in LOSSES),
        OWN: own,
    }
    return dumps({"log": log}) + b"\n"


def _entry(exchange: RecordedExchange) -> dict[str, Any]:
    send, wait, receive = _timings(exchange)
    entry: dict[str, Any] = {
        "startedDateTime": wall_time_of(nanoseconds_of(exchange.started_at or "") or 0),
        "time": send + wait + receive,
        "request": _request(exchange.request),
        "response": _response(exchange),
        "cache": {},
        "timings": {
            "blocked": _NOT_KNOWN,
            "dns": _NOT_KNOWN,
            "connect": _NOT_KNOWN,
            "ssl": _NOT_KNOWN,
            "send": send,
            "wait": wait,
            "receive": receive,
        },
        READS: [[chunk.at, len(chunk.data)] for chunk in exchange.chunks],
        OWN: _own(exchange),
    }
    if bare_media_type(_media_type(exchange)) == EVENT_STREAM:
        entry["_resourceType"] = "eventsource"
        entry[EVENTS] = list(_messages(exchange))
    return entry


def _own(exchange: RecordedExchange) -> dict[str, Any]:
    """What HAR has no place for, or only in milliseconds. No header and no text of a body: it stands once in a file."""
    return {
        **exchange_json(exchange, exchange.end),
        "request": exchange.request is not None,
        "sent_at": None if exchange.request is None else exchange.request.sent_at,
        "head_at": None if exchange.head is None else exchange.head.at,
    }


def _timings(exchange: RecordedExchange) -> tuple[float, float, float]:
    """Milliseconds of sending, waiting and receiving."""
    sent = (exchange.request.sent_at if exchange.request is not None else None) or 0
    head = (exchange.head.at if exchange.head is not None else None) or sent
    last = max((chunk.at for chunk in exchange.chunks if chunk.at is not None), default=head)
    end = max(last, exchange.end.at or 0)
    return tuple(max(0, span) / MILLISECOND for span in (sent, head - sent, end - head))  # type: ignore[return-value]


def _request(request: RecordedRequest | None) -> dict[str, Any]:
    path = "/" if request is None else request.path
    query = "" if request is None else request.query
    said: dict[str, Any] = {
        "method": "GET" if request is None else request.method,
        "url": f"{UNKNOWN_HOST}{path}{'?' if query else ''}{query}",
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _headers(() if request is None else request.headers),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True, errors="replace")
        ],
        "headersSize": _NOT_KNOWN,
        "bodySize": 0 if request is None else len(request.body),
    }
    if request is not None and request.body:
        text, encoding = _text_of(request.body)
        said["postData"] = {"mimeType": _first(request.headers, "content-type"), "text": text}
        if encoding:
            said["postData"]["_encoding"] = encoding
    return said


def _response(exchange: RecordedExchange) -> dict[str, Any]:
    head, body = exchange.head, exchange.body
    text, encoding = _text_of(body)
    content: dict[str, Any] = {"size": len(body), "mimeType": _media_type(exchange) or UNKNOWN_TYPE, "text": text}
    if encoding:
        content["encoding"] = encoding
    error = exchange.end.error
    said = {
        "status": 0 if head is None else head.status,
        "statusText": "" if head is None else head.reason,
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _headers(() if head is None else head.headers),
        "content": content,
        "redirectURL": "" if head is None else _first(head.headers, "location"),
        "headersSize": _NOT_KNOWN,
        "bodySize": len(body),
    }
    return said if error is None else {**said, "_error": error.message}


def _messages(exchange: RecordedExchange) -> Iterator[dict[str, Any]]:
    """The events as Chrome's table shows them: with the time of the read in which each ended, in seconds since 1970."""
    began = nanoseconds_of(exchange.started_at or "") or 0
    reads = iter(exchange.chunks)
    read: Chunk | None = None
    come = 0
    for block in event_blocks(exchange.body):
        while come < block.end and (following := next(reads, None)) is not None:
            read = following
            come += len(read.data)
        at = 0 if read is None or read.at is None else read.at
        yield {"time": (began + at) / SECOND, "eventName": block.name, "eventId": block.id, "data": block.data}


def _media_type(exchange: RecordedExchange) -> str:
    return "" if exchange.head is None else _first(exchange.head.headers, "content-type")


def _first(headers: Headers, name: str) -> str:
    return next((value for field, value in headers if field.lower() == name), "")


def _headers(headers: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _text_of(body: bytes) -> tuple[str, str]:
    """A body as text, and how it is encoded there; empty for a text as it is."""
    try:
        return body.decode(), ""
    except UnicodeDecodeError:
        return b64encode(body).decode(), BASE64
