"""Sends a request and hands on the outputs of its answer: limits of time, and retries.

Knows HTTP and nothing of a protocol: bytes go into a reader, outputs come out.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing, closing, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

import httpx2

from partstream.errors import (
    TimeoutPhase,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
    with_facts,
)
from partstream.lm.outputs import Finish, Unmapped
from partstream.upstream.context import current_capture, is_one_attempt
from partstream.upstream.http import OutboundHTTPRequest
from partstream.upstream.http_errors import redacted_outputs
from partstream.upstreams.deadlines import Deadlines, LimitedWaits
from partstream.upstreams.documents import AnswerForm, form_of, read_document, refusal
from partstream.upstreams.request_body import body_document
from partstream.upstreams.trace import open_trace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from partstream.lm.outputs import StreamOutput
    from partstream.protocols.errors import Errors
    from partstream.protocols.reader import StreamReader
    from partstream.upstream.configuration import RetryPolicy, Timeouts
    from partstream.upstream.http import HTTPAnswer, UpstreamHTTP
    from partstream.upstreams.exchange import UpstreamRequest
    from partstream.upstreams.trace import AttemptTrace

__all__ = ["Transport"]

_logger = logging.getLogger("partstream.upstreams")

_REST_SECONDS: Final = 0.1
_TURN: Final = 1024 * 1024
"""Bytes after which others have their turn: a few that were packed unpack to millions, and nothing waits in between."""
_RETRIED_STATUSES: Final = frozenset({408, 409, 425, 429})
"""Beside those from 500 on but 501, which says that the server cannot do it at all."""
_NOT_IMPLEMENTED: Final = 501
_FIRST_OF_THE_SERVER: Final = 500


class Transport:
    """Asks one upstream for answers; serves any number of requests at once.

    Args:
        http: The connections to the upstream; whoever made them closes them.
        timeouts: How long to wait.
        retry: When to send again.
    """

    def __init__(self, http: UpstreamHTTP, timeouts: Timeouts, retry: RetryPolicy) -> None:
        self._http = http
        self._timeouts = timeouts
        self._retry = retry
        self._numbers = count(1)

    async def stream(
        self, exchange: UpstreamRequest, on_wait: Callable[[str, float], object] = lambda reason, seconds: None
    ) -> AsyncGenerator[list[StreamOutput]]:
        """Sends a request and yields the outputs of its answer as they arrive, a Finish the last of them.

        The headers of the exchange win over those of the configuration, and those over the headers of the protocol.

        Sends again, with growing pauses, what failed before its first event, and what reports the status of a busy
        server in its first events: OpenRouter answers 200 once a model has begun. Once more and at once, when the key
        was refused and there is another. Closing the iterator, or cancelling the task that waits for it, closes the
        connection at once.

        Args:
            exchange: The request, and how its answer is read.
            on_wait: Called before each pause with what failed, in a sentence, and its seconds.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamError: There is no answer to read: no connection, an HTTP error, a limit of time.
        """
        request = self._request(exchange)
        attempt = 1
        while True:
            trace = open_trace(next(self._numbers))
            reader = exchange.make_reader(trace)
            failure: UpstreamError | None = None
            wait: float | None = None
            has_parts = exchange.paused is not None  # what goes on with an answer cannot begin it again
            try:
                async with aclosing(self._attempt(exchange, request, reader, trace)) as answer:
                    async for outputs in answer:
                        if not has_parts:
                            has_parts = any(not isinstance(one, Finish | Unmapped) for one in outputs)
                            failure = None if has_parts else _reported_status(outputs)
                            wait = self._wait_before_retry(failure, attempt, exchange.errors)
                            if wait is not None:
                                break
                        yield outputs
            except UpstreamError as error:
                # An error of HTTP comes in place of an answer, also as a document under a status of success.
                is_unread = isinstance(error, UpstreamHTTPError) or not reader.started
                is_lost = exchange.paused is not None and reader.finished  # with the answer that it should go on with
                failure = error if is_unread and not is_lost else None
                wait = self._wait_before_retry(failure, attempt, exchange.errors)
                if wait is None:
                    raise
            if failure is None or wait is None:
                return
            said, _, more = with_facts(failure.statement, failure).partition("\n")
            _logger.warning("attempt %d failed, the next in %.1f s: %s", attempt, wait, said)
            if more:
                _logger.debug("attempt %d: %s", attempt, more)
            on_wait(failure.statement, wait)
            await asyncio.sleep(wait)
            attempt += 1

    def _request(self, exchange: UpstreamRequest) -> OutboundHTTPRequest:
        asked = exchange.request
        return OutboundHTTPRequest(
            asked.method,
            self._http.base_path + asked.path,
            asked.query,
            body_document(asked.body),
            {**asked.headers, "accept": exchange.protocol.accept, "content-type": "application/json"},
            exchange.headers,
            exchange.session,
        )

    async def _attempt(
        self, exchange: UpstreamRequest, request: OutboundHTTPRequest, reader: StreamReader, trace: AttemptTrace | None
    ) -> AsyncGenerator[list[StreamOutput]]:
        loop = asyncio.get_running_loop()
        limits = self._timeouts.while_loading if exchange.loads_models else self._timeouts
        deadlines = Deadlines(limits, loop.time())
        async with aclosing(await self._send(request, deadlines, exchange)) as answer:
            if trace is not None:
                trace.redactor = answer.redactor
            form = form_of(answer, exchange)
            if form is AnswerForm.REFUSAL:
                raise await refusal(answer, exchange)
            if form is AnswerForm.DOCUMENT:
                yield redacted_outputs(await read_document(answer, exchange, reader, deadlines), answer)
                return
            with closing(_Pieces(answer, deadlines)) as pieces:
                while not exchange.is_over(reader):
                    failure: UpstreamError | None = None
                    outputs: list[StreamOutput] = []
                    try:
                        piece = await pieces.next()
                    except TimeoutError:
                        failure = deadlines.error()
                        answer.cut(failure)
                    except httpx2.RequestError as error:
                        failure = answer.broke(error, established=reader.started)
                    else:
                        outputs = reader.feed(piece) if piece else _ended(reader, answer.url)
                        deadlines.arrived(loop.time(), events=reader.started, ending=reader.failing or reader.ending)
                    # Here, so that the client's error, which may quote a key, is no context of it.
                    if failure is not None:
                        outputs = _broken(reader, failure)
                    if outputs:
                        yield redacted_outputs(outputs, answer)
                        deadlines.resumed(loop.time())
            await pieces.read_away()
            answer.is_over()

    async def _send(self, request: OutboundHTTPRequest, deadlines: Deadlines, exchange: UpstreamRequest) -> HTTPAnswer:
        def limit() -> asyncio.Timeout:
            deadlines.restart(asyncio.get_running_loop().time())
            return asyncio.timeout_at(deadlines.next)

        capture = current_capture()
        kept = None
        if capture is not None:
            kept = partial(capture.exchange, exchange.protocol.name, shown=exchange.options)
        try:
            return await self._http.send(request, limit, capture=kept)
        except TimeoutError:
            failure = deadlines.error()
        raise failure

    def _wait_before_retry(self, error: UpstreamError | None, attempt: int, errors: Errors) -> float | None:
        """How many seconds to wait before the next attempt, or None for no further one."""
        policy = self._retry
        if error is None or attempt >= policy.attempts or is_one_attempt() or not _can_be_retried(error, errors):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= policy.longest_wait else None
        most = min(policy.longest_wait, policy.first_wait * 2 ** (attempt - 1))
        return random.uniform(most / 2, most)  # noqa: S311 - spreads clients, guards nothing


class _Pieces:
    """The pieces of a body, with a turn for others at times.

    Args:
        answer: Whose body.
        deadlines: How long to wait for a piece.
    """

    __slots__ = ("_next", "_read", "_waits")

    def __init__(self, answer: HTTPAnswer, deadlines: Deadlines) -> None:
        self._next = answer.next_piece()
        self._waits = LimitedWaits(deadlines)
        self._read = 0

    async def next(self) -> bytes | None:
        """The next piece; none, or an empty one, behind the last.

        Raises:
            TimeoutError: It did not come in time.
            httpx2.RequestError: The connection broke.
        """
        if self._read >= _TURN:
            self._read = 0
            await asyncio.sleep(0)
        piece = await self._waits.wait(self._next())
        self._read += len(piece or b"")
        return piece

    async def read_away(self) -> None:
        """Reads what follows the last event, mostly nothing: a connection is used again once it was read to its end."""
        # The answer is whole: whatever this meets changes nothing, and the connection is closed then.
        with suppress(TimeoutError, httpx2.RequestError):
            async with asyncio.timeout(_REST_SECONDS):
                while await self._next():
                    pass

    def close(self) -> None:
        """Ends the limits of time."""
        self._waits.close()


def _can_be_retried(error: UpstreamError, errors: Errors) -> bool:
    if isinstance(error, UpstreamHTTPError | UpstreamFailureError):
        kind = errors.kind_of(error)
        if (kind is not None and kind.outranks_status) or errors.overflow(error) is not None:
            return False  # no credit, and what a filter or the model's window refuses, stays so
        if isinstance(error, UpstreamHTTPError) and error.should_retry is not None:
            return error.should_retry
        status = error.http_status or 0
        return status in _RETRIED_STATUSES or (status >= _FIRST_OF_THE_SERVER and status != _NOT_IMPLEMENTED)
    if isinstance(error, UpstreamTimeoutError):
        return error.phase is TimeoutPhase.CONNECT  # a slow model would only be asked twice
    return isinstance(error, UpstreamConnectionError) and not error.lasts


def _reported_status(outputs: list[StreamOutput]) -> UpstreamError | None:
    """The failure that ends an answer and names an HTTP status, or None."""
    last = outputs[-1] if outputs else None
    error = last.error if isinstance(last, Finish) else None
    return error if isinstance(error, UpstreamFailureError) and error.http_status is not None else None


def _broken(reader: StreamReader, error: UpstreamError) -> list[StreamOutput]:
    """Ends an answer that broke in the middle; what broke before its first event is raised, to be sent again."""
    if not reader.started:
        raise error
    return reader.end() if reader.failing or reader.ending else reader.fail(error)


def _ended(reader: StreamReader, url: str) -> list[StreamOutput]:
    """Ends an answer whose bytes have ended."""
    outputs = reader.end()
    if not reader.started:
        raise UpstreamConnectionError(url, "it was closed before the first event")
    return outputs
