"""One HTTP request of an ASGI server: its head, the failures that may answer it, and the route that its path has.

The head comes from a scope of ASGI 3 (asgi.readthedocs.io). Every protocol gives the server endpoints, where a model
answers, and documents beside them, such as its list of models. :class:`Routes` knows all their paths: a path that names
nothing (`/v1/messages`) comes before a pattern (`/v1/models/{model}`), and of several patterns the one with the most
characters of its own counts. Two protocols may have a document at one path; the headers of a request tell which one it
means. Clients write `/v1` once too often or not at all (docs/wires/serving.md#base-urls-with-and-without-v1), and
:meth:`Routes.meant_path` corrects that. An unknown path is refused in the words of the protocol that is nearest to it.

A request whose reader refuses it is read as far as it goes (:func:`reading_of`): it is refused where it is translated,
and an upstream of its own wire may understand all of it.

The fields of a request that reach no model, and those of an answer that no client gets, have names
(:class:`DroppedFields`). Two sides name those of a request: the request reader what has no place in the middle, in the
client's own words (:attr:`partstream.lm.outputs.InboundRequest.dropped`), and what writes the request of an upstream
what the other wire has no place for (:func:`partstream.upstream.context.report_dropped`). Of an answer, the reader of
the upstream's wire names what no part holds, and the writer of the client's what that wire has no place for; an answer
whose own bytes pass loses nothing. A client reads the names in the header :data:`DROPPED_HEADER` or
:data:`UNSAID_HEADER`, of which a stream has the second only if it ends before its head is sent. The owner of the server
reads them in the log and in the metrics, once for each distinct set. A strict server refuses the request instead; an
answer has been paid for, so it is never refused. No value is kept. Clients and servers choose names, so everything here
is bounded.
"""

from __future__ import annotations
import asyncio
import logging
import re
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote

from partstream.codec import limits
from partstream.codec.checks import dataclass, replace
from partstream.codec.json_codec import MOST_LEVELS, JSONDecodeError, loads_finite
from partstream.errors import (
    InvalidRequestError,
    PartstreamError,
    RequestNotExpressibleError,
    UnsupportedParameterError,
)
from partstream.protocols.failures import FailedReply, FailureKind, ServedFailure
from partstream.protocols.failures import failure_of as meaning_of
from partstream.protocols.protocol import KeyKind, Protocol
from partstream.protocols.serve import WireRequest, fits_path, literal_size, names_something

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest
    from partstream.protocols.serve import FurtherEndpoint, RequestReader, ResponseWriter, ServedDocument, StoredRoute

_logger = logging.getLogger("partstream.serving")

# ---- Heads ----

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


DIRECT_EXTENSION: Final = "partstream.direct"
"""The extension of a scope by which `partstream serve` gives the :class:`DirectReply` of a request."""
CLOSE: Final = ("connection", "close")
_WITHOUT_BODY: Final = frozenset({204, 304})
_LAST_CHUNK: Final = b"0\r\n\r\n"
_CONTROLS: Final = bytes((*range(9), *range(10, 32), 127))  # of ASCII, but the tab


class DirectReply:
    """What a server can do for one request beside ASGI, without a turn of the event loop: on a `RequestResponseCycle`
    of uvicorn, with its lines by status."""

    def __init__(self, cycle: Any, status_lines: Mapping[int, bytes]) -> None:
        self._cycle = cycle
        self._status_lines = status_lines
        self._flow = cycle.flow
        self._write = cycle.transport.write
        self.notices: list[Callable[[], object]] = []

    def whole_body(self) -> bytes | None:
        """The body where all of it has come, which `receive` does not give then; else None."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected:
            return None
        self._flow.resume_reading()
        body: bytes
        body, cycle.body = cycle.body, b""
        return body

    def write(self, data: bytes, /) -> bool:
        """Writes bytes of a stream whose head is sent; False where only ASGI's `send` can do it."""
        cycle = self._cycle
        if self._flow.write_paused or cycle.disconnected or cycle.response_complete or not cycle.chunked_encoding:
            return False
        self._write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def begin(self, status: int, headers: Sequence[tuple[str, str]], data: bytes, /, *, last: bool = False) -> bool:
        """Writes the head of a reply and the first bytes of its body; False where only ASGI's `send` can do it. Where
        they are the last, `send` has to say so with no further bytes."""
        cycle = self._cycle
        fields = dict(headers)
        if self._flow.write_paused or cycle.disconnected or cycle.response_started or not cycle.keep_alive:
            return False
        if "connection" in fields or status in _WITHOUT_BODY:
            return False
        lines = [f"{name}: {value}\r\n" for name, value in headers]
        size = fields.get("content-length")
        if size is None:
            lines.append("transfer-encoding: chunked\r\n")
        head = "".join(lines).encode("latin-1", "replace")
        # No sign that acts on who reads it, but one line end for each header.
        if len(head.translate(None, _CONTROLS)) != len(head) - 2 * len(lines):
            return False
        cycle.response_started, cycle.waiting_for_100_continue = True, False
        cycle.chunked_encoding = size is None and not last
        cycle.expected_content_length = 0 if size is None else int(size) - len(data)
        usual = [b"%b: %b\r\n" % header for header in cycle.default_headers]
        body = b"%x\r\n%b\r\n%b" % (len(data), data, _LAST_CHUNK if last else b"") if size is None else data
        self._write(b"".join((self._status_lines[status], *usual, head, b"\r\n", body)))
        return True

    def on_left(self, notice: Callable[[], object]) -> None:
        """Calls a function when the client leaves before the reply is whole; no task has to wait for that."""
        self.notices.append(notice)
        if self._cycle.disconnected:
            notice()


class RequestHead(NamedTuple):
    """A request without its body.

    Attributes:
        path: The path below the mount of the application, percent-encoded, without the query.
        headers: Its headers, names in lower case; the key is in them.
        has_connection: Whether the reply may have `connection`: in HTTP/2 and later it may not (RFC 9113, 8.2.2).
        direct: What the server can do beside ASGI; None for nothing.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    request_id: str
    has_connection: bool = True
    direct: DirectReply | None = None

    def __repr__(self) -> str:  # without the headers, which hold a key, and without the query, which may
        return f"RequestHead({self.method!r}, {self.path!r}, request_id={self.request_id!r})"


def request_of(scope: Scope, request_id: str) -> RequestHead:
    """The request of a scope of ASGI."""
    return RequestHead(
        scope.get("method", "GET"),
        path_of(scope),
        scope.get("query_string", b"").decode("latin-1"),
        headers_of(scope),
        request_id,
        str(scope.get("http_version", "1.1")).startswith("1"),
        (scope.get("extensions") or {}).get(DIRECT_EXTENSION),
    )


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request by name in lower case; several of one name are joined."""
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    headers = dict(pairs)
    if len(headers) < len(pairs):
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        headers = {name: ", ".join(several) for name, several in values.items()}
    return headers


def encoded_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """The headers of a reply as ASGI takes them."""
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]


_SAFE: Final = "/:@!$&'()*+,;=~%-._"


def path_of(scope: Scope) -> str:
    """The path below the mount, percent-encoded: a model's id may hold an encoded slash.

    `raw_path` is optional in ASGI; without it the decoded path is encoded again.
    """
    mount = str(scope.get("root_path", ""))
    raw = scope.get("raw_path")
    if raw is not None and not mount and b"?" not in raw:
        whole: str = raw.decode("latin-1")
        return whole
    path = quote(scope["path"], safe=_SAFE) if raw is None else raw.decode("latin-1").partition("?")[0]
    encoded_mount = quote(mount, safe=_SAFE).rstrip("/")
    if encoded_mount and (path == encoded_mount or path.startswith(f"{encoded_mount}/")):
        return path[len(encoded_mount) :] or "/"
    return path


# ---- Failures ----

RETRY_SECONDS: Final = 1.0
"""When a client may ask again that found no room."""
_FAULT: Final = ServedFailure(FailureKind.INTERNAL, "internal server error; see the server's log")


class ClientLeftError(PartstreamError):
    """The client closed its connection before its request was read, or before its reply was whole."""


def leaving(send: Send) -> Send:
    """The same, where a server raises OSError because the client has left (ASGI 2.4)."""

    async def send_on(message: MutableMapping[str, Any]) -> None:
        try:
            await send(message)
        except OSError as error:
            raise ClientLeftError("the client left before its reply was whole") from error

    return send_on


def without_body(send: Send) -> Send:
    """The same for HEAD: the reply to GET ends with its head, and nothing waits for a body (RFC 9110 section 9.3.2)."""

    async def send_on(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})

    return send_on


class RequestFailedError(PartstreamError):
    """Ends a request before a response has begun.

    Attributes:
        status: The HTTP status where no kind of failure has it; None for that of the kind.
    """

    def __init__(self, failure: ServedFailure, *headers: tuple[str, str], status: int | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.headers = headers
        self.status = status


class StoreFailedError(RequestFailedError):
    """A store could not keep or find an answer: it has too much to do, or its file cannot be read or written. Its text
    is for the log; a client may try again."""

    def __init__(self, reason: str) -> None:
        said = "stored answers are not available now; try again"
        super().__init__(ServedFailure(FailureKind.OVERLOADED, said, retry_after=RETRY_SECONDS))
        self.args = (reason,)


class ChainTooLargeError(RequestFailedError):
    """A response continues a conversation that is larger than the server reads; `param` names the field of the request
    that refers to it."""

    def __init__(self, message: str, param: str = "previous_response_id") -> None:
        super().__init__(ServedFailure(FailureKind.CONTEXT_LENGTH, message, param))


def failure_of(error: BaseException) -> ServedFailure:
    """What an error means for a client."""
    return error.failure if isinstance(error, RequestFailedError) else meaning_of(error)


def refusal_of(error: Exception, writes: type[ResponseWriter], request_id: str) -> FailedReply:
    """The reply to a client for an error, in the words of its wire; of a fault of ours, the log alone says more."""
    if isinstance(error, StoreFailedError):
        _logger.error("the stored answers could not be asked: %s", error)
    elif not isinstance(error, PartstreamError):
        _logger.exception("a request could not be served because of a fault of the server", exc_info=error)
        error = RequestFailedError(_FAULT)
    headers = error.headers if isinstance(error, RequestFailedError) else ()
    failure = failure_of(error)
    if isinstance(error, RequestFailedError) and error.status is not None:
        return FailedReply(error.status, headers, writes.error(error.status, failure.message))
    said = writes.failed(replace(failure, request_id=request_id))
    return replace(said, headers=(*said.headers, *headers))


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        RequestFailedError: It is none, or has too much in it.
    """
    try:
        value = _loaded(body)
    except JSONDecodeError as error:
        got = f"{len(body):,} bytes that are not JSON ({error})" if body else "an empty body"
        raise _not_json(f"got {got}, expected a JSON object") from error
    except ValueError as error:
        raise _not_json(f"got what JSON cannot represent ({error}), expected a JSON object") from error
    if not isinstance(value, dict):
        raise _not_json(f"got JSON of type {type(value).__name__}, expected an object")
    return value


def _loaded(body: bytes) -> Any:
    has_few_items = len(body) <= limits.MOST_ITEMS or body.count(b",") <= limits.MOST_ITEMS
    if len(body) <= limits.LARGE_BYTES and has_few_items and body.count(b"[") + body.count(b"{") <= MOST_LEVELS:
        return loads_finite(body)
    found = limits.measure(body)
    if found.levels > MOST_LEVELS:
        raise _not_json(f"got JSON of more than {MOST_LEVELS} levels, expected at most {MOST_LEVELS}")
    if found.values > limits.MOST_VALUES:
        said = f"got JSON of more than {limits.MOST_VALUES:,} values, expected at most {limits.MOST_VALUES:,}"
        raise RequestFailedError(ServedFailure(FailureKind.TOO_LARGE, said))
    value = limits.loads_in_pieces(body) if len(body) > limits.LARGE_BYTES else loads_finite(body)
    if found.values > limits.MOST_ITEMS and isinstance(value, dict):
        check_items(value)
    return value


def check_items(body: Mapping[str, Any]) -> None:
    """Refuses a body with a list of too many items, or of items with too many of their own, such as parts.

    Raises:
        RequestFailedError: It has one.
    """
    for name, value in body.items():
        items = value if isinstance(value, list) else (value,)
        of_items = (inner for one in items if isinstance(one, Mapping) for inner in one.values())
        for one in (value, *of_items):
            if isinstance(one, list) and len(one) > limits.MOST_ITEMS:
                where = name[:_LONGEST_NAME] if one is value else f"a list in {name[:_LONGEST_NAME]}"
                said = f"{where}: got {len(one):,} items, expected at most {limits.MOST_ITEMS:,}"
                raise RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, said, name[:_LONGEST_NAME]))


_LONGEST_NAME: Final = 80


def is_large(body: bytes) -> bool:
    """Whether a body is read in a thread, see :mod:`partstream.codec.limits`."""
    return len(body) > limits.LARGE_BYTES or body.count(b"[") + body.count(b"{") > limits.LARGE_OBJECTS


def _not_json(message: str) -> RequestFailedError:
    return RequestFailedError(ServedFailure(FailureKind.INVALID_REQUEST, message))


# ---- Packed bodies ----

CODINGS: Final = "gzip, deflate"
"""The values of `content-encoding` that are taken (RFC 9110 section 8.4.1)."""
_LONGEST_CODING: Final = 40
_MOST_UNPACKED: Final = 1024 * 1024
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


class Unpacking:
    """Unpacks one body as its pieces come.

    Args:
        coding: The value of `content-encoding`; "" for none.
        most: The most bytes that the unpacked body may have.

    Raises:
        RequestFailedError: The server does not unpack this (RFC 9110 section 15.5.16).
    """

    def __init__(self, coding: str, most: int) -> None:
        self._coding = coding.strip().lower().removeprefix("x-")
        if self._coding not in {"", "identity", "gzip", "deflate"}:
            said = f"unsupported media type: got content-encoding {coding[:_LONGEST_CODING]!r}, expected {CODINGS}"
            failure = ServedFailure(FailureKind.INVALID_REQUEST, said)
            raise RequestFailedError(failure, ("accept-encoding", CODINGS), status=415)
        self._most = most
        self._size = 0
        self._unpacker: zlib._Decompress | None = None

    def unpack(self, piece: bytes) -> Iterator[bytes]:
        """The bytes of the next piece, in portions of which a turn of the event loop can take one.

        Raises:
            RequestFailedError: It is not packed as it says, or there is too much of it.
        """
        if self._coding in {"", "identity"}:
            yield piece
            return
        while piece:
            if self._unpacker is None:
                # Some clients send deflate without the head of zlib; the low half of its first byte says which it is.
                deflated = _ZLIB if piece[0] & 0x0F == zlib.DEFLATED else _RAW
                self._unpacker = zlib.decompressobj(_GZIP if self._coding == "gzip" else deflated)
            if self._unpacker.eof:
                raise _not_json("got a packed body with something after its end")
            try:
                data = self._unpacker.decompress(piece, min(self._most + 1 - self._size, _MOST_UNPACKED))
            except zlib.error as error:
                raise _not_json(f"got a body that is not packed as its content-encoding says ({error})") from error
            piece = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            self._size += len(data)
            if self._size > self._most:
                said = f"got a body of more than {self._most:,} bytes unpacked, expected at most so many"
                raise RequestFailedError(ServedFailure(FailureKind.TOO_LARGE, said), CLOSE)
            yield data

    def end(self) -> None:
        """Says that no piece follows.

        Raises:
            RequestFailedError: The body breaks off.
        """
        if self._unpacker is not None and not self._unpacker.eof:
            raise _not_json("got a packed body that breaks off")


# ---- Bodies ----

_DISCARDED: Final = 4
"""How many times the largest body is discarded before a client that still sends is cut off."""
_LONGEST_NUMBER: Final = 18
"""The most digits of a declared size that are read; the bytes themselves are counted in any case."""
_PAUSE_SECONDS: Final = 1.0
"""How long a client may pause in a body that is discarded."""


class RequestBody:
    """The body of one request, within bounds of size and time; read once by one task. `declared` is its size, where the
    head says it."""

    def __init__(self, request: RequestHead, receive: Receive, most: int, seconds: float) -> None:
        self._request = request
        self._receive = receive
        self._most = most
        self._seconds = seconds
        self._size = 0
        self._is_whole = False
        said = request.headers.get("content-length", "")
        self.declared = int(said) if said.isdecimal() and len(said) <= _LONGEST_NUMBER else None

    async def read(self, most: int | None = None, hold: Callable[[int], object] | None = None) -> bytes:
        """The whole body.

        Args:
            most: The most bytes that it may have, if that is less than the settings allow.
            hold: Called with the bytes so far, where they are many; raises where they are too many.

        Raises:
            RequestFailedError: It is too large, or takes too long, or cannot be unpacked.
            ClientLeftError: The client left before it was whole.
        """
        limit = self._most if most is None else min(most, self._most)
        if self.declared is not None:
            self._check_size(self.declared, limit)
        coding, direct = self._request.headers.get("content-encoding", ""), self._request.direct
        if not coding and direct is not None and (whole := direct.whole_body()) is not None:
            # Nearly always: one piece, without a limit of time, which costs as much as all the rest here.
            self._size, self._is_whole = len(whole), True
            self._check_size(self._size, limit)
            if hold is not None and len(whole) > limits.LARGE_BYTES:
                hold(len(whole))
            return whole
        unpacking = Unpacking(coding, limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                while not self._is_whole:
                    piece = await self._next()
                    self._check_size(self._size, limit)
                    for number, data in enumerate(unpacking.unpack(piece)):
                        if number:  # a piece may hold a thousand times its bytes
                            await asyncio.sleep(0)
                        body += data
                    if hold is not None and len(body) > limits.LARGE_BYTES:
                        hold(len(body))
            unpacking.end()
        except TimeoutError as error:
            self._is_whole = True  # the rest is not read
            said = f"got {self._size:,} bytes within {self._seconds:g} seconds, expected the whole body"
            raise RequestFailedError(ServedFailure(FailureKind.TIMEOUT, said), CLOSE) from error
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
            async with asyncio.timeout(self._seconds):
                while not self._is_whole and self._size <= _DISCARDED * self._most:
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
            raise RequestFailedError(ServedFailure(FailureKind.TOO_LARGE, said), CLOSE)


class HeldBytes:
    """The bytes of one caller that wait to be read: a body, messages of a socket, or what a socket remembers.

    Args:
        of_callers: What all callers hold.
        most: The most bytes of one body.
    """

    def __init__(self, of_callers: Counter[str], caller: str, most: int) -> None:
        self._of_callers = of_callers
        self._caller = caller
        self._most = most
        self.size = 0

    def hold(self, size: int) -> None:
        """Holds as many bytes from now on.

        Raises:
            RequestFailedError: They are too many of one caller, or of all.
        """
        held, by = self._of_callers, size - self.size
        if by > 0:
            for kind, of, whose, count in (
                (FailureKind.RATE_LIMITED, held[self._caller], "your requests", limits.WAITING_BODIES),
                (FailureKind.OVERLOADED, held.total(), "requests", limits.WAITING_OF_ALL),
            ):
                if of + by > (limit := count * self._most):
                    said = f"more than {limit:,} bytes of {whose} wait to be read, which is the limit; try again"
                    raise RequestFailedError(ServedFailure(kind, said, retry_after=RETRY_SECONDS), CLOSE)
        held[self._caller] += by
        if not held[self._caller]:
            del held[self._caller]
        self.size = size


# ---- Routes ----


@dataclass(frozen=True)
class Endpoint:
    """A path where models answer, with its protocol.

    The pattern is below the path of a client's base URL, with `{model}` where it names the model. `further` is what
    answers another kind of request there.
    """

    protocol: Protocol
    base_path: str
    pattern: str
    further: FurtherEndpoint | None = None

    @cached_property
    def reads(self) -> RequestReader:
        """The request reader; loaded when it is first needed, as most wires of a server have no client."""
        assert self.protocol.read_request is not None  # noqa: S101 - for the types
        return self.protocol.read_request() if self.further is None else self.further.reads

    @cached_property
    def writes(self) -> type[ResponseWriter]:
        """The response writer; loaded when it is first needed."""
        assert self.protocol.write_response is not None  # noqa: S101 - for the types
        return self.protocol.write_response() if self.further is None else self.further.writes

    @property
    def path(self) -> str:
        """The pattern of the whole path."""
        return self.base_path + self.pattern

    def key_headers(self, key: str, kind: KeyKind = KeyKind.API_KEY) -> dict[str, str]:
        """The headers that carry a key of a kind in this protocol."""
        assert self.protocol.write_request is not None  # noqa: S101 - for the types
        headers = self.protocol.write_request().authorize(key, kind)
        return {name: value for name, value in headers.items() if key in value}

    def request(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], query: str = "", method: str = "POST"
    ) -> WireRequest:
        """A request at the whole path `path` as the request reader of this protocol gets it."""
        return WireRequest(path.removeprefix(self.base_path), body, headers, query, method, self.base_path)


def endpoints_of(protocols: Iterable[Protocol]) -> dict[str, Endpoint]:
    """The endpoints by path, of the protocols that read requests and write responses.

    If two protocols have the same path, the first one gets it.
    """
    endpoints: dict[str, Endpoint] = {}
    for protocol in protocols:
        if None not in {protocol.write_request, protocol.read_request, protocol.write_response}:
            for base_path in protocol.base_paths:
                for pattern in protocol.patterns:
                    endpoint = Endpoint(protocol, base_path, pattern)
                    endpoints.setdefault(endpoint.path, endpoint)
    return endpoints


_USUAL_BASE: Final = "/v1"
_LONGEST_PATH: Final = 200
_MOST_ALIKE: Final = 3
"""The most paths in a message that a client may have meant."""
_ALIKE: Final = 0.75


@dataclass(frozen=True, slots=True)
class Route:
    """What a method at a path means: a response of a model, or the document or the stored response that it has.

    `path` is the pattern of the whole path, see :mod:`partstream.protocols.serve`.
    """

    method: str
    path: str
    endpoint: Endpoint
    document: ServedDocument | None = None
    stored: StoredRoute | None = None

    @property
    def is_answer(self) -> bool:
        """Whether a model answers."""
        return self.document is None and self.stored is None


class NoRouteError(RequestFailedError):
    """A path is unknown, or takes only some other methods, which are `allowed`."""

    def __init__(self, message: str, allowed: tuple[str, ...] = ()) -> None:
        kind = FailureKind.METHOD_NOT_ALLOWED if allowed else FailureKind.NOT_FOUND
        taken = (*allowed, "HEAD") if "GET" in allowed else allowed
        super().__init__(ServedFailure(kind, message), *([("allow", ", ".join(taken))] if allowed else []))
        self.allowed = allowed


class Routes:
    """All routes of a server: of its endpoints, one at least. The message of an unknown path may name `others` too."""

    def __init__(self, endpoints: Mapping[str, Endpoint], others: Iterable[str] = ()) -> None:
        self._endpoints = tuple(endpoints.values())
        self._others = tuple(others)
        # Most requests are for a path where models answer and that names nothing: found at once, by what is loaded.
        self._answering = {
            one.path: Route("POST", one.path, one) for one in self._endpoints if not names_something(one.path)
        }

    @cached_property
    def _routes(self) -> tuple[Route, ...]:
        """All routes; loads all protocols."""
        return tuple(_routes(self._endpoints))

    def __iter__(self) -> Iterator[Route]:
        """All routes, protocol by protocol: responses first, then documents."""
        return iter(self._routes)

    def find(self, method: str, path: str, headers: Mapping[str, str]) -> Route:
        """What a request asks for.

        Of several patterns that fit the path, the one with the most characters of its own counts. Of several protocols
        with a document there, the one that the headers mean, then the first.

        Raises:
            NoRouteError: Nothing is there, or nothing for this method.
        """
        if method == "POST" and (answering := self._answering.get(path)) is not None:
            return answering
        fitting = self._at(path)
        if not fitting:
            from difflib import get_close_matches  # noqa: PLC0415 - for this error alone

            # The paths that a client may have meant: those that look like it, or else those where models answer.
            shown = path[:_LONGEST_PATH]
            known = dict.fromkeys((*self._others, *(one.path for one in self._routes)))
            alike = get_close_matches(shown, known, _MOST_ALIKE, _ALIKE) or [one.path for one in self._endpoints]
            raise NoRouteError(f"got path {shown}, expected {', '.join(alike)}")
        closest = max(literal_size(one.path) for one in fitting)
        there = [one for one in fitting if literal_size(one.path) == closest]
        taking = [one for one in there if one.method == method]
        if not taking:
            allowed = tuple(dict.fromkeys(one.method for one in there))
            raise NoRouteError(f"got method {method} at {path[:_LONGEST_PATH]}, expected {', '.join(allowed)}", allowed)
        meant = [one for one in taking if one.document is None or one.document.is_meant(headers)]
        return min(meant or taking, key=lambda one: one.document is None or one.document.is_for_everybody)

    def _at(self, path: str) -> Sequence[Route]:
        """All routes whose pattern fits a path."""
        return [one for one in self._routes if fits_path(one.path, path)]

    def socket_at(self, path: str) -> Endpoint:
        """The endpoint that takes WebSockets at a path.

        Raises:
            NoRouteError: None is there.
        """
        there = (one for one in self._endpoints if fits_path(one.path, path))
        found = next((one for one in there if one.reads.socket is not None), None)
        if found is None:
            known = ", ".join(one.path for one in self._endpoints if one.reads.socket is not None) or "none"
            raise NoRouteError(f"got a WebSocket at path {path}, expected it at {known}")
        return found

    def meant_path(self, path: str) -> str:
        """The path that a client means: some append `/v1` to a base URL, some do not, and a person gives the base URL
        with or without it, and with or without a slash at the end. A path that has a route in none of these forms
        stays."""
        if path in self._answering:
            return path
        bare = path.rstrip("/")
        tried = (bare, bare.removeprefix(_USUAL_BASE), _USUAL_BASE + bare)
        return next((one for one in tried if self._at(one)), path)

    def nearest(self, path: str) -> Endpoint:
        """The endpoint whose protocol words an error at a path: the one there, one beside it, or the first."""
        if path in self._answering:
            return self._answering[path].endpoint
        there = [one for one in self._endpoints if fits_path(one.path, path)]
        if there:
            return max(there, key=lambda one: literal_size(one.path))
        below = (one for one in self._endpoints if path.startswith(f"{one.base_path}/"))
        return max(below, key=lambda one: len(one.base_path), default=self._endpoints[0])


def _routes(endpoints: Iterable[Endpoint]) -> Iterator[Route]:
    of_bases = {(one.protocol.name, one.base_path): one for one in endpoints}
    for endpoint in endpoints:
        yield Route("POST", endpoint.path, endpoint)
    for endpoint in of_bases.values():
        for document in endpoint.writes.documents:
            yield Route(document.method, endpoint.base_path + document.path, endpoint, document)
        for further in endpoint.writes.further:
            there = replace(endpoint, pattern=further.path, further=further)
            yield Route("POST", there.path, there)
        for stored in () if endpoint.writes.state is None else endpoint.writes.state.routes:
            yield Route(stored.method, endpoint.base_path + stored.path, endpoint, stored=stored)


# ---- Reading ----


class Reading(NamedTuple):
    """A request as far as it was read: an upstream of its own wire may understand more of it. `refusal` is why it is
    refused where it is translated. It has no messages unless it `is_whole` but for parameters that nothing offers."""

    asked: InboundRequest
    refusal: PartstreamError | None = None
    is_whole: bool = True


def reading_of(read: Callable[[WireRequest], InboundRequest], wire: WireRequest, own: WireRequest) -> Reading:
    """Reads a request with what it continues: without each parameter that its reader refuses, else its model and its
    form alone. The place of a mistake is named as in its `own` form.

    Raises:
        PartstreamError: Not even those can be read.
    """

    def reads(of: WireRequest) -> InboundRequest:
        try:
            return read(of)
        except UnicodeEncodeError as error:  # of a text that becomes bytes, such as an address
            got = f"half a character, {error.object[error.start]!a}"
            raise InvalidRequestError("", got, "text in UTF-8") from error

    refusal: PartstreamError | None = None
    left_out: dict[str, int] = {}
    body: Mapping[str, Any] = wire.body
    while True:
        try:
            asked = reads(replace(wire, body=body) if left_out else wire)
        except PartstreamError as error:
            if refusal is None:
                refusal = error
                try:
                    reads(own)
                except PartstreamError as said:
                    refusal = said
            without = _without(body, error.where.split(".")) if isinstance(error, UnsupportedParameterError) else None
            if not isinstance(error, UnsupportedParameterError) or without is None:
                break
            body, left_out[error.where] = without, 1
        else:
            whole = replace(asked, unmapped={**asked.unmapped, **left_out}, body=wire.body) if left_out else asked
            return Reading(whole, refusal)
    fields = wire.body.items()
    named = {name: value if name in _NAMED else [] for name, value in fields if name in _NAMED or type(value) is list}
    try:
        return Reading(reads(replace(wire, body=named)), refusal, is_whole=False)
    except PartstreamError:
        raise refusal from None


_NAMED: Final = frozenset({"model", "stream"})
"""The fields that say which model answers, and in which form, on all wires whose paths do not."""


def _without(document: Any, place: Sequence[str]) -> dict[str, Any] | None:
    """An object without the field at a place; None where it has none."""
    name, *rest = place
    if not isinstance(document, Mapping) or name not in document:
        return None
    inner = _without(document[name], rest) if rest else None
    if rest and inner is None:
        return None
    kept = {one: value for one, value in document.items() if one != name}
    return kept if inner is None else {**kept, name: inner}


# ---- Fields that reach no model, or no client ----

DROPPED_HEADER: Final = "x-partstream-dropped"
"""The header of a reply that names those of the request, separated by commas."""
UNSAID_HEADER: Final = "x-partstream-dropped-answer"
"""The same for those of the answer."""
_MOST_NAMES: Final = 20
"""The most names in a header, a line of the log and an error."""
_MOST_CHARACTERS: Final = 1000
_MOST_KEPT: Final = 200
_MOST_SETS: Final = 200
"""The most sets of names of one caller that a server logs; clients that invent names must not fill the log."""
_PLACE: Final = re.compile(r"\[\d+\]")
_SAFE_IN_HEADER: Final = " !#$&'()*+-./:;<=>?@[]^_{|}~"
"""The characters of a path in a header beside letters and digits; a comma would end it, and a line end the header."""


class DroppedLog:
    """Logs each set of names once in the life of a server.

    Args:
        header: The header that names them, which says of what they are.
    """

    def __init__(self, header: str = DROPPED_HEADER) -> None:
        self.header = header
        self._logged: set[int] = set()  # what the sets hash to
        self._sets_of: Counter[str] = Counter()

    def note(self, names: Collection[str], request_id: str, caller: str = "") -> None:
        """Logs the names of a request, unless this set was logged before, or too many of its caller were."""
        key = hash(frozenset(names))
        if key in self._logged or self._sets_of[caller] > _MOST_SETS:
            return
        self._logged.add(key)
        self._sets_of[caller] += 1
        if self._sets_of[caller] > _MOST_SETS:
            _logger.warning("further fields like those are named in %s alone", self.header)
            return
        is_of_request = self.header == DROPPED_HEADER
        said = "fields of a request reach no model" if is_of_request else "fields of an answer do not reach the client"
        _logger.warning("%s: %s (request %s; later ones like it are not logged)", said, _listed(names), request_id)


class DroppedFields:
    """Those of one request, or of one answer; a strict server refuses the request instead of logging them."""

    def __init__(self, request_id: str, log: DroppedLog, *, is_strict: bool = False, caller: str = "") -> None:
        self._request_id = request_id
        self._caller = caller
        self._log = log
        self._is_strict = is_strict
        self._paths: dict[str, str] = {}  # the first path of each name

    @property
    def names(self) -> tuple[str, ...]:
        """Their names without the numbers of places, such as `tools[].web_search`, in the order of the request."""
        return tuple(self._paths)

    def add(self, paths: Iterable[str]) -> None:
        """Adds fields by their paths.

        Raises:
            UnsupportedParameterError: The server is strict, and there are any.
        """
        new: dict[str, str] = {}
        for path in paths:
            shown = quote(path[:_LONGEST_NAME], safe=_SAFE_IN_HEADER, errors="replace").strip()  # ASCII, without commas
            if max(len(shown), len(path)) > _LONGEST_NAME:
                shown = f"{shown[: _LONGEST_NAME - 3]}..."
            name = _PLACE.sub("[]", shown)
            if name not in self._paths and len(self._paths) < _MOST_KEPT:
                new[name] = self._paths[name] = shown
        if new and self._is_strict:
            first, *others = new.values()
            expected = f"a request without it{f', and without {_listed(others)}' if others else ''}"
            raise UnsupportedParameterError(first, "a field that reaches no model", expected)
        if new:
            self._log.note(tuple(new), self._request_id, self._caller)

    def report(self, paths: Iterable[str]) -> None:
        """Adds those that the wire of an upstream has no place for.

        Raises:
            RequestNotExpressibleError: The server is strict, and there are any.
        """
        try:
            self.add(paths)
        except UnsupportedParameterError as error:
            raise RequestNotExpressibleError(error.got, error.where, error.expected) from error

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The header of the reply; none without such fields."""
        return ((self._log.header, _listed(self._paths)),) if self._paths else ()


def _listed(names: Collection[str]) -> str:
    """The first names, and how many more there are, as `a, b, +3`."""
    shown, size = [], 0
    for name in islice(names, _MOST_NAMES):
        size += len(name) + 2
        if size > _MOST_CHARACTERS:
            break
        shown.append(name)
    more = len(names) - len(shown)
    return ", ".join((*shown, f"+{more}") if more else shown)
