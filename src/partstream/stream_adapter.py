"""Turns streams of the Vercel AI SDK into VS Code's parts, for programs that have chunks and no provider: RFC 003.

Feeds an adapter from any asynchronous iterable of chunks and reports its outputs; the meaning of chunks is in
:mod:`partstream.protocols`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.chunk_sources import as_chunk, chunks_of
from partstream.errors import TruncatedStreamError, UpstreamFailureError, UpstreamProtocolError
from partstream.outputs import CitationMode, Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.protocols.life import State
from partstream.protocols.likeness import likeness
from partstream.protocols.registry import DEFAULT_CHUNK_PROTOCOL, PROTOCOLS, chunk_protocols
from partstream.provider import FinishingProgress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from partstream.chunk_sources import Chunk, Chunks
    from partstream.errors import LanguageModelError
    from partstream.outputs import ResponseStream
    from partstream.parts import ResponsePart
    from partstream.provider import Progress
    from partstream.usage import FinishReason, Usage

__all__ = ["StreamAdapter", "StreamUsage"]

_logger = logging.getLogger("partstream.stream_adapter")


@dataclass(frozen=True, slots=True)
class StreamUsage:
    """The tokens of one stream, and how it ended. A field is None if the stream did not report it.

    Attributes:
        input_tokens: All tokens of the prompt.
        output_tokens: All tokens of the answer.
        usage: All reported counts.
        finish_reason: Why the model stopped.
        provider_metadata: The provider's facts about the whole response.
        unmapped: The number of chunks that no part can represent, by their type.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    usage: Usage | None = None
    finish_reason: FinishReason | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict)
    unmapped: Mapping[str, int] = field(default_factory=dict)


class StreamAdapter:
    """Turns streams of chunks into parts; serves any number of streams at once.

    Args:
        enable_reasoning: Whether the model's reasoning becomes thinking parts; otherwise it is left out.
        on_unknown_chunk: Called with every chunk that no part can represent, as it came.
        logger: Logs the type of such chunks, once per type and stream; by default `partstream.stream_adapter`.
        dialect: The kind of stream, a name of :func:`partstream.protocols.registry.chunk_protocols`; by default, the
            chunks of `fullStream`.
        citations: How to render sources.
        call_id_prefix: The prefix of every call id.

    Raises:
        ValueError: `dialect` is unknown.

    Source: RFC 003. Unlike RFC 003, an error is raised after the parts before it, and never becomes text.
    """

    def __init__(
        self,
        enable_reasoning: bool = True,
        on_unknown_chunk: Callable[[Mapping[str, Any]], object] | None = None,
        logger: logging.Logger | None = None,
        *,
        dialect: str = DEFAULT_CHUNK_PROTOCOL,
        citations: CitationMode = CitationMode.INLINE,
        call_id_prefix: str = "",
    ) -> None:
        if dialect not in chunk_protocols():
            raise ValueError(f"dialect: got {dialect!r}, expected one of {', '.join(chunk_protocols())}")
        thinking = ThinkingMode.PART if enable_reasoning else ThinkingMode.OFF
        self._dialect = dialect
        self._options = StreamOptions(thinking, citations, call_id_prefix)
        self._on_unknown_chunk = on_unknown_chunk
        self._logger = logger or _logger
        self._open = PROTOCOLS[dialect].read_response().open
        self._last_usage = StreamUsage()

    async def process_stream(self, stream: Chunks, progress: Progress) -> StreamUsage:
        """Reports the parts of a stream as they come, and its end to a `FinishingProgress`; returns its usage.

        Raises:
            LanguageModelError: The stream reported an error, broke off or is invalid.
            Exception: The error that the stream itself raised, unchanged, after all parts before it.
        """
        run = _Run(self._open(self._options), self._unknown, self._dialect)
        async with aclosing(run.batches(stream)) as batches:
            async for parts in batches:
                for part in parts:
                    progress.report(part)
        if isinstance(progress, FinishingProgress):
            progress.finish(run.finish)
        return self._end(run)

    async def adapt_stream(self, stream: Chunks) -> AsyncGenerator[ResponsePart]:
        """Yields the parts of a stream as they come. A caller that stops before the end closes the generator
        (`aclose`, or `contextlib.aclosing`), which also closes the stream.

        Raises:
            LanguageModelError: The stream reported an error, broke off or is invalid.
            Exception: The error that the stream itself raised, unchanged, after all parts before it.
        """
        run = _Run(self._open(self._options), self._unknown, self._dialect)
        async with aclosing(run.batches(stream)) as batches:
            async for parts in batches:
                for part in parts:
                    yield part
        self._end(run)

    def get_usage(self) -> StreamUsage:
        """The usage of the stream that ended last. For several streams at once, use :meth:`process_stream`'s result."""
        return self._last_usage

    def _end(self, run: _Run) -> StreamUsage:
        finish = run.finish
        usage = finish.usage
        self._last_usage = StreamUsage(
            None if usage is None else usage.input_tokens,
            None if usage is None else usage.output_tokens,
            usage,
            finish.reason,
            finish.provider_metadata,
            run.unmapped,
        )
        if run.raised is not None:
            raise run.raised
        if finish.error is not None:
            raise finish.error
        return self._last_usage

    def _unknown(self, output: Unmapped, *, first: bool) -> None:
        if first:
            self._logger.warning("no part can represent chunks of type %s (logged once per stream)", output.type)
        if self._on_unknown_chunk is not None:
            self._on_unknown_chunk(output.data)


class _Run:
    """One stream and its adapter.

    Attributes:
        finish: How the stream ended; valid after :meth:`batches` has ended.
        raised: The error that the stream itself raised, or None.
        unmapped: The number of chunks that no part can represent, by their type.
    """

    def __init__(self, adapter: ResponseStream, unknown: Callable[..., None], dialect: str) -> None:
        self.finish = Finish(Outcome.TRUNCATED)
        self.raised: Exception | None = None
        self.unmapped: dict[str, int] = {}
        self._adapter = adapter
        self._unknown = unknown
        self._dialect = dialect
        self._looked_at: list[Mapping[str, Any]] = []
        self._chunk: Chunk | None = None
        self._has_parts = False

    async def batches(self, stream: Chunks) -> AsyncGenerator[list[ResponsePart]]:
        """The parts of each chunk that has any; the end, of whatever kind, brings the parts that were held back."""
        adapter, chunks = self._adapter, chunks_of(stream)
        async with _closed(chunks):
            while not adapter.finished:
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    break
                except Exception as error:  # other people's streams may raise anything; raised again after the parts
                    self.raised = error
                    break
                self._chunk = chunk
                parts = self._parts(_fed(adapter, chunk))
                if parts:
                    self._has_parts = True
                    yield parts
        if self.raised is not None:
            reason = UpstreamFailureError(f"{type(self.raised).__name__}: {self.raised}")
            yield self._parts(adapter.fail(reason))
        yield self._parts(adapter.end())

    def _parts(self, outputs: list[StreamOutput]) -> list[ResponsePart]:
        parts: list[ResponsePart] = []
        for output in outputs:
            if isinstance(output, Finish):
                self.finish = self._explained(output)
            elif isinstance(output, Unmapped):
                if len(self._looked_at) < _LOOKED_AT:
                    self._looked_at.append(output.data)
                self._unknown(output, first=output.type not in self.unmapped)
                self.unmapped[output.type] = self.unmapped.get(output.type, 0) + 1
            else:
                parts.append(output)
        return parts

    def _explained(self, finish: Finish) -> Finish:
        """The end of the stream; if no chunk was understood, with an error that names what the chunks look like."""
        events = [dict(chunk) for chunk in (*self._looked_at, self._chunk) if isinstance(chunk, Mapping)]
        if self._has_parts or not events or not _is_nothing_understood(finish.error):
            return finish
        like = likeness(events)
        if like is None or like == self._dialect:
            return finish
        advice = f"; for those, give StreamAdapter dialect={like!r}" if like in chunk_protocols() else ""
        wrong = UpstreamProtocolError(
            event_type=next(iter(self.unmapped), None),
            field=None,
            got=f"an event of {like}",
            expected=f"chunks of {self._dialect}{advice}",
        )
        return replace(finish, outcome=Outcome.FAILED, error=wrong)


_LOOKED_AT: Final = 20
"""Chunks without a part that are kept, to tell what they look like."""


def _is_nothing_understood(error: LanguageModelError | None) -> bool:
    """Whether no answer has begun, or what came is no chunk at all."""
    if isinstance(error, TruncatedStreamError):
        return error.state == State.IDLE.name
    return isinstance(error, UpstreamProtocolError)


@asynccontextmanager
async def _closed(chunks: AsyncIterator[Any]) -> AsyncGenerator[None]:
    """Closes an iterator that can be closed: the producer of the chunks learns that nobody wants more of them."""
    try:
        yield
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _fed(adapter: ResponseStream, chunk: Chunk) -> list[StreamOutput]:
    """The outputs of a chunk."""
    if type(chunk) is dict:
        return adapter.feed(chunk)
    try:
        event = as_chunk(chunk)
    except UpstreamProtocolError as error:
        return adapter.fail(error)
    return adapter.feed(event)
