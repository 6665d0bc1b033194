"""One WebSocket, from its handshake to its end: requests come one after another, and each is answered as over HTTP.

One task reads what the client says, also while an answer runs: it is how a client that leaves is noticed.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.codec.json_codec import dumps, loads
from partstream.errors import PartstreamError
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.protocols.serve import ResolvedReferences
from partstream.serving.answer_run import ResponseRun
from partstream.serving.authentication import NOBODY
from partstream.serving.failures import RequestFailedError, failure_of
from partstream.serving.requests import ClientLeftError, leaving
from partstream.serving.routes import NoRouteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.asgi import Receive, Scope, Send
    from partstream.protocols.serve import SocketConversation, SocketTurn
    from partstream.server.replies import Head
    from partstream.serving.authentication import Caller
    from partstream.serving.endpoints import Endpoint
    from partstream.serving.requests import RequestHead
    from partstream.serving.state import ServerState

__all__ = ["SocketExchange"]

_logger = logging.getLogger("partstream.serving")

_REFUSES: Final = "websocket.http.response"
"""The extension of ASGI by which a handshake is refused with a status of one's own."""
_NORMAL, _TOO_LARGE = 1000, 1009
"""Status codes of RFC 6455 section 7.4.1."""
_FAULT: Final = ServedFailure(FailureKind.INTERNAL, "the server has a fault; its log names it")


class SocketExchange:
    """One WebSocket.

    Args:
        state: What all requests share.
        request: The handshake, with the path that it means.
        scope: ASGI's own.
        receive: ASGI's own; nobody else reads it.
        send: ASGI's own.
    """

    def __init__(self, state: ServerState, request: RequestHead, scope: Scope, receive: Receive, send: Send) -> None:
        self._state = state
        self._request = request
        self._can_refuse = _REFUSES in (scope.get("extensions") or {})
        self._receive = receive
        self._send = leaving(send)
        self._left = asyncio.Event()
        self._news = asyncio.Event()
        self._turn = _Turn()

    async def serve(self) -> None:
        """Accepts the socket, or refuses it, and answers what is said on it until it is closed."""
        with suppress(ClientLeftError):
            await self._serve()

    async def _serve(self) -> None:
        await self._receive()
        try:
            endpoint, caller = self._admitted()
        except PartstreamError as error:
            await self._refuse(error)
            return
        socket = endpoint.reads.socket
        assert socket is not None  # noqa: S101 - the route has one
        wire = endpoint.request(self._request.path, {}, self._request.headers, self._request.query, "GET")
        conversation = socket.open(wire)
        said = self._state.request_id_headers(self._request.request_id)
        headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in (*said, *socket.headers.items())
        ]
        await self._send({"type": "websocket.accept", "headers": headers})
        reading = asyncio.get_running_loop().create_task(self._read(conversation))
        try:
            await self._answer(conversation, endpoint, caller)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    # ---- the handshake ----

    def _admitted(self) -> tuple[Endpoint, Caller]:
        """Where the socket stands, and who opens it.

        Raises:
            PartstreamError: It is refused.
        """
        request = self._request
        endpoint = self._state.routes.socket_at(request.path)
        self._state.check_room()
        caller = self._state.authenticated(request.headers)
        origin, host = request.headers.get("origin"), request.headers.get("host", "")
        if caller is NOBODY and origin is not None and urlsplit(origin).netloc != host:
            # Any page in a browser can open a socket to this machine; only its origin tells it from a program.
            said = f"got the origin {origin[:80]!r} of another page; a server without a key takes no sockets of those"
            raise RequestFailedError(ServedFailure(FailureKind.FORBIDDEN, said))
        return endpoint, caller

    async def _refuse(self, error: PartstreamError) -> None:
        if not self._can_refuse:
            await self._send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        failure = ServedFailure(FailureKind.NOT_FOUND, str(error)) if isinstance(error, NoRouteError) else None
        endpoint = self._state.routes.nearest(self._request.path)
        said = endpoint.writes.failed(replace(failure or failure_of(error), request_id=self._request.request_id))
        body = dumps(said.body)
        headers = (
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            *said.headers,
            *(error.headers if isinstance(error, RequestFailedError) else ()),
            *self._state.request_id_headers(self._request.request_id),
        )
        start = {"type": "websocket.http.response.start", "status": said.status, "headers": _encoded(headers)}
        await self._send(start)
        await self._send({"type": "websocket.http.response.body", "body": body})

    # ---- what the client says ----

    async def _read(self, conversation: SocketConversation) -> None:
        """Reads until the client leaves."""
        try:
            while (message := await self._receive())["type"] == "websocket.receive":
                text, data = message.get("text"), message.get("bytes")
                said = text if text is not None else data or b""
                if len(said) > self._state.settings.body_bytes:
                    self._left.set()  # nothing may be sent behind the frame that closes
                    await self._send({"type": "websocket.close", "code": _TOO_LARGE, "reason": ""})
                    return
                await self._say(conversation.receive(said))
                self._news.set()
        except ClientLeftError:
            return
        finally:
            self._left.set()
            self._news.set()

    async def _say(self, messages: Iterable[str]) -> None:
        for message in messages:
            await self._send({"type": "websocket.send", "text": message})

    # ---- the answers ----

    async def _answer(self, conversation: SocketConversation, endpoint: Endpoint, caller: Caller) -> None:
        """Answers one request after another."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._state.settings.socket_seconds
        while not self._left.is_set():
            turn = conversation.next_turn()
            if turn is not None:
                await self._take(turn, conversation, endpoint, caller)
                continue
            self._news.clear()
            try:
                async with asyncio.timeout_at(ends_at):
                    await self._news.wait()
            except TimeoutError:
                await self._say(conversation.too_old())
                await self._send({"type": "websocket.close", "code": _NORMAL, "reason": ""})
                return

    async def _take(
        self, turn: SocketTurn, conversation: SocketConversation, endpoint: Endpoint, caller: Caller
    ) -> None:
        """Answers one request."""
        request = replace(self._request, request_id=f"req_{token_hex(12)}")
        run = ResponseRun(self._state, endpoint, request, conversation.recall)
        run.caller = caller
        run.begin_trace(endpoint.path)
        self._turn = _Turn(conversation)
        try:
            self._state.check_room()
            await run.serve(turn.request, self._deliver, self._client_leaves, generates=turn.generates)
        except ClientLeftError:
            run.observe_left()
            raise
        except Exception as error:
            if not isinstance(error, PartstreamError):
                _logger.exception("a request could not be served because of a fault of the server")
            failure = failure_of(error) if isinstance(error, PartstreamError) else _FAULT
            said = endpoint.writes.failed(replace(failure, request_id=request.request_id))
            run.observe_refused(said.status, error)
            await self._say(conversation.refused(said.status, said.body))
            return
        if not self._turn.is_refused:
            conversation.ended(run.earlier or ResolvedReferences(), run.stored)

    async def _client_leaves(self) -> None:
        await self._left.wait()

    async def _deliver(self, head: Head | None, data: bytes, last: bool) -> None:
        if head is not None:
            self._turn.status = head.status
        if self._left.is_set():
            raise ClientLeftError("the client left before its reply was whole")
        try:
            await self._say(self._turn.messages(data, last=last))
        except ClientLeftError:
            self._left.set()  # the server tells of it here first: requests that wait are for nobody
            raise


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]


class _Turn:
    """The reply to one request as messages.

    Args:
        conversation: What is said on the socket.

    Attributes:
        status: The status that the reply would have over HTTP.
        is_refused: Whether the request was refused.
    """

    def __init__(self, conversation: SocketConversation | None = None) -> None:
        self.status = 0
        self.is_refused = False
        self._conversation = conversation
        self._body = b""

    def messages(self, data: bytes, *, last: bool) -> Iterable[str]:
        """The messages for the next bytes."""
        assert self._conversation is not None  # noqa: S101 - nothing is sent before the first request
        if self.status < 400:
            return self._conversation.messages(data)
        self._body += data
        if not last:
            return ()
        self.is_refused = True
        document: Mapping[str, Any] = loads(self._body)
        return self._conversation.refused(self.status, document)
