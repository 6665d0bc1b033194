"""One HTTP request, from its head to the last byte of its reply.

Everything that can refuse it is decided before the head of the reply: route, room, key, size, form, model (serving
facts 1.3). One task reads `receive()` beside every answer, and cancels the provider when the client leaves: that is the
only sign that servers give (serving facts 5.3, rule 1).
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.cancellation import CancellationToken
from partstream.errors import PartstreamError
from partstream.json_codec import dumps
from partstream.outputs import Reply
from partstream.protocols.served_failures import FailureKind, ServedFailure
from partstream.serving.answer import RunningAnswer
from partstream.serving.clients import client_of
from partstream.serving.counting import counted_request
from partstream.serving.failures import RequestFailedError, failure_of
from partstream.serving.models import served_model
from partstream.serving.observation import AnswerObservation
from partstream.serving.outgoing import Head, Outgoing
from partstream.serving.pulse import Pulse
from partstream.serving.replies import DocumentReply, StreamReply, json_headers
from partstream.serving.requests import ClientLeftError, json_object, read_body
from partstream.serving.routes import NoRouteError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from partstream.outputs import Asked
    from partstream.serving.answer import AnswerEnd
    from partstream.serving.authentication import Caller
    from partstream.serving.endpoints import Endpoint
    from partstream.serving.models import CataloguedModel
    from partstream.serving.observation import AnswerTrace
    from partstream.serving.replies import AnswerReply
    from partstream.serving.requests import HTTPRequest, Receive, Send
    from partstream.serving.routes import Route
    from partstream.serving.state import Page, ServerState

__all__ = ["Exchange"]

_logger = logging.getLogger("partstream.serving")

_CLOSE: Final = ("connection", "close")
_CHALLENGE: Final = ("www-authenticate", "Bearer")
_CLIENT_LEFT: Final = 499
"""What observations say of a reply that nobody waited for; never sent. The number is nginx' own."""


class Exchange:
    """One HTTP request and its reply.

    Args:
        state: What all requests share.
        request: The request without its body, with the path that it means.
        receive: ASGI's own; nobody else reads it.
        send: ASGI's own.
    """

    def __init__(self, state: ServerState, request: HTTPRequest, receive: Receive, send: Send) -> None:
        self._state = state
        self._settings = state.settings
        self._request = request
        self._receive = receive
        self._send = _leaving(send)
        self._endpoint = state.routes.nearest(request.path)
        self._time = time.time()
        self._started = asyncio.get_running_loop().time()
        self._caller: Caller | None = None
        self._asked: Asked | None = None
        self._trace: AnswerTrace | None = None
        self._is_answer = False
        self._is_head_sent = False

    async def serve(self) -> None:
        """Answers the request; raises nothing that the server would have to tell the client."""
        try:
            await self._dispatch()
        except ClientLeftError:
            if self._is_answer:
                self._tell(replace(self._observation(_CLIENT_LEFT, None), is_cancelled=True))
        except Exception as error:
            if self._is_head_sent:
                raise
            if not isinstance(error, PartstreamError):
                _logger.exception("a request could not be served because of a fault of the server")
            status = await self._refuse(*_refusal(error))
            if self._is_answer:
                observation = self._observation(status, error)
                self._tell(replace(observation, error=failure_of(error).kind.name.lower()))

    async def _dispatch(self) -> None:
        """Finds what is asked for and who asks, then answers."""
        request = self._request
        page = self._state.pages.get(request.path)
        if page is not None and request.method == "GET":
            await self._show(page)
            return
        route = self._state.routes.find(request.method, request.path, request.headers)
        self._endpoint = route.endpoint
        self._is_answer = route.document is None
        if self._is_answer:
            self._begin_trace(route.path)
            self._state.check_room()
        self._caller = self._authenticated()
        await (self._answer() if self._is_answer else self._document(route))

    # ---- before the answer ----

    async def _show(self, page: Page) -> None:
        if not page.is_open:
            self._caller = self._authenticated()
        content_type, body = page.make(self._request.headers.get("accept", ""))
        await self._start(200, (("content-type", content_type), ("content-length", str(len(body)))))
        await self._send({"type": "http.response.body", "body": body})

    def _begin_trace(self, route: str) -> None:
        if self._state.start_trace is not None:
            self._trace = self._state.start_trace(self._request.method, route, self._request.headers)

    def _authenticated(self) -> Caller:
        caller = self._state.authenticate(self._request.headers)
        if caller is None:
            said = (
                "got no key that this server knows, expected it as `Authorization: Bearer KEY` or as `x-api-key: KEY`"
            )
            raise RequestFailedError(ServedFailure(FailureKind.UNAUTHENTICATED, said), _CHALLENGE)
        return caller

    async def _document(self, route: Route[Endpoint]) -> None:
        """Sends a document that stands beside the answers."""
        document, request = route.document, self._request
        assert document is not None  # noqa: S101 - the caller has looked
        body = await read_body(request, self._receive, self._settings)
        wire = self._endpoint.request(
            request.path, json_object(body) if body else {}, request.headers, request.query, request.method
        )
        tokens = 0
        if document.counts is not None:
            asked = document.counts(wire)
            tokens = await counted_request(await self._state.catalogue.find(asked.model), asked, CancellationToken())
        models = tuple(map(served_model, (await self._state.catalogue.models()).values()))
        status, said = document.answer(wire, models, tokens)
        await self._reply(status, dumps(said))

    # ---- the answer ----

    async def _answer(self) -> None:
        request, endpoint = self._request, self._endpoint
        body = json_object(await read_body(request, self._receive, self._settings))
        asked = endpoint.reads.read(endpoint.request(request.path, body, request.headers, request.query))
        self._asked = asked
        model = await self._state.catalogue.find(asked.model)
        outgoing = Outgoing(self._deliver, self._settings.buffer_bytes, self._settings.backlog_bytes)
        identity = Reply(request.request_id, int(self._time))
        kind = StreamReply if asked.stream else DocumentReply
        reply: AnswerReply = kind(endpoint.writes, asked, identity, outgoing)
        answer = RunningAnswer(model, asked, reply, outgoing, self._settings, endpoint.writes.stopped, self._trace)
        self._state.admit(answer)
        try:
            await self._run(answer, reply, outgoing, model)
        except asyncio.CancelledError:
            answer.kill()
            raise
        finally:
            self._state.dismiss(answer)

    async def _run(self, answer: RunningAnswer, reply: AnswerReply, outgoing: Outgoing, model: CataloguedModel) -> None:
        loop = asyncio.get_running_loop()
        watcher = loop.create_task(self._watch(answer, outgoing))
        pulse = Pulse(reply, outgoing, self._settings)
        limit = loop.call_later(self._settings.answer_seconds, answer.time_out)
        answer.start()
        seconds = self._settings.answer_seconds + self._settings.stop_seconds
        try:
            async with asyncio.timeout(seconds):
                await outgoing.pump()
        except (ClientLeftError, TimeoutError):  # or it did not take the end in time
            answer.cancel()
        finally:
            watcher.cancel()
            pulse.stop()
            limit.cancel()
        self._observe(answer.end(), reply, outgoing, model)
        await answer.wind_down()

    async def _watch(self, answer: RunningAnswer, outgoing: Outgoing) -> None:
        """Cancels the provider as soon as the client leaves."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        answer.cancel()
        outgoing.close()

    async def _deliver(self, head: Head | None, data: bytes, last: bool) -> None:
        if head is not None:
            await self._start(head.status, head.headers)
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

    # ---- what is known of it ----

    def _observe(self, end: AnswerEnd, reply: AnswerReply, outgoing: Outgoing, model: CataloguedModel) -> None:
        finish, first = end.finish, end.first_part_at
        observation = replace(
            self._observation(outgoing.head.status if outgoing.head is not None else _CLIENT_LEFT, end.error),
            model=model.id,
            provider=model.provider_name,
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

    def _tell(self, observation: AnswerObservation) -> None:
        self._state.observe(observation, self._trace)

    def _observation(self, status: int, error: BaseException | None) -> AnswerObservation:
        asked = self._asked
        return AnswerObservation(
            time=self._time,
            wire=self._endpoint.protocol.name,
            model="" if asked is None else asked.model,
            provider="",
            status=status,
            duration=asyncio.get_running_loop().time() - self._started,
            request_id=self._request.request_id,
            client=client_of(self._request.headers, asked),
            caller="" if self._caller is None else self._caller.name,
            is_stream=asked is None or asked.stream,
            error=None if error is None else type(error).__name__,
        )


def _cost(end: AnswerEnd) -> float | None:
    """What the upstreams that were asked cost, as far as they say."""
    known = [row.cost for row in end.kept if row.cost is not None]
    return sum(known) if known else end.cost


def _leaving(send: Send) -> Send:
    """The same, where a server raises OSError because the client has left (ASGI 2.4)."""

    async def send_on(message: MutableMapping[str, Any]) -> None:
        try:
            await send(message)
        except OSError as error:
            raise ClientLeftError("the client left before its reply was whole") from error

    return send_on


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
