"""The short door to every protocol: bytes of an answer in, its parts and then its Finish out."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, TypeAlias, overload

from partstream.outputs import Finish, StreamOptions, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.reader import StreamReader
from partstream.protocols.registry import DEFAULT_PROTOCOL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from partstream.outputs import StreamOutput

__all__ = ["read_stream"]

_Said: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart | Finish
_OnUnmapped: TypeAlias = "Callable[[Unmapped], object]"


def _nobody(_unmapped: Unmapped) -> None:
    """For callers who do not ask what had no part."""


@overload
def read_stream(
    chunks: Iterable[bytes],
    *,
    protocol: str = ...,
    options: StreamOptions = ...,
    on_unmapped: _OnUnmapped = ...,
) -> Iterator[_Said]: ...


@overload
def read_stream(
    chunks: AsyncIterable[bytes],
    *,
    protocol: str = ...,
    options: StreamOptions = ...,
    on_unmapped: _OnUnmapped = ...,
) -> AsyncIterator[_Said]: ...


def read_stream(
    chunks: Iterable[bytes] | AsyncIterable[bytes],
    *,
    protocol: str = DEFAULT_PROTOCOL,
    options: StreamOptions = StreamOptions(call_id_prefix=""),  # noqa: B008 - immutable
    on_unmapped: _OnUnmapped = _nobody,
) -> Iterator[_Said] | AsyncIterator[_Said]:
    """Reads the bytes of one answer.

    ::

        for part in read_stream(response.iter_bytes(), protocol="openresponses"):
            ...  # TextPart, ThinkingPart, ToolCallPart, DataPart; the last is a Finish

    What the server did wrong is the `error` of the Finish. What `chunks` itself raises passes through, after the parts
    of all bytes before it. Nothing behind the Finish is read.

    Args:
        chunks: The bytes as they come, in pieces of any size; give an asynchronous iterable to get one back.
        protocol: The name of the wire protocol, one of :data:`partstream.PROTOCOLS`.
        options: How what is read is rendered. Call ids have no prefix unless it is asked for here.
        on_unmapped: Told each event that has no place among the parts.

    Yields:
        Parts in the order of generation, then exactly one :class:`partstream.Finish`.

    Raises:
        KeyError: There is no protocol of that name.
    """
    reader = StreamReader(protocol, options)
    if isinstance(chunks, AsyncIterable):
        return _read_asynchronously(reader, chunks, on_unmapped)
    return _read(reader, chunks, on_unmapped)


def _read(reader: StreamReader, chunks: Iterable[bytes], on_unmapped: _OnUnmapped) -> Iterator[_Said]:
    for chunk in chunks:
        yield from _said(reader.feed(chunk), on_unmapped)
        if reader.finished:
            return
    yield from _said(reader.end(), on_unmapped)


async def _read_asynchronously(
    reader: StreamReader, chunks: AsyncIterable[bytes], on_unmapped: _OnUnmapped
) -> AsyncIterator[_Said]:
    async for chunk in chunks:
        for output in _said(reader.feed(chunk), on_unmapped):
            yield output
        if reader.finished:
            return
    for output in _said(reader.end(), on_unmapped):
        yield output


def _said(outputs: Iterable[StreamOutput], on_unmapped: _OnUnmapped) -> Iterator[_Said]:
    for output in outputs:
        if isinstance(output, Unmapped):
            on_unmapped(output)
        else:
            yield output
