"""JSON-RPC 2.0 without I/O: decodes bytes into messages and encodes messages; knows no method and keeps no request.

A peer's mistake comes out as a :class:`Malformed` with its code from JSON-RPC 2.0 section 5.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.rpc.framing import (
    BEGINNING_SIZE,
    DEFAULT_MAX_BODY_SIZE,
    Frame,
    FrameDecoder,
    FrameTooLarge,
    MalformedHeader,
    encode_frame,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Connection",
    "Incoming",
    "Malformed",
    "Notification",
    "Request",
    "RequestId",
    "Response",
    "StandardErrorCode",
    "encode_error",
    "encode_notification",
    "encode_result",
]

RequestId: TypeAlias = int | str
"""The id that connects a request with its response."""


class StandardErrorCode(IntEnum):
    """The error codes of JSON-RPC 2.0 section 5.1."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the peer, which waits for exactly one response with this id."""

    id: RequestId
    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification of the peer, which gets no response."""

    method: str
    params: Any = None


@dataclass(frozen=True, slots=True)
class Response:
    """The peer's response to a request of ours; the id is None if the peer could not read ours."""

    id: RequestId | None
    result: Any = None
    error: Any = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """The peer sent an invalid message, and gets an error response with these fields.

    Attributes:
        id: The request's id, or None if it could not be read.
        code: One of the standard codes.
        message: What was got and what was expected.
        is_fatal: Whether no further message can be read from the connection.
    """

    id: RequestId | None
    code: StandardErrorCode
    message: str
    is_fatal: bool = False


Incoming: TypeAlias = Request | Notification | Response | Malformed
"""A message from the peer."""


class Connection:
    """Decodes the bytes of one peer."""

    __slots__ = ("_decoder",)

    def __init__(self, max_body_size: int = DEFAULT_MAX_BODY_SIZE) -> None:
        self._decoder = FrameDecoder(max_body_size)

    def receive(self, data: bytes) -> list[Incoming]:
        """Takes more bytes, split anywhere, and returns the messages that are now complete."""
        return [_read_frame(frame) for frame in self._decoder.feed(data)]


def encode_result(request_id: RequestId, result: object) -> bytes:
    """The frame of a successful response."""
    return encode_frame(dumps({"jsonrpc": "2.0", "id": request_id, "result": result}))


def encode_error(request_id: RequestId | None, code: int, message: str, data: Mapping[str, Any] | None = None) -> bytes:
    """The frame of an error response; `request_id` is None if the request's id could not be read."""
    error: dict[str, Any] = {"code": int(code), "message": message}
    if data is not None:
        error["data"] = data
    return encode_frame(dumps({"jsonrpc": "2.0", "id": request_id, "error": error}))


def encode_notification(method: str, params: object) -> bytes:
    """The frame of a notification."""
    return encode_frame(dumps({"jsonrpc": "2.0", "method": method, "params": params}))


def _read_frame(frame: Frame) -> Incoming:
    if isinstance(frame, bytes):
        return _read_body(frame)
    if isinstance(frame, FrameTooLarge):
        message = f"got a message of {frame.size:,} bytes, expected at most {frame.limit:,}"
        return Malformed(_id_in(frame.beginning), StandardErrorCode.INVALID_REQUEST, message)
    return _unreadable(frame)


def _id_in(beginning: bytes) -> RequestId | None:
    """The id at the beginning of a request that cannot be read whole; None if there is none.

    Without it, the peer would wait for ever. JSON-RPC libraries write the id before the params.
    """
    found = _ID.match(beginning)
    if found is None:
        return None
    request_id = loads(found[1])
    return request_id if isinstance(request_id, int | str) else None


_ID: Final = re.compile(
    rb"""\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(-?\d{1,15}|"[^"\\]*")\s*[,}]"""
)


def _unreadable(header: MalformedHeader) -> Malformed:
    message = f"got the header {header.got!r}: {header.reason}; expected `Content-Length: N` and an empty line"
    return Malformed(None, StandardErrorCode.PARSE_ERROR, message, is_fatal=True)


def _read_body(body: bytes) -> Incoming:
    try:
        message = loads(body)
    except JSONDecodeError as error:
        text = f"got {body[:80]!r}, expected JSON: {error}"
        return Malformed(_id_in(body[:BEGINNING_SIZE]), StandardErrorCode.PARSE_ERROR, text)
    if not isinstance(message, dict):
        return _invalid(None, f"got {type(message).__name__}, expected an object (batches are not supported)")
    return _read_message(message)


def _read_message(message: Mapping[str, Any]) -> Incoming:
    request_id = message.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str | None):
        return _invalid(None, f"got the id {request_id!r}, expected a string or a whole number")
    if message.get("jsonrpc") != "2.0":
        return _invalid(request_id, f"got jsonrpc {message.get('jsonrpc')!r}, expected '2.0'")
    return _read_valid(message, request_id)


def _read_valid(message: Mapping[str, Any], request_id: RequestId | None) -> Incoming:
    method = message.get("method")
    if method is None and ("result" in message or "error" in message):
        return Response(request_id, message.get("result"), message.get("error"))
    if not isinstance(method, str):
        return _invalid(request_id, f"got the method {method!r}, expected a string")
    if "id" not in message:
        return Notification(method, message.get("params"))
    if request_id is not None:
        return Request(request_id, method, message.get("params"))
    return _invalid(None, "got the id null, expected a string or a whole number")


def _invalid(request_id: RequestId | None, text: str) -> Malformed:
    return Malformed(request_id, StandardErrorCode.INVALID_REQUEST, text)
