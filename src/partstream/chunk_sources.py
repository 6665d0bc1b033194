"""Takes chunks as programs have them: any iterable, asynchronous or not, of objects or of their JSON texts."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import described, refuse
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.errors import UpstreamProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Chunk", "Chunks", "as_chunk", "chunks_of"]

Chunk: TypeAlias = Mapping[str, Any] | str | bytes
"""A chunk: an object, or its JSON text."""

Chunks: TypeAlias = AsyncIterable[Chunk] | Iterable[Chunk]
"""The chunks of one stream."""

_EXPECTED_STREAM: Final = (
    "an iterable or an asynchronous iterable of chunks; the bytes of a server go to partstream.read_stream"
)
_EXPECTED_CHUNK: Final = "an object or its JSON text; the bytes of a server go to partstream.read_stream"


def chunks_of(stream: Chunks) -> AsyncIterator[Chunk]:
    """The chunks, one after the other.

    Raises:
        InvalidArgumentError: `stream` is one text, one object, or nothing to iterate over.
    """
    if isinstance(stream, AsyncIterable):
        return aiter(stream)
    if isinstance(stream, str | bytes | bytearray | Mapping) or not isinstance(stream, Iterable):
        refuse("stream", stream, _EXPECTED_STREAM)
    return _Waiting(iter(stream))


def as_chunk(value: object) -> dict[str, Any]:
    """A chunk as a dict: a JSON text is read, a mapping of another class is copied, and an object of an SDK made of
    Pydantic's models, as those of OpenAI and Anthropic are, is taken apart.

    Raises:
        UpstreamProtocolError: It is none of these.
    """
    if isinstance(value, str | bytes):
        return _read(value)
    dump = getattr(type(value), "model_dump", None)
    try:
        chunk: Any = value if dump is None else dump(value, by_alias=True)
        return dict(chunk)
    except (TypeError, ValueError):
        got = f"{type(value).__name__} {value!r:.60}"
        raise UpstreamProtocolError(event_type=None, field=None, got=got, expected="a mapping") from None


def _read(text: str | bytes) -> dict[str, Any]:
    try:
        value = loads(text)
    except JSONDecodeError:
        value = None
    if isinstance(value, dict):
        return value
    got = described(text) if isinstance(text, str) else f"{text[:60]!r}"
    raise UpstreamProtocolError(event_type=None, field=None, got=got, expected=_EXPECTED_CHUNK)


class _Waiting:
    """An iterator that nobody has to wait for, as an asynchronous one that can be closed."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self

    async def __anext__(self) -> Chunk:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Closes the iterator, if it is a generator."""
        close = getattr(self._chunks, "close", None)
        if close is not None:
            close()
