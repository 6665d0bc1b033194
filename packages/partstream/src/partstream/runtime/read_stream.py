"""One call for every protocol: takes the bytes of a response, returns its parts and then its Finish."""

from __future__ import annotations
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Final, TypeAlias, overload

from partstream.codec.checks import Expectation, check, refuse
from partstream.lm.outputs import Finish, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.protocol import AUTO, Protocol, ProtocolName
from partstream.protocols.reader import StreamReader

_Yielded: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart | Finish
_OnUnmapped: TypeAlias = "Callable[[Unmapped], object]"


@overload
def read_stream(
    chunks: Iterable[bytes],
    *,
    protocol: ProtocolName | Protocol = ...,
    options: StreamOptions = ...,
    on_unmapped: _OnUnmapped = ...,
) -> Iterator[_Yielded]: ...


@overload
def read_stream(
    chunks: AsyncIterable[bytes],
    *,
    protocol: ProtocolName | Protocol = ...,
    options: StreamOptions = ...,
    on_unmapped: _OnUnmapped = ...,
) -> AsyncIterator[_Yielded]: ...


def read_stream(
    chunks: Iterable[bytes] | AsyncIterable[bytes],
    *,
    protocol: ProtocolName | Protocol = AUTO,
    options: StreamOptions = StreamOptions(),  # noqa: B008 - immutable
    on_unmapped: _OnUnmapped = lambda _: None,
) -> Iterator[_Yielded] | AsyncIterator[_Yielded]:
    """Reads the bytes of one answer.

    ::

        for part in read_stream(response.iter_bytes()):
            ...  # TextPart, ThinkingPart, ToolCallPart, DataPart; the last is a Finish

    An error of the server is the `error` of the Finish; so is an :class:`~partstream.UnreadableStreamError` where the
    bytes are a web page, text or another protocol than the one that was named. An error that `chunks` raises passes
    through, after the parts of all bytes before it. No bytes after the Finish are read.

    Args:
        chunks: The bytes in pieces of any size, or all bytes at once. For an asynchronous iterable, the result is
            asynchronous too.
        protocol: What the bytes are, or its name; by default, the first event shows it. The names of
            :data:`partstream.PROTOCOLS` and the names that people use are known, such as `openai` and `anthropic`.
        options: How to render the answer.
        on_unmapped: Called with each event that no part can represent.

    Yields:
        Parts in the order of generation, then exactly one :class:`partstream.Finish`.

    Raises:
        UnknownProtocolError: No protocol has this name.
        InvalidArgumentError: `chunks` are no bytes; raised by the iteration if one of them is not.

    Example:
        >>> from partstream import read_stream
        >>> chunks = [
        ...     b'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,',
        ...     b'"delta":"Hi"}\\n\\ndata: {"type":"response.completed",',
        ...     b'"response":{"id":"r1","status":"completed","output":[]}}\\n\\n',
        ... ]
        >>> text, finish = read_stream(chunks)
        >>> text.value, finish.response_id
        ('Hi', 'r1')
    """
    reader = StreamReader(protocol, options)
    if isinstance(chunks, bytes):
        chunks = (chunks,)
    if isinstance(chunks, AsyncIterable):
        return _read_asynchronously(reader, chunks, on_unmapped)
    check("chunks", chunks, _CHUNKS)
    return _read(reader, chunks, on_unmapped)


def _read(reader: StreamReader, chunks: Iterable[bytes], on_unmapped: _OnUnmapped) -> Iterator[_Yielded]:
    for chunk in chunks:
        yield from _without_unmapped(reader.feed(_bytes(chunk)), on_unmapped)
        if reader.finished:
            return
    yield from _without_unmapped(reader.end(), on_unmapped)


async def _read_asynchronously(
    reader: StreamReader, chunks: AsyncIterable[bytes], on_unmapped: _OnUnmapped
) -> AsyncIterator[_Yielded]:
    async for chunk in chunks:
        for output in _without_unmapped(reader.feed(_bytes(chunk)), on_unmapped):
            yield output
        if reader.finished:
            return
    for output in _without_unmapped(reader.end(), on_unmapped):
        yield output


_CHUNKS: Final = Expectation(
    "bytes, or an iterable or asynchronous iterable of bytes",
    lambda value: isinstance(value, Iterable) and not isinstance(value, str),
)


def _bytes(chunk: object) -> bytes:
    if not isinstance(chunk, bytes | bytearray | memoryview):
        refuse("chunks", chunk, "bytes; chunks that are objects or JSON texts go to partstream.StreamAdapter")
    return bytes(chunk)


def _without_unmapped(outputs: Iterable[StreamOutput], on_unmapped: _OnUnmapped) -> Iterator[_Yielded]:
    for output in outputs:
        if isinstance(output, Unmapped):
            on_unmapped(output)
        else:
            yield output
