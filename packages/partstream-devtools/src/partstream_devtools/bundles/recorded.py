"""Reads recorded exchanges as their answers were read when they came: the same outputs, and the same failures.

Without a socket and without a clock: what :mod:`partstream.upstream.transport` decides by a connection is decided by
the end that the recording says.
"""

from __future__ import annotations
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from partstream.errors import (
    LanguageModelError,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import Protocol
from partstream.protocols.reader import StreamReader
from partstream.upstream.http_errors import content_type_error, http_error
from partstream_devtools.bundles.content import Content, ContentForm, content_of, media_type_of
from partstream_devtools.bundles.exchange import HowEnded, RecordedAnswer, RecordedError, RecordedExchange

_SUCCESS: Final = range(200, 300)
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
    elif content.form is ContentForm.DOCUMENT and content.protocol is not None:
        yield exchange.end.at, _document(exchange, content, content.protocol, options)
    elif content.form is ContentForm.REFUSAL:
        yield exchange.end.at, [_failed(refusal_of(exchange, content))]
    else:
        what = "no response came" if exchange.head is None else "it was closed before the first event"
        yield exchange.end.at, [_failed(recorded_failure(exchange) or UpstreamConnectionError(_THE_SERVER, what))]


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
