"""One HTTP request, from its head to the last byte of its reply.

Everything that can refuse it is decided before the head of the reply: route, room, key, size, form, model
(docs/wires/serving.md#status-before-the-head). Beside every answer one task reads `receive()`, and cancels the provider
when the client leaves: servers give no other signal (docs/wires/serving.md#clients-that-leave).
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.errors import PartstreamError
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.replies import json_headers, stream_headers
from partstream.serving.answer_run import ResponseRun
from partstream.serving.authentication import NOBODY
from partstream.serving.failures import RequestFailedError, failure_of
from partstream.serving.models import served_model
from partstream.serving.owner_routes import OwnerRequest
from partstream.serving.request_body import RequestBody
from partstream.serving.requests import ClientLeftError, json_object, leaving
from partstream.serving.routes import NoRouteError
from partstream.serving.stored_replies import FrameReplay, stored_reply

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from partstream.asgi import Receive, Send
    from partstream.protocols.serve import StoredRoute
    from partstream.server.replies import Head
    from partstream.serving.authentication import Caller
    from partstream.serving.owner_routes import OwnerRoute
    from partstream.serving.requests import RequestHead
    from partstream.serving.routes import Route
    from partstream.serving.state import ServerState

__all__ = ["RequestHandler"]

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
