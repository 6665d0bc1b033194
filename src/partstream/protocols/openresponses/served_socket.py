"""The WebSocket at the path of responses, without I/O: messages in, requests and messages out.

A client says `response.create` with the body of a request. The events of the response are the messages back, one JSON
object each. Responses do not overlap: a request waits for its turn. A socket remembers its last response, also one that
is not stored; a turn that fails forgets the response that it continued (specification 2026-04-24, "WebSocket mode").
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.protocols.openresponses.errors import error_document
from partstream.protocols.openresponses.served_record import frames_in
from partstream.protocols.openresponses.served_requests import whole
from partstream.protocols.openresponses.served_routes import items_of
from partstream.protocols.serve import ResolvedReferences, ServedSocket, SocketTurn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.serve import RequestReferences, StoredAnswer, WireRequest

__all__ = ["SOCKET", "ResponsesSocket"]

_CREATE: Final = "response.create"
_MOST_WAITING: Final = 8

_MOST_REMEMBERED: Final = 64 * 1024 * 1024
"""The most bytes of a conversation that a socket remembers: more than any model takes."""

_NOT_OF_THE_REQUEST: Final = frozenset({"type", "generate", "stream", "stream_options"})
"""Fields of a message that are no fields of a response's body, or are not the client's to choose here."""

_ERROR_EVENT: Final = b"event: error\n"
_DATA: Final = b"\ndata: "


class ResponsesSocket:
    """What is said on one socket; see :class:`partstream.protocols.serve.SocketConversation`.

    Args:
        handshake: The request that opened it.
    """

    def __init__(self, handshake: WireRequest) -> None:
        self._handshake = handshake
        self._waiting: deque[SocketTurn] = deque()
        self._turn: SocketTurn | None = None
        self._last: StoredAnswer | None = None

    def receive(self, message: str | bytes) -> list[str]:
        """Takes a message; returns the error for one that is no request."""
        try:
            said = loads(message if isinstance(message, bytes) else message.encode())
        except (JSONDecodeError, UnicodeEncodeError):
            return [_error(400, "got a message that is not JSON", "invalid_json")]
        kind = said.get("type") if isinstance(said, dict) else None
        if kind != _CREATE:
            shown = f"{kind!r:.60}" if isinstance(kind, str) else "no type"
            return [_error(400, f"got {shown}, expected {_CREATE}: this server takes no other event", _UNKNOWN, "type")]
        if len(self._waiting) >= _MOST_WAITING:
            return [_error(429, f"{_MOST_WAITING} requests wait for their turn already", "rate_limit_exceeded")]
        body = {name: value for name, value in said.items() if name not in _NOT_OF_THE_REQUEST}
        request = replace(self._handshake, method="POST", query="", body={**body, "stream": True})
        self._waiting.append(SocketTurn(request, generates=said.get("generate") is not False))
        return []

    def next_turn(self) -> SocketTurn | None:
        """The next request, unless one is being answered or none waits."""
        if self._turn is not None or not self._waiting:
            return None
        self._turn = self._waiting.popleft()
        return self._turn

    def recall(self, wanted: RequestReferences) -> ResolvedReferences:
        """The last response of the socket, where a request names it or its items."""
        last = self._last
        if last is None:
            return ResolvedReferences()
        items = items_of(last) if wanted.item_ids else {}
        found = {item_id: items[item_id] for item_id in wanted.item_ids if item_id in items}
        return ResolvedReferences((last,) if last.id == wanted.answer_id else (), found)

    def messages(self, data: bytes) -> list[str]:
        """The events in the bytes of a stream.

        An `error` event of a stream is left out: here it would say that the turn is over, and `response.failed` with
        the same error follows it.
        """
        return [
            frame[frame.index(_DATA) + len(_DATA) : -2].decode()
            for frame in frames_in(data)
            if not frame.startswith(_ERROR_EVENT)
        ]

    def refused(self, status: int, document: Mapping[str, Any]) -> list[str]:
        """The error for a request that was refused before its response began."""
        self._forget()
        self._turn = None
        error = {"code": None, **document.get("error", {})}
        error["code"] = error["code"] or error.get("type") or _UNKNOWN
        return [dumps({"type": "error", "status": status, "error": error}).decode()]

    def ended(self, earlier: ResolvedReferences, stored: StoredAnswer | None) -> None:
        """Ends the turn, and remembers its response with the whole conversation before it."""
        if stored is None or stored.response.get("status") == "failed":
            self._forget()
        else:
            self._remember(whole(earlier.chain, stored))
        self._turn = None

    def _remember(self, answer: StoredAnswer) -> None:
        is_small = len(dumps(answer.request)) <= _MOST_REMEMBERED
        self._last = answer if is_small else None

    def _forget(self) -> None:
        """Forgets the response that the failed turn continued."""
        named = None if self._turn is None else self._turn.request.body.get("previous_response_id")
        if self._last is not None and self._last.id == named:
            self._last = None

    def too_old(self) -> list[str]:
        """The error for a socket that has been open for too long."""
        message = "this connection has been open for as long as it may; open another one"
        return [_error(400, message, "websocket_connection_limit_reached")]


_UNKNOWN: Final = "invalid_request"


def _error(status: int, message: str, code: str, param: str | None = None) -> str:
    error = {**error_document(status, message)["error"], "code": code, "param": param}
    return dumps({"type": "error", "status": status, "error": error}).decode()


SOCKET: Final = ServedSocket(open=ResponsesSocket)
