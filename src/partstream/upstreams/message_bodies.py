"""Finds the body of an answer in the bytes of its connection, whatever says how long it is (RFC 9112 section 6.3).

Sans-IO. `h11` reads heads; bodies are read here, because an answer of a model comes in thousands of small chunks, and
`h11` takes 7 µs for each of them, which is more than all that the reader of its events takes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Body", "ChunkedBody", "EndlessBody", "SizedBody", "body_of"]

_NO_BODY: Final = frozenset({204, 304})
_CHUNK_HEAD: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r\n")
_LONGEST_LINE: Final = 16 * 1024
"""Bytes of the line before a chunk."""
_LARGEST_TRAILERS: Final = 1024 * 1024
_SHOWN: Final = 40


class Body(Protocol):
    """The body of one answer.

    Attributes:
        is_whole: Whether its end has come.
        rest: What came behind its end: a connection with a rest is not used again.
    """

    is_whole: bool
    rest: bytes

    def feed(self, data: bytes) -> bytes:
        """Takes the next bytes of the connection, returns those of the body, possibly none.

        Raises:
            httpx2.RemoteProtocolError: They are no such body.
        """
        ...

    def end(self) -> None:
        """Takes the end of the connection.

        Raises:
            httpx2.RemoteProtocolError: The body is not whole.
        """
        ...


def body_of(method: str, status: int, headers: Iterable[tuple[bytes, bytes]]) -> Body:
    """The body that a head announces.

    Args:
        method: Of the request.
        status: Of the answer.
        headers: Of the answer, with names in lower case, as `h11` has checked them: one length at the most, and
            no coding but `chunked`.
    """
    fields = dict(headers)
    if method == "HEAD" or status in _NO_BODY:
        return SizedBody(0)
    if b"transfer-encoding" in fields:
        return ChunkedBody()
    if b"content-length" in fields:
        return SizedBody(int(fields[b"content-length"]))
    return EndlessBody()


class SizedBody:
    """A body of a known length.

    Args:
        size: Its bytes.
    """

    __slots__ = ("_missing", "_size", "is_whole", "rest")

    def __init__(self, size: int) -> None:
        self._size = self._missing = size
        self.is_whole = size == 0
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """See :class:`Body`."""
        body, more = data[: self._missing], data[self._missing :]
        self._missing -= len(body)
        self.is_whole = self._missing == 0
        self.rest += more
        return body

    def end(self) -> None:
        """See :class:`Body`."""
        if not self.is_whole:
            got = self._size - self._missing
            raise httpx2.RemoteProtocolError(
                "peer closed connection without sending complete message body "
                f"(received {got} bytes, expected {self._size})"
            )


class EndlessBody:
    """A body that the end of the connection ends."""

    __slots__ = ("is_whole", "rest")

    def __init__(self) -> None:
        self.is_whole = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """See :class:`Body`."""
        return data

    def end(self) -> None:
        """See :class:`Body`."""
        self.is_whole = True


class ChunkedBody:
    """A body in chunks, each behind its size (RFC 9112 section 7.1). What stands behind the last one is skipped."""

    __slots__ = ("_missing", "_pending", "_trailers", "is_whole", "rest")

    def __init__(self) -> None:
        self._pending = b""  # of a line that is not whole
        self._missing = 0  # bytes of the open chunk with the line end behind it
        self._trailers = -1  # bytes of the lines behind the last chunk; below 0 before them
        self.is_whole = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """See :class:`Body`."""
        if self._missing or self._pending or self._trailers >= 0:
            return self._read(data)
        # Nearly every read of a live answer is one whole chunk, or a few.
        first, more = b"", bytearray()  # not a list of pieces: a server may send them byte by byte
        at = 0
        while (head := _CHUNK_HEAD.match(data, at)) is not None:
            begin = head.end()
            end = begin + int(head[1], 16)
            if begin == end or data[end : end + 2] != b"\r\n":
                break
            if first:
                more += data[begin:end]
            else:
                first = data[begin:end]
            at = end + 2
        rest = self._read(data[at:]) if at < len(data) else b""
        return first + more + rest if more or rest else first

    def end(self) -> None:
        """See :class:`Body`."""
        if not self.is_whole:
            raise httpx2.RemoteProtocolError(
                "peer closed connection without sending complete message body (incomplete chunked read)"
            )

    def _read(self, data: bytes) -> bytes:
        body = bytearray()
        data = self._pending + data
        self._pending = b""
        at = 0
        while at < len(data) and not self.is_whole:
            if self._trailers >= 0:
                at = self._skip_trailer(data, at)
            elif self._missing:
                at = self._take(data, at, body)
            else:
                at = self._open(data, at)
        self.rest += data[at:] if self.is_whole else b""
        return bytes(body)

    def _take(self, data: bytes, at: int, body: bytearray) -> int:
        """Takes what is there of the open chunk, and the line end behind it."""
        size = self._missing - 2
        if size > 0:
            piece = data[at : at + size]
            body += piece
            self._missing -= len(piece)
            at += len(piece)
        while 0 < self._missing <= 2 and at < len(data):
            if data[at] != b"\r\n"[2 - self._missing]:
                raise _malformed(data[at:])
            self._missing -= 1
            at += 1
        return at

    def _open(self, data: bytes, at: int) -> int:
        """Reads the line before a chunk, if it is whole."""
        head = _CHUNK_HEAD.match(data, at)
        if head is None:
            line_end = data.find(b"\n", at)
            if line_end >= 0 or len(data) - at > _LONGEST_LINE:
                raise _malformed(data[at:])
            self._pending = data[at:]
            return len(data)
        size = int(head[1], 16)
        if size:
            self._missing = size + 2
        else:
            self._trailers = 0
        return head.end()

    def _skip_trailer(self, data: bytes, at: int) -> int:
        """Skips a line behind the last chunk, if it is whole; an empty one is the end."""
        line_end = data.find(b"\n", at)
        self._trailers += (len(data) if line_end < 0 else line_end + 1) - at
        if self._trailers > _LARGEST_TRAILERS:
            raise httpx2.RemoteProtocolError("illegal trailers: they are too long")
        if line_end < 0:
            self._pending = data[at:]
            self._trailers -= len(self._pending)  # they are looked at once more
            return len(data)
        self.is_whole = not data[at:line_end].rstrip(b"\r")
        return line_end + 1


def _malformed(data: bytes) -> httpx2.RemoteProtocolError:
    return httpx2.RemoteProtocolError(f"illegal chunk header: {data[:_SHOWN]!r}")
