"""Splits bytes into message bodies and frames bodies, as in LSP 3.17 ("Base Protocol"); knows no JSON.

A frame is `Content-Length: N`, optional further header fields, an empty line, and N bytes. Lines end with CR LF.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = [
    "BEGINNING_SIZE",
    "DEFAULT_MAX_BODY_SIZE",
    "Frame",
    "FrameDecoder",
    "FrameTooLarge",
    "MalformedHeader",
    "encode_frame",
]

DEFAULT_MAX_BODY_SIZE: Final = 256 * 1024 * 1024
"""The most bytes of a body. The largest messages are conversations with many images."""

BEGINNING_SIZE: Final = 1024
"""The bytes that are kept of a body over the limit."""

MAX_HEADER_SIZE: Final = 4096
"""The most bytes of a header. Real headers have about 30."""

_END_OF_HEADER = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class FrameTooLarge:
    """A body over the limit; the decoder skips its bytes and reads the frames after it.

    Attributes:
        size: The bytes of the body, by its header.
        limit: The most bytes of a body.
        beginning: The first bytes of the body, at most :data:`BEGINNING_SIZE`, by which its sender may be answered.
    """

    size: int
    limit: int
    beginning: bytes = b""


@dataclass(frozen=True, slots=True)
class MalformedHeader:
    """A header without a valid length: no later frame can be read.

    Attributes:
        got: The start of the header.
        reason: The mistake in the header.
    """

    got: bytes
    reason: str


Frame: TypeAlias = bytes | FrameTooLarge | MalformedHeader
"""The output of a decoder: a body, or the reason why a frame has none."""


class FrameDecoder:
    """Splits a stream of bytes into frames, in whichever pieces the bytes arrive."""

    __slots__ = ("_broken", "_header", "_limit", "_missing", "_pieces", "_size", "_skipping")

    def __init__(self, limit: int = DEFAULT_MAX_BODY_SIZE) -> None:
        self._limit = limit
        self._header = bytearray()
        self._pieces: list[bytes] = []
        self._missing: int | None = None  # bytes of the body still to come; None while a header is read
        self._size = 0
        self._skipping = False
        self._broken = False

    def feed(self, data: bytes) -> list[Frame]:
        """Takes more bytes and returns the frames that are now complete; none after a malformed header."""
        frames: list[Frame] = []
        position = 0
        while position < len(data) and not self._broken:
            read = self._read_header if self._missing is None else self._read_body
            position = read(data, position, frames)
        return frames

    def _read_header(self, data: bytes, position: int, frames: list[Frame]) -> int:
        before = len(self._header)
        self._header += data[position : position + MAX_HEADER_SIZE]
        end = self._header.find(_END_OF_HEADER, max(0, before - len(_END_OF_HEADER) + 1))
        if end < 0:
            if len(self._header) >= MAX_HEADER_SIZE:
                self._break(frames, bytes(self._header), f"no end within {MAX_HEADER_SIZE} bytes")
            return position + len(self._header) - before
        position += end + len(_END_OF_HEADER) - before
        header = bytes(self._header[:end])
        length = _content_length(header)
        if isinstance(length, str):
            self._break(frames, header, length)
            return position
        self._header.clear()
        self._begin_body(length, frames)
        return position

    def _begin_body(self, length: int, frames: list[Frame]) -> None:
        if length == 0:
            frames.append(b"")
            return
        self._missing = length
        self._skipping = length > self._limit
        self._size = length

    def _read_body(self, data: bytes, position: int, frames: list[Frame]) -> int:
        assert self._missing is not None  # noqa: S101 - for the type checker: a body is being read
        piece = data[position : position + self._missing]
        self._missing -= len(piece)
        if not self._skipping:
            self._pieces.append(piece)
        elif self._pieces or self._missing + len(piece) == self._size:
            self._read_beginning(piece, frames)
        if self._missing == 0:
            self._missing = None
            if not self._skipping:
                frames.append(b"".join(self._pieces))
                self._pieces = []
        return position + len(piece)

    def _read_beginning(self, piece: bytes, frames: list[Frame]) -> None:
        """Takes the first bytes of a body over the limit, and tells of it as soon as there are enough."""
        self._pieces.append(piece[:BEGINNING_SIZE])
        beginning = b"".join(self._pieces)[:BEGINNING_SIZE]
        if len(beginning) == BEGINNING_SIZE or self._missing == 0:
            frames.append(FrameTooLarge(self._size, self._limit, beginning))
            self._pieces = []

    def _break(self, frames: list[Frame], header: bytes, reason: str) -> None:
        self._broken = True
        frames.append(MalformedHeader(header[:80], reason))


def encode_frame(body: bytes) -> bytes:
    """The frame of one body."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _content_length(header: bytes) -> int | str:
    """The length in a header, or the mistake in the header."""
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            return f"the line {line[:80]!r} is not a header field"
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            if not digits.isdigit() or len(digits) > 18:
                return f"Content-Length is {digits[:80]!r}, not a number of bytes"
            return int(digits)
    return "no Content-Length"
