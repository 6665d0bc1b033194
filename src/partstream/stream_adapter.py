"""Turns streams of the Vercel AI SDK into VS Code's parts, for programs that have chunks and no provider: RFC 003.

Feeds the chunks of any iterable, asynchronous or not, to an adapter and reports its outputs; the meaning of chunks is
in :mod:`partstream.protocols`.
"""

from __future__ import annotations

import logging
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import partstream.codec.system  # noqa: F401 - for its effect
from partstream.chunk_mapping import ChunkMapper, MappingSettings, StreamUsage
from partstream.chunk_sources import chunks_of
from partstream.codec.checks import refuse
from partstream.lm.outputs import CitationMode, ErrorMode, FileMode, StreamOptions, ThinkingMode
from partstream.lm.provider import FinishingProgress
from partstream.protocols.protocol import DEFAULT_CHUNK_PROTOCOL, PROTOCOLS, UnknownProtocolError, chunk_protocols
from partstream.protocols.thinking import open_response
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from partstream.chunk_sources import Chunks
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import Progress
    from partstream.protocols.protocol import ProtocolName

__all__ = ["AdaptedStream", "StreamAdapter"]

_logger = logging.getLogger("partstream.stream_adapter")


class StreamAdapter:
    """Turns streams of chunks into parts; serves any number of streams at once.

    Args:
        enable_reasoning: Whether the model's reasoning becomes thinking parts; otherwise it is left out.
        on_unknown_chunk: Called with every chunk that no part can represent, as it came.
        logger: By default `partstream.stream_adapter`. Takes the type of such chunks, once per type and stream, and
            the end of each stream at the level debug; an error that ended a stream at the level error.
        dialect: The kind of stream, a name of :func:`partstream.protocols.protocol.chunk_protocols`; by default, the
            chunks of `fullStream`.
        thinking: How to render reasoning, such as :attr:`ThinkingMode.TEXT` for a quote in the text; None for what
            `enable_reasoning` says.
        citations: How to render sources.
        call_id_prefix: The prefix of every call id. Empty by default: the results go back to the program's own SDK,
            which knows its ids without a prefix.
        files: How to render files of which the stream gives only the address; an adapter fetches none.
        errors: What becomes of an error that ends a stream: raised, or a text part that says it.

    Raises:
        ValueError: `dialect` is unknown.
        InvalidArgumentError: `files` is :attr:`FileMode.FETCH`.

    Source: RFC 003. Unlike RFC 003, an error is raised after the parts before it, unless `errors` wants a text.

    Example:
        >>> import asyncio
        >>> from partstream import StreamAdapter
        >>> chunks = [
        ...     {"type": "text-delta", "id": "1", "text": "Hi"},
        ...     {"type": "finish", "finishReason": "stop", "totalUsage": {"inputTokens": 1, "outputTokens": 2}},
        ... ]
        >>> async def main():
        ...     adapter = StreamAdapter()
        ...     parts = [part async for part in adapter.adapt_stream(chunks)]
        ...     return parts, adapter.get_usage().output_tokens
        >>> asyncio.run(main())
        ([TextPart(value='Hi')], 2)
    """

    def __init__(
        self,
        enable_reasoning: bool = True,
        on_unknown_chunk: Callable[[Mapping[str, Any]], object] | None = None,
        logger: logging.Logger | None = None,
        *,
        dialect: ProtocolName = DEFAULT_CHUNK_PROTOCOL,
        thinking: ThinkingMode | None = None,
        citations: CitationMode = CitationMode.INLINE,
        call_id_prefix: str = "",
        files: FileMode = FileMode.LINK,
        errors: ErrorMode = ErrorMode.REJECT,
    ) -> None:
        name = PROTOCOLS[dialect].name if dialect in PROTOCOLS else dialect
        if name not in chunk_protocols():
            meant = UnknownProtocolError(name, chunk_protocols()).meant
            hint = f"; did you mean {meant!r}?" if meant in chunk_protocols() else ""
            raise ValueError(f"dialect: got {dialect!r}, expected one of {', '.join(chunk_protocols())}{hint}")
        if files is FileMode.FETCH:
            refuse("files", files, "FileMode.LINK or FileMode.ADDRESS: a stream adapter fetches nothing")
        if thinking is None:
            thinking = ThinkingMode.PART if enable_reasoning else ThinkingMode.OFF
        self._options = StreamOptions(thinking, citations, call_id_prefix, files)
        self._settings = MappingSettings(name, errors, logger or _logger, on_unknown_chunk)
        self._corner = PROTOCOLS[name].read_response()
        self._last: ChunkMapper | None = None

    def open(self) -> ChunkMapper:
        """A mapper for one stream, for a program that has its chunks one by one: `mapChunk` of RFC 003."""
        self._last = ChunkMapper(open_response(self._corner, self._options), self._settings)
        return self._last

    async def process_stream(
        self, stream: Chunks, progress: Progress, token: CancellationToken | None = None
    ) -> StreamUsage:
        """Reports the parts of a stream as they come, and its end to a `FinishingProgress`; returns its usage.

        Args:
            stream: The chunks.
            progress: Takes the parts.
            token: Cancelling it ends the reading at once, closes the stream, and returns the usage so far; nothing is
                raised then, also if the stream ends with `abort` or an error because of it.

        Raises:
            UpstreamAbortedError: The stream ended with `abort`, and nobody cancelled the token.
            LanguageModelError: The stream reported another error, broke off or is invalid.
            Exception: The error that the stream itself raised, unchanged, after all parts before it.
        """
        mapper = self.open()
        reading = self._process(mapper, stream, progress, token)
        if token is None:
            await reading
        else:
            await run_until_cancelled(reading, token)
        return mapper.get_usage()

    def adapt_stream(self, stream: Chunks, token: CancellationToken | None = None) -> AdaptedStream:
        """The parts of a stream as they come. A caller that stops before the end closes the result (`aclose`, or
        `contextlib.aclosing`), which also closes the stream.

        Args:
            stream: The chunks.
            token: Once it is cancelled, no part follows and no error is raised.

        Raises:
            The iteration raises what :meth:`process_stream` raises.
        """
        mapper = self.open()
        return AdaptedStream(mapper, self._parts(mapper, stream, token))

    def get_usage(self) -> StreamUsage:
        """The usage so far of the stream that was begun last; for several at once, ask the object of each stream."""
        return StreamUsage() if self._last is None else self._last.get_usage()

    async def _process(
        self, mapper: ChunkMapper, stream: Chunks, progress: Progress, token: CancellationToken | None
    ) -> None:
        broken: Exception | None = None
        async with aclosing(self._parts(mapper, stream, token)) as parts:
            while True:
                try:
                    part = await anext(parts)
                except StopAsyncIteration:
                    break
                except Exception as error:  # raised when the progress knows the end
                    broken = error
                    break
                progress.report(part)
        if isinstance(progress, FinishingProgress) and mapper.finish is not None and not _is_cancelled(token):
            progress.finish(mapper.finish)
        if broken is not None:
            raise broken

    async def _parts(
        self, mapper: ChunkMapper, stream: Chunks, token: CancellationToken | None
    ) -> AsyncGenerator[ResponsePart]:
        raised: Exception | None = None
        chunks = chunks_of(stream)
        async with _closed(chunks):
            while not mapper.finished and not _is_cancelled(token):
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    break
                except Exception as error:  # other people's streams may raise anything; raised again after the parts
                    raised = error
                    break
                for part in mapper.map_chunk(chunk):
                    if _is_cancelled(token):
                        return
                    yield part
        held = mapper.end() if raised is None else mapper.fail(raised)
        if _is_cancelled(token):
            return
        for part in held:
            yield part
        finish = mapper.finish
        failure = raised if raised is not None else None if finish is None else finish.error
        if failure is not None and self._settings.errors is ErrorMode.REJECT:
            raise failure


class AdaptedStream:
    """The parts of one stream, as an asynchronous iterator; :meth:`StreamAdapter.adapt_stream` makes it."""

    def __init__(self, mapper: ChunkMapper, parts: AsyncGenerator[ResponsePart]) -> None:
        self._mapper = mapper
        self._parts = parts

    def __aiter__(self) -> AdaptedStream:
        return self

    async def __anext__(self) -> ResponsePart:
        return await anext(self._parts)

    def get_usage(self) -> StreamUsage:
        """The tokens that the stream has reported so far, also in the middle of it and after it was closed."""
        return self._mapper.get_usage()

    async def aclose(self) -> None:
        """Ends the iteration and closes the stream of chunks."""
        await self._parts.aclose()


def _is_cancelled(token: CancellationToken | None) -> bool:
    return token is not None and token.is_cancellation_requested


@asynccontextmanager
async def _closed(chunks: AsyncIterator[Any]) -> AsyncGenerator[None]:
    """Closes an iterator that can be closed: the producer of the chunks learns that nobody wants more of them."""
    try:
        yield
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
