"""Cuts a stream of bytes at a separator, in time linear in the bytes however they arrive; knows no format.

Pieces that wait for their separator are kept as a list and joined once: rescanning the tail on every read made a 2 MB
event in 1,460-byte reads three hundred times dearer than in one.
"""

from __future__ import annotations

from typing import Final

from partstream.errors import EventTooLargeError

__all__ = ["DEFAULT_MAX_EVENT_SIZE", "Splitter"]

DEFAULT_MAX_EVENT_SIZE: Final = 64 * 1024 * 1024
"""Bytes. The largest field of the OpenResponses schema is a file of 32 MiB in base64."""


class Splitter:
    """Cuts bytes at `separator`; what stands between two separators is a piece.

    Attributes:
        limit: The most bytes that a piece may have.
        error: Set when a piece grew over the limit; nothing is returned after that. The pieces before it were.
    """

    __slots__ = ("_pending", "_separator", "_size", "error", "limit")

    def __init__(self, separator: bytes, limit: int) -> None:
        self._separator = separator
        self.limit = limit
        self._pending: list[bytes] = []
        self._size = 0
        self.error: EventTooLargeError | None = None

    def split(self, data: bytes) -> list[bytes]:
        """Takes more bytes and returns the pieces that are complete now, without their separators."""
        if self.error is not None:
            return []
        if self._pending:
            if self._separator not in data and not self._straddles(data):
                self._keep(data)
                return []
            self._pending.append(data)
            data = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
        pieces = data.split(self._separator)
        tail = pieces.pop()
        if len(data) > self.limit:
            pieces = self._within_limit(pieces)
        if tail and self.error is None:
            self._keep(tail)
        return pieces

    @property
    def is_empty(self) -> bool:
        """Whether the next byte begins a piece, and pieces still come."""
        return not self._pending and self.error is None

    def _straddles(self, data: bytes) -> bool:
        """Whether a separator of two bytes lies across the border between what is kept and `data`."""
        return len(self._separator) > 1 and (self._pending[-1][-1:] + data[:1]) == self._separator

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        # What is kept may end with a part of the separator, which does not count as the piece's.
        if self._size > self.limit + len(self._separator) - 1:
            self._fail(self._size)
        elif data:
            self._pending.append(data)

    def _within_limit(self, pieces: list[bytes]) -> list[bytes]:
        for index, piece in enumerate(pieces):
            if len(piece) > self.limit:
                self._fail(len(piece))
                return pieces[:index]
        return pieces

    def _fail(self, size: int) -> None:
        self.error = EventTooLargeError(size, self.limit)
        self._pending.clear()
