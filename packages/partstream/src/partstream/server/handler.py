"""One request, from its head to the last byte of its reply: route, body, caller, model, provider, reply.

:class:`ServerState` is what all requests of one server share. :class:`RequestHandler` reads top to bottom in the order
of a request. What can refuse it comes before the head of the reply: path, room, key, rates, size, form, model, budgets
(docs/wires/serving.md#status-before-the-head).

1. :meth:`~RequestHandler.serve` finds the route and the caller, asks the admission whether he may send anything now,
   and reads the body; a document or a stored response is answered there. A large body, and all that is done with it, is
   read in a thread (:mod:`partstream.codec.limits`).
2. :meth:`~RequestHandler.answer` reads the request for a response, finds its model, asks the admission, and decides
   whether the request may go on as it came.
3. The provider runs in a task of its own, :meth:`~RequestHandler._provide`. It reports to a checked
   :class:`~partstream.server.replies.ReplyProgress`, which writes each part at once and counts nothing but the text
   that it keeps for a count of tokens.
4. The first of these events ends the reply, exactly once, and every later one does nothing: the provider returned or
   raised; the client left; the client asked for the end; the response took too long or reached its limit; the server
   stops. Then no further part passes, and the provider gets its cancellation.
5. What is known of the response is reported once it is over, to all who count responses and to its permit.

ASGI tells by `receive` alone that a client has left (docs/wires/serving.md#clients-that-leave): a task waits for that,
where the server has no :class:`~partstream.server.requests.DirectReply`. A turn of a WebSocket is the same handler
with another way to its client.
"""

from __future__ import annotations
import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream import errors
from partstream.codec import limits
from partstream.codec.checks import narrow, replace
from partstream.codec.json_codec import dumps
from partstream.codec.system import give_memory_back
from partstream.conversation.preparation import ASKED_IN
from partstream.conversation.provider_state import ThinkingMemory
from partstream.errors import PartstreamError, UnknownModelError, UnsupportedParameterError
from partstream.lm.cancellation import CancellationTokenSource, Disposable
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import VALID, Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import FinishReason, RawCallPart, ResponsePart, UnifiedFinishReason, Usage
from partstream.protocols import serve as wires
from partstream.protocols.failures import FailureKind, ServedFailure, UnknownReferenceError
from partstream.runtime.progress import AnswerExcerpt, CheckedProgress, cause_of, failing_place
from partstream.server import models, replies, requests
from partstream.server import settings as serving
from partstream.server.clients import NOBODY, Caller, authenticator_of, client_of, machine_token
from partstream.server.forwarding import ForwardedReply, ForwardingCase, check_judged, check_shared, kept_request
from partstream.server.models import CataloguedModel, ForwardingProvider, KeepingProvider
from partstream.server.origins import PAGE_HEADERS, AllowedOrigins
from partstream.server.requests import UNSAID_HEADER, DroppedFields, DroppedLog
from partstream.server.stored import AnswerMemory, FrameReplay, RecordingReplySink, Remembered
from partstream.tokens.counting import counted_usage
from partstream.tokens.records import USAGE_ROWS, UsageRow
from partstream.upstream.context import CAPTURE, DROPPED, RECEIVED, AnswerTap, note_hop, run_until_cancelled
from partstream.upstream.forwarding import SEALING_HEADER, value_at

if TYPE_CHECKING:
    from partstream.lm.contract import Violation
    from partstream.lm.messages import ChatMessage
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.protocols.protocol import Protocol
    from partstream.server.tracing import AnswerSpans, StartTrace
    from partstream.upstream.context import TapSource
    from partstream.upstream.forwarding import RawRequest

_logger = logging.getLogger("partstream.serving")

T = TypeVar("T")

_MOMENT: Final = 0.5
"""Seconds without a large request after which memory is given back."""
_CLIENT_LEFT: Final = 499
"""The status in observations of a reply whose client left; never sent. The number is nginx' own."""
_DECISION_SECONDS: Final = 5.0
"""How long a response waits at most, between two reads, until it is known whether it may go on."""
_LIMITS: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})
_STOPPED: Final = FinishReason(UnifiedFinishReason.OTHER, "server_stopped")
_CANCELLED: Final = FinishReason(UnifiedFinishReason.OTHER, "cancelled")
_SECRET_FILE: Final = "serve-signing-key"  # noqa: S105 - the name of a file
_CHALLENGE: Final = ("www-authenticate", "Bearer")
_NEEDED_LATER: Final = ("endpoint", "_name", "_violations")


class ServerState:
    """What all requests of one server share.

    Attributes:
        base_paths: The path of a client's base URL for each protocol; the first, where it has several.
        thinking: The state of thinking that clients of some wires cannot return; None before there is any.
        large: Held while a large request is read.
        requests: How many requests are being read or answered.
        is_draining: Whether new answers are refused, with 503 and `connection: close`; `/readyz` answers 503 then.
        lifetimes: What starts before the first request, and stops after the last response, by ASGI's lifespan.
    """

    def __init__(
        self,
        providers: Mapping[str, LanguageModelChatProvider],
        settings: serving.ServingSettings,
        protocols: Iterable[Protocol],
        pages: Iterable[str],
        rules: serving.ServerOverrides,
    ) -> None:
        endpoints = requests.endpoints_of(protocols)
        self.protocols = {one.protocol.name: one.protocol for one in endpoints.values()}
        served = self.protocols.values()
        self.settings, self.is_shared = settings, settings.is_shared
        self.rules = rules
        self.routes = requests.Routes(endpoints, pages)
        self.base_paths: dict[str, str] = {}
        for one in endpoints.values():
            self.base_paths.setdefault(one.protocol.name, one.base_path)
        aliases = (alias for one in served for alias in one.aliases)
        self.catalogue = models.ModelCatalogue(providers, aliases, settings.models_seconds)
        # With the signing secret, which all processes of a folder share; without a folder it is of this process alone.
        place = None if settings.state_folder is None else settings.state_folder / _SECRET_FILE
        secret = secrets.token_bytes(32) if place is None else machine_token(place).secret.reveal().encode()
        self.memory = AnswerMemory(settings.store, secret)
        self.thinking: ThinkingMemory | None = None
        self.dropped, self.unsaid = DroppedLog(), DroppedLog(UNSAID_HEADER)
        self.origins = AllowedOrigins(settings.allow_origins) if settings.allow_origins else None
        self._refused_page = lru_cache(256)((self.origins or AllowedOrigins()).refusal)  # clients repeat their headers
        self._authenticate = settings.authenticate
        if settings.authenticate is None and settings.token is not None:
            self._authenticate = authenticator_of(settings.token, endpoints.values())
        self._listeners: dict[object, Callable[[serving.AnswerObservation], object]] = {}
        self._held_bytes: Counter[str] = Counter()  # of the callers
        self._open_sockets: Counter[str] = Counter()  # of the callers
        self.large = asyncio.Semaphore(limits.LARGE_AT_ONCE)
        self._giving_back: asyncio.TimerHandle | None = None
        self.requests = 0
        self.is_draining = False
        self.owner_routes: dict[str, dict[str, serving.OwnerRoute]] = {}
        self.lifetimes: list[serving.Lifetime] = []
        self.start_trace: StartTrace | None = None
        self.taps: TapSource | None = None
        self._id_headers = tuple(dict.fromkeys(("x-request-id", *(one.request_id_header for one in served))))
        self._answers: set[Callable[[], object]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_ready(self) -> bool:
        """Whether new answers are taken: the server is not stopped, and it can decide who may have them."""
        admission = self.settings.admission
        return not self.is_draining and (admission is None or admission.is_ready)

    @property
    def open_answers(self) -> int:
        """How many answers run."""
        return len(self._answers)

    def held_by(self, caller: Caller) -> requests.HeldBytes:
        """Counts the bytes of a request of a caller, or of his socket, that wait to be read."""
        return requests.HeldBytes(self._held_bytes, caller.name, self.settings.body_bytes)

    def open_socket(self, caller: Caller) -> None:
        """Counts a WebSocket of a caller until :meth:`close_socket`: idle ones must not take the connections of all.

        Raises:
            RequestFailedError: The caller has as many as one caller may have.
        """
        if self._open_sockets[caller.name] >= (most := self.settings.caller_sockets):
            said = f"you have {most:,} WebSockets open, which is the limit for one caller; close one"
            failure = ServedFailure(FailureKind.RATE_LIMITED, said, retry_after=requests.RETRY_SECONDS)
            raise requests.RequestFailedError(failure)
        self._open_sockets[caller.name] += 1

    def close_socket(self, caller: Caller) -> None:
        """Counts it no longer."""
        self._open_sockets[caller.name] -= 1
        if not self._open_sockets[caller.name]:
            del self._open_sockets[caller.name]

    def large_ended(self) -> None:
        """Gives memory back once large requests have been over for a moment, so that nothing refers to them."""
        loop = asyncio.get_running_loop()
        if self._giving_back is not None:
            self._giving_back.cancel()
        self._giving_back = loop.call_later(_MOMENT, lambda: loop.run_in_executor(None, give_memory_back))

    def authenticated(self, headers: Mapping[str, str]) -> Caller:
        """The caller, by the headers of a request.

        Raises:
            RequestFailedError: No caller has such a key; without one, a page of some site has sent the request.
        """
        if self._authenticate is None:
            if (why := self._refused_page(*map(headers.get, PAGE_HEADERS))) is not None:
                raise requests.RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, why))
            return NOBODY
        caller = self._authenticate(headers)
        if caller is None:
            said = "missing or invalid API key; send it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"
            raise requests.RequestFailedError(ServedFailure(FailureKind.UNAUTHENTICATED, said), _CHALLENGE)
        return caller

    async def models_for(self, caller: Caller) -> Mapping[str, CataloguedModel]:
        """The models by id that a caller may use."""
        known, admission = await self.catalogue.models(), self.settings.admission
        return known if admission is None else admission.models_of(caller, known)

    def find_model(self, model_id: str, caller: Caller) -> Coroutine[Any, Any, CataloguedModel]:
        """The model that a request of a caller names.

        Raises:
            UnknownModelError: No provider offers it, or the caller may not use it.
            LanguageModelError: A provider that may offer it could not list its models.
        """
        admission = self.settings.admission
        visible = None if admission is None else lambda known: admission.models_of(caller, known)
        return self.catalogue.find(model_id, visible)

    def reply_headers(self, request_id: str) -> tuple[tuple[str, str], ...]:
        """The headers of every reply: the id of the request by the name of each wire, and that state is sealed."""
        return (*[(name, request_id) for name in self._id_headers], (SEALING_HEADER, "1"))

    def check_room(self) -> None:
        """Refuses a further response while the server is stopped or full.

        Raises:
            RequestFailedError: There is no room.
        """
        headers: tuple[tuple[str, str], ...] = ()
        if self.is_draining:
            said, headers = "the server is shutting down; try again", (requests.CLOSE,)
        elif len(self._answers) >= self.settings.concurrent_answers:
            said = f"{self.settings.concurrent_answers:,} answers are running, which is the limit; try again"
        elif self.requests > self.settings.concurrent_requests:
            said = f"{self.settings.concurrent_requests:,} requests are open, which is the limit; try again"
        else:
            return
        failure = ServedFailure(FailureKind.OVERLOADED, said, retry_after=requests.RETRY_SECONDS)
        raise requests.RequestFailedError(failure, *headers)

    def admit(self, stop: Callable[[], object]) -> None:
        """Counts an answer, which `stop` ends, among those that run.

        Raises:
            RequestFailedError: There is no room.
        """
        self.check_room()
        self._answers.add(stop)
        self._idle.clear()

    def dismiss(self, stop: Callable[[], object]) -> None:
        """Counts it no longer."""
        self._answers.discard(stop)
        if not self._answers:
            self._idle.set()

    def on_did_finish_answer(self, listener: Callable[[serving.AnswerObservation], object], /) -> Disposable:
        """Calls a listener once for each request for a response."""
        key = object()
        self._listeners[key] = listener
        return Disposable(lambda: self._listeners.pop(key, None) and None)

    def observe(self, observation: serving.AnswerObservation, trace: AnswerSpans | None) -> None:
        """Reports a response that is over to all who count responses, also where one of them fails; ends its trace."""
        for listener in (*self._listeners.values(), *([] if trace is None else [trace.finish])):
            try:
                listener(observation)
            except Exception:
                _logger.exception("a listener of finished answers failed")

    async def drain(self, seconds: float | None = None) -> None:
        """Refuses new answers, waits for those that run for some seconds, by default those of the settings, then ends
        each of the rest with its wire's terminal event."""
        self.is_draining = True
        # Then for the last bytes to reach their clients.
        for patience in (self.settings.drain_seconds if seconds is None else seconds, self.settings.stop_seconds):
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._idle.wait()
                return
            self.stop_answers()
        _logger.warning("%d answers have not ended although the server is stopped", self.open_answers)

    def stop_answers(self) -> None:
        """Ends each answer that runs with its wire's terminal event."""
        for stop in tuple(self._answers):
            stop()


class RequestHandler:
    """One request, with the path that it means, and its reply.

    Attributes:
        state: What all requests share.
        endpoint: Where it came; the nearest one to its path before its route is found.
        caller: Who asks; :data:`~partstream.server.clients.NOBODY` before the key is checked.
        recall: What a socket itself remembers; None for HTTP.
        earlier: The earlier responses to which the request refers; None before they are found.
        size: The bytes in which the request came, where that is no body.
        stored: The response as it is remembered; None for one that is not, and before its end.
        finish: The finish as it was written; None before it, and where the client left before.
    """

    endpoint: requests.Endpoint
    caller: Caller = NOBODY
    recall: Callable[[wires.RequestReferences], wires.ResolvedReferences] | None = None
    earlier: wires.ResolvedReferences | None = None
    size = 0
    stored: wires.StoredAnswer | None = None
    finish: Finish | None = None
    error: BaseException | None = None
    is_cancelled = False
    _entry: serving.Entry | None = None
    _has_entered = False
    _is_answer = False
    _is_large = False
    _is_head_sent = False
    _is_over = False  # the end of the response is written, or its client has left
    _was_asked = False  # the provider
    _is_usage_counted = False
    _held = 0  # characters that came before they were a part, or never became one
    _reported: serving.Reported | None = None
    _undecided: asyncio.Future[bool] | None = None  # whether the response may go on
    _origin_headers: tuple[tuple[str, str], ...] = ()
    _asked: InboundRequest | None = None
    _model: CataloguedModel  # it and the progress are there before the provider is asked
    _progress: replies.ReplyProgress
    _buffered: replies.BufferedReplySink
    _trace: AnswerSpans | None = None
    _permit: serving.Permit | None = None
    _prepared: tuple[serving.Admitted | None, RawRequest | None] = None, None  # while its admission waited
    _observed: serving.AnswerObservation | None = None
    _dropped: DroppedFields | None = None  # most requests lose nothing
    _unsaid: DroppedFields | None = None
    _capture: AnswerTap | None = None
    _recorded: RecordingReplySink | None = None
    _task: asyncio.Task[None] | None = None  # of the provider
    _name = ""  # of the provider

    def __init__(
        self, state: ServerState, request: requests.RequestHead, receive: requests.Receive, send: requests.Send
    ) -> None:
        self.state = state
        self._settings = state.settings
        self._request = request
        self._receive = receive
        # A server with replies of its own says in another way that the client has left.
        self._send = requests.leaving(send) if request.direct is None else send
        self._body = requests.RequestBody(request, receive, state.settings.body_bytes, state.settings.body_seconds)
        self._time = time.time()
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._made_current: serving.CurrentAnswer | None = None
        self._violations: set[str] = set()  # the rules that the provider has broken
        self._usage_rows: list[UsageRow] = []  # what the upstreams that the provider asked have entered into the ledger

    # ---- Route, caller, body ----

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
        except requests.ClientLeftError as error:
            if self._is_answer and self._observed is None:
                self.observe_unanswered(error)
        finally:
            if self._is_large:
                self.state.large_ended()
            self.forget()

    def forget(self) -> None:
        """Lets go of the request and of its reply, whose parts refer to each other, so that no collection is needed;
        unless the provider never stopped. What it reports later is still named."""
        if self._task is None or self._task.done():
            known = vars(self)
            self.__dict__ = {"_is_over": True, **{name: known[name] for name in _NEEDED_LATER if name in known}}

    async def _dispatch(self) -> None:
        """Finds the route and the caller, then answers."""
        request, state = self._request, self.state
        own = state.owner_routes.get(request.path) or state.owner_routes.get(request.path.rstrip("/"))
        if own is not None:
            if request.method not in own:
                said = f"got method {request.method}, expected {', '.join(own)}"
                raise requests.NoRouteError(said, tuple(own))
            await self._answer_for_owner(own[request.method])
            return
        if (origins := state.origins) is not None:
            self._origin_headers = origins.headers(request.headers)
            preflight = origins.preflight(request.method, request.headers)
            if preflight is not None:
                await self._reply(204, b"", preflight)
                return
        route = state.routes.find(request.method, request.path, request.headers)
        self.endpoint = route.endpoint
        self._is_answer = route.is_answer
        if self._is_answer:
            self.begin(route.path)
        self.caller = state.authenticated(request.headers)
        if not note_hop(request.headers):
            said = "the request has come through too many servers: one of them is, by some way, its own upstream"
            raise requests.RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, said, code="loop"))
        try:
            if self._is_answer:
                body, document = await self._read()
                await self.answer(self.endpoint.request(request.path, document, request.headers, request.query), body)
            elif route.stored is not None:
                await self._stored(route.stored)
            elif route.document is not None:
                await self._document(route.document)
        finally:
            self.leave_admission()

    async def enter_admission(self, size: int | None) -> None:
        """Has the admission look at a request before it is read: at the rates of the caller, and for a large one at his
        budgets.

        Raises:
            RequestFailedError: It is refused.
        """
        admission = self._settings.admission
        if admission is None:
            return
        if not self._has_entered:
            self._has_entered, self._entry = True, admission.enter(self.caller)
        if size is not None and size > limits.LARGE_BYTES:
            known = await self.state.models_for(self.caller)
            await admission.afford(self.caller, known, self._request.request_id, size)

    def leave_admission(self) -> None:
        """Ends what no permit has taken over."""
        entry, self._entry = self._entry, None
        if entry is not None:
            entry.end(0)

    async def _read(self) -> tuple[bytes, dict[str, Any]]:
        """The body, and the JSON object in it; empty for no body."""
        declared, is_admitted = self._body.declared, self._settings.admission is not None
        if is_admitted:
            await self.enter_admission(declared)
        held = self.state.held_by(self.caller)
        try:
            body = await self._body.read(hold=held.hold)
            if is_admitted and declared is None:
                await self.enter_admission(len(body))
            return body, await self.parsed(body) if body or self._is_answer else {}
        finally:
            if held.size:
                held.hold(0)

    def parsed(self, body: bytes) -> Coroutine[Any, Any, dict[str, Any]]:
        """The JSON object of a body, which is read in a thread if it is large, as all else of this request then.

        Raises:
            RequestFailedError: It is none, or has too much in it.
        """
        self._is_large = requests.is_large(body)
        return self.apart(requests.json_object, body)

    async def apart(self, work: Callable[..., T], *arguments: Any) -> T:
        """The result of work on the request: for a large one, done in a thread."""
        if not self._is_large:
            return work(*arguments)
        async with self.state.large:
            return await asyncio.to_thread(work, *arguments)

    def begin(self, route: str) -> None:
        """Begins the trace of a response, if one is wanted, for a pattern of paths.

        Raises:
            RequestFailedError: There is no room for one more response.
        """
        if self.state.start_trace is not None:
            self._trace = self.state.start_trace(self._request.method, route, self._request.headers)
        self.state.check_room()

    async def _refuse(self, error: Exception) -> None:
        """Reports an error before the head, in the words of the wire, once the client can read it."""
        said = requests.refusal_of(error, self._endpoint.writes, self._request.request_id)
        await self._body.discard()
        body = dumps(said.body)
        await self._reply(said.status, body, (*replies.json_headers(body), *said.headers))
        if self._is_answer:
            self.observe_unanswered(error, said.status)

    @property
    def _endpoint(self) -> requests.Endpoint:
        """Where the request came, or the endpoint that words an error at its path."""
        return getattr(self, "endpoint", None) or self.state.routes.nearest(self._request.path)

    @property
    def _served_state(self) -> wires.ServedState | None:
        """What is remembered of the answers of the endpoint; None for nothing."""
        return self.endpoint.writes.state if self.state.rules.remembers else None

    async def _answer_for_owner(self, route: serving.OwnerRoute) -> None:
        request = self._request
        caller = NOBODY if route.is_open else self.state.authenticated(request.headers)
        body = await self._body.read(route.most_bytes)
        said = await route.handler(request, body, caller)
        described = (("content-type", said.content_type), ("content-length", str(len(said.body))))
        await self._reply(said.status, said.body, (*described, *said.headers))

    async def _document(self, document: wires.ServedDocument) -> None:
        """Sends a document of the protocol, such as its list of models or a count of tokens."""
        request, body = self._request, b""
        question: Mapping[str, Any] = {}
        if document.counts is None:
            await self._body.read(limits.LARGE_BYTES)
        else:
            body, question = await self._read()
        wire = self.endpoint.request(request.path, question, request.headers, request.query, request.method)
        tokens = 0
        if document.counts is not None:
            case = await self._case(wire, document.counts, body, document.path, is_count=True)
            if self._settings.admission is not None:
                await self._admit(case, is_count=True)
            try:
                counted = await case.counted()
            finally:
                self._settle()
            if isinstance(counted, bytes):  # the document of an upstream that speaks the same wire
                await self._reply(200, counted)
                return
            tokens = counted
        shown = tuple(map(models.served_model, (await self.state.models_for(self.caller)).values()))
        status, said = document.answer(wire, shown, tokens)
        await self._reply(status, dumps(said))

    async def _stored(self, stored: wires.StoredRoute) -> None:
        """Reads or changes a stored response."""
        request, endpoint = self._request, self.endpoint
        await self._body.read(limits.LARGE_BYTES)
        wire = endpoint.request(request.path, {}, request.headers, request.query, request.method)
        state = endpoint.writes.state
        assert state is not None  # noqa: S101 - the route is one of the state's
        found = await self.state.memory.reply(state, stored, wire, self.caller.name)
        if isinstance(found, str):
            await self._kept(found, state, stored, wire)
            return
        if not isinstance(found, FrameReplay):
            await self._reply(200, dumps(found))
            return
        await self._start(200, replies.stream_headers(endpoint.writes.content_type))
        await found.send(self.deliver, self.client_leaves, endpoint.writes.end_of_stream)

    async def _kept(
        self, model_id: str, state: wires.ServedState, route: wires.StoredRoute, wire: wires.WireRequest
    ) -> None:
        """Asks the upstream of a model for a response that it alone keeps, and sends what it says."""
        answer_id = wires.id_in_path(route.path, wire.path) or ""
        model = await self.state.find_model(model_id, self.caller)
        provider = narrow(model.provider, KeepingProvider)
        if provider is None:
            raise state.unknown(answer_id)
        asked = kept_request(self.endpoint.reads.forwarding, state.query, route.path, answer_id, wire)

        async def pass_on() -> None:
            async with provider.forward_kept(model.information, asked) as reply:
                await self._start(reply.status, (*reply.headers.items(),))
                async for piece in reply.pieces:
                    await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            if route.effect is wires.Effect.DELETE and reply.status < 300:
                await self.state.memory.forget(self.caller.name, answer_id)
            await self._send({"type": "http.response.body", "body": b""})

        waits, left = CancellationTokenSource(), asyncio.ensure_future(self.client_leaves())
        left.add_done_callback(lambda _: waits.cancel())
        try:
            await run_until_cancelled(pass_on(), waits.token)
        finally:
            left.cancel()

    # ---- The way to the client ----

    async def client_leaves(self) -> None:
        """Returns when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def deliver(self, head: replies.Head | None, data: bytes, last: bool) -> Awaitable[None]:
        """Sends the head of a reply, once, bytes, and whether they are the last; waits while the client is slow."""
        if head is None:  # nearly always: the server's own awaitable is awaited, without a coroutine of ours around it
            return self._send({"type": "http.response.body", "body": data, "more_body": not last})
        return self._begin(head, data, last)

    async def _begin(self, head: replies.Head, data: bytes, last: bool) -> None:
        if not (data and self._begin_at_once(head, data, last=last)):
            await self._start(head.status, self._fields_of(head))
            if data or last:
                await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        elif last:
            await self._send({"type": "http.response.body", "body": b""})

    def _begin_at_once(self, head: replies.Head, data: bytes, *, last: bool = False) -> bool:
        """Writes the head of a reply and its first bytes, where the server can without a turn of the event loop."""
        direct = self._request.direct
        if direct is None or self._is_head_sent:
            return False
        self._is_head_sent = direct.begin(head.status, self._said(self._fields_of(head)), data, last=last)
        return self._is_head_sent

    def _fields_of(self, head: replies.Head) -> tuple[tuple[str, str], ...]:
        dropped = [header for one in (self._dropped, self._unsaid) if one is not None for header in one.headers]
        named = self._current.upstream
        upstream = ((serving.UPSTREAM_HEADER, named),) if named else ()
        return (*head.headers, *upstream, *dropped)

    def _said(self, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        """The headers of a reply, with those of all replies."""
        said = (*headers, *self._origin_headers, *self.state.reply_headers(self._request.request_id))
        if self.state.is_draining and requests.CLOSE not in said:
            said = (*said, requests.CLOSE)
        if not self._request.has_connection:
            said = tuple(one for one in said if one != requests.CLOSE)
        return said

    async def _start(self, status: int, headers: tuple[tuple[str, str], ...]) -> None:
        self._is_head_sent = True
        said = requests.encoded_headers(self._said(headers))
        await self._send({"type": "http.response.start", "status": status, "headers": said})

    async def _reply(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] | None = None) -> None:
        """Sends a whole reply, of JSON where no headers say something else."""
        await self._start(status, replies.json_headers(body) if headers is None else headers)
        await self._send({"type": "http.response.body", "body": body})

    # ---- A response: its request, its model, its admission ----

    async def answer(self, wire: wires.WireRequest, body: bytes | None = None, *, generates: bool = True) -> None:
        """Answers a request for a response, whose body are these bytes, unless it came in another form. Where no model
        `generates` it, the response is empty.

        Raises:
            PartstreamError: The request is refused; nothing was delivered.
        """
        endpoint = self.endpoint
        case = await self._case(wire, endpoint.reads.read, body, endpoint.pattern, generates=generates)
        if case.unread or case.refusal is not None:  # refused before anything is reserved
            await self.apart(self._offer, case)
        if self._settings.admission is not None:  # an announcement takes no tokens, but is a request
            check_judged(wire.body, endpoint.reads.forwarding)
            await self._admit(case, is_count=not generates, size=self.size or len(body or b""))
        try:
            await self._run(case, generates=generates)
        finally:
            self._settle()

    async def _remembered(
        self, served: wires.ServedState, wire: wires.WireRequest, *, generates: bool, is_count: bool
    ) -> tuple[Remembered, PartstreamError | None]:
        """The request with what it refers to; where that is not known here and the upstream may know it, as it came,
        with the reason to refuse it elsewhere."""
        state = self.state
        try:
            joined, is_long = await state.memory.remembered(
                served, wire, self.caller.name, self.recall, self.apart, generates=generates
            )
        except (UnsupportedParameterError, UnknownReferenceError) as error:
            where = error.where if isinstance(error, UnsupportedParameterError) else error.param or ""
            # Callers who share a key refer to nothing that its upstream keeps; and what an answer takes whose end comes
            # after its reply, no admission learns.
            is_judged = is_count or state.is_shared or self._settings.admission is not None
            if where.partition("[")[0] not in served.of_upstream or is_judged:
                raise
            return Remembered(wire, wire), error
        self._is_large = self._is_large or is_long
        return joined, None

    async def _case(
        self,
        wire: wires.WireRequest,
        read: Callable[[wires.WireRequest], InboundRequest],
        body: bytes | None,
        pattern: str,
        *,
        generates: bool = True,
        is_count: bool = False,
    ) -> ForwardingCase:
        """Reads a request with what it refers to, and finds its model."""
        state, served = self.state, self._served_state
        remembered, refusal = Remembered(wire, wire), None
        if served is not None:
            remembered, refusal = await self._remembered(served, wire, generates=generates, is_count=is_count)
        self.earlier = remembered.earlier
        if state.is_shared:  # no caller names what an upstream keeps for the account of all
            await self.apart(check_shared, wire.body, () if served is None else served.fields)
        reading = await self.apart(requests.reading_of, read, remembered.asks, remembered.own)
        asked = self._asked = reading.asked
        refusal = refusal or reading.refusal
        if state.rules.admit is not None and not is_count:
            state.rules.admit(self.endpoint, wire, asked)
        try:
            model = await state.find_model(asked.model, self.caller)
        except UnknownModelError as error:
            raise (refusal or error) from None
        if refusal is not None and self._settings.admission is not None and not reading.is_whole:
            raise refusal  # nothing is admitted that was not read
        unread = (*asked.dropped, *models.unhosted_tools(model.provider, asked.hosted_tools))
        added: Mapping[str, Any] = {}
        is_recorded = remembered.is_kept or self.recall is not None
        if served is not None:
            unread = tuple(path for path in unread if path not in served.fields)
            added = served.changed(wire, remembered.asks, is_kept=is_recorded)
        return ForwardingCase(
            self._settings, state.rules, self.endpoint, self.caller.name, wire, remembered, body, asked, model,
            pattern, unread, added, refusal, is_recorded, asked,
        )  # fmt: skip

    async def _admit(self, case: ForwardingCase, *, is_count: bool = False, size: int = 0) -> None:
        """Asks the admission, and keeps its permit, which :meth:`_settle` gives back."""
        admission, rules = self._settings.admission, self.endpoint.reads.forwarding
        assert admission is not None  # noqa: S101 - the caller has looked
        answers = 1 if is_count or rules is None or not rules.answers else value_at(case.asked.body, rules.answers)
        self._asked = case.asked

        def prepare(admitted: serving.Admitted) -> None:
            case.admitted, case.model, case.is_judged = admitted.asked, admitted.model, True
            self._prepared = admitted, self._prepare(case)

        admitted = await admission.admit(
            serving.AnswerRequest(
                self.caller,
                case.model,
                case.asked,
                self.endpoint.protocol.name,
                self._current.client,
                self._request.request_id,
                self._request.headers,
                is_count,
                size,
                answers if type(answers) is int and answers > 1 else 1,
                self._entry,
                None if self._is_large else prepare,
            )
        )
        self._entry = None  # the permit ends it
        self._asked, self._permit = admitted.asked, admitted.permit
        case.admitted, case.model, case.is_judged = admitted.asked, admitted.model, True
        self._prepared = self._prepared if admitted is self._prepared[0] else (None, None)

    def _offer(
        self,
        case: ForwardingCase,
        messages: Sequence[ChatMessage] | None = None,
        options: RequestOptions | None = None,
    ) -> RawRequest | None:
        """The request as it came, for a provider that may send it on; any other loses the fields that were not read."""
        offered = None if narrow(case.model.provider, ForwardingProvider) is None else case.offer(messages, options)
        if offered is None and case.refusal is not None:
            raise case.refusal
        if offered is None and case.unread:
            self._lost().add(case.unread)
        return offered

    def _lost(self) -> DroppedFields:
        """The fields of the request that reach no model."""
        if self._dropped is None:
            log, is_strict = self.state.dropped, self._settings.strict
            self._dropped = DroppedFields(self._request.request_id, log, is_strict=is_strict, caller=self.caller.name)
        return self._dropped

    def _leave_unsaid(self, names: Collection[str]) -> None:
        """Notes what the client does not get of the answer."""
        if names:
            self._unsaid = DroppedFields(self._request.request_id, self.state.unsaid, caller=self.caller.name)
            self._unsaid.add(names)

    @property
    def _current(self) -> serving.CurrentAnswer:
        """What the provider may know of its caller; made once the request is read."""
        if self._made_current is None:  # `cached_property` takes a lock until Python 3.12
            client = client_of(self._request.headers, self._asked)
            self._made_current = serving.CurrentAnswer(
                self.caller, client, report_dropped=lambda paths: None if self._is_over else self._lost().report(paths)
            )
        return self._made_current

    # ---- The provider, and the bytes of its response ----

    async def _run(self, case: ForwardingCase, *, generates: bool) -> None:
        """Answers an admitted request: calls the provider, and hands the bytes to the client to the end."""
        asked, model, endpoint, settings = case.admitted, case.model, self.endpoint, self._settings
        state, request_id, direct = self.state, self._request.request_id, self._request.direct
        about_sink = (
            self.deliver,
            settings.buffer_bytes,
            settings.backlog_bytes,
            *(() if direct is None else (direct.write, self._begin_at_once)),
        )
        served = self._served_state
        if served is not None and (case.is_recorded or (case.refusal is not None and served.keeps(case.wire))):
            self._buffered = self._recorded = RecordingReplySink(
                state.memory,
                served,
                case.remembered,
                self.caller.name,
                partial(self._cancel, has_left=False),
                *about_sink,
                is_stream=asked.stream,
                model_id="" if case.is_recorded else model.id,  # its upstream alone keeps it
            )
        else:
            self._buffered = replies.BufferedReplySink(*about_sink)
        # Only a wire that keeps state signs any of it.
        secret = b"" if served is None else state.memory.secret_of(self.caller.name)
        identity = (
            Reply(request_id, int(self._time), None, secret, settings.raw_reasoning, self._is_large)
            if state.rules.identify is None
            else replace(state.rules.identify(case.wire), secret=secret)
        )

        offered = self._prepared[1] if self._prepared[0] else await self.apart(self._prepare, case)
        about = endpoint.writes, asked, identity, self._buffered, request_id, self._leave_unsaid
        forwarded = None if offered is None else ForwardedReply(offered, endpoint.protocol.framings[0], *about)
        self._reply_writer = forwarded or replies.ReplyWriter(*about)
        if generates and state.taps is not None:
            name = self._current.client.name
            self._capture = state.taps.begin(f"serve, for {name}" if name else "serve", model.id)
        self._model, self._name = model, model.provider_name
        self._progress = replies.ReplyProgress(
            self._reply_writer, self._buffered, self.fail, self._followers(), forwarded
        )
        if self._reported is not None:
            self._progress.drain = partial(self._drain, self._progress.drain)
        # A model sometimes invents a tool. Calls of unknown tools pass, so that the client can tell the model.
        self._checked = CheckedProgress(self._progress, tools=None, on_violation=self._note_violation)
        self._source = CancellationTokenSource()
        state.admit(self.stop)
        try:
            await self._pump(generates=generates)
            self._observe()
            await self._wind_down()
            self._settle()
            if self._recorded is not None:
                self.stored = await self._recorded.ended()
        except BaseException:  # nothing else would cancel the provider
            self._cancel()
            if self._task is not None:
                self._task.cancel()
            raise
        finally:
            state.dismiss(self.stop)
            if self._capture is not None:
                self._capture.dropped(() if self._dropped is None else self._dropped.names)
                finish = None if self.is_cancelled else self.finish
                self._capture.end("cancelled" if finish is None else str(finish.outcome), self.error)

    def _prepare(self, case: ForwardingCase) -> RawRequest | None:
        """Makes the messages and the options as the provider gets them; gives the request as it came, see
        :meth:`_offer`."""
        asked = case.admitted
        # The wire in whose words the options are, for servers that speak another one.
        options = {**asked.options.model_options, **asked.said_beside, ASKED_IN: self.endpoint.protocol.name}
        messages: Sequence[ChatMessage] = asked.messages
        # What the caller may miss, on a wire that cannot return it; on others, it comes back by itself.
        self._drops_thinking = self.endpoint.writes.drops_thinking_state or asked.asks_to_think is False
        if self._drops_thinking and (thinking := self.state.thinking) is not None:
            messages = thinking.of(self.caller.name).restored(messages)
        self._messages, self._options = messages, replace(asked.options, model_options=options)
        return self._offer(case, messages, self._options)

    def _followers(self) -> Iterator[Callable[[ResponsePart], object]]:
        """What looks at each part after it is written."""
        if self._capture is not None:
            yield self._capture.part
        self._reported = None if self._permit is None else self._permit.reported
        if self._reported is not None:
            yield self._look

    def _look(self, part: ResponsePart | serving.HeldText) -> None:
        """Ends the response where the permit says so, as one that has reached its longest length."""
        said = None if self._reported is None else self._reported(part)
        if isinstance(said, str):
            reason = FinishReason(UnifiedFinishReason.LENGTH, said)
            self._end(Finish(Outcome.INCOMPLETE, reason, self._progress.usage))
        else:
            self._undecided = said

    async def _drain(self, drain: Callable[[], Awaitable[None]]) -> None:
        """Waits while the client is slow, and until it is known whether the response may go on."""
        while (undecided := self._undecided) is not None:
            self._undecided = None
            if not (await asyncio.wait((undecided,), timeout=_DECISION_SECONDS))[0]:
                break
            self._take_held(0)
        await drain()

    def _take_held(self, characters: int) -> None:
        """Takes what an upstream has said before it is a part; what it says after the end is not charged, as no text
        is."""
        if not self._is_over:
            self._held += characters
            self._look(serving.HeldText(characters))

    async def _pump(self, *, generates: bool) -> None:
        """Starts the provider, and hands the bytes to the client until the reply is over."""
        direct = self._request.direct
        watcher = self._loop.create_task(self._watch()) if direct is None else None
        if direct is not None:
            direct.on_left(self._leave)
        timer = replies.ReplyTimer(self._reply_writer, self._buffered, self._settings, self._end)
        if not generates:
            self._end(Finish(Outcome.COMPLETED, usage=Usage(0, 0)))
        elif not self._is_over:
            self._task = self._loop.create_task(self._provide())
        try:
            await self._buffered.pump()
        except requests.ClientLeftError:
            self._leave()
        except asyncio.CancelledError:
            if not timer.gives_up:
                raise
            self._leave()  # the client did not take the end in time
        finally:
            timer.stop()
            if direct is not None:
                direct.notices.clear()  # nothing is left to end, also where the answer broke
            if watcher is not None:
                watcher.cancel()

    async def _watch(self) -> None:
        await self.client_leaves()
        self._leave()

    def _leave(self) -> None:
        """Ends everything that is done for a client that has left."""
        self._cancel()
        self._buffered.close()

    async def _provide(self) -> None:
        """Calls the provider and writes the end. Raises nothing: a task that raises SystemExit ends the event loop."""
        self._was_asked = not self._is_over  # it is over if the client has left while the response waited for admission
        if not self._was_asked:
            return
        model, current = self._model, self._current
        # The variables of this task, in which nothing else runs.
        serving.CURRENT_ANSWER.set(current)
        CAPTURE.set(self._capture)
        DROPPED.set(current.report_dropped)
        USAGE_ROWS.set(self._usage_rows)
        RECEIVED.set(None if self._permit is None else self._take_held)
        try:
            with nullcontext() if self._trace is None else self._trace.calling(model.provider_name, model.id):
                try:
                    await model.provider.provide_language_model_chat_response(
                        model.information, self._messages, self._options, self._checked, self._source.token
                    )
                finally:
                    # What a thread has reported last comes in the next turn of the event loop.
                    if self._progress.has_threads:
                        await asyncio.sleep(0)
        except BaseException as error:
            if not self._gives_calls_of(error):
                self._provider_raised(error)
                return
        if self._is_over:
            return
        self._checked.complete()
        try:
            await self._complete(model)
        except Exception as error:
            self.fail(error)

    def _gives_calls_of(self, error: BaseException) -> bool:
        """Gives calls whose arguments are no JSON object to the client, which validates them."""
        calls = error.calls if isinstance(error, errors.ToolArgumentsError) else ()
        if not calls or self._is_over:
            return False
        _logger.info("the provider %s gave a call whose arguments are no JSON object: %s", self._name, error)
        for call in calls:
            self._checked.report(RawCallPart.of(*call))
        return True

    # ---- The end of a response ----

    async def _complete(self, model: CataloguedModel) -> None:
        """Writes the end of a provider that has returned; tokens that it has not reported are counted."""
        finish, progress = self._checked.said_finish, self._progress
        if finish is not None and isinstance(finish.error, errors.ToolArgumentsError):  # its calls were given out
            called = FinishReason(UnifiedFinishReason.TOOL_CALLS)
            finish = replace(finish, outcome=Outcome.COMPLETED, reason=called, error=None)
        usage, kept = progress.usage if finish is None else finish.usage or progress.usage, progress.kept
        if usage is None and (finish is None or finish.outcome in VALID):
            messages = (*self._messages, kept.message())
            counts = await models.counted_messages(model, messages, self._source.token)
            usage = await counted_usage(counts, kept.length, model.information.family, self._options.tools)
            self._is_usage_counted = True
        if finish is None:
            reason = UnifiedFinishReason.TOOL_CALLS if progress.has_calls else UnifiedFinishReason.STOP
            finish = Finish(Outcome.COMPLETED, FinishReason(reason), usage)
        elif finish.usage is None and finish.outcome in VALID:
            finish = replace(finish, usage=usage)
        if finish.outcome not in VALID and finish.error is None:
            finish = replace(finish, error=errors.LanguageModelError("the provider failed without an error message"))
        self._end(finish, is_early=False)

    def _provider_raised(self, error: BaseException) -> None:
        if self._is_over:
            if not isinstance(error, asyncio.CancelledError | errors.LanguageModelError):
                _logger.debug("the provider %s raised %s after its end", self._name, type(error).__name__)
            return
        self._checked.fail(error)
        said = self._checked.said_finish
        if isinstance(error, errors.EmptyAnswerError) and said is not None:
            # No wire of ours forbids an empty answer; a chat that shows nothing is another matter.
            limited = said.reason is not None and said.reason.unified in _LIMITS
            outcome = Outcome.INCOMPLETE if limited else Outcome.COMPLETED
            self._end(replace(said, outcome=outcome, error=None), is_early=False)
            return
        self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Ends the response with an error, whose text passes only if it is one of ours. Later calls do nothing."""
        if self._is_over:
            return
        self.error = error = cause_of(error)
        if isinstance(error, errors.LanguageModelError):
            told = error
            _logger.info("the provider %s failed: %s", self._name, errors.with_facts(str(error), error))
        else:
            kind, place = type(error).__name__, failing_place(error)
            _logger.error("the provider %s failed with %s%s", self._name, kind, "" if place is None else f" at {place}")
            text = f": {error}" if isinstance(error, PartstreamError) else ""
            told = errors.LanguageModelError(f"the provider failed with {kind}{text}")
        said = self._checked.said_finish or Finish(Outcome.FAILED)
        outcome = said.outcome if said.outcome is Outcome.TRUNCATED else Outcome.FAILED
        self._end(replace(said, outcome=outcome, error=told))

    def _cancel(self, *, has_left: bool = True) -> None:
        """Ends the response because its client has left, or asks for that. Later calls do nothing.

        To a client that has left, nothing is written, except the end of a response that is remembered.
        """
        if self._is_over:
            return
        self.is_cancelled = True
        if self._recorded is not None:
            self._recorded.cancel()
        is_written = not has_left or self._recorded is not None
        self._end(Finish(self.endpoint.writes.stopped, _CANCELLED) if is_written else None)
        if has_left:
            self.finish = None

    def stop(self) -> None:
        """Ends the response because the server is stopped, in the wire's own words. Later calls do nothing."""
        stopped = self.endpoint.writes.stopped
        error = errors.UpstreamFailureError("the server is shutting down; try again", http_status=529, retry_after=1.0)
        if self._reply_writer.events == 0 or stopped is Outcome.FAILED:
            self._end(Finish(Outcome.FAILED, error=error))
        else:
            self._end(Finish(stopped, _STOPPED))

    def _end(self, finish: Finish | None, *, is_early: bool = True) -> None:
        """Ends the response, unless it is over: writes the end, but for a client that has left. If it is early, because
        the provider has not returned or has raised, no further part passes, and the provider is cancelled."""
        if self._is_over:
            return
        self._is_over = True
        if finish is not None:
            self._write(finish)
        if is_early:
            self._checked.cancel()
            try:
                self._source.cancel()
            except Exception as error:
                _logger.warning("the provider %s failed with %s while it stopped", self._name, type(error).__name__)

    def _write(self, finish: Finish) -> None:
        """Writes the end of the reply."""
        progress = self._progress
        self.finish = finish
        self.error = self.error or finish.error
        # Clients of some wires do not return the state of thinking.
        is_whole = finish.outcome in VALID and progress.kept.length == 1.0
        if progress.state is not None and is_whole and self._drops_thinking:
            if (memory := self.state.thinking) is None:
                memory = self.state.thinking = ThinkingMemory(self._settings.thinking_bytes)
            memory.of(self.caller.name).remember(progress.kept.message().content, progress.state)
        try:
            # Clients return the id of a response that is remembered: it is not the upstream's then.
            self._reply_writer.finish(finish if self._served_state is None else replace(finish, response_id=None))
        except Exception as error:
            _logger.exception("the end of an answer of the provider %s could not be written", self._name)
            self.error = error
            self._reply_writer.break_off(error)

    async def _wind_down(self) -> None:
        """Waits until the provider has stopped; cancels it if it does not stop by itself, and then gives it up."""
        task, seconds = self._task, self._settings.stop_seconds
        if task is None:
            return
        if not task.done() and not self._is_over:
            self._cancel()
        for _ in range(2):
            if not task.done():
                await asyncio.wait({task}, timeout=seconds)
            if task.done():
                return
            task.cancel()
        error = errors.ProviderStuckError(self._name, self._model.id, seconds)
        _logger.error("%s", error)

    def _note_violation(self, violation: Violation) -> None:
        """Logs the first of each rule, without what was reported: it may hold what a person wrote."""
        if violation.rule.id not in self._violations:
            self._violations.add(violation.rule.id)
            place = "" if violation.place is None else f" at {violation.place}"
            said = "the provider %s broke the rule %s%s: %s"
            _logger.warning(said, self._name, violation.rule.id, place, violation.rule.text)

    # ---- What is known of it ----

    def _observe(self) -> None:
        """Reports the response, whose reply is over, to all who count responses."""
        finish, progress, rows, head = self.finish, self._progress, self._usage_rows, self._buffered.head
        first = progress.first_part_at
        costs = [row.cost for row in rows if row.cost is not None]  # what the upstreams cost, where it is known
        self._observed = self._observation(
            _CLIENT_LEFT if head is None else head.status,
            model=self._model.id,
            provider=self._current.upstream or self._model.provider_name,
            error=None if self.error is None else type(self.error).__name__,
            outcome=None if finish is None else finish.outcome,
            reason=None if finish is None else finish.reason,
            usage=None if finish is None else finish.usage,
            is_usage_counted=self._is_usage_counted,
            first_part_after=None if first is None else first - self._started,
            bytes=self._buffered.bytes,
            events=self._reply_writer.events,
            is_cancelled=self.is_cancelled,
            cost=sum(costs) if costs else progress.cost,
            is_usage_kept=bool(rows),
            response_id=None if finish is None else finish.response_id,
            unsaid=() if self._unsaid is None else self._unsaid.names,
        )
        self.state.observe(self._observed, self._trace)

    def observe_unanswered(self, error: Exception, status: int = _CLIENT_LEFT) -> None:
        """Reports a request that was refused, or whose client left before it was whole, to all who count responses."""
        has_left = isinstance(error, requests.ClientLeftError)
        kind = None if has_left else requests.failure_of(error).kind.name.lower()
        self._observed = self._observation(status, is_cancelled=has_left, error=kind)
        self.state.observe(self._observed, self._trace)

    def _observation(
        self, status: int, *, model: str = "", provider: str = "", **known: Any
    ) -> serving.AnswerObservation:
        asked = self._asked
        return serving.AnswerObservation(
            self._time,
            self.endpoint.protocol.name,
            model or ("" if asked is None else asked.model),
            provider,
            status,
            self._loop.time() - self._started,
            self._request.request_id,
            self._current.client,
            self.caller.name,
            is_stream=asked is None or asked.stream,
            dropped=() if self._dropped is None else self._dropped.names,
            **known,
        )

    def _settle(self) -> None:
        """Settles the permit, once."""
        permit, asked = self._permit, self._asked
        if permit is None or asked is None:
            return
        self._permit = None
        observation = self._observed or self._observation(_CLIENT_LEFT, is_cancelled=True)
        progress = self._progress if self._was_asked else None
        kept = AnswerExcerpt() if progress is None else progress.kept
        usage, rows = (None if progress is None else progress.usage), tuple(self._usage_rows)
        if progress is not None and usage is None and self._checked.said_finish is not None:
            usage = self._checked.said_finish.usage
        said = usage, rows, kept.message, kept.length, self._held
        try:
            permit.settle(serving.EndedAnswer(observation, asked, self._was_asked, *said))
        except Exception:  # it changes nothing of the response
            _logger.exception("an answer could not be settled")
