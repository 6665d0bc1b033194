"""Digests of counted things: two are equal exactly if the count of one also holds for the other.

A digest covers all bytes of every part, so that two different results under one call id differ, and so do two images of
the same length. It leaves out the things that no prompt holds: the host's marks, which move from message to message,
and call ids, which hosts rewrite. It covers thinking, unlike the digests of :mod:`partstream.conversation.turns`,
which identify conversations and not counts. One pass of SHA-256, for which today's processors have instructions; the
same after a restart and on any machine.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from partstream.conversation.turns import add_fields, canonical_json
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, is_mark, row_of_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from partstream.lm.messages import ChatMessage, Tool
    from partstream.lm.parts import MessagePart

__all__ = ["NO_MESSAGES", "Digest", "message_digest", "prefix_digests", "text_digest", "tools_digest"]

Digest = bytes
"""16 bytes: among a billion messages, the chance of any collision is below one in 10**20."""

_SIZE: Final = 16

NO_MESSAGES: Final[Digest] = bytes(_SIZE)
"""The digest of a conversation before its first message."""


def text_digest(text: str) -> Digest:
    """The digest of a single text."""
    return _digest((b"alone", _bytes(text)))


def message_digest(message: ChatMessage) -> Digest:
    """The digest of a message; neighbouring texts count as one text, because they are sent as one."""
    fields = [b"message", b"%d" % message.role, b""]  # the place of a name, which no protocol sends
    for piece in _pieces(message.content):
        fields += piece
    return _digest(fields)


def tools_digest(tools: Iterable[Tool]) -> Digest:
    """The digest of the tools of a request, in their order."""
    digest = sha256(b"tools")
    for tool in tools:
        schema = b"" if tool.input_schema is None else canonical_json(tool.input_schema)
        add_fields(digest, (_bytes(tool.name), _bytes(tool.description), schema))
    return digest.digest()[:_SIZE]


def prefix_digests(messages: Iterable[Digest], before: Digest = NO_MESSAGES) -> list[Digest]:
    """The digests of a conversation after each of its messages: two n-th digests are equal exactly if the first n
    messages are equal.

    Args:
        messages: The digests of the messages.
        before: The digest of the conversation before them.
    """
    digests, last = [], before
    for message in messages:
        last = sha256(last + message).digest()[:_SIZE]
        digests.append(last)
    return digests


def _digest(fields: Iterable[bytes]) -> Digest:
    """The digest of all fields, each after its length; joined first, because most are short and calls cost time."""
    framed: list[bytes] = []
    for field in fields:
        framed += (b"%d:" % len(field), field)
    return sha256(b"".join(framed)).digest()[:_SIZE]


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _pieces(parts: Iterable[MessagePart]) -> Iterator[tuple[bytes, ...]]:
    """The fields of each part; consecutive texts together."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.value)
            continue
        piece = row_of_class(_PIECES, part)(part)
        if not piece:
            continue
        yield from _text(texts)
        texts = []
        yield piece
    yield from _text(texts)


def _text(texts: list[str]) -> Iterator[tuple[bytes, ...]]:
    if joined := "".join(texts):
        yield b"text", _bytes(joined)


def _data(part: DataPart) -> tuple[bytes, ...]:
    return () if is_mark(part.mime_type) else (b"data", _bytes(part.mime_type), part.data)


def _thinking(part: ThinkingPart) -> tuple[bytes, ...]:
    metadata = canonical_json(part.metadata) if part.metadata else b""
    return (b"thinking", _bytes(part.value), metadata) if part.value or metadata else ()


def _call(part: ToolCallPart) -> tuple[bytes, ...]:
    return b"call", _bytes(part.name), canonical_json(part.input)


def _result(part: ToolResultPart) -> tuple[bytes, ...]:
    content = [field for piece in _pieces(part.content) for field in piece]
    return (b"result", b"%d" % part.is_error, b"%d" % len(content), *content)


_PIECES: Final[dict[type[MessagePart], Callable[..., tuple[bytes, ...]]]] = {
    DataPart: _data,
    ThinkingPart: _thinking,
    ToolCallPart: _call,
    ToolResultPart: _result,
}
