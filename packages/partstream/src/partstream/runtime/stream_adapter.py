"""Turns streams of the Vercel AI SDK into VS Code's parts, for programs that have chunks and no provider: RFC 003.

:class:`StreamAdapter` serves any number of streams; each has a :class:`ChunkMapper` of its own, which feeds the chunks
to a response reader of :mod:`partstream.protocols` and counts the tokens meanwhile. Chunks come as programs have them:
from any iterable, asynchronous or not, as objects, as objects of an SDK, or as JSON texts. An error of the stream comes
after the parts before it. A stream without any chunk that is understood ends with an error that names the kind of
stream that the chunks look like. The SDK's `textStream`, whose chunks are plain texts, has no chunk for its end: it is
whole when it ends.
"""

from __future__ import annotations
import codecs
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from typing import Any, Final, TypeAlias

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.codec.checks import dataclass, described, field, refuse, replace
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.conversation.thinking import open_response
from partstream.errors import UpstreamFailureError, UpstreamProtocolError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.outputs import (
    CitationMode,
    ErrorMode,
    FileMode,
    Finish,
    Outcome,
    ReportingStream,
    ResponseStream,
    StreamOptions,
    StreamOutput,
    ThinkingMode,
    Unmapped,
    error_text,
)
from partstream.lm.parts import FinishReason, ResponsePart, Usage
from partstream.lm.provider import FinishingProgress, Progress
from partstream.protocols import protocol
from partstream.protocols.protocol import ProtocolName
from partstream.protocols.read_response import MatchConfidence
from partstream.protocols.recognition import name_of_stream, understood_nothing
from partstream.upstream.context import run_until_cancelled

# ---- Chunks ----

Chunk: TypeAlias = Mapping[str, Any] | str | bytes
"""A chunk: an object, its JSON text, or a piece of plain text where the dialect is `ai-sdk-text`."""

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
    return _Asynchronous(iter(stream))


def as_chunk(value: object) -> dict[str, Any]:
    """A chunk as a dict: a JSON text is read, a mapping of another class is copied, and an object of an SDK made of
    Pydantic's models, as those of OpenAI and Anthropic are, is taken apart.

    Raises:
        UpstreamProtocolError: It is none of these.
    """
    if isinstance(value, str | bytes):
        try:
            read = loads(value)
        except JSONDecodeError:
            read = None
        if isinstance(read, dict):
            return read
        got = described(value) if isinstance(value, str) else f"{value[:60]!r}"
        raise UpstreamProtocolError(event_type=None, field=None, got=got, expected=_EXPECTED_CHUNK)
    dump = getattr(type(value), "model_dump", None)
    try:
        chunk: Any = value if dump is None else dump(value, by_alias=True)
        return dict(chunk)
    except (TypeError, ValueError):
        got = f"{type(value).__name__} {value!r:.60}"
        raise UpstreamProtocolError(event_type=None, field=None, got=got, expected="a mapping") from None


class _Asynchronous:
    """A plain iterator as an asynchronous one that can be closed."""

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


# ---- One stream ----

_LOOKED_AT: Final = 20
"""Chunks without a part that are kept, to recognize their kind."""


@dataclass(frozen=True, slots=True)
class StreamUsage:
    """The tokens of one stream so far, and how it ended.

    Attributes:
        usage: All reported counts, or None while the stream has reported none.
        finish: How the stream ended, with reason, response id, model and provider metadata; None while it goes on.
        unmapped: The number of chunks that no part can represent, by their type.

    Example:
        >>> from partstream import StreamUsage, Usage
        >>> StreamUsage(Usage(input_tokens=7, output_tokens=3)).output_tokens
        3
    """

    usage: Usage | None = None
    finish: Finish | None = None
    unmapped: Mapping[str, int] = field(default_factory=dict)

    @property
    def input_tokens(self) -> int | None:
        """All tokens of the prompt."""
        return None if self.usage is None else self.usage.input_tokens

    @property
    def output_tokens(self) -> int | None:
        """All tokens of the answer."""
        return None if self.usage is None else self.usage.output_tokens

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped."""
        return None if self.finish is None else self.finish.reason

    @property
    def provider_metadata(self) -> Mapping[str, Any]:
        """The provider's facts about the whole response."""
        return {} if self.finish is None else self.finish.provider_metadata


@dataclass(frozen=True, slots=True)
class MappingSettings:
    """The settings of every stream of one adapter, whose kind is `dialect`; `text_event` is that of its protocol."""

    dialect: str
    errors: ErrorMode
    logger: logging.Logger
    on_unknown_chunk: Callable[[Mapping[str, Any]], object] | None = None
    text_event: Callable[[str], dict[str, Any]] | None = None


class ChunkMapper:
    """Turns the chunks of one stream into parts, for programs that push chunks; lives for one stream."""

    def __init__(self, stream: ResponseStream, settings: MappingSettings) -> None:
        self._stream = stream
        self._settings = settings
        self._finish: Finish | None = None
        self._unmapped: dict[str, int] = {}
        self._looked_at: list[Mapping[str, Any]] = []
        self._chunk: Chunk | None = None
        self._has_parts = False
        self._is_ended = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def finish(self) -> Finish | None:
        """How the stream ended, its error included; None while it goes on."""
        return self._finish

    @property
    def finished(self) -> bool:
        """Whether the end has come: later chunks change nothing."""
        return self._stream.finished

    def map_chunk(self, chunk: Chunk) -> list[ResponsePart]:
        """The parts of the next chunk, in order: often one, often none, and several where a chunk ends what waited.

        An error of the stream becomes :attr:`finish`, after the parts before it; nothing is raised for it.

        Raises:
            AdapterUsageError: :meth:`end` was called before.
        """
        if self._settings.text_event is not None:
            return self._map_text(chunk, self._settings.text_event)
        self._chunk = chunk
        if type(chunk) is dict:
            return self._parts(self._stream.feed(chunk))
        try:
            event = as_chunk(chunk)
        except UpstreamProtocolError as error:
            return self._parts(self._stream.fail(error))
        return self._parts(self._stream.feed(event))

    def end(self) -> list[ResponsePart]:
        """The parts that were held back, when no more chunks come. :attr:`finish` is the end of the stream."""
        if self._is_ended:
            return []
        self._is_ended = True
        rest: list[ResponsePart] = []
        if self._settings.text_event is not None:
            rest = self._map_text(self._decoder.decode(b"", final=True), self._settings.text_event)
        return [*rest, *self._parts(self._stream.end())]

    def _map_text(self, chunk: object, text_event: Callable[[str], dict[str, Any]]) -> list[ResponsePart]:
        text = self._decoder.decode(chunk) if isinstance(chunk, bytes) else chunk
        if not isinstance(text, str):
            wrong = UpstreamProtocolError(event_type=None, field=None, got=described(chunk), expected="a text")
            return self._parts(self._stream.fail(wrong))
        return self._parts(self._stream.feed(text_event(text)))

    def fail(self, error: Exception) -> list[ResponsePart]:
        """The parts that were held back, when the source of the chunks broke off with an error."""
        reason = UpstreamFailureError(f"{type(error).__name__}: {error}")
        return [*self._parts(self._stream.fail(reason)), *self.end()]

    def get_usage(self) -> StreamUsage:
        """The tokens that the stream has reported so far, also in the middle of it."""
        usage = None if self._finish is None else self._finish.usage
        if usage is None and isinstance(self._stream, ReportingStream):
            usage = self._stream.usage
        return StreamUsage(usage, self._finish, dict(self._unmapped))

    def _parts(self, outputs: list[StreamOutput]) -> list[ResponsePart]:
        parts: list[ResponsePart] = []
        for output in outputs:
            if isinstance(output, Finish):
                self._finish = finish = self._explained(output)
                logger, usage = self._settings.logger, self.get_usage()
                reason = "no reason" if finish.reason is None else finish.reason.unified
                tokens = (usage.input_tokens, usage.output_tokens)
                logger.debug("the stream ended: %s, %s, tokens in and out: %s, %s", finish.outcome, reason, *tokens)
                if finish.error is not None:
                    logger.error("the stream failed: %s", finish.error)
                    if self._settings.errors is ErrorMode.TEXT:
                        parts.append(error_text(finish.error, has_begun=self._has_parts))
            elif isinstance(output, Unmapped):
                if len(self._looked_at) < _LOOKED_AT:
                    self._looked_at.append(output.data)
                if output.type not in self._unmapped:
                    text = "no part can represent chunks of type %s (logged once per stream)"
                    self._settings.logger.debug(text, output.type)
                self._unmapped[output.type] = self._unmapped.get(output.type, 0) + 1
                if self._settings.on_unknown_chunk is not None:
                    self._settings.on_unknown_chunk(output.data)
            else:
                self._has_parts = True
                parts.append(output)
        return parts

    def _explained(self, finish: Finish) -> Finish:
        """The end of the stream; if no chunk was understood, with an error that names what the chunks look like."""
        events = [dict(chunk) for chunk in (*self._looked_at, self._chunk) if isinstance(chunk, Mapping)]
        if self._has_parts or not events or not understood_nothing(finish.error):
            return finish
        like, dialect = _likeness(events), self._settings.dialect
        if like is None or like == dialect:
            return finish
        advice = f"; for those, give StreamAdapter dialect={like!r}" if like in protocol.chunk_protocols() else ""
        wrong = UpstreamProtocolError(
            event_type=next(iter(self._unmapped), None),
            field=None,
            got=f"an event of {like}",
            expected=f"chunks of {dialect}{advice}",
        )
        return replace(finish, outcome=Outcome.FAILED, error=wrong)


def _likeness(events: Sequence[dict[str, Any]]) -> str | None:
    """The protocol that one of the events certainly belongs to, including protocols that nothing here reads.

    None if no event shows one.
    """
    for name, row in protocol.loadable_protocols()[0].items():
        claim = row.read_response().claim
        if any(claim(row.kind(event), event) is MatchConfidence.SURE for event in events):
            return name
    return name_of_stream(events)


# ---- The adapter ----

_logger = logging.getLogger("partstream.stream_adapter")


class StreamAdapter:
    """Turns streams of chunks into parts; serves any number of streams at once.

    Args:
        enable_reasoning: Whether the model's reasoning becomes thinking parts; otherwise it is left out.
        on_unknown_chunk: Called with every chunk that no part can represent, as it came.
        logger: By default `partstream.stream_adapter`. Takes the type of such chunks, once per type and stream, and
            the end of each stream at the level debug; an error that ended a stream at the level error.
        dialect: The kind of stream, a name of :func:`partstream.protocols.protocol.chunk_protocols`; by default, the
            chunks of `fullStream`. `ai-sdk-text`, or `text`, is `textStream`: texts, or the bytes of a text.
        thinking: How to render reasoning, such as :attr:`ThinkingMode.TEXT` for a quote in the text; None follows
            `enable_reasoning`.
        citations: How to render sources.
        call_id_prefix: The prefix of every call id. Empty by default: the results go back to the program's own SDK,
            which knows its ids without a prefix.
        files: How to render files of which the stream gives only the address; an adapter fetches none.
        errors: Whether an error that ends a stream is raised, or becomes a text part.
        waits_for_outcomes: Whether a tool call waits, until the end of its step, for an outcome: for streams of an
            application whose SDK runs tools itself. By default a call is a part as soon as it is whole.

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
        dialect: ProtocolName = protocol.DEFAULT_CHUNK_PROTOCOL,
        thinking: ThinkingMode | None = None,
        citations: CitationMode = CitationMode.INLINE,
        call_id_prefix: str = "",
        files: FileMode = FileMode.LINK,
        errors: ErrorMode = ErrorMode.REJECT,
        waits_for_outcomes: bool = False,
    ) -> None:
        name = protocol.PROTOCOLS[dialect].name if dialect in protocol.PROTOCOLS else dialect
        if name not in protocol.chunk_protocols():
            meant = protocol.UnknownProtocolError(name, protocol.chunk_protocols()).meant
            hint = f"; did you mean {meant!r}?" if meant in protocol.chunk_protocols() else ""
            raise ValueError(f"dialect: got {dialect!r}, expected one of {', '.join(protocol.chunk_protocols())}{hint}")
        if files is FileMode.FETCH:
            refuse("files", files, "FileMode.LINK or FileMode.ADDRESS: a stream adapter fetches nothing")
        if thinking is None:
            thinking = ThinkingMode.PART if enable_reasoning else ThinkingMode.OFF
        self._options = StreamOptions(thinking, citations, call_id_prefix, files, waits_for_outcomes=waits_for_outcomes)
        row = protocol.PROTOCOLS[name]
        self._settings = MappingSettings(name, errors, logger or _logger, on_unknown_chunk, row.text_event)
        self._reader = row.read_response()
        self._last: ChunkMapper | None = None

    def open(self) -> ChunkMapper:
        """A mapper for one stream, for a program that has its chunks one by one: `mapChunk` of RFC 003."""
        self._last = ChunkMapper(open_response(self._reader, self._options), self._settings)
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
            UpstreamAbortedError: The stream ended with `abort`, and the token was not cancelled.
            LanguageModelError: The stream reported another error, broke off or is invalid.
            Exception: The error that the stream itself raised, unchanged, after all parts before it.
        """
        mapper = self.open()

        async def read() -> None:
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

        if token is None:
            await read()
        else:
            await run_until_cancelled(read(), token)
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

    async def _parts(
        self, mapper: ChunkMapper, stream: Chunks, token: CancellationToken | None
    ) -> AsyncGenerator[ResponsePart]:
        raised: Exception | None = None
        chunks = chunks_of(stream)
        try:
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
        finally:  # the producer of the chunks may close what it reads from
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
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
