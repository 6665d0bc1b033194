"""Digests of conversations: two are equal exactly if a model that saw one has also seen the other.

A digest covers everything that reaches a model and nothing else: marks move from message to message (`cache_control`),
thinking comes and goes, and the host adds empty texts.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol

from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, is_mark, row_of_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from partstream.lm.messages import ChatMessage
    from partstream.lm.parts import MessagePart

__all__ = ["HistoryDigest", "add_fields", "answer_digest", "canonical_json", "short_digest"]

_SIZE: Final = 16


class Hash(Protocol):
    """A hash of the standard library."""

    def update(self, data: bytes, /) -> None:
        """Adds bytes."""
        ...


def short_digest(text: str, size: int = 8) -> str:
    """The digest of a short text, in `2 * size` hexadecimal digits."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=size).hexdigest()


class HistoryDigest:
    """The digest of a conversation that grows message by message; takes time linear in the size of the messages."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=_SIZE)

    def add(self, message: ChatMessage) -> None:
        """Adds the next message; an empty message does not change the digest."""
        for piece in _pieces(message.content):
            self._hash.update(b"%d" % message.role)
            add_fields(self._hash, piece)

    @property
    def value(self) -> str:
        """The digest of the messages so far."""
        return self._hash.copy().hexdigest()


def answer_digest(parts: Iterable[MessagePart]) -> str:
    """The digest of an answer, which does not depend on the number of text parts.

    White space at the ends of the text does not count, because consumers remove it.
    """
    parts = list(parts)
    text = "".join(part.value for part in parts if isinstance(part, TextPart)).strip()
    digest = blake2b(digest_size=_SIZE)
    add_fields(digest, (b"text", text.encode(errors="surrogatepass")))
    for part in parts:
        if isinstance(part, ToolCallPart):
            add_fields(digest, _call(part))
    return digest.hexdigest()


def add_fields(digest: Hash, fields: Iterable[bytes]) -> None:
    """Adds fields to a digest, each after its length, so that different lists of fields give different digests."""
    for field in fields:
        digest.update(b"%d:" % len(field))
        digest.update(field)


def _pieces(parts: Iterable[MessagePart]) -> Iterator[tuple[bytes, ...]]:
    for part in parts:
        piece = row_of_class(_PIECES, part)(part)
        if piece:
            yield piece


def _text(part: TextPart) -> tuple[bytes, ...]:
    return (b"text", part.value.encode(errors="surrogatepass")) if part.value else ()


def _data(part: DataPart) -> tuple[bytes, ...]:
    return () if is_mark(part.mime_type) else (b"data", part.mime_type.encode(errors="surrogatepass"), part.data)


def _call(part: ToolCallPart) -> tuple[bytes, ...]:
    return (
        b"call",
        part.call_id.encode(errors="surrogatepass"),
        part.name.encode(errors="surrogatepass"),
        canonical_json(part.input),
    )


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """The JSON text of an object, the same for equal objects in any order of names."""
    try:
        return json.dumps(dict(value), sort_keys=True, separators=(",", ":")).encode()
    except (TypeError, ValueError):  # not JSON: writing the request refuses it
        return repr(value).encode(errors="surrogatepass")


def _result(part: ToolResultPart) -> tuple[bytes, ...]:
    content = (field for piece in _pieces(part.content) for field in piece)
    return (b"result", part.call_id.encode(errors="surrogatepass"), b"%d" % part.is_error, *content)


def _nothing(_part: ThinkingPart) -> tuple[bytes, ...]:
    return ()


_PIECES: Final[dict[type[MessagePart], Callable[..., tuple[bytes, ...]]]] = {
    TextPart: _text,
    DataPart: _data,
    ToolCallPart: _call,
    ToolResultPart: _result,
    ThinkingPart: _nothing,
}
