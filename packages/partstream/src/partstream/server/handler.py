"""One HTTP request, from its head to the last byte of its reply.

:class:`RequestHandler` decides everything that can refuse a request before the head of the reply: path, room, key,
size, form, model (docs/wires/serving.md#status-before-the-head). In this order it

1. finds the route, be it the owner's or of a protocol;
2. checks that there is room for one more response, and who asks;
3. reads the body within its bounds (:class:`RequestBody`), or discards it before a refusal;
4. answers: with a document, with a stored response (:func:`stored_reply`), or with a response of a model.

:class:`ResponseRun` is the last of these, over HTTP and as one turn of a WebSocket: it reads the request, finds the
model, asks the admission, calls the provider, hands the bytes to the client, and reports what is known of the response
once it is over. Next to every response one task waits until the client leaves, and then cancels the provider: servers
give no other signal (docs/wires/serving.md#clients-that-leave).
"""

from __future__ import annotations
import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import narrow
from partstream.codec.json_codec import dumps
from partstream.codec.values import replace
from partstream.conversation.preparation import ASKED_IN
from partstream.errors import PartstreamError, UnknownModelError, UnsupportedParameterError
from partstream.lm.outputs import InboundRequest, Reply
from partstream.protocols.failures import FailedReply, FailureKind, ServedFailure, UnknownReferenceError
from partstream.protocols.serve import Effect, id_in_path
from partstream.runtime.progress import AnswerExcerpt
from partstream.server import replies, requests
from partstream.server.answer import UPSTREAM_HEADER, CurrentAnswer, ProviderCall
from partstream.server.clients import NOBODY, Caller, RequestClient, client_of
from partstream.server.dropped import DroppedFields
from partstream.server.forwarding import (
    ForwardedReply,
    ForwardingCase,
    counted_as_it_came,
    offer,
)
from partstream.server.models import CataloguedModel, ForwardingProvider, served_model, unhosted_tools
from partstream.server.settings import AnswerObservation, AnswerRequest, EndedAnswer, settled
from partstream.server.state import AnswerMemory, OwnerRequest, OwnerRoute, Remembered, ServerState, asked_of_store
from partstream.upstream.forwarding import value_at

if TYPE_CHECKING:
    from partstream.protocols.serve import (
        RequestReferences,
        ResolvedReferences,
        ResponseWriter,
        StoredAnswer,
        StoredRoute,
        WireRequest,
    )
    from partstream.server.settings import AnswerTrace, Permit, ServingSettings
    from partstream.upstream.forwarding import RawRequest

_logger = logging.getLogger("partstream.serving")

Deliver: TypeAlias = Callable[[replies.Head | None, bytes, bool], Awaitable[None]]
"""Sends the head of a reply, once, bytes, and whether they are the last; waits while the client is slow."""


class RequestHandler:
    """One HTTP request, with the path that it means, and its reply."""

    def __init__(
        self, state: ServerState, request: requests.RequestHead, receive: requests.Receive, send: requests.Send
    ) -> None:
        self._state = state
        self._request = request
        self._receive = receive
        self._send = requests.leaving(send)
        self._body = RequestBody(request, receive, state.settings)
        self._endpoint = state.routes.nearest(request.path)
        self._run = ResponseRun(state, self._endpoint, request)
        self._is_answer = False
        self._is_head_sent = False
        self._origin_headers: tuple[tuple[str, str], ...] = ()

    async def serve(self) -> None:
        """Answers the request; raises nothing that the server would have to report to the client."""
        try:
            try:
                await self._dispatch()
            except requests.ClientLeftError:
                raise
            except Exception as error:
                if self._is_head_sent:
                    raise
                await self._refuse(error)
        except requests.ClientLeftError:
            if self._is_answer:
                self._run.observe_left()

    async def _dispatch(self) -> None:
        """Finds the route and the caller, then answers."""
        request = self._request
        own = self._state.owner_routes.find(request.method, request.path)
        if own is not None:
            await self._answer_for_owner(own)
            return
        if (origins := self._state.origins) is not None:
            self._origin_headers = origins.headers(request.headers)
            preflight = origins.preflight(request.method, request.headers)
            if preflight is not None:
                await self._start(204, preflight)
                await self._send({"type": "http.response.body", "body": b""})
                return
        route = self._state.routes.find(request.method, request.path, request.headers)
        self._endpoint = self._run.endpoint = route.endpoint
        self._is_answer = route.is_answer
        if self._is_answer:
            self._run.begin_trace(route.path)
            self._state.check_room()
        caller = self._run.caller = self._state.authenticated(request.headers)
        if self._is_answer:
            body = await self._body.read()
            document = requests.json_object(body)
            wire = self._endpoint.request(request.path, document, request.headers, request.query)
            await self._run.serve(wire, self._deliver, self._client_leaves, body=body)
        elif route.stored is not None:
            await self._stored(route.stored, caller)
        else:
            await self._document(route, caller)

    async def _refuse(self, error: Exception) -> None:
        """Reports an error before the head, in the words of the wire, once the client can read it."""
        headers: tuple[tuple[str, str], ...] = ()
        status: int | None = None
        match error:
            case requests.NoRouteError(allowed=allowed):
                kind = FailureKind.METHOD_NOT_ALLOWED if allowed else FailureKind.NOT_FOUND
                failure = ServedFailure(kind, str(error))
                taken = (*allowed, "HEAD") if "GET" in allowed else allowed
                headers = (("allow", ", ".join(taken)),) if allowed else ()
            case requests.RequestFailedError():
                failure, headers, status = error.failure, error.headers, error.status
            case PartstreamError():
                failure = requests.failure_of(error)
            case _:
                failure = requests.FAULT
                _logger.exception("a request could not be served because of a fault of the server", exc_info=error)
        await self._body.discard()
        writes = self._endpoint.writes
        said = (
            writes.failed(replace(failure, request_id=self._request.request_id))
            if status is None
            else FailedReply(status, (), writes.error(status, failure.message))
        )
        await self._reply(said.status, dumps(said.body), *said.headers, *headers)
        if self._is_answer:
            self._run.observe_refused(said.status, error)

    async def _answer_for_owner(self, route: OwnerRoute) -> None:
        request = self._request
        caller = NOBODY if route.is_open else self._state.authenticated(request.headers)
        body = await self._body.read(route.most_bytes)
        asked = OwnerRequest(request.method, request.path, request.query, request.headers, body, request.request_id)
        said = await route.handler(asked, caller)
        described = (("content-type", said.content_type), ("content-length", str(len(said.body))))
        await self._start(said.status, (*described, *said.headers))
        await self._send({"type": "http.response.body", "body": said.body})

    async def _document(self, route: requests.Route, caller: Caller) -> None:
        """Sends a document of the protocol, such as its list of models or a count of tokens."""
        document, request = route.document, self._request
        assert document is not None  # noqa: S101 - the caller has looked
        body = await self._body.read()
        wire = self._endpoint.request(
            request.path, requests.json_object(body) if body else {}, request.headers, request.query, request.method
        )
        tokens = 0
        if document.counts is not None:
            memory, state = self._state.memory, self._state.remembering(self._endpoint)
            remembered = await memory.remembered(state, wire, caller.name)
            reading = requests.reading_of(document.counts, remembered.asks, remembered.own)
            counted = await self._run.count(wire, remembered, reading, body, document.path)
            if isinstance(counted, bytes):
                await self._reply(200, counted)
                return
            tokens = counted
        models = tuple(map(served_model, (await self._state.models_of(caller)).values()))
        status, said = document.answer(wire, models, tokens)
        await self._reply(status, dumps(said))

    async def _stored(self, stored: StoredRoute, caller: Caller) -> None:
        """Reads or changes a stored response."""
        request, endpoint = self._request, self._endpoint
        await self._body.read()
        wire = endpoint.request(request.path, {}, request.headers, request.query, request.method)
        found = await stored_reply(self._state.memory, endpoint.writes, stored, wire, caller.name)
        if not isinstance(found, FrameReplay):
            await self._reply(200, dumps(found))
            return
        await self._start(200, replies.stream_headers(found.content_type))
        await found.send(self._deliver, self._client_leaves)

    async def _client_leaves(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _deliver(self, head: replies.Head | None, data: bytes, last: bool) -> Awaitable[None]:
        if head is None:  # nearly always: the server's own awaitable is awaited, without a coroutine of ours around it
            return self._send({"type": "http.response.body", "body": data, "more_body": not last})
        return self._begin(head, data, last)

    async def _begin(self, head: replies.Head, data: bytes, last: bool) -> None:
        direct = self._request.direct
        if direct is not None and data:
            direct.join_head()
        await self._start(head.status, (*head.headers, *self._run.reply_headers))
        if data or last:
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def _start(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self._is_head_sent = True
        said = (*headers, *self._origin_headers, *self._state.reply_headers(self._request.request_id))
        if self._state.is_draining and requests.CLOSE not in said:
            said = (*said, requests.CLOSE)
        if not self._request.has_connection:
            said = tuple(one for one in said if one != requests.CLOSE)
        await self._send({"type": "http.response.start", "status": status, "headers": requests.encoded_headers(said)})

    async def _reply(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        await self._start(status, (*replies.json_headers(body), *headers))
        await self._send({"type": "http.response.body", "body": body})


# ---- The body ----

_DISCARDED: Final = 4
"""How many times the largest body is discarded before a client that still sends is cut off."""
_LONGEST_NUMBER: Final = 18
"""The most digits of a declared size that are read; the bytes themselves are counted in any case."""
_PAUSE_SECONDS: Final = 1.0
"""How long a client may pause in a body that is discarded."""


class RequestBody:
    """The body of one request, within bounds of size and time; read once by one task."""

    __slots__ = ("_is_whole", "_receive", "_request", "_settings", "_size")

    def __init__(self, request: requests.RequestHead, receive: requests.Receive, settings: ServingSettings) -> None:
        self._request = request
        self._receive = receive
        self._settings = settings
        self._size = 0
        self._is_whole = False

    async def read(self, most: int | None = None) -> bytes:
        """The whole body.

        Args:
            most: The most bytes that it may have, if that is less than the settings allow.

        Raises:
            RequestFailedError: It is too large, or takes too long, or cannot be unpacked.
            UnsupportedCodingError: It is packed in another way.
            ClientLeftError: The client left before it was whole.
        """
        limit = self._settings.body_bytes if most is None else min(most, self._settings.body_bytes)
        declared = self._request.headers.get("content-length", "")
        if declared.isdecimal() and len(declared) <= _LONGEST_NUMBER:
            self._check_size(int(declared), limit)
        unpacking = requests.Unpacking(self._request.headers.get("content-encoding", ""), limit)
        body = bytearray()
        direct = self._request.direct
        try:
            # A body that has come needs no limit of time, which costs as much as all the rest here.
            seconds = self._settings.body_seconds
            async with nullcontext() if direct is not None and direct.has_body else asyncio.timeout(seconds):
                while not self._is_whole:
                    piece = await self._next()
                    self._check_size(self._size, limit)
                    body += unpacking.unpack(piece)
            unpacking.end()
        except TimeoutError as error:
            self._is_whole = True  # the rest is not read
            said = f"got {self._size:,} bytes within {self._settings.body_seconds:g} seconds, expected the whole body"
            raise requests.RequestFailedError(ServedFailure(FailureKind.TIMEOUT, said), requests.CLOSE) from error
        return bytes(body)

    async def discard(self) -> None:
        """Discards what was not read, before a refusal: a client that still sends reads no reply otherwise, because
        the server closes the connection on it.

        Raises:
            ClientLeftError: The client has left.
        """
        # RFC 9110 section 10.1.1: the client waits for `100 Continue` and has sent nothing.
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
            raise requests.ClientLeftError("the client left before its request was whole")
        data: bytes = message.get("body", b"")
        self._size += len(data)
        self._is_whole = not message.get("more_body", False)
        return data

    @staticmethod
    def _check_size(size: int, most: int) -> None:
        if size > most:
            said = f"got a body of {size:,} bytes or more, expected at most {most:,}"
            raise requests.RequestFailedError(ServedFailure(FailureKind.TOO_LARGE, said), requests.CLOSE)


# ---- A response of a model ----

_CLIENT_LEFT: Final = 499
"""The status in observations of a reply whose client left; never sent. The number is nginx' own."""


class ResponseRun:
    """One request for a response, over HTTP or as a turn of a WebSocket, whose `request` is the handshake.

    Args:
        state: What all requests share.
        endpoint: Where the request came.
        request: The request without its body.
        recall: What a socket itself remembers; None for HTTP.

    Attributes:
        caller: Who asks; :data:`~partstream.server.clients.NOBODY` before the key is checked.
        earlier: The earlier responses to which the request refers; None before they are found.
        stored: The response as it is remembered; None for one that is not, and before its end.
    """

    def __init__(
        self,
        state: ServerState,
        endpoint: requests.Endpoint,
        request: requests.RequestHead,
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
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._asked: InboundRequest | None = None
        self._current: CurrentAnswer | None = None
        self._trace: AnswerTrace | None = None
        self._permit: Permit | None = None
        self._running: ProviderCall | None = None
        self._observed: AnswerObservation | None = None
        self._dropped: DroppedFields | None = None  # most requests lose nothing
        self._unsaid: DroppedFields | None = None

    def begin_trace(self, route: str) -> None:
        """Begins the trace of the response, if the owner of the server wants one; `route` is a pattern of paths."""
        if self._state.start_trace is not None:
            self._trace = self._state.start_trace(self._request.method, route, self._request.headers)

    async def serve(
        self,
        wire: WireRequest,
        deliver: Deliver,
        client_leaves: Callable[[], Awaitable[None]],
        *,
        generates: bool = True,
        body: bytes | None = None,
    ) -> None:
        """Answers the request.

        Args:
            wire: The request.
            deliver: Takes the reply.
            client_leaves: Returns when the client has left.
            generates: Whether a model answers; otherwise the response is empty.
            body: The bytes of the request; None where it came in another form.

        Raises:
            PartstreamError: The request is refused; nothing was delivered.
        """
        endpoint, state = self.endpoint, self._state
        remembered, refusal = await self._remembered(wire)
        self.earlier = remembered.earlier
        reading = requests.reading_of(endpoint.reads.read, remembered.asks, remembered.own)
        asked = self._asked = reading.asked
        refusal = refusal or reading.refusal
        if state.rules.admit is not None:
            state.rules.admit(endpoint, wire, asked)
        try:
            model = await state.find_model(asked.model, self.caller)
        except UnknownModelError as error:
            raise (refusal or error) from None
        case = self._case(wire, remembered, asked, model, body, endpoint.pattern, refusal)
        if case.unread or refusal is not None:  # refused before anything is reserved
            self._offer(case)
        if refusal is not None and self._settings.admission is not None and not reading.is_whole:
            raise refusal  # nothing is admitted that was not read
        if self._settings.admission is None or not generates:
            await self._answer(case, deliver, client_leaves, generates=generates)
            return
        admitted = await self._settings.admission.admit(
            self._answer_request(model, asked, size=len(body or dumps(wire.body)))
        )
        self._asked = admitted.asked
        self._permit = admitted.permit
        case = replace(case, admitted=admitted.asked, model=admitted.model, is_judged=True)
        try:
            await self._answer(case, deliver, client_leaves)
        finally:
            self._settle()

    async def _remembered(self, wire: WireRequest) -> tuple[Remembered, PartstreamError | None]:
        """The request with what it refers to; where that is not known here and the upstream may know it, as it came,
        with the reason to refuse it elsewhere.

        Raises:
            PartstreamError: The request is refused.
        """
        memory, state = self._state.memory, self._state.remembering(self.endpoint)
        try:
            return await memory.remembered(state, wire, self.caller.name, self._recall), None
        except (UnsupportedParameterError, UnknownReferenceError) as error:
            where = error.where if isinstance(error, UnsupportedParameterError) else error.param or ""
            is_kept_there = state is not None and where.partition("[")[0] in state.of_upstream
            # Callers who share a key refer to nothing that its upstream keeps.
            if not is_kept_there or self._settings.authenticate is not None:
                raise
            return Remembered(wire, wire), error

    def _case(
        self,
        wire: WireRequest,
        remembered: Remembered,
        asked: InboundRequest,
        model: CataloguedModel,
        body: bytes | None,
        pattern: str,
        refusal: PartstreamError | None = None,
    ) -> ForwardingCase:
        state, served = self._state, self._state.remembering(self.endpoint)
        understood = frozenset() if served is None else served.fields
        unread = (*asked.dropped, *unhosted_tools(model.provider, asked.hosted_tools))
        return ForwardingCase(
            endpoint=self.endpoint,
            body=body,
            wire=wire,
            remembered=remembered,
            asked=asked,
            admitted=asked,
            model=model,
            settings=state.settings,
            overrides=state.rules,
            pattern=pattern,
            caller=self.caller.name,
            unread=tuple(path for path in unread if path not in understood),
            added={}
            if served is None
            else served.changed(wire, remembered.asks, is_kept=self._is_recorded(remembered)),
            refusal=refusal,
        )

    def _is_recorded(self, remembered: Remembered) -> bool:
        """Whether a later request can continue the response."""
        return remembered.is_kept or self._recall is not None

    async def count(
        self, wire: WireRequest, remembered: Remembered, reading: requests.Reading, body: bytes, pattern: str
    ) -> int | bytes:
        """Counts the tokens of a request, without a response.

        Args:
            wire: The request for the count.
            remembered: The same with what it refers to.
            reading: The request that is counted.
            body: The bytes of the request for the count.
            pattern: The pattern of its path.

        Returns:
            The tokens, or the document of an upstream that speaks the same wire.

        Raises:
            PartstreamError: The request is refused.
        """
        asked, admission = reading.asked, self._settings.admission
        model = await self._state.find_model(asked.model, self.caller)
        case = self._case(wire, remembered, asked, model, body, pattern, reading.refusal)
        if admission is None:
            return await counted_as_it_came(case)
        if reading.refusal is not None and not reading.is_whole:
            raise reading.refusal
        self._asked = asked
        admitted = await admission.admit(self._answer_request(model, asked, is_count=True))
        self._asked, self._permit = admitted.asked, admitted.permit
        try:
            return await counted_as_it_came(
                replace(case, admitted=admitted.asked, model=admitted.model, is_judged=True)
            )
        finally:
            self._settle()

    def _offer(self, case: ForwardingCase) -> RawRequest | None:
        """The request as it came, for a provider that may send it on; any other loses the fields that were not read.

        Raises:
            UnsupportedParameterError: The server is strict, and there are any.
            PartstreamError: It cannot be translated.
        """
        offered = None if narrow(case.model.provider, ForwardingProvider) is None else offer(case)
        if offered is None and case.refusal is not None:
            raise case.refusal
        if offered is None and case.unread:
            self._dropped = self._dropped or self._dropped_fields()
            self._dropped.add(case.unread)
        return offered

    def _report_dropped(self, paths: Iterable[str]) -> None:
        """Notes what an upstream has no place for, see :func:`partstream.upstream.context.report_dropped`."""
        self._dropped = self._dropped or self._dropped_fields()
        self._dropped.report(paths)

    def _leave_unsaid(self, names: Collection[str]) -> None:
        """Notes what the client does not get of the answer."""
        if names:
            self._unsaid = DroppedFields(self._request.request_id, self._state.unsaid)
            self._unsaid.add(names)

    def _dropped_fields(self) -> DroppedFields:
        return DroppedFields(self._request.request_id, self._state.dropped, is_strict=self._settings.strict)

    @property
    def _dropped_names(self) -> tuple[str, ...]:
        return () if self._dropped is None else self._dropped.names

    async def _answer(
        self,
        case: ForwardingCase,
        deliver: Deliver,
        client_leaves: Callable[[], Awaitable[None]],
        *,
        generates: bool = True,
    ) -> None:
        """Answers a request that is admitted."""
        wire, remembered, asked, model = case.wire, case.remembered, case.admitted, case.model
        endpoint, settings, request_id = self.endpoint, self._settings, self._request.request_id
        memory, rules, served_state = self._state.memory, self._state.rules, self._state.remembering(self.endpoint)
        direct = self._request.direct
        buffered = replies.BufferedReplySink(
            deliver, settings.buffer_bytes, settings.backlog_bytes, None if direct is None else direct.write
        )
        recorded: replies.RecordingReplySink | None = None
        if served_state is not None and self._is_recorded(remembered):
            recorded = memory.recorded(served_state, remembered, self.caller.name, buffered, is_stream=asked.stream)
        sink: replies.ReplySink = recorded or buffered
        if rules.identify is None:
            identity = Reply(request_id, int(self._time), raw_reasoning=settings.raw_reasoning, secret=memory.secret)
        else:
            identity = replace(rules.identify(wire), secret=memory.secret)
        kind = replies.StreamReply if asked.stream else replies.DocumentReply
        make_reply = partial(kind, endpoint.writes, asked, identity, sink, request_id, self._leave_unsaid)
        offered = self._offer(case)
        reply: replies.ReplyWriter = (
            make_reply() if offered is None else ForwardedReply(make_reply, offered, endpoint, asked, identity, sink)
        )
        capture, current = None, self._current or self._begin_current()
        if generates and self._state.taps is not None:
            client = current.client
            capture = self._state.taps.begin(f"serve, for {client.name}" if client.name else "serve", model.id)
        # The wire in whose words the options are, for servers that speak another one.
        options = {**asked.options.model_options, **asked.said_beside, ASKED_IN: endpoint.protocol.name}
        answer = self._running = ProviderCall(
            model,
            replace(asked, options=replace(asked.options, model_options=options)),
            reply,
            sink,
            settings,
            endpoint.writes.stopped,
            self._trace,
            is_kept=recorded is not None,
            has_own_ids=served_state is not None,
            # What the caller may miss, on a wire that cannot return it; on others, it comes back by itself.
            thinking=self._state.thinking.of(self.caller.name)
            if endpoint.writes.drops_thinking_state or asked.asks_to_think is False
            else None,
            capture=capture,
            current=current,
            reported=None if self._permit is None else self._permit.reported,
        )
        if recorded is not None:
            recorded.stop = answer.stop_for_client
        self._state.admit(answer)
        try:
            await self._transfer(answer, reply, buffered, model, client_leaves, recorded, generates=generates)
        except BaseException:  # nothing else would cancel the provider
            answer.kill()
            raise
        finally:
            self._state.dismiss(answer)
            if capture is not None:
                capture.dropped(self._dropped_names)
                finish = None if answer.is_cancelled else answer.finish
                capture.end("cancelled" if finish is None else finish.outcome.value, answer.error)

    async def _transfer(  # noqa: C901 - one answer, from its start to its report
        self,
        answer: ProviderCall,
        reply: replies.ReplyWriter,
        buffered: replies.BufferedReplySink,
        model: CataloguedModel,
        client_leaves: Callable[[], Awaitable[None]],
        recorded: replies.RecordingReplySink | None,
        *,
        generates: bool,
    ) -> None:
        """Hands the bytes to the client until the reply is over, reports it, and waits for the provider."""

        def leave() -> None:
            if recorded is not None:
                recorded.cancel()
            answer.cancel()
            buffered.close()

        async def watch() -> None:
            await client_leaves()
            leave()

        watcher: asyncio.Task[None] | None = None
        if self._request.direct is None:
            watcher = self._loop.create_task(watch())
        else:
            self._request.direct.on_left(leave)
        timer = replies.ReplyTimer(reply, buffered, self._settings, answer.time_out)
        if generates:
            answer.start()
        else:
            answer.end_empty()
        try:
            await buffered.pump()
        except requests.ClientLeftError:
            leave()
        except asyncio.CancelledError:
            if not timer.gives_up:
                raise
            leave()  # the client did not take the end in time
        finally:
            timer.stop()
            if watcher is not None:
                watcher.cancel()
        self._observe(answer, reply, buffered, model)
        await answer.wind_down()
        self._settle()
        if recorded is not None:
            self.stored = await recorded.ended()

    # ---- Its admission ----

    def _answer_request(
        self, model: CataloguedModel, asked: InboundRequest, *, is_count: bool = False, size: int = 0
    ) -> AnswerRequest:
        client = self._begin_current().client
        wire, request = self.endpoint.protocol.name, self._request
        known = self.caller, model, asked, wire, client, request.request_id, request.headers
        rules = self.endpoint.reads.forwarding
        answers = 1 if rules is None or not rules.answers else value_at(asked.body, rules.answers)
        return AnswerRequest(*known, is_count, size, answers if type(answers) is int and answers > 1 else 1)

    def _settle(self) -> None:
        """Settles the permit, once."""
        permit, asked = self._permit, self._asked
        if permit is None or asked is None:
            return
        self._permit = None
        observation = self._observed or self._observation(_CLIENT_LEFT, None, is_cancelled=True)
        if self._running is None:
            ended = EndedAnswer(observation, asked, False, None, (), AnswerExcerpt().message, 1.0)
        else:
            call, progress = self._running, self._running.progress
            kept, rows = progress.kept, tuple(call.usage_rows)
            ended = EndedAnswer(observation, asked, call.was_asked, progress.usage, rows, kept.message, kept.length)
        settled(permit, ended)

    # ---- What is known of it ----

    def _observe(
        self,
        answer: ProviderCall,
        reply: replies.ReplyWriter,
        buffered: replies.BufferedReplySink,
        model: CataloguedModel,
    ) -> None:
        finish, first, rows = answer.finish, answer.progress.first_part_at, answer.usage_rows
        costs = [row.cost for row in rows if row.cost is not None]  # what the upstreams cost, where it is known
        self._report(
            self._observation(
                buffered.head.status if buffered.head is not None else _CLIENT_LEFT,
                answer.error,
                model=model.id,
                provider=self._upstream or model.provider_name,
                outcome=None if finish is None else finish.outcome,
                reason=None if finish is None else finish.reason,
                usage=None if finish is None else finish.usage,
                is_usage_counted=answer.is_usage_counted,
                first_part_after=None if first is None else first - self._started,
                bytes=buffered.bytes,
                events=reply.events,
                is_cancelled=answer.is_cancelled,
                cost=sum(costs) if costs else answer.progress.cost,
                is_usage_kept=bool(rows),
                response_id=None if finish is None else finish.response_id,
                violations=answer.violations.total(),
                unsaid=() if self._unsaid is None else self._unsaid.names,
            )
        )

    def observe_refused(self, status: int, error: Exception) -> None:
        """Reports a request that was refused to all who count responses."""
        self._report(self._observation(status, None, error=requests.failure_of(error).kind.name.lower()))

    def observe_left(self) -> None:
        """Reports a request whose client left before it was whole."""
        self._report(self._observation(_CLIENT_LEFT, None, is_cancelled=True))

    def _report(self, observation: AnswerObservation) -> None:
        self._observed = observation
        self._state.observe(observation, self._trace)

    def _observation(self, status: int, failed: BaseException | None, **known: Any) -> AnswerObservation:
        asked = self._asked
        facts = {
            "model": "" if asked is None else asked.model,
            "provider": "",
            "error": None if failed is None else type(failed).__name__,
            **known,
        }
        return AnswerObservation(
            time=self._time,
            wire=self.endpoint.protocol.name,
            status=status,
            duration=self._loop.time() - self._started,
            request_id=self._request.request_id,
            client=self._client(),
            caller=self.caller.name,
            is_stream=asked is None or asked.stream,
            dropped=self._dropped_names,
            **facts,
        )

    def _begin_current(self) -> CurrentAnswer:
        """What the provider may know of its caller."""
        self._current = CurrentAnswer(self.caller, self._client(), report_dropped=self._report_dropped)
        return self._current

    def _client(self) -> RequestClient:
        return client_of(self._request.headers, self._asked) if self._current is None else self._current.client

    @property
    def _upstream(self) -> str:
        """The upstream that the provider named last, or nothing."""
        return "" if self._current is None else self._current.upstream

    @property
    def reply_headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that name the upstream, where the provider has named one, and the fields that were left out."""
        dropped = (header for one in (self._dropped, self._unsaid) if one is not None for header in one.headers)
        return (*(((UPSTREAM_HEADER, self._upstream),) if self._upstream else ()), *dropped)


# ---- Stored responses ----


class FrameReplay:
    """The frames of a stream from the number `first` on: all of a response that is over, or those of one that runs."""

    def __init__(
        self,
        frames: Sequence[bytes],
        running: replies.RecordingReplySink | None,
        first: int,
        writes: type[ResponseWriter],
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
    memory: AnswerMemory, writes: type[ResponseWriter], route: StoredRoute, wire: WireRequest, owner: str
) -> Mapping[str, Any] | FrameReplay:
    """The reply to a request for a stored response: a document, or the frames of its stream once more.

    Raises:
        PartstreamError: There is none, none of this owner, or the request is wrong.
    """
    state, store = writes.state, memory.store
    answer_id = id_in_path(route.path, wire.path) or ""
    assert state is not None  # noqa: S101 - the route is one of the state's
    first = None if route.resumes is None else route.resumes(wire)
    running = memory.running.get((owner, answer_id))
    if running is not None and route.effect is not Effect.READ:
        await running.stop_and_keep()
        running = None
    chain: Sequence[StoredAnswer] = ()
    if running is not None:
        now = running.now()
        chain = () if now is None else (now,)
    elif store is not None:
        chain = await asked_of_store(store.chain(owner, answer_id))
    if not chain:
        raise state.unknown(answer_id)
    if first is not None:
        frames = None if running is None else running.frames
        if running is None and store is not None:
            frames = await asked_of_store(store.frames(owner, answer_id))
        if frames is None:
            raise state.unstreamed(answer_id)
        return FrameReplay(frames, running, first, writes)
    if route.effect is Effect.DELETE and store is not None:
        await asked_of_store(store.delete(owner, answer_id))
    return route.document(wire, chain)
