"""One HTTP request of an ASGI server: where it goes, its headers, its body within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from partstream.asgi import headers_of
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.errors import PartstreamError
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.serving.failures import RequestFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from partstream.asgi import Scope, Send

__all__ = [
    "WRITE_EXTENSION",
    "ClientLeftError",
    "RequestHead",
    "json_object",
    "leaving",
    "path_of",
    "request_of",
]

WRITE_EXTENSION: Final = "partstream.write"
"""The extension of a scope by which `partstream serve` takes the bytes of a stream without `send`: a function of bytes
that says whether it has written them."""


class ClientLeftError(PartstreamError):
    """The client closed its connection before its request was read, or before its reply was whole."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request without its body.

    Attributes:
        method: The HTTP method.
        path: The path below the place where the application is mounted, percent-encoded, without the query.
        query: The query without the question mark.
        headers: The headers by name in lower case.
        request_id: The id of the request.
        has_connection: Whether `connection` may stand in the reply: in HTTP/2 and later it may not (RFC 9113, 8.2.2).
        write: Writes bytes of a stream whose head is sent, or returns False where ASGI's `send` has to; None where the
            server has no such function.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    request_id: str
    has_connection: bool = True
    write: Callable[[bytes], bool] | None = None


def request_of(scope: Scope, request_id: str) -> RequestHead:
    """The request of a scope of ASGI."""
    query = scope.get("query_string", b"").decode("latin-1")
    has_connection = str(scope.get("http_version", "1.1")).startswith("1")
    return RequestHead(
        scope.get("method", "GET"),
        path_of(scope),
        query,
        headers_of(scope),
        request_id,
        has_connection,
        (scope.get("extensions") or {}).get(WRITE_EXTENSION),
    )


def leaving(send: Send) -> Send:
    """The same, where a server raises OSError because the client has left (ASGI 2.4)."""

    async def send_on(message: MutableMapping[str, Any]) -> None:
        try:
            await send(message)
        except OSError as error:
            raise ClientLeftError("the client left before its reply was whole") from error

    return send_on


def path_of(scope: Scope) -> str:
    """The path below the mount, percent-encoded: a model's id may hold an encoded slash.

    `raw_path` is optional in ASGI; without it the decoded path is encoded again.
    """
    mount = str(scope.get("root_path", ""))
    raw = scope.get("raw_path")
    path = quote(scope["path"], safe=_SAFE) if raw is None else raw.decode("latin-1").partition("?")[0]
    encoded_mount = quote(mount, safe=_SAFE).rstrip("/")
    if encoded_mount and (path == encoded_mount or path.startswith(f"{encoded_mount}/")):
        return path[len(encoded_mount) :] or "/"
    return path


_SAFE: Final = "/:@!$&'()*+,;=~%-._"


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        RequestFailedError: It is none.
    """
    try:
        value = loads(body)
    except JSONDecodeError as error:
        got = f"{len(body):,} bytes that are not JSON ({error})" if body else "an empty body"
        raise _not_json(f"got {got}, expected a JSON object") from error
    if not isinstance(value, dict):
        raise _not_json(f"got JSON of type {type(value).__name__}, expected an object")
    try:
        dumps(value)
    except (TypeError, ValueError, RecursionError) as error:  # NaN and Infinity, which some decoders take
        raise _not_json(f"got what JSON cannot represent ({error}), expected a JSON object") from error
    return value


def _not_json(message: str) -> RequestFailedError:
    return RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, message))
