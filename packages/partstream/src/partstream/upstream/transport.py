"""Sends one request and passes on the outputs of its answer, within limits of time; fetches files that it names.

Bytes go into a reader, outputs come out; this module knows HTTP and nothing of a protocol. `Transport.ask` sends one
request and reads one answer. What follows a failure or a pause is decided in :mod:`partstream.upstream.attempts`; for
that, `Transport.ask` notes whether anything of the answer was read. A failure after the first event ends the answer
with an error.

The head of the response decides how the body is read: as a stream, as one document in its place, or as an
error, whatever its status. An error is raised outside the `except` clause of the client's error, which may quote a key
and must not be its context. A trace writes nothing that a person or a model wrote.
"""

from __future__ import annotations
import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import urljoin, urlsplit

from partstream import errors
from partstream._version import __version__
from partstream.codec.checks import dataclass, field, replace
from partstream.codec.json_codec import dumps, find_non_json
from partstream.codec.limits import (
    LARGE_BYTES,
    MOST_ANSWER_BYTES,
    MOST_ANSWER_TEXT,
    PIECE,
    TURN_SECONDS,
    dumps_in_pieces,
)
from partstream.codec.redaction import Redactor
from partstream.codec.sse import DEFAULT_MAX_EVENT_SIZE
from partstream.codec.text import bare_media_type
from partstream.conversation.citations import linked_file
from partstream.conversation.media import sniff
from partstream.lm.outputs import (
    FileMode,
    Finish,
    Outcome,
    PausingStream,
    StreamOptions,
    StreamOutput,
    ThinkTags,
    Unmapped,
)
from partstream.lm.parts import DataPart, ResponsePart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.reader import ReadStep, StreamReader, Tap
from partstream.upstream import http_errors
from partstream.upstream.configuration import GatewayConfiguration, Timeouts
from partstream.upstream.context import RECEIVED, TRACE, current_capture, is_traced
from partstream.upstream.endpoint import without_query
from partstream.upstream.forwarding import EventBorders, KeptReply, LookingReader, RawRefusal, returned_headers
from partstream.upstream.http import (
    JSON,
    Connections,
    HTTPAnswer,
    OutboundHead,
    OutboundHTTPRequest,
    UpstreamHTTP,
    place_of,
)
from partstream.upstream.http_connection import PORTS, client_errors, httpx2, looked_up

if TYPE_CHECKING:
    from partstream.protocols.errors import Errors
    from partstream.protocols.protocol import Protocol
    from partstream.protocols.read_response import Glance
    from partstream.protocols.serve import WireRequest
    from partstream.upstream.attempts import Attempts
    from partstream.upstream.endpoint import Secret
    from partstream.upstream.forwarding import Passage

AnswerReader: TypeAlias = StreamReader | LookingReader
Take: TypeAlias = Callable[[list[StreamOutput]], Awaitable[object] | None]
"""Takes the outputs of one read; gives what has to be awaited before the next read, or None."""

_logger = logging.getLogger("partstream.upstreams")
_REST_SECONDS: Final = 0.1
_SLICE: Final = 8 * 1024
"""The most bytes that are read in one turn: a thousand events that say nothing take ten milliseconds."""
_METERED_SLICE: Final = 2 * 1024
"""Likewise where a host meters the answer: it ends an answer that its budget does not cover between two of them."""

_MANY_OUTPUTS: Final = 64
"""More outputs of one read are given on in several turns."""


class Transport:
    """Asks one upstream for answers; serves any number of requests at once.

    The code that made the connections closes them.
    """

    def __init__(self, http: UpstreamHTTP, timeouts: Timeouts) -> None:
        self._http = http
        self._timeouts = timeouts
        self._numbers = count(1)

    async def ask(self, exchange: UpstreamRequest, attempts: Attempts, take: Take) -> PausingStream | None:
        """Sends a request once and passes on the outputs of its answer as they arrive, a Finish the last of them.

        The headers of the exchange win over those of the configuration, and those over the headers of the protocol.
        `attempts` knows afterwards whether anything of the response was read. Cancelling the task closes the
        connection.

        Returns:
            The answer, if the server has paused it and it is to be gone on with.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamError: There is no answer to read: no connection, an HTTP error, a limit of time.
        """
        trace = AttemptTrace(next(self._numbers)) if is_traced(_trace_logger) else None
        reader = exchange.make_reader(trace)
        if exchange.passage is not None:
            exchange.passage.begin()
        attempts.is_unread = False
        asked, content = exchange.request, exchange.content
        try:
            if content is None:
                large = asyncio.to_thread(body_document, asked.body, dumps_in_pieces) if exchange.is_large else None
                content = body_document(asked.body) if large is None else await large
            headers = {**asked.headers, "accept": exchange.accept, "content-type": JSON}
            path, own = self._http.base_path + asked.path, exchange.headers
            request = OutboundHTTPRequest(asked.method, path, asked.query, content, headers, own, exchange.session)
            key = attempts.key = attempts.renewed or await self._http.credentials.get()
            attempts.renewed = None
            # From here on: no limit holds while a key is fetched.
            # The head of a document comes only once the model has ended.
            is_slow = exchange.loads_models or not exchange.is_stream
            timeouts = self._timeouts.while_loading if is_slow else self._timeouts
            deadlines = Deadlines(timeouts, asyncio.get_running_loop().time())
            with LimitedWaits(deadlines) as waits:
                answer = await self._send(request, key, waits, exchange)
                try:
                    if trace is not None:
                        trace.redactor = answer.redactor
                    is_document = self._is_document(answer, exchange, reader)
                    if is_document is None:
                        raise await _refusal(answer, exchange)
                    if is_document:
                        await _take_document(answer, exchange, reader, waits, take)
                    else:
                        await self._read(answer, exchange, reader, waits, take)
                finally:
                    await answer.aclose()
        except errors.UpstreamError as error:
            # An error of HTTP comes in place of an answer, also as a document under a status of success.
            is_unread = isinstance(error, errors.UpstreamHTTPError) or not reader.started
            # With the answer that it should go on with, or in the middle of its bytes.
            has_passed = exchange.passage is not None and exchange.passage.has_begun
            is_lost = (exchange.paused is not None and reader.finished) or has_passed
            attempts.is_unread = is_unread and not is_lost
            raise
        return reader.paused if exchange.goes_on and not reader.finished else None

    @asynccontextmanager
    async def kept(self, request: OutboundHTTPRequest) -> AsyncGenerator[KeptReply]:
        """The upstream's account of an answer that it keeps.

        Raises:
            CredentialError: The key cannot be had.
            UpstreamError: It says nothing, or breaks off.
        """
        key, now = await self._http.credentials.get(), asyncio.get_running_loop().time
        deadlines = Deadlines(self._timeouts, now())
        with LimitedWaits(deadlines) as waits:
            async with aclosing(await self._send(request, key, waits)) as answer:
                redactor = answer.head.redactor_of_lists if answer.is_success else answer.redactor
                borders = EventBorders((b"\n\n", b"\r\n\r\n"))  # whole events, because a cut may hide a secret

                async def pieces() -> AsyncGenerator[bytes]:
                    next_piece = answer.next_piece()
                    while piece := await _waited_for(next_piece, answer, waits):
                        yield redactor.redact_bytes(borders.feed(piece))
                        deadlines.arrived(now(), events=True, ending=False)
                    yield redactor.redact_bytes(borders.rest())

                headers = returned_headers(answer.fields, answer.redactor)
                async with aclosing(pieces()) as passing:
                    yield KeptReply(answer.status if answer.status <= _LAST_STATUS else 502, headers, passing)

    async def _read(  # noqa: C901, PLR0912, PLR0915 - in order
        self, answer: HTTPAnswer, exchange: UpstreamRequest, reader: AnswerReader, waits: LimitedWaits, take: Take
    ) -> None:
        """Reads a stream to its end, or to a pause."""
        now, next_piece, deadlines = waits.now, answer.next_piece(), waits.deadlines
        take, tells_all = _telling(reader, take), exchange.passage is not None or RECEIVED.get() is not None
        outputs: list[StreamOutput] = []
        come, busy, rest, most = _Come(), 0.0, b"", _SLICE if RECEIVED.get() is None else _METERED_SLICE
        while not exchange.is_over(reader):
            failure: errors.UpstreamError | None = None
            try:
                piece: bytes | None = rest or await waits.wait(next_piece())
            except TimeoutError:
                failure = deadlines.error()
                answer.late(failure, is_whole=reader.ending)
            except client_errors() as error:
                failure = answer.broke(error, established=reader.started)
            # Here, so that the client's error, which may quote a key, is no context of it.
            begun, is_large = now(), False
            if failure is None and piece:
                # However little its events say, each takes its time.
                piece, rest = piece[:most], piece[most:]
                come.received += len(piece)
                if come.received > MOST_ANSWER_BYTES:
                    failure = errors.AnswerTooLargeError("bytes of one answer", MOST_ANSWER_BYTES)
            if failure is not None:
                outputs = _broken(reader, failure)
            elif piece:
                is_large = come.unread > LARGE_BYTES and (b"\n" in piece or b"\r" in piece)
                if is_large and now() > deadlines.next:  # what follows is here already, so that no wait ends
                    failure = deadlines.error()
                    answer.late(failure, is_whole=reader.ending)
                    outputs = _broken(reader, failure)
                elif is_large:
                    outputs = await _read_apart(reader, answer, reader.feed, piece)
                    begun = now()
                else:
                    outputs = reader.feed(piece)
                if failure is None and (failure := come.read(len(piece), outputs, reader.held)) is not None:
                    outputs = _stopped(reader, outputs, failure)
                busy += (arrived := now()) - begun
                deadlines.arrived(arrived, events=reader.started, ending=reader.failing or reader.ending)
                if busy > TURN_SECONDS:
                    busy = 0.0
                    await asyncio.sleep(0)
            elif is_large := come.unread > LARGE_BYTES:
                outputs = await _read_apart(reader, answer, _ended, reader, answer.url)
            else:
                outputs = _ended(reader, answer.url)
            if is_large or len(outputs) > _MANY_OUTPUTS:
                await _take_all(take, outputs if is_large else _redacted(outputs, answer))
                deadlines.resumed(now())
            elif (outputs or tells_all) and (waiting := take(_redacted(outputs, answer))) is not None:
                await waiting
                deadlines.resumed(now())
        last = outputs[-1] if outputs else None
        if isinstance(last, Finish) and last.error is not None:
            return  # no caller wants the rest of an answer that failed
        # What follows the last event is mostly nothing: a connection is used again once it was read to its end. The
        # answer is whole, so that a failure changes nothing, and closes the connection.
        if not answer.has_come:
            try:
                async with asyncio.timeout(_REST_SECONDS):
                    while await next_piece():
                        pass
            except client_errors(TimeoutError):
                pass
        answer.is_over()

    @staticmethod
    def _is_document(answer: HTTPAnswer, exchange: UpstreamRequest, reader: AnswerReader) -> bool | None:
        """Whether an answer is one JSON document in place of a stream, by its head; None for an error, whatever its
        status is."""
        content_type, is_document = answer.fields.get("content-type", ""), False
        is_refusal = not answer.is_success
        if content_type != exchange.accept or not exchange.is_stream:  # nearly never
            content_type = bare_media_type(content_type)
            is_document = content_type == JSON and (exchange.accept != JSON or not exchange.is_stream)
            takes_documents = exchange.protocol.read_response().has_documents
            # Some servers stream under other names; the page of a proxy is certainly no stream.
            is_refusal |= content_type == "text/html" or (is_document and not takes_documents)
        if is_refusal:
            return None
        if isinstance(reader, LookingReader):
            fits = is_document is not exchange.is_stream
            reader.responded(answer.status, answer.fields, answer.redactor, fits=fits)
        return is_document

    async def _send(
        self,
        request: OutboundHTTPRequest,
        key: Secret | None,
        waits: LimitedWaits,
        exchange: UpstreamRequest | None = None,
    ) -> HTTPAnswer:
        capture, kept = current_capture(), None
        if capture is not None and exchange is not None:
            kept = partial(capture.exchange, exchange.protocol.name, shown=exchange.options)
        try:
            return await waits.wait(self._http.send(request, key, capture=kept))
        except TimeoutError:
            failure = waits.deadlines.error()
        raise failure


def _telling(reader: AnswerReader, take: Take) -> Take:
    """The same, and a host that meters the answer hears before of what came with the outputs and is no part yet."""
    if (take_held := RECEIVED.get()) is None:
        return take
    held = 0

    def tell(outputs: list[StreamOutput]) -> Awaitable[object] | None:
        nonlocal held
        more, held = reader.held - held, reader.held
        if more:
            take_held(more)
        return take(outputs)

    return tell


class _Come:
    """What has come of an answer: the bytes `received`, of which those of an event that has not ended are `unread`:
    what a large one says is read in a thread."""

    def __init__(self) -> None:
        self.received = self.unread = self._held = self._said = 0

    def read(self, size: int, outputs: list[StreamOutput], held: int) -> errors.AnswerTooLargeError | None:
        """Notes so many bytes that were read, their outputs, and what gave no part so far; an error for an answer that
        is too long."""
        if outputs or held != self._held:
            self.unread, self._held = 0, held
        else:
            self.unread += size
        if self.received <= LARGE_BYTES:  # nearly always
            return None
        self._said += _said(outputs)
        return _too_long(self._said)


def _too_long(said: int) -> errors.AnswerTooLargeError | None:
    return errors.AnswerTooLargeError("characters of one answer", MOST_ANSWER_TEXT) if said > MOST_ANSWER_TEXT else None


def _said(outputs: list[StreamOutput]) -> int:
    """The characters of texts."""
    return sum(len(one.value) for one in outputs if isinstance(one, TextPart | ThinkingPart))


async def _read_apart(
    reader: AnswerReader, answer: HTTPAnswer, work: Callable[..., list[StreamOutput]], *arguments: Any
) -> list[StreamOutput]:
    """The redacted outputs of a large event or document, read in a thread; what the client gets of its bytes goes on
    afterwards, in the turns of this task."""
    later = reader.put_off() if isinstance(reader, LookingReader) else None
    outputs = await asyncio.to_thread(lambda: _redacted(work(*arguments), answer))
    if later is not None:
        await later.go_on()
    return outputs


async def _take_all(take: Take, outputs: list[StreamOutput]) -> None:
    """Gives many or long outputs on, texts in pieces; others have their turn meanwhile."""
    now = asyncio.get_running_loop().time
    turn = now()
    for output in outputs:
        for one in _in_pieces(output):
            if (waiting := take([one])) is not None:
                await waiting
            if now() - turn > TURN_SECONDS:
                await asyncio.sleep(0)
                turn = now()


def _in_pieces(output: StreamOutput) -> Iterator[StreamOutput]:
    """A text in pieces, any other output as it is."""
    if not isinstance(output, TextPart | ThinkingPart) or len(output.value) <= PIECE:
        yield output
        return
    for place in range(0, len(output.value), PIECE):
        piece = replace(output, value=output.value[place : place + PIECE])
        is_last = place + PIECE >= len(output.value)  # the metadata belongs to the last part of an item
        yield piece if is_last or isinstance(piece, TextPart) else replace(piece, metadata=None)


def _stopped(reader: AnswerReader, outputs: list[StreamOutput], error: errors.UpstreamError) -> list[StreamOutput]:
    """Ends an answer that is too long without what made it so; the host learns how much that was."""
    if (take_held := RECEIVED.get()) is not None:
        take_held(_said(outputs))
    last = outputs[-1]
    if isinstance(last, Finish):  # all of it came at once
        return [replace(last, outcome=Outcome.FAILED, reason=None, error=error)]
    return _broken(reader, error)


def _broken(reader: AnswerReader, error: errors.UpstreamError) -> list[StreamOutput]:
    """Ends an answer that broke in the middle; what broke before its first event is raised, to be sent again."""
    if not reader.started:
        raise error
    return reader.end() if reader.failing or reader.ending else reader.fail(error)


def _ended(reader: AnswerReader, url: str) -> list[StreamOutput]:
    """Ends an answer whose bytes have ended."""
    outputs = reader.end()
    if not reader.started:
        raise errors.UpstreamConnectionError(url, "it was closed before the first event")
    return outputs


class GlancingReader(StreamReader):
    """A reader that takes a plain answer in at a glance, and becomes the usual one at the first byte that is not."""

    def __init__(self, glance: Glance, *of_others: Any) -> None:
        glance.joins_texts = False
        self._glance, self._of_others = glance, of_others
        self._stream: Any = glance  # which says how far it is
        self._pausing_stream = None
        self.started = self.ending = False
        self.held = 0

    def feed(self, data: bytes) -> list[StreamOutput]:  # noqa: D102
        if (outputs := self._glance.read(data)) is None:
            return self._usual().feed(data)
        self.started, self.ending = True, self._glance.ending
        return outputs

    def feed_document(self, data: bytes) -> list[StreamOutput]:  # noqa: D102
        return self._usual().feed_document(data)

    def end(self) -> list[StreamOutput]:  # noqa: D102
        return self._usual().end()

    def fail(self, error: errors.LanguageModelError) -> list[StreamOutput]:  # noqa: D102
        return self._usual().fail(error)

    def _usual(self) -> StreamReader:
        """This reader, as one that has read what the glance gave outputs of."""
        self.__class__ = StreamReader  # type: ignore[assignment] # it has no state but that
        StreamReader.__init__(self, *self._of_others)
        if self._glance.seen:
            self.feed(self._glance.seen)
        return self


@dataclass(slots=True)  # not frozen, see `RawRequest`
class UpstreamRequest:
    """A request, and how its answer is read.

    Attributes:
        headers: Headers that were set for this request; they win over all others.
        paused: The adapter of the answer that the upstream paused and that this request goes on with; None for a new
            answer.
        goes_on: Whether another request goes on with an answer that the upstream pauses; otherwise a pause is the end.
        loads_models: Whether the upstream may load a model before it says anything.
        session: The id of the conversation, see :attr:`partstream.upstream.http.OutboundHTTPRequest.session`.
        passage: The way of the answer's own bytes to the client, where the request goes on as it came; else None.
        content: The bytes of the body, where they are not those of the JSON of `request`.
        hides: Tells the events of a forwarded stream that its client does not get; None where it gets all.
        is_large: Whether its body is written in a thread.
    """

    request: WireRequest = field(repr=False)
    protocol: Protocol
    errors: Errors
    options: StreamOptions
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    paused: PausingStream | None = field(default=None, repr=False)
    goes_on: bool = False
    loads_models: bool = False
    session: str | None = None
    passage: Passage | None = field(default=None, repr=False)
    content: bytes | None = field(default=None, repr=False)
    hides: Callable[[bytes], bool] | None = field(default=None, repr=False)
    is_large: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether the answer is asked for as a stream; only a client of the same wire wants a document."""
        return self.passage is None or self.passage.request.stream_type is not None

    @property
    def accept(self) -> str:
        """The media type that is asked for."""
        return self.protocol.accept if self.passage is None else self.passage.request.stream_type or JSON

    def make_reader(self, tap: Tap | None = None) -> AnswerReader:
        """A new reader, for one attempt; a tap sees each of its steps."""
        make: Callable[[], StreamReader]
        glance = None if tap is not None or self.paused is not None else self.protocol.read_response().glance
        if self.passage is None and glance is not None and self.options.think_tags is not ThinkTags.STARTS_INSIDE:
            return GlancingReader(glance(), self.protocol, self.options)
        if tap is None:
            make = partial(StreamReader, self.protocol, self.options, paused=self.paused)
        else:
            from partstream.protocols.reader import TappedReader  # noqa: PLC0415 - hardly ever used

            make = partial(TappedReader, tap, self.protocol, self.options, paused=self.paused)
        if self.passage is None:
            return make()
        event_ends = () if self.accept == JSON else self.protocol.framings[0].event_ends
        looked = glance() if event_ends and glance is not None else None
        return LookingReader(make, self.passage, event_ends, self.hides, looked)

    def is_over(self, reader: AnswerReader) -> bool:
        """Whether nothing more of the response is read: it has ended, or it is paused and another goes on with it."""
        return reader.finished or (self.goes_on and reader.paused is not None)


def body_document(body: Mapping[str, Any], write: Callable[[Any], bytes] = dumps) -> bytes:
    """The body as a JSON document in UTF-8, which is written like this.

    Raises:
        RequestNotExpressibleError: The body holds a value that JSON cannot represent; the error names its place.
    """
    try:
        return write(body)
    except TypeError as error:
        what = f"a value that JSON cannot represent ({find_non_json(body, 'body') or error})"
        raise errors.RequestNotExpressibleError(what, "the request's body", "JSON values") from error


# ---- Limits of time ----

_Result = TypeVar("_Result")
_LAST_WORDS: Final = 2.0
"""Seconds to wait for what an upstream adds to an error, or to its announcement of the end."""
_ADVICE: Final = {
    errors.TimeoutPhase.TOTAL: "the setting timeouts.total is the limit",
    errors.TimeoutPhase.IDLE: "the setting timeouts.idle is the limit",
    errors.TimeoutPhase.FIRST_EVENT: (
        "it may have to load the model first; the setting timeouts.firstEvent is the limit"
    ),
}


class Deadlines:
    """Computes the next deadline from what has arrived; all times are seconds of the caller's clock."""

    def __init__(self, timeouts: Timeouts, start: float) -> None:
        self._timeouts = timeouts
        self._total = start + self._timeouts.total
        self._first_event: float | None = start + self._timeouts.first_event
        self._idle = 0.0
        self._ending = False

    def arrived(self, now: float, *, events: bool, ending: bool) -> None:
        """Notes that bytes arrived, whether they held events, and whether the upstream announced the end."""
        if events:
            self._first_event = None
        if not (ending and self._ending):  # what still arrives then buys no more time
            self._idle = now + (min(_LAST_WORDS, self._timeouts.idle) if ending else self._timeouts.idle)
        self._ending = ending

    def resumed(self, now: float) -> None:
        """Notes that reading goes on: while the consumer took what had arrived, the upstream was not silent."""
        if not self._ending:
            self._idle = max(self._idle, now + self._timeouts.idle)

    @property
    def next(self) -> float:
        """The time of the next deadline."""
        return min(self._total, self._idle if self._first_event is None else self._first_event)

    def error(self) -> errors.UpstreamTimeoutError:
        """The error for the deadline that comes next."""
        phase = errors.TimeoutPhase.IDLE if self._first_event is None else errors.TimeoutPhase.FIRST_EVENT
        phase = errors.TimeoutPhase.TOTAL if self.next == self._total else phase
        return errors.UpstreamTimeoutError(phase, getattr(self._timeouts, phase), advice=_ADVICE[phase])


class LimitedWaits:
    """Ends each of many waits at the deadline that comes next then, with one timer for all of them.

    `asyncio.timeout_at` sets a timer for each wait and takes it back, which takes longer than to read what came. The
    deadlines move only between two waits.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        self.deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = 0.0
        self._task = asyncio.current_task(self._loop)
        self._cancelling = 0 if self._task is None else self._task.cancelling()
        self._is_waiting = self._was_ended = False

    async def wait(self, result: Awaitable[_Result]) -> _Result:
        """Waits for a result, in the task that made this object.

        Raises:
            TimeoutError: The deadline was reached.
        """
        deadline = self.deadlines.next
        if self._timer is None or deadline < self._set_for:
            # Early: deadlines come nearer with the first event and with the end, and most answers end before.
            self._set(min(deadline, self._loop.time() + _LAST_WORDS))
        self._is_waiting = True
        try:
            return await result
        except asyncio.CancelledError as error:
            if self._was_ended and self._task is not None and self._task.uncancel() <= self._cancelling:
                raise TimeoutError from error
            raise
        finally:
            self._is_waiting = self._was_ended = False

    def __enter__(self) -> LimitedWaits:
        """Begins the block that waits; its end takes the timer back."""
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._set_for = deadline
        self._timer = self._loop.call_at(deadline, self._reached)

    def _reached(self) -> None:
        """Ends the wait, unless its deadline was moved since the timer was set."""
        self._timer = None
        if not self._is_waiting or self._task is None:
            return
        if self.deadlines.next > self._loop.time():
            self._set(self.deadlines.next)
        else:
            self._was_ended = True
            self._task.cancel()


# ---- Answers that are no stream ----

_MAX_ERROR_BODY: Final = 64 * 1024
_ERROR_BODY_SECONDS: Final = 2.0
_LAST_STATUS: Final = 599  # a server can send its client no other (RFC 9110 section 15)


async def _refusal(answer: HTTPAnswer, exchange: UpstreamRequest) -> errors.UpstreamError:
    """The error for an answer that is neither a stream nor a document; reads the start of its body."""
    redactor = answer.redactor
    body = redactor.redact_bytes(await _start_of_body(answer))
    error = _error_in(answer, exchange, body)
    is_json = bare_media_type(answer.fields.get("content-type", "")) == JSON
    may_pass = is_json and 400 <= answer.status <= _LAST_STATUS and not http_errors.is_about_the_key(error)
    if exchange.passage is not None and may_pass:
        exchange.passage.refused(error, RawRefusal(answer.status, returned_headers(answer.fields, redactor), body))
    return error


async def _take_document(
    answer: HTTPAnswer, exchange: UpstreamRequest, reader: AnswerReader, waits: LimitedWaits, take: Take
) -> None:
    """Gives the outputs of a document on; raises what :func:`_read_document` gives or raises."""
    read = await _read_document(answer, exchange, reader, waits)
    if isinstance(read, errors.UpstreamError):  # raised where a traceback that shows variables shows nothing that came
        raise read
    outputs = _redacted(read, answer)
    if len(outputs) > _MANY_OUTPUTS or _said(outputs) > PIECE:
        await _take_all(take, outputs)
    elif (waiting := take(outputs)) is not None:
        await waiting


async def _read_document(
    answer: HTTPAnswer, exchange: UpstreamRequest, reader: AnswerReader, waits: LimitedWaits
) -> list[StreamOutput] | errors.UpstreamError:
    """The outputs of a document, the last of them a Finish; an error in their place if it is an error and nothing else.

    Raises:
        UpstreamError: It is no document of the protocol; or it did not come whole, was too large, or took too long.
    """
    body = await _whole_body(answer, waits)
    is_large = len(body) > LARGE_BYTES
    outputs = await _read_apart(reader, answer, reader.feed_document, body) if is_large else reader.feed_document(body)
    if is_large and (failure := _too_long(_said(outputs))) is not None:
        raise failure
    if reader.paused is not None and exchange.is_over(reader):
        return outputs
    outputs += reader.end()
    finish = outputs[-1]
    if not isinstance(finish, Finish) or finish.error is None:
        return outputs
    if (take_held := RECEIVED.get()) is not None:
        take_held(reader.held)
    # Whether there is something beside the error: a part, tokens, a response id.
    has_more = finish.response_id is not None or finish.usage is not None
    if has_more or not all(isinstance(output, Finish | Unmapped) for output in outputs):
        return outputs
    return _error_in(answer, exchange, answer.redactor.redact_bytes(body[:_MAX_ERROR_BODY]))


def _error_in(answer: HTTPAnswer, exchange: UpstreamRequest, body: bytes) -> errors.UpstreamError:
    """The error in a redacted body; redacted again, because its fields are decoded now."""
    error = http_errors.http_error(answer.status, answer.headers, body, datetime.now(UTC), exchange.errors)
    if answer.is_success and error.provider_message is None:
        wanted, expected = "answer of a model", exchange.protocol.accept
        other = http_errors.content_type_error(answer.headers, body, wanted=wanted, expected=expected)
        return http_errors.redacted_error(other, answer.redactor)
    return http_errors.redacted_error(error, answer.redactor)


async def _start_of_body(answer: HTTPAnswer) -> bytes:
    """The start of a body, or what arrived of it before it broke off or reached the limit."""
    body = bytearray()
    next_piece = answer.next_piece()
    try:
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            while len(body) < _MAX_ERROR_BODY and (chunk := await next_piece()):
                body += chunk[: _MAX_ERROR_BODY - len(body)]
    except client_errors(TimeoutError) as error:
        answer.cut(error)
        status = answer.status
        _logger.info("the body of HTTP %d did not come whole: %s", status, type(error).__name__)
    return bytes(body)


async def _whole_body(answer: HTTPAnswer, waits: LimitedWaits) -> bytes:
    body = bytearray()  # not a list of chunks: a server may send them byte by byte
    next_piece = answer.next_piece()
    while True:
        # Its head has come, so that the answer has begun: from here on it may not fall silent.
        waits.deadlines.arrived(waits.now(), events=True, ending=False)
        if not (chunk := await _waited_for(next_piece, answer, waits)):
            return bytes(body)
        body += chunk
        if len(body) > DEFAULT_MAX_EVENT_SIZE:
            raise errors.EventTooLargeError(len(body), DEFAULT_MAX_EVENT_SIZE)


async def _waited_for(
    next_piece: Callable[[], Awaitable[bytes | None]], answer: HTTPAnswer, waits: LimitedWaits
) -> bytes | None:
    """The next piece of an answer that has begun; raises what is wrong where there is none in time."""
    failure: errors.UpstreamError
    try:
        return await waits.wait(next_piece())
    except TimeoutError:
        failure = waits.deadlines.error()
        answer.cut(failure)
    except client_errors() as error:
        failure = answer.broke(error, established=True)
    raise failure


# ---- Redaction ----


def _redacted(outputs: list[StreamOutput], answer: HTTPAnswer) -> list[StreamOutput]:
    """The outputs; those that are logged or shown beside the answer are redacted. The answer is asked for its redactor
    only where there is something to redact."""
    for output in outputs:  # nearly always one, and a part
        if type(output) in _REDACTED:
            break
    else:
        return outputs
    redactor = answer.redactor
    return [_REDACTED[type(output)](output, redactor) if type(output) in _REDACTED else output for output in outputs]


def _redacted_finish(finish: Finish, redactor: Redactor) -> Finish:
    reason, usage = finish.reason, finish.usage
    words = None if reason is None else reason.raw, None if usage is None else usage.raw
    more = finish.provider_metadata, finish.edits, finish.explanation, finish.dropped
    if finish.error is None and not redactor.may_find((finish.response_id, finish.model, *more, *words)):
        return finish  # nearly always
    redacted: dict[str, Any] = {
        name: redactor.redact_values(getattr(finish, name), names=name == "provider_metadata")
        for name in ("response_id", "model", "provider_metadata", "edits", "explanation", "dropped")
    }
    if finish.error is not None:
        redacted["error"] = http_errors.redacted_error(finish.error, redactor)
    if reason is not None and (raw := redactor.redact_values(reason.raw)) != reason.raw:
        redacted["reason"] = replace(reason, raw=raw)
    if usage is not None and (report := redactor.redact_values(usage.raw, names=True)) != usage.raw:
        redacted["usage"] = replace(usage, raw=report)
    changed = {name: value for name, value in redacted.items() if value != getattr(finish, name)}
    return replace(finish, **changed) if changed else finish


_REDACTED: Final[Mapping[type, Callable[[Any, Redactor], StreamOutput]]] = {
    Finish: _redacted_finish,
    Unmapped: lambda unmapped, redactor: Unmapped(
        redactor.redact(unmapped.type), redactor.redact_values(unmapped.data, names=True)
    ),
}

# ---- Trace ----

_trace_logger = logging.getLogger("partstream.upstreams.trace")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
_NAME_OF_ID: Final = re.compile(r"(?i:.*_)?(?:id|index|number)|.*(?:Id|ID|Index|Number)")
_WORD: Final = re.compile(r"[\w.:/+=\[\]-]{1,80}", re.ASCII)
"""The form of an id or a type; any other text may be a person's words, of which only the length is written."""
_CONTENT: Final = frozenset({"args", "arguments", "data", "input", "output", "result", "value"})
"""Fields of events whose own fields a model or an application chose."""


class AttemptTrace(Tap):
    """The trace of one attempt at an answer, by the number of the attempt among those of its upstream. Its redactor is
    set as soon as the request is known as it was sent."""

    def __init__(self, number: int) -> None:
        self.redactor = Redactor()
        self._number = number
        self._start = time.monotonic()
        self._steps = 0

    def step(self, step: ReadStep) -> None:
        """Writes the line of one step."""
        self._steps += 1
        words = [_shown(step.kind), *(f"{name}={value}" for name, value in _ids(step.event))]
        if step.size:
            words.append(f"({step.size} bytes)")
        outputs = ", ".join(map(_described, step.outputs)) or "nothing"
        line = f"{time.monotonic() - self._start:+.3f} s  {' '.join(words)} -> {outputs}"
        _trace_logger.log(TRACE, "answer %d #%d %s", self._number, self._steps, self.redactor.redact(line))


def _shown(text: str) -> str:
    return text if _WORD.fullmatch(text) else f"({len(text)} characters)"


def _ids(event: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    """The ids and indices of an event and of the objects in it, one level deep."""
    for name, value in event.items():
        if not _NAME.fullmatch(name):
            continue
        if isinstance(value, dict) and not place and name not in _CONTENT:
            yield from _ids(value, f"{name}.")
        elif isinstance(value, str | int) and not isinstance(value, bool) and _NAME_OF_ID.fullmatch(name):
            yield place + name, _shown(str(value))


def _described(output: StreamOutput) -> str:
    match output:
        case TextPart(value=value) | ThinkingPart(value=value):
            return f"{'text' if isinstance(output, TextPart) else 'thinking'} of {len(value)}"
        case ToolCallPart(call_id=call_id, input=given):
            return f"tool call {_shown(call_id)} with {len(given)} arguments"
        case DataPart(mime_type=mime_type, data=data):
            return f"data {_shown(mime_type)} of {len(data)} bytes"
        case Unmapped():
            return "no part"
        case Finish(outcome=outcome, reason=reason, usage=usage, error=error):
            words = [f"end {outcome.value}"]
            if reason is not None:
                words += [reason.unified.value, *([f"({_shown(reason.raw)})"] if reason.raw else [])]
            if usage is not None:
                words.append(f"tokens {usage.input_tokens} in, {usage.output_tokens} out")
            if error is not None:
                words.append(type(error).__name__)
            if output.dropped:
                words.append(f"unread {' '.join(output.dropped[:_MOST_UNREAD])}")
            return " ".join(words)


_MOST_UNREAD: Final = 20


# ---- Files of an answer that the server gives by address ----
#
# The address comes from the model, so it is not trusted. It never gets the upstream's key or headers, it must not lead
# into this machine or its network unless the upstream itself is there, and time and size are limited. Each redirect is
# checked in the same way. A file that is not fetched is shown as a link.

_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

_GLOBAL_UNICAST: Final = ip_network("2000::/3")
"""The only part of IPv6 that is given to networks of the internet (IANA, IPv6 Address Space); what is outside of it
leads to hosts of an own network, as SIDs of segment routing do (RFC 9602), or nowhere."""
_INSIDE: Final = tuple(map(ip_network, ("2002::/16", "2001::/32", "3fff::/20", "192.88.99.0/24", "168.63.129.16/32")))
"""Networks that Python calls global: those whose addresses hold an IPv4 address that a gateway may lead to (RFC 3056,
RFC 4380, RFC 7526), documentation (RFC 9637), and the host of Azure's machines, which gives them their settings."""
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
"""What comes before the IPv4 address in an address of ISATAP (RFC 5214 section 6.1)."""


MOST_FILE_BYTES: Final = 16 * 1024 * 1024
"""Of a file."""
MOST_FILE_SECONDS: Final = 20.0
"""For a file, redirects included."""


class _NotFetchedError(Exception):
    """The reason why a file is not fetched; shows no secret."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tells whether an IP address is on the public internet, not on this machine or in its network."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP or address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not any(address in network for network in _INSIDE) and not address.is_multicast


async def fetched_file(configuration: GatewayConfiguration, part: DataPart) -> ResponsePart:
    """The file at the address of a part of an upstream's answer, as bytes; a link for the chat if it cannot be
    fetched. It goes the upstream's way through proxies."""
    address = part.data.decode()
    try:
        async with asyncio.timeout(MOST_FILE_SECONDS):
            asked = address
            for _ in range(_MOST_REDIRECTS + 1):
                found = await _asked_file(configuration, asked)
                if isinstance(found, DataPart):
                    return found
                asked = urljoin(asked, found)
        reason = f"more than {_MOST_REDIRECTS} redirects"
    except TimeoutError:
        reason = f"it took longer than {MOST_FILE_SECONDS:g} s"
    except _NotFetchedError as error:
        reason = str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, errors.PartstreamError, OSError, ValueError) as error:
        reason = type(error).__name__
    shown = "an address that is none"
    with suppress(ValueError):  # query and path are left out, because they may grant access to the file
        shown = urlsplit(without_query(address)).netloc
    _logger.info("a file of the answer is shown as a link: %s: %s", shown, reason)
    return linked_file(address, FileMode.LINK) or part


async def _asked_file(own: GatewayConfiguration, address: str) -> DataPart | str:
    """The file, or the address that it is redirected to."""
    # Nothing of the upstream goes along: no key, no header, no cookie.
    to_file = GatewayConfiguration(
        address,
        allow_insecure_http=True,
        timeouts=own.timeouts,
        proxy=own.proxy,
        verify_certificates=own.verify_certificates,
    )
    address_of_host = await _checked_address(own.base_url, address)
    async with aclosing(Connections(to_file)) as connections:
        connections.open()
        place = place_of(address, urlsplit(address).path, "")
        if connections.proxy is None:  # a proxy looks the name up itself
            scheme, name, port, _ = place.origin
            place = place._replace(origin=(scheme, address_of_host, port, name))  # the name is in the certificate
        headers = {"host": place.host, "user-agent": f"partstream/{__version__}", "accept-encoding": "identity"}
        head = OutboundHead("GET", place, headers, {})
        async with aclosing(HTTPAnswer(await connections.send(head, b"", None), head)) as answer:
            if answer.status in _REDIRECTS and "location" in answer.fields:
                return answer.fields["location"]
            if answer.status != 200:
                raise _NotFetchedError(f"HTTP {answer.status}")
            if answer.fields.get("content-encoding", "identity") != "identity":
                raise _NotFetchedError("it is compressed, although the request did not ask for that")
            said = bare_media_type(answer.fields.get("content-type", ""))
            if said == "text/html":
                raise _NotFetchedError("it is a web page")
            data = await answer.start(MOST_FILE_BYTES + 1)
            if len(data) > MOST_FILE_BYTES:
                raise _NotFetchedError(f"it has more than {MOST_FILE_BYTES:,} bytes")
            return DataPart(data, sniff(data) or said or "application/octet-stream")


async def _checked_address(base_url: str, address: str) -> str:
    """A checked IP address for the host: its name might mean another one a moment later."""
    url = urlsplit(address)
    if url.scheme not in PORTS or not url.hostname:
        raise _NotFetchedError("it is no http or https URL")
    if "@" in url.netloc:
        raise _NotFetchedError("it holds a user name")
    port = url.port or PORTS[url.scheme]
    # All IP addresses of the host; any of them may be used.
    rows = await looked_up(url.hostname, port)
    found = [ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    # Scheme, host and port (RFC 6454 section 4).
    own = urlsplit(base_url)
    origins = {(one.scheme, one.hostname, one.port or PORTS.get(one.scheme)) for one in (url, own)}
    if len(origins) > 1 and not all(map(is_public, found)):
        raise _NotFetchedError("it leads to this machine or its network")
    return str(found[0])
