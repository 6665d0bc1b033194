"""One stream of chunks on its way to parts: chunk by chunk, and what is known of its tokens meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.chunk_sources import as_chunk
from partstream.errors import UpstreamFailureError, UpstreamProtocolError
from partstream.lm.outputs import ErrorMode, Finish, Outcome, ReportingStream, Unmapped, error_text
from partstream.protocols.protocol import chunk_protocols
from partstream.protocols.recognition import likeness, understood_nothing

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from partstream.chunk_sources import Chunk
    from partstream.lm.outputs import ResponseStream, StreamOutput
    from partstream.lm.parts import FinishReason, ResponsePart, Usage

__all__ = ["ChunkMapper", "MappingSettings", "StreamUsage"]

_LOOKED_AT: Final = 20
"""Chunks without a part that are kept, to tell what they look like."""


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
    """What holds for every stream of one adapter.

    Attributes:
        dialect: The kind of stream.
        errors: What becomes of an error that ends a stream.
        logger: Takes ignored chunks and ends at the level debug, errors at the level error.
        on_unknown_chunk: Called with every chunk that no part can represent, as it came; or None.
    """

    dialect: str
    errors: ErrorMode
    logger: logging.Logger
    on_unknown_chunk: Callable[[Mapping[str, Any]], object] | None = None


class ChunkMapper:
    """Turns the chunks of one stream into parts, for programs that push chunks; lives for one stream.

    Args:
        stream: Reads the chunks.
        settings: What holds for every stream.
    """

    def __init__(self, stream: ResponseStream, settings: MappingSettings) -> None:
        self._stream = stream
        self._settings = settings
        self._finish: Finish | None = None
        self._unmapped: dict[str, int] = {}
        self._looked_at: list[Mapping[str, Any]] = []
        self._chunk: Chunk | None = None
        self._has_parts = False
        self._is_ended = False

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
        self._chunk = chunk
        if type(chunk) is dict:
            return self._parts(self._stream.feed(chunk))
        try:
            event = as_chunk(chunk)
        except UpstreamProtocolError as error:
            return self._parts(self._stream.fail(error))
        return self._parts(self._stream.feed(event))

    def end(self) -> list[ResponsePart]:
        """The parts that were held back, when no more chunks come. :attr:`finish` tells how the stream ended."""
        if self._is_ended:
            return []
        self._is_ended = True
        return self._parts(self._stream.end())

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
                self._take_end(output, parts)
            elif isinstance(output, Unmapped):
                self._take_unmapped(output)
            else:
                self._has_parts = True
                parts.append(output)
        return parts

    def _take_end(self, finish: Finish, parts: list[ResponsePart]) -> None:
        self._finish = finish = self._explained(finish)
        logger, usage = self._settings.logger, self.get_usage()
        reason = "no reason" if finish.reason is None else finish.reason.unified
        tokens = (usage.input_tokens, usage.output_tokens)
        logger.debug("the stream ended: %s, %s, tokens in and out: %s, %s", finish.outcome, reason, *tokens)
        if finish.error is not None:
            logger.error("the stream failed: %s", finish.error)
            if self._settings.errors is ErrorMode.TEXT:
                parts.append(error_text(finish.error, has_begun=self._has_parts))

    def _take_unmapped(self, output: Unmapped) -> None:
        if len(self._looked_at) < _LOOKED_AT:
            self._looked_at.append(output.data)
        if output.type not in self._unmapped:
            text = "no part can represent chunks of type %s (logged once per stream)"
            self._settings.logger.debug(text, output.type)
        self._unmapped[output.type] = self._unmapped.get(output.type, 0) + 1
        if self._settings.on_unknown_chunk is not None:
            self._settings.on_unknown_chunk(output.data)

    def _explained(self, finish: Finish) -> Finish:
        """The end of the stream; if no chunk was understood, with an error that names what the chunks look like."""
        events = [dict(chunk) for chunk in (*self._looked_at, self._chunk) if isinstance(chunk, Mapping)]
        if self._has_parts or not events or not understood_nothing(finish.error):
            return finish
        like, dialect = likeness(events), self._settings.dialect
        if like is None or like == dialect:
            return finish
        advice = f"; for those, give StreamAdapter dialect={like!r}" if like in chunk_protocols() else ""
        wrong = UpstreamProtocolError(
            event_type=next(iter(self._unmapped), None),
            field=None,
            got=f"an event of {like}",
            expected=f"chunks of {dialect}{advice}",
        )
        return replace(finish, outcome=Outcome.FAILED, error=wrong)
