"""One answer from a request to the last byte of its reply, be it over HTTP or as a turn of a WebSocket.

Beside every answer one task waits for the client to leave, and then cancels the provider: servers give no other signal
(docs/wires/serving.md#clients-that-leave).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.conversation.preparation import ASKED_IN
from partstream.errors import PartstreamError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.outputs import Reply
from partstream.runtime.progress import KeptAnswer
from partstream.server.replies import BufferedReplySink, DocumentReply, Head, KeepAlive, StreamReply
from partstream.serving.admission import AnswerRequest, EndedAnswer, settled
from partstream.serving.answer import ProviderCall
from partstream.serving.authentication import NOBODY
from partstream.serving.clients import client_of
from partstream.serving.counting import counted_request
from partstream.serving.current_answer import UPSTREAM_HEADER, CurrentAnswer
from partstream.serving.failures import failure_of
from partstream.serving.observation import AnswerObservation
from partstream.serving.requests import ClientLeftError

if TYPE_CHECKING:
    from partstream.capturing.capture import AnswerCapture
    from partstream.conversation.provider_state import CallersMemory
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.serve import RequestReferences, ResolvedReferences, ServedState, StoredAnswer, WireRequest
    from partstream.server.replies import RecordingReplySink, ReplySink, ReplyWriter
    from partstream.serving.admission import Permit
    from partstream.serving.answer import AnswerEnd
    from partstream.serving.clients import RequestClient
    from partstream.serving.endpoints import Endpoint
    from partstream.serving.memory import Remembered
    from partstream.serving.models import CataloguedModel
    from partstream.serving.observation import AnswerTrace
    from partstream.serving.requests import RequestHead
    from partstream.serving.state import ServerState

__all__ = ["Deliver", "ResponseRun"]

_logger = logging.getLogger("partstream.serving")

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
