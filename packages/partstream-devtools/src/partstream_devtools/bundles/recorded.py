"""Reads recorded exchanges as their answers were read when they came: the same outputs, and the same failures.

What the body of an exchange holds follows from the path, the method and the status: an answer of a wire, a document, or
neither. There is no socket and no clock: what :mod:`partstream.upstream.transport` decides by a connection is decided
by the end that the recording says.
"""

from __future__ import annotations
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import JSONDecodeError, loads, nests_too_deeply
from partstream.codec.text import bare_media_type
from partstream.errors import (
    LanguageModelError,
    PartstreamError,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import PROTOCOLS, Framing, Protocol
from partstream.protocols.reader import StreamReader
from partstream.protocols.serve import MODEL, WireRequest, fits_path, literal_size
from partstream.upstream.http_errors import content_type_error, http_error
from partstream_devtools.bundles.exchange import HowEnded, RecordedAnswer, RecordedError, RecordedExchange
from partstream_devtools.recorded_stream import RecordingError, as_stream, named_protocol, read_recording, wire_of

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest
    from partstream_devtools.bundles.exchange import Bundle, RecordedRequest

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
    row = named_protocol(name, path) or protocol_asked(exchange)
    body, head = exchange.body, exchange.head
    if head is not None and (head.status not in _SUCCESS or media_type_of(exchange) == _PAGE):
        return Content(ContentForm.REFUSAL, row, None, body)
    if not body.strip():
        return Content(ContentForm.NOTHING, row, None, body)
    is_json = media_type_of(exchange) == _JSON
    if is_json and row is not None and row.accept != _JSON and row.read_response().has_documents:
        return Content(ContentForm.DOCUMENT, row, None, body)
    named = f"body.{_ENDINGS.get(media_type_of(exchange), '')}"
    data, named = as_stream(body, named, path)
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


# ---- Outputs ----

_THE_SERVER: Final = "the server"
"""What replaces an address, which a recording does not hold."""


def recorded_outputs(
    exchange: RecordedExchange,
    path: str,
    protocol: str | None = None,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
    chunk_size: int | None = None,
) -> Iterator[StreamOutput]:
    """The outputs of an exchange, a Finish the last of them; takes the arguments of :func:`timed_outputs`."""
    for _, outputs in timed_outputs(exchange, path, protocol, options, chunk_size):
        yield from outputs


def timed_outputs(
    exchange: RecordedExchange,
    path: str,
    protocol: str | None = None,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
    chunk_size: int | None = None,
) -> Iterator[tuple[int | None, list[StreamOutput]]]:
    """The outputs of an exchange, read by read, each with its time or that of the end, in nanoseconds or None.

    A protocol that a person names counts before the one that the recording shows; `path` is where the recording came
    from, for an error; `chunk_size` is how many bytes to feed at a time, None for the reads as they came.

    Raises:
        RecordingError: Nothing in it can be read as an event of the protocol, or the protocol is unknown.
    """
    content = content_of(exchange, path, protocol)
    if content.form is ContentForm.STREAM and content.protocol is not None:
        yield from _stream(exchange, content, content.protocol, options, chunk_size)
    else:
        yield exchange.end.at, whole_outputs(exchange, content, options)


def whole_outputs(exchange: RecordedExchange, content: Content, options: StreamOptions) -> list[StreamOutput]:
    """The outputs of a body that is no stream: a document, a refusal, or nothing."""
    if content.form is ContentForm.DOCUMENT and content.protocol is not None:
        return _document(exchange, content, content.protocol, options)
    if content.form is ContentForm.REFUSAL:
        return [_failed(refusal_of(exchange, content))]
    what = "no response came" if exchange.head is None else "it was closed before the first event"
    return [_failed(recorded_failure(exchange) or UpstreamConnectionError(_THE_SERVER, what))]


def reported_outputs(answer: RecordedAnswer) -> Iterator[tuple[int | None, list[StreamOutput]]]:
    """The parts that a host got of an answer, each with its time, and a Finish that says how it ended.

    For answers of which no bytes are known. One that was cancelled, or whose end is not known, has no end.
    """
    for reported in answer.reported:
        yield reported.at, [reported.part]
    at = answer.reported[-1].at if answer.reported else None
    outcomes = {outcome.value: outcome for outcome in Outcome}
    outcome = outcomes.get(answer.outcome or "", Outcome.TRUNCATED)
    error: LanguageModelError | None = None if answer.error is None else recorded_error(answer.error)
    if error is None and outcome is Outcome.TRUNCATED:
        error = TruncatedStreamError(answer.outcome or "UNKNOWN")
    elif error is None and outcome is Outcome.FAILED:
        error = UpstreamError("the answer failed, and the recording does not say why")
    yield at, [Finish(outcome, error=error)]


def recorded_failure(exchange: RecordedExchange) -> UpstreamError | None:
    """The error below the protocol that ended an exchange; None where none is recorded."""
    return None if exchange.end.error is None else recorded_error(exchange.end.error)


def recorded_error(error: RecordedError) -> UpstreamError:
    """A recorded error as one of the same kind with the same sentence, as far as its kind is known."""
    fields = dict(error.fields)
    made = _ERRORS[error.type](fields, error.message) if error.type in _ERRORS else UpstreamError(error.message)
    made.args, made.message, made.statement = (error.message,), error.message, error.message
    return made


def _stream(
    exchange: RecordedExchange, content: Content, row: Protocol, options: StreamOptions, chunk_size: int | None
) -> Iterator[tuple[int | None, list[StreamOutput]]]:
    reader = StreamReader(row, options, framing=content.framing)
    for at, data in _reads(exchange, content, chunk_size):
        outputs = reader.feed(data)
        if outputs:
            yield at, outputs
    yield exchange.end.at, end_of(exchange, reader)


def _reads(exchange: RecordedExchange, content: Content, chunk_size: int | None) -> Iterator[tuple[int | None, bytes]]:
    if chunk_size is None and not content.is_packed:
        yield from ((chunk.at, chunk.data) for chunk in exchange.chunks)
        return
    size = chunk_size or len(content.data)
    for start in range(0, len(content.data), size):
        yield None, content.data[start : start + size]


def end_of(exchange: RecordedExchange, reader: StreamReader) -> list[StreamOutput]:
    """What the end of the bytes made of an answer whose bytes a reader has read."""
    failure = recorded_failure(exchange) if exchange.end.how is HowEnded.CUT else None
    if failure is None or reader.finished:
        return reader.end()
    if not reader.started:
        return [_failed(failure)]
    return reader.end() if reader.failing or reader.ending else reader.fail(failure)


def _document(
    exchange: RecordedExchange, content: Content, row: Protocol, options: StreamOptions
) -> list[StreamOutput]:
    reader = StreamReader(row, options)
    outputs = reader.feed_document(content.data)
    outputs += reader.end()
    finish = outputs[-1]
    holds_nothing = all(isinstance(one, Finish | Unmapped) for one in outputs)
    if isinstance(finish, Finish) and finish.error is not None and holds_nothing and finish.response_id is None:
        error = _http_error(exchange, content)
        return [_failed(error)] if error.provider_message is not None else outputs
    return outputs


def refusal_of(exchange: RecordedExchange, content: Content) -> UpstreamError:
    """The error of HTTP that came in place of an answer, with the content of its body."""
    error = _http_error(exchange, content)
    if error.provider_message is not None or exchange.head is None or exchange.head.status not in _SUCCESS:
        return error
    accept = media_type_of(exchange) if content.protocol is None else content.protocol.accept
    return content_type_error(_headers(exchange), content.data, wanted="answer of a model", expected=accept)


def _http_error(exchange: RecordedExchange, content: Content) -> UpstreamHTTPError:
    status = 200 if exchange.head is None else exchange.head.status
    row = content.protocol
    errors = COMMON_ERRORS if row is None or row.write_request is None else row.write_request().errors
    return http_error(status, _headers(exchange), content.data, _began(exchange), errors)


def _headers(exchange: RecordedExchange) -> Mapping[str, str]:
    return {} if exchange.head is None else {name.lower(): value for name, value in exchange.head.headers}


def _began(exchange: RecordedExchange) -> datetime:
    """When the exchange began, for a moment in the headers; without a clock, long ago."""
    try:
        return datetime.fromisoformat(exchange.started_at or "").astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime(1970, 1, 1, tzinfo=UTC)


def _failed(error: UpstreamError) -> StreamOutput:
    return Finish(Outcome.FAILED, error=error)


def _timeout(fields: Mapping[str, str], _message: str) -> UpstreamError:
    phases = {phase.value: phase for phase in TimeoutPhase}
    try:
        seconds = float(fields.get("seconds", ""))
    except ValueError:
        seconds = None
    return UpstreamTimeoutError(phases.get(fields.get("phase", ""), TimeoutPhase.IDLE), seconds)


_ERRORS: Final[dict[str, Callable[[Mapping[str, str], str], UpstreamError]]] = {
    "UpstreamTimeoutError": _timeout,
    "UpstreamConnectionError": lambda _, message: UpstreamConnectionError(_THE_SERVER, message, established=True),
}
"""The errors that end an exchange below its protocol, by the name of the class."""
