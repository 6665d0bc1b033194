"""What the body of a recorded exchange holds, and what its request asked for.

The wire follows from the path, the method and the status: a body is an answer of a wire, a document, or neither. This
module loads the wires; the values of :mod:`partstream_devtools.bundles.exchange` do not.
"""

from __future__ import annotations
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import JSONDecodeError, loads, nests_too_deeply
from partstream.codec.text import bare_media_type
from partstream.errors import PartstreamError
from partstream.protocols.protocol import PROTOCOLS, Framing, Protocol
from partstream.protocols.serve import MODEL, WireRequest, fits_path, literal_size
from partstream_devtools.recorded_stream import CaptureError, RecordingError, as_stream, read_recording, wire_of

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest
    from partstream_devtools.bundles.exchange import Bundle, RecordedExchange, RecordedRequest

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
    is_json = media_type_of(exchange) == _JSON
    if is_json and row is not None and row.accept != _JSON and row.read_response().has_documents:
        return Content(ContentForm.DOCUMENT, row, None, body)
    named = f"body.{_ENDINGS.get(media_type_of(exchange), '')}"
    try:
        data, named = as_stream(body, named)
    except CaptureError as error:
        raise RecordingError(path, str(error)) from error
    if name is None or protocol is not None:
        try:
            next(read_recording(data, named, protocol), None)
        except RecordingError as error:  # the new one names what people know, and not what the body is called here
            raise RecordingError(path, error.reason) from error
    row, framing = wire_of(data, named, name, path)
    return Content(ContentForm.STREAM, row, framing, data, data != body)


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
    fitting = [row for row in PROTOCOLS.values() if any(base_path_of(one, path) is not None for one in row.patterns)]
    return fitting[0] if len(fitting) == 1 else None


def base_path_of(pattern: str, path: str) -> str | None:
    """What comes before the part of a path that fits a pattern; None where no part does."""
    if not literal_size(pattern.strip("/")):
        return None
    before = pattern.partition(MODEL)[0]
    place = path.find(before) if MODEL in pattern else len(path) - len(pattern)
    return path[:place] if place >= 0 and fits_path(pattern, path[place:]) else None


def _row(name: str | None, path: str) -> Protocol | None:
    if name is None:
        return None
    if name not in PROTOCOLS:
        raise RecordingError(path, f"unknown protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


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
    for pattern in row.patterns:
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
