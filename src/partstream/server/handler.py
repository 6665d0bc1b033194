"""One HTTP request, from its head to the last byte of its reply.

Everything that can refuse it is decided before the head of the reply: route, room, key, size, form, model
(docs/wires/serving.md#status-before-the-head). Beside every answer one task reads `receive()`, and cancels the provider
when the client leaves: servers give no other signal (docs/wires/serving.md#clients-that-leave).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import ASKED_IN
from partstream.errors import PartstreamError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.outputs import Reply
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.serve import Effect, id_in_path
from partstream.runtime.progress import KeptAnswer
from partstream.server.answer import UPSTREAM_HEADER, CurrentAnswer, ProviderCall
from partstream.server.clients import NOBODY, client_of
from partstream.server.models import counted_request, served_model
from partstream.server.replies import (
    BufferedReplySink,
    DocumentReply,
    Head,
    KeepAlive,
    StreamReply,
    json_headers,
    stream_headers,
)
from partstream.server.requests import (
    ClientLeftError,
    NoRouteError,
    RequestFailedError,
    failure_of,
    json_object,
    leaving,
)
from partstream.server.settings import AnswerObservation, AnswerRequest, EndedAnswer, settled
from partstream.server.state import OwnerRequest, asked_of_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.conversation.provider_state import CallersMemory
    from partstream.devtools.capturing.capture import AnswerCapture
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.serve import (
        RequestReferences,
        ResolvedReferences,
        ResponseWriterSpec,
        ServedState,
        StoredAnswer,
        StoredRoute,
        WireRequest,
    )
    from partstream.server.answer import AnswerEnd
    from partstream.server.clients import Caller, RequestClient
    from partstream.server.models import CataloguedModel
    from partstream.server.replies import RecordingReplySink, ReplySink, ReplyWriter
    from partstream.server.requests import Endpoint, Receive, RequestHead, Route, Send
    from partstream.server.settings import AnswerTrace, Permit, ServingSettings
    from partstream.server.state import AnswerMemory, OwnerRoute, Remembered, ServerState


# ---- request body ----
# The body of one HTTP request, within bounds of size and time.

_DISCARDED: Final = 4
"""How many times the largest body is thrown away before a client that still sends is cut off."""
_LONGEST_NUMBER: Final = 18
"""The most digits of a declared size that are read; the bytes themselves are counted in any case."""
_PAUSE_SECONDS: Final = 1.0
"""How long a client may pause in a body that is thrown away."""


class RequestBody:
    """The body of one request, read once by one task.

    Args:
        request: The request.
        receive: ASGI's own.
        settings: The bounds.
    """

    __slots__ = ("_is_whole", "_receive", "_request", "_settings", "_size")

    def __init__(self, request: RequestHead, receive: Receive, settings: ServingSettings) -> None:
        self._request = request
        self._receive = receive
        self._settings = settings
        self._size = 0
        self._is_whole = False

    async def read(self, most: int | None = None) -> bytes:
        """The whole body.

        Args:
            most: The most bytes that it may have, if that is less than the settings say.

        Raises:
            RequestFailedError: It is too large, or takes too long.
            ClientLeftError: The client left before it was whole.
        """
        limit = self._settings.body_bytes if most is None else min(most, self._settings.body_bytes)
        declared = self._request.headers.get("content-length", "")
        if declared.isdecimal() and len(declared) <= _LONGEST_NUMBER:
            self._check_size(int(declared), limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while not self._is_whole:
                    body += await self._next()
                    self._check_size(self._size, limit)
        except TimeoutError as error:
            self._is_whole = True  # nobody waits for the rest
            said = f"got {self._size:,} bytes within {self._settings.body_seconds:g} seconds, expected the whole body"
            raise RequestFailedError(ServedFailure(FailureKind.TIMEOUT, said), _CLOSE) from error
        return bytes(body)

    async def discard(self) -> None:
        """Throws away what was not read, before a refusal: a client that still sends reads no reply otherwise, because
        the server closes the connection on it.

        Raises:
            ClientLeftError: The client has left.
        """
        # RFC 9110 section 10.1.1: it sends nothing before it is told to.
        if self._size == 0 and self._request.headers.get("expect", "").lower() == "100-continue":
            return
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while not self._is_whole and self._size <= _DISCARDED * self._settings.body_bytes:
                    async with asyncio.timeout(_PAUSE_SECONDS):
                        await self._next()
        except TimeoutError:
            return

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError("the client left before its request was whole")
        data: bytes = message.get("body", b"")
        self._size += len(data)
        self._is_whole = not message.get("more_body", False)
        return data

    @staticmethod
    def _check_size(size: int, most: int) -> None:
        if size > most:
            said = f"got a body of {size:,} bytes or more, expected at most {most:,}"
            raise RequestFailedError(ServedFailure(FailureKind.TOO_LARGE, said), _CLOSE)


# ---- answer run ----
# One answer from a request to the last byte of its reply, be it over HTTP or as a turn of a WebSocket.
#
# Beside every answer one task waits for the client to leave, and then cancels the provider: servers give no other
# signal (docs/wires/serving.md#clients-that-leave).

_CLIENT_LEFT: Final = 499
"""What observations say of a reply that nobody waited for; never sent. The number is nginx' own."""

_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 80
"""Names that the log shows of what has no place here, and their characters: a client has made some of them up."""

Deliver: TypeAlias = Callable[[Head | None, bytes, bool], Awaitable[None]]
"""Hands over the head of a reply, once, bytes, and whether they are the last; waits while the client is slow."""


class ResponseRun:
    """One request for an answer.

    Args:
        state: What all requests share.
        endpoint: Where it was asked.
        request: The request without its body; that of the handshake for a turn of a WebSocket.
        recall: What a socket itself remembers; None for HTTP.

    Attributes:
        endpoint: Where it was asked.
        caller: Who asks; nobody in particular before that is known.
        earlier: What of earlier answers the request refers to; None before it is found.
        stored: The answer as it is remembered; None if nobody remembers it, or before its end.
    """

    def __init__(
        self,
        state: ServerState,
        endpoint: Endpoint,
        request: RequestHead,
        recall: Callable[[RequestReferences], ResolvedReferences] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.caller = NOBODY
        self.earlier: ResolvedReferences | None = None
        self.stored: StoredAnswer | None = None
        self._state = state
        self._settings = state.settings
        self._request = request
        self._recall = recall
        self._time = time.time()
        self._started = asyncio.get_running_loop().time()
        self._asked: InboundRequest | None = None
        self._current: CurrentAnswer | None = None
        self._trace: AnswerTrace | None = None
        self._permit: Permit | None = None
        self._running: ProviderCall | None = None
        self._observed: AnswerObservation | None = None

    def begin_trace(self, route: str) -> None:
        """Begins the trace of the answer, if the owner of the server wants one.

        Args:
            route: The pattern of the path.
        """
        if self._state.start_trace is not None:
            self._trace = self._state.start_trace(self._request.method, route, self._request.headers)

    async def serve(
        self,
        wire: WireRequest,
        deliver: Deliver,
        client_leaves: Callable[[], Awaitable[None]],
        *,
        generates: bool = True,
    ) -> None:
        """Answers the request.

        Args:
            wire: The request.
            deliver: Takes the reply.
            client_leaves: Returns when the client has left.
            generates: Whether a model answers; otherwise the answer is empty.

        Raises:
            PartstreamError: The request is refused; nothing was delivered.
        """
        endpoint, memory, rules = self.endpoint, self._state.memory, self._state.rules
        remembered = await memory.remembered(self._state.remembering(endpoint), wire, self.caller.name, self._recall)
        self.earlier = remembered.earlier
        self._asked = asked = self._read(remembered)
        _say_unmapped(asked, self._state.remembering(endpoint), self._request.request_id)
        if rules.admit is not None:
            rules.admit(endpoint, wire, asked)
        model = await self._state.find_model(asked.model, self.caller)
        if self._settings.admission is None or not generates:
            await self._answer(wire, remembered, asked, model, deliver, client_leaves, generates=generates)
            return
        admitted = await self._settings.admission.admit(self._answer_request(model, asked))
        self._asked = asked = admitted.asked
        self._permit = admitted.permit
        try:
            await self._answer(wire, remembered, asked, admitted.model, deliver, client_leaves)
        finally:
            self._settle()

    async def count(self, asked: InboundRequest) -> int:
        """Counts the tokens of a request, of which no answer is wanted.

        Args:
            asked: The request.

        Raises:
            PartstreamError: The request is refused.
        """
        model = await self._state.find_model(asked.model, self.caller)
        admission = self._settings.admission
        if admission is None:
            return await counted_request(model, asked, CancellationToken())
        self._asked = asked
        admitted = await admission.admit(self._answer_request(model, asked, is_count=True))
        self._asked, self._permit = admitted.asked, admitted.permit
        try:
            return await counted_request(admitted.model, admitted.asked, CancellationToken())
        finally:
            self._settle()

    async def _answer(
        self,
        wire: WireRequest,
        remembered: Remembered,
        asked: InboundRequest,
        model: CataloguedModel,
        deliver: Deliver,
        client_leaves: Callable[[], Awaitable[None]],
        *,
        generates: bool = True,
    ) -> None:
        """Answers a request that is admitted, if anybody has to."""
        endpoint, memory, rules, settings = self.endpoint, self._state.memory, self._state.rules, self._settings
        outgoing = BufferedReplySink(deliver, settings.buffer_bytes, settings.backlog_bytes, self._request.write)
        recorded = self._recorded(remembered, outgoing, asked)
        outlet: ReplySink = recorded or outgoing
        usual = Reply(self._request.request_id, int(self._time), raw_reasoning=settings.raw_reasoning)
        identity = replace(usual if rules.identify is None else rules.identify(wire), secret=memory.secret)
        kind = StreamReply if asked.stream else DocumentReply
        reply: ReplyWriter = kind(endpoint.writes, asked, identity, outlet, self._request.request_id)
        capture = self._capture(model.id) if generates else None
        answer = ProviderCall(
            model,
            _in_words_of(endpoint.protocol.name, asked),
            reply,
            outlet,
            settings,
            endpoint.writes.stopped,
            self._trace,
            is_kept=recorded is not None,
            has_own_ids=self._state.remembering(endpoint) is not None,
            thinking=self._thinking_memory(),
            capture=capture,
            current=self._current or self._begin_current(),
            reported=None if self._permit is None else self._permit.reported,
        )
        self._running = answer
        if recorded is not None:
            recorded.stop = answer.stop_for_client
        self._state.admit(answer)
        try:
            await self._run(answer, reply, outgoing, model, client_leaves, recorded, generates=generates)
        except BaseException:  # nobody would cancel the provider any more
            answer.kill()
            raise
        finally:
            self._state.dismiss(answer)
            if capture is not None:
                end = answer.end()
                capture.end(_outcome(end), end.error)

    def _read(self, remembered: Remembered) -> InboundRequest:
        """What is asked. An error names a place in the request as it came, not behind what it continues."""
        reads = self.endpoint.reads
        try:
            return reads.read(remembered.asks)
        except PartstreamError:
            if remembered.earlier.chain:
                reads.read(remembered.own)
            raise

    def _recorded(
        self, remembered: Remembered, outgoing: BufferedReplySink, asked: InboundRequest
    ) -> RecordingReplySink | None:
        """The outlet of an answer that the store or a socket remembers."""
        state = self._state.remembering(self.endpoint)
        if state is None or not (remembered.is_kept or self._recall is not None):
            return None
        return self._state.memory.recorded(state, remembered, self.caller.name, outgoing, is_stream=asked.stream)

    async def _run(
        self,
        answer: ProviderCall,
        reply: ReplyWriter,
        outgoing: BufferedReplySink,
        model: CataloguedModel,
        client_leaves: Callable[[], Awaitable[None]],
        recorded: RecordingReplySink | None,
        *,
        generates: bool,
    ) -> None:
        loop = asyncio.get_running_loop()
        watcher = loop.create_task(_watch(client_leaves, answer, outgoing, recorded))
        pulse = KeepAlive(reply, outgoing, self._settings)
        limit = loop.call_later(self._settings.answer_seconds, answer.time_out)
        if generates:
            answer.start()
        else:
            answer.end_empty()
        seconds = self._settings.answer_seconds + self._settings.stop_seconds
        try:
            async with asyncio.timeout(seconds):
                await outgoing.pump()
        except (ClientLeftError, TimeoutError):  # or it did not take the end in time
            _leave(answer, outgoing, recorded)
        finally:
            watcher.cancel()
            pulse.stop()
            limit.cancel()
        self._observe(answer.end(), reply, outgoing, model)
        await answer.wind_down()
        self._settle()
        if recorded is not None:
            self.stored = await recorded.ended()

    # ---- its admission ----

    def _answer_request(
        self, model: CataloguedModel, asked: InboundRequest, *, is_count: bool = False
    ) -> AnswerRequest:
        client = self._begin_current().client
        wire, request = self.endpoint.protocol.name, self._request
        return AnswerRequest(self.caller, model, asked, wire, client, request.request_id, request.headers, is_count)

    def _settle(self) -> None:
        """Gives the permit its end, once."""
        permit, asked = self._permit, self._asked
        if permit is None or asked is None:
            return
        self._permit = None
        observation = self._observed or replace(self._observation(_CLIENT_LEFT, None), is_cancelled=True)
        settled(permit, _ended(observation, asked, None if self._running is None else self._running.end()))

    # ---- what is known of it ----

    def _observe(self, end: AnswerEnd, reply: ReplyWriter, outgoing: BufferedReplySink, model: CataloguedModel) -> None:
        finish, first = end.finish, end.first_part_at
        observation = replace(
            self._observation(outgoing.head.status if outgoing.head is not None else _CLIENT_LEFT, end.error),
            model=model.id,
            provider=self._upstream or model.provider_name,
            outcome=None if finish is None else finish.outcome,
            reason=None if finish is None else finish.reason,
            usage=None if finish is None else finish.usage,
            is_usage_counted=end.is_usage_counted,
            first_part_after=None if first is None else first - self._started,
            bytes=outgoing.bytes,
            events=reply.events,
            is_cancelled=end.is_cancelled,
            cost=_cost(end),
            is_usage_kept=bool(end.kept),
            response_id=None if finish is None else finish.response_id,
            violations=end.violations.total(),
        )
        self._tell(observation)

    def observe_refused(self, status: int, error: Exception) -> None:
        """Tells everybody who counts answers of a request that was refused."""
        self._tell(replace(self._observation(status, error), error=failure_of(error).kind.name.lower()))

    def observe_left(self) -> None:
        """Tells them of a request whose client left before it was whole."""
        self._tell(replace(self._observation(_CLIENT_LEFT, None), is_cancelled=True))

    def _tell(self, observation: AnswerObservation) -> None:
        self._observed = observation
        self._state.observe(observation, self._trace)

    def _capture(self, model_id: str) -> AnswerCapture | None:
        """Keeps what goes by of the answer, if the owner of the server wants that."""
        answers = self._state.last_answers
        if answers is None:
            return None
        client = self._client()
        return answers.begin(f"serve, for {client.name}" if client.name else "serve", model_id)

    def _begin_current(self) -> CurrentAnswer:
        """What the provider may know of who asks."""
        self._current = CurrentAnswer(self.caller, self._client())
        return self._current

    def _client(self) -> RequestClient:
        """The client, by its headers."""
        return client_of(self._request.headers, self._asked) if self._current is None else self._current.client

    @property
    def _upstream(self) -> str:
        """The upstream that the provider named last, or nothing."""
        return "" if self._current is None else self._current.upstream

    @property
    def upstream_headers(self) -> tuple[tuple[str, str], ...]:
        """The header that names the upstream, where the provider told of one."""
        return ((UPSTREAM_HEADER, self._upstream),) if self._upstream else ()

    def _thinking_memory(self) -> CallersMemory | None:
        """What the caller may miss, on a wire that cannot give it back; on others, it comes back by itself."""
        drops = self.endpoint.writes.drops_thinking_state
        return self._state.thinking.of(self.caller.name) if drops else None

    def _observation(self, status: int, error: BaseException | None) -> AnswerObservation:
        asked = self._asked
        return AnswerObservation(
            time=self._time,
            wire=self.endpoint.protocol.name,
            model="" if asked is None else asked.model,
            provider="",
            status=status,
            duration=asyncio.get_running_loop().time() - self._started,
            request_id=self._request.request_id,
            client=self._client(),
            caller=self.caller.name,
            is_stream=asked is None or asked.stream,
            error=None if error is None else type(error).__name__,
        )


async def _watch(
    client_leaves: Callable[[], Awaitable[None]],
    answer: ProviderCall,
    outgoing: BufferedReplySink,
    recorded: RecordingReplySink | None,
) -> None:
    """Cancels the provider as soon as the client leaves."""
    await client_leaves()
    _leave(answer, outgoing, recorded)


def _leave(answer: ProviderCall, outgoing: BufferedReplySink, recorded: RecordingReplySink | None) -> None:
    if recorded is not None:
        recorded.cancel()
    answer.cancel()
    outgoing.close()


def _in_words_of(wire: str, asked: InboundRequest) -> InboundRequest:
    """The request with the name of the wire whose words its options are in, for servers that speak another one."""
    options = asked.options
    return replace(asked, options=replace(options, model_options={**options.model_options, ASKED_IN: wire}))


def _say_unmapped(asked: InboundRequest, state: ServedState | None, request_id: str) -> None:
    """Says in the log what of a request has no place here: the names and how often, never a value."""
    understood = frozenset() if state is None else state.fields
    names = [name for name in asked.unmapped if name not in understood]
    if names:
        values = {name[:_LONGEST_NAME]: asked.unmapped[name] for name in names[:_MOST_NAMES]}
        counts = {name: value if type(value) is int else 1 for name, value in values.items()}
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        _logger.info("request %s holds what has no place here: %s%s", request_id, counts, more)


def _ended(observation: AnswerObservation, asked: InboundRequest, end: AnswerEnd | None) -> EndedAnswer:
    if end is None:
        return EndedAnswer(observation, asked, False, None, (), KeptAnswer().message, 1.0)
    return EndedAnswer(observation, asked, end.was_asked, end.usage, end.kept, end.answer, end.length)


def _outcome(end: AnswerEnd) -> str:
    return "cancelled" if end.is_cancelled or end.finish is None else end.finish.outcome.value


def _cost(end: AnswerEnd) -> float | None:
    """What the upstreams that were asked cost, as far as they say."""
    known = [row.cost for row in end.kept if row.cost is not None]
    return sum(known) if known else end.cost


# ---- stored replies ----
# The replies of the routes that read or change kept answers: a document, or the frames of a stream once more.


class FrameReplay:
    """The frames of a stream from one number on: those that are kept, or those of an answer that still runs.

    Args:
        frames: All frames of an answer that is over.
        running: The answer that runs, or None.
        first: The number of the first frame that is sent.
        writes: The corner of the protocol.
    """

    def __init__(
        self, frames: Sequence[bytes], running: RecordingReplySink | None, first: int, writes: ResponseWriterSpec
    ) -> None:
        self.content_type = writes.content_type
        self._frames = frames
        self._running = running
        self._next = first
        self._end = writes.end_of_stream

    async def send(self, deliver: Deliver, client_leaves: Callable[[], Awaitable[None]]) -> None:
        """Sends the frames, as they come, until the end or until the client has left."""
        left = asyncio.ensure_future(client_leaves())
        try:
            while self._running is not None and not self._running.is_over:
                changed = self._running.changed()  # before the look: what comes while a client is slow counts too
                await self._deliver(deliver, self._running.frames or ())
                await asyncio.wait({changed, left}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                if left.done():
                    return
            await self._deliver(deliver, self._frames if self._running is None else self._running.frames or ())
            await deliver(None, self._end, True)
        finally:
            left.cancel()

    async def _deliver(self, deliver: Deliver, frames: Sequence[bytes]) -> None:
        new = frames[self._next :]
        if new:
            self._next = len(frames)
            await deliver(None, b"".join(new), False)


async def stored_reply(
    memory: AnswerMemory, writes: ResponseWriterSpec, route: StoredRoute, wire: WireRequest, owner: str
) -> Mapping[str, Any] | FrameReplay:
    """The reply to a request for a kept answer.

    Raises:
        PartstreamError: There is none, none of this owner, or the request is wrong.
    """
    state = writes.state
    answer_id = id_in_path(route.path, wire.path) or ""
    assert state is not None  # noqa: S101 - the route is one of the state's
    first = None if route.resumes is None else route.resumes(wire)
    running = memory.running.get((owner, answer_id))
    if running is not None and route.effect is not Effect.READ:
        await running.stop_and_keep()
        running = None
    chain = await _chain(memory, owner, answer_id, running)
    if not chain:
        raise state.unknown(answer_id)
    if first is not None:
        frames = running.frames if running is not None else await _frames(memory, owner, answer_id)
        if frames is None:
            raise state.unstreamed(answer_id)
        return FrameReplay(frames, running, first, writes)
    if route.effect is Effect.DELETE and memory.store is not None:
        await asked_of_store(memory.store.delete(owner, answer_id))
    return route.document(wire, chain)


async def _chain(
    memory: AnswerMemory, owner: str, answer_id: str, running: RecordingReplySink | None
) -> Sequence[StoredAnswer]:
    if running is not None:
        now = running.now()
        return () if now is None else (now,)
    return () if memory.store is None else await asked_of_store(memory.store.chain(owner, answer_id))


async def _frames(memory: AnswerMemory, owner: str, answer_id: str) -> tuple[bytes, ...] | None:
    return None if memory.store is None else await asked_of_store(memory.store.frames(owner, answer_id))


# ---- exchange ----

_logger = logging.getLogger("partstream.serving")

_CLOSE: Final = ("connection", "close")


class RequestHandler:
    """One HTTP request and its reply.

    Args:
        state: What all requests share.
        request: The request without its body, with the path that it means.
        receive: ASGI's own; nobody else reads it.
        send: ASGI's own.
    """

    def __init__(self, state: ServerState, request: RequestHead, receive: Receive, send: Send) -> None:
        self._state = state
        self._request = request
        self._receive = receive
        self._send = leaving(send)
        self._body = RequestBody(request, receive, state.settings)
        self._endpoint = state.routes.nearest(request.path)
        self._run = ResponseRun(state, self._endpoint, request)
        self._is_answer = False
        self._is_head_sent = False

    async def serve(self) -> None:
        """Answers the request; raises nothing that the server would have to tell the client."""
        try:
            try:
                await self._dispatch()
            except ClientLeftError:
                raise
            except Exception as error:
                if self._is_head_sent:
                    raise
                await self._tell_refusal(error)
        except ClientLeftError:
            if self._is_answer:
                self._run.observe_left()

    async def _tell_refusal(self, error: Exception) -> None:
        if not isinstance(error, PartstreamError):
            _logger.exception("a request could not be served because of a fault of the server", exc_info=error)
        await self._body.discard()
        status = await self._refuse(*_refusal(error))
        if self._is_answer:
            self._run.observe_refused(status, error)

    async def _dispatch(self) -> None:
        """Finds what is asked for and who asks, then answers."""
        request = self._request
        own = self._state.owner_routes.find(request.method, request.path)
        if own is not None:
            await self._answer_for_owner(own)
            return
        route = self._state.routes.find(request.method, request.path, request.headers)
        self._endpoint = self._run.endpoint = route.endpoint
        self._is_answer = route.is_answer
        if self._is_answer:
            self._run.begin_trace(route.path)
            self._state.check_room()
        caller = self._run.caller = self._state.authenticated(request.headers)
        if self._is_answer:
            await self._answer()
        elif route.stored is not None:
            await self._stored(route.stored, caller)
        else:
            await self._document(route, caller)

    # ---- before the answer ----

    async def _answer_for_owner(self, route: OwnerRoute) -> None:
        """Answers at a path of the owner's."""
        request = self._request
        caller = NOBODY if route.is_open else self._state.authenticated(request.headers)
        body = await self._body.read(route.most_bytes)
        asked = OwnerRequest(request.method, request.path, request.query, request.headers, body, request.request_id)
        said = await route.handler(asked, caller)
        described = (("content-type", said.content_type), ("content-length", str(len(said.body))))
        await self._start(said.status, (*described, *said.headers))
        await self._send({"type": "http.response.body", "body": said.body})

    async def _document(self, route: Route, caller: Caller) -> None:
        """Sends a document that stands beside the answers."""
        document, request = route.document, self._request
        assert document is not None  # noqa: S101 - the caller has looked
        body = await self._body.read()
        wire = self._endpoint.request(
            request.path, json_object(body) if body else {}, request.headers, request.query, request.method
        )
        tokens = 0
        if document.counts is not None:
            memory, state = self._state.memory, self._state.remembering(self._endpoint)
            asked = document.counts((await memory.remembered(state, wire, caller.name)).asks)
            tokens = await self._run.count(asked)
        models = tuple(map(served_model, (await self._state.models_of(caller)).values()))
        status, said = document.answer(wire, models, tokens)
        await self._reply(status, dumps(said))

    async def _stored(self, stored: StoredRoute, caller: Caller) -> None:
        """Reads or changes an answer that is kept."""
        request, endpoint = self._request, self._endpoint
        await self._body.read()
        wire = endpoint.request(request.path, {}, request.headers, request.query, request.method)
        found = await stored_reply(self._state.memory, endpoint.writes, stored, wire, caller.name)
        if not isinstance(found, FrameReplay):
            await self._reply(200, dumps(found))
            return
        await self._start(200, stream_headers(found.content_type))
        await found.send(self._deliver, self._client_leaves)

    # ---- the answer ----

    async def _answer(self) -> None:
        request = self._request
        body = json_object(await self._body.read())
        wire = self._endpoint.request(request.path, body, request.headers, request.query)
        await self._run.serve(wire, self._deliver, self._client_leaves)

    async def _client_leaves(self) -> None:
        """Waits until the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _deliver(self, head: Head | None, data: bytes, last: bool) -> Awaitable[None]:
        if head is None:  # nearly always: what the server itself returns is awaited, and no coroutine of ours around it
            return self._send({"type": "http.response.body", "body": data, "more_body": not last})
        return self._begin(head, data, last)

    async def _begin(self, head: Head, data: bytes, last: bool) -> None:
        await self._start(head.status, (*head.headers, *self._run.upstream_headers))
        if data or last:
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    # ---- replies ----

    async def _start(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self._is_head_sent = True
        said = (*headers, *self._state.request_id_headers(self._request.request_id))
        if self._state.is_draining and _CLOSE not in said:
            said = (*said, _CLOSE)
        if not self._request.has_connection:
            said = tuple(one for one in said if one != _CLOSE)
        encoded = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in said]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def _reply(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        await self._start(status, (*json_headers(body), *headers))
        await self._send({"type": "http.response.body", "body": body})

    async def _refuse(self, failure: ServedFailure, *headers: tuple[str, str]) -> int:
        """Tells of a failure before the head, in the words of the wire; returns the HTTP status."""
        said = self._endpoint.writes.failed(replace(failure, request_id=self._request.request_id))
        await self._reply(said.status, dumps(said.body), *said.headers, *headers)
        return said.status


def _refusal(error: Exception) -> tuple[Any, ...]:
    """What a client is told of an error before the head, and further headers."""
    if isinstance(error, NoRouteError):
        kind = FailureKind.METHOD_NOT_ALLOWED if error.allowed else FailureKind.NOT_FOUND
        allow = (("allow", ", ".join(error.allowed)),) if error.allowed else ()
        return ServedFailure(kind, str(error)), *allow
    if isinstance(error, RequestFailedError):
        return error.failure, *error.headers
    if isinstance(error, PartstreamError):
        return (failure_of(error),)
    return (ServedFailure(FailureKind.INTERNAL, "the server has a fault; its log names it"),)
