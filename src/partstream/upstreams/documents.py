"""Reads answers that are no stream: documents and errors."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

import httpx2

from partstream.codec.sse import DEFAULT_MAX_EVENT_SIZE
from partstream.codec.text import bare_media_type
from partstream.errors import EventTooLargeError
from partstream.lm.outputs import Finish, Unmapped
from partstream.upstream.http_errors import content_type_error, http_error, redacted_error

if TYPE_CHECKING:
    from partstream.codec.redaction import Redactor
    from partstream.errors import UpstreamError
    from partstream.lm.outputs import StreamOutput
    from partstream.protocols.reader import StreamReader
    from partstream.upstream.http import HTTPAnswer
    from partstream.upstreams.deadlines import Deadlines
    from partstream.upstreams.exchange import UpstreamRequest

__all__ = ["AnswerForm", "form_of", "read_document", "refusal"]

_logger = logging.getLogger("partstream.upstreams")

_MAX_ERROR_BODY: Final = 64 * 1024
_ERROR_BODY_SECONDS: Final = 2.0
_JSON: Final = "application/json"


class AnswerForm(Enum):
    """The kinds of an answer's body."""

    STREAM = auto()
    DOCUMENT = auto()
    """One JSON document in place of a stream: a whole answer, or an error."""
    REFUSAL = auto()
    """An error, whatever its status is."""


def form_of(answer: HTTPAnswer, exchange: UpstreamRequest) -> AnswerForm:
    """The kind of an answer's body, according to its head."""
    if not answer.response.is_success:
        return AnswerForm.REFUSAL
    content_type = _content_type(answer)
    if content_type == _JSON != exchange.protocol.accept:
        return AnswerForm.DOCUMENT if exchange.takes_documents else AnswerForm.REFUSAL
    # Some servers stream under other names; what is surely no stream is the page of a proxy.
    return AnswerForm.REFUSAL if content_type == "text/html" else AnswerForm.STREAM


async def refusal(answer: HTTPAnswer, exchange: UpstreamRequest) -> UpstreamError:
    """The error for an answer that is neither a stream nor a document; reads the start of its body."""
    redactor = answer.redactor
    return _error_in(answer, exchange, redactor, redactor.redact_bytes(await _start_of_body(answer)))


async def read_document(
    answer: HTTPAnswer, exchange: UpstreamRequest, reader: StreamReader, deadlines: Deadlines
) -> list[StreamOutput]:
    """Reads an answer in one document; the last output is a Finish.

    Raises:
        UpstreamError: The document is an error and nothing else, or no document of the protocol; or it did not come
            whole, was too large, or took too long.
    """
    outputs, failure = await _read_document(answer, exchange, reader, deadlines)
    if failure is not None:  # raised where a traceback that shows variables shows nothing that the upstream sent
        raise failure
    return outputs


async def _read_document(
    answer: HTTPAnswer, exchange: UpstreamRequest, reader: StreamReader, deadlines: Deadlines
) -> tuple[list[StreamOutput], UpstreamError | None]:
    """The outputs of a document; an error in their place if the document is only an error."""
    body = await _whole_body(answer, deadlines)
    outputs = reader.feed_document(body)
    if reader.paused is not None and exchange.is_over(reader):
        return outputs, None
    outputs += reader.end()
    finish = outputs[-1]
    if isinstance(finish, Finish) and finish.error is not None and _holds_nothing(finish, outputs):
        redactor = answer.redactor
        return [], _error_in(answer, exchange, redactor, redactor.redact_bytes(body[:_MAX_ERROR_BODY]))
    return outputs, None


def _holds_nothing(finish: Finish, outputs: list[StreamOutput]) -> bool:
    """Tells whether nothing stands beside the error: no part, no tokens, no response id."""
    return (
        finish.response_id is None
        and finish.usage is None
        and all(isinstance(output, Finish | Unmapped) for output in outputs)
    )


def _error_in(answer: HTTPAnswer, exchange: UpstreamRequest, redactor: Redactor, body: bytes) -> UpstreamError:
    """The error in a redacted body; redacted again, because its fields are decoded now."""
    return redacted_error(_error_of(answer, exchange, body), redactor)


def _error_of(answer: HTTPAnswer, exchange: UpstreamRequest, body: bytes) -> UpstreamError:
    response = answer.response
    error = http_error(response.status_code, answer.headers, body, datetime.now(UTC), exchange.errors)
    if not response.is_success or error.provider_message is not None:
        return error
    return content_type_error(answer.headers, body, wanted="answer of a model", expected=exchange.protocol.accept)


def _content_type(answer: HTTPAnswer) -> str:
    return bare_media_type(str(answer.response.headers.get("content-type", "")))


async def _start_of_body(answer: HTTPAnswer) -> bytes:
    """The start of a body, or what arrived of it before it broke off or reached the limit."""
    body = bytearray()
    next_piece = answer.next_piece()
    try:
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            while len(body) < _MAX_ERROR_BODY and (chunk := await next_piece()):
                body += chunk[: _MAX_ERROR_BODY - len(body)]
    except (TimeoutError, httpx2.RequestError) as error:
        answer.cut(error)
        status = answer.response.status_code
        _logger.info("the body of HTTP %d did not come whole: %s", status, type(error).__name__)
    return bytes(body)


async def _whole_body(answer: HTTPAnswer, deadlines: Deadlines) -> bytes:
    loop = asyncio.get_running_loop()
    body = bytearray()  # not a list of chunks: a server may send them byte by byte
    next_piece = answer.next_piece()
    try:
        while True:
            # Its head has come, so that the answer has begun: from here on it may not fall silent.
            deadlines.arrived(loop.time(), events=True, ending=False)
            async with asyncio.timeout_at(deadlines.next):
                chunk = await next_piece()
            if not chunk:
                return bytes(body)
            body += chunk
            if len(body) > DEFAULT_MAX_EVENT_SIZE:
                raise EventTooLargeError(len(body), DEFAULT_MAX_EVENT_SIZE)
    except TimeoutError:
        late = deadlines.error()
        answer.cut(late)
        raise late from None
    except httpx2.RequestError as error:
        failure = answer.broke(error, established=True)
    raise failure
