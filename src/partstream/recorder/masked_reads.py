"""The reads of one response without the keys that its request was sent with, while they come.

A server may repeat a key, and cut it over two reads. A read whose end may be the beginning of a key is held back until
the next one has come, or the response has ended. No length changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.devtools.bundles.exchange import Chunk

if TYPE_CHECKING:
    from partstream.codec.redaction import Redactor

__all__ = ["MaskedReads"]

_MOST_HELD: Final = 64 * 1024
_LONGEST_END: Final = 4 * 1024
"""Bytes at the end of what is held in which a key may begin."""


class MaskedReads:
    """The reads of one response.

    Args:
        redactor: Knows the keys.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held: list[Chunk] = []

    def take(self, at: int, data: bytes) -> list[Chunk]:
        """Takes a read, gives those that can be kept now."""
        self._held.append(Chunk(at, data))
        joined = b"".join(chunk.data for chunk in self._held)
        if len(joined) <= _MOST_HELD and self._redactor.may_go_on(joined[-_LONGEST_END:]):
            return []
        return self._let_go(joined)

    def end(self) -> list[Chunk]:
        """The reads that are still held back."""
        return self._let_go(b"".join(chunk.data for chunk in self._held))

    def _let_go(self, joined: bytes) -> list[Chunk]:
        masked = self._redactor.mask_bytes(joined)
        held, self._held = self._held, []
        if masked == joined:
            return held
        chunks, start = [], 0
        for chunk in held:
            chunks.append(Chunk(chunk.at, masked[start : start + len(chunk.data)]))
            start += len(chunk.data)
        return chunks
