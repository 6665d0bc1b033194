"""Writes an answer as chunks, part by part, in the order that all streams of the SDK and its providers share.

What a chunk looks like is the matter of :class:`ChunkForms`, one value for each stream and version. Text and reasoning
are blocks with a beginning and an end; a block is open until something else comes. Sources stand inside of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.conversation.markers import is_mark
from partstream.errors import AdapterUsageError
from partstream.outputs import Finish, InboundRequest, Reply, StreamOutput, Unmapped
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, row_of_class
from partstream.protocols.ai_sdk.provider_state import REASONING, SUMMARY, TOOL_CALL
from partstream.protocols.ai_sdk.written_items import WrittenItems, take_for_call
from partstream.protocols.ai_sdk.written_sources import cited_span, source_chunk
from partstream.protocols.citations import CITATION_MIME_TYPE

if TYPE_CHECKING:
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.ai_sdk.written_items import Brought

__all__ = ["TEXT", "UNNAMED", "ChunkForms", "ChunkWriter", "Metadata"]

Metadata: TypeAlias = Mapping[str, Any]
"""What providers say beside a chunk, by their names; empty for nothing."""

TEXT: Final = "text"

UNNAMED: Final = "reasoning"
"""The id of a block of reasoning that has none of its own."""


@dataclass(frozen=True, slots=True)
class ChunkForms:
    """How one stream of one version writes an answer; every function gives the chunks of one step.

    Attributes:
        start: The beginning.
        open: A block opens: its kind (`text`, `reasoning`) and its id.
        delta: A piece of a block: its kind, its id and the piece.
        close: A block ends: its kind, its id, what providers say beside it, and which spans of it its sources stand
            for, as version 4 of the provider's interface says it.
        summary: The summary of a compacted conversation: its id, its text and what its provider knows it by.
        call: A tool call: the part, its arguments as JSON text in pieces, and what providers say beside it.
        source: A source, given as the chunk of a provider's stream.
        file: A file.
        end: The end, also one that failed.
    """

    start: Callable[[InboundRequest, Reply], list[Chunk]]
    open: Callable[[str, str], list[Chunk]]
    delta: Callable[[str, str, str], list[Chunk]]
    close: Callable[[str, str, Metadata, Sequence[Chunk]], list[Chunk]]
    summary: Callable[[str, str, Metadata], list[Chunk]]
    call: Callable[[ToolCallPart, Sequence[str], Metadata], list[Chunk]]
    source: Callable[[Chunk], list[Chunk]]
    file: Callable[[DataPart], list[Chunk]]
    end: Callable[[Finish], list[Chunk]]


class ChunkWriter:
    """One answer; see :class:`partstream.outputs.ResponseWriter`.

    Args:
        forms: What the chunks look like.
        asked: What was asked.
        reply: What makes the reply unlike another.
    """

    def __init__(self, forms: ChunkForms, asked: InboundRequest, reply: Reply) -> None:
        self._forms = forms
        self._asked = asked
        self._reply = reply
        self._started = False
        self._finished = False
        self._items = WrittenItems()
        self._of_calls: list[Brought] = []
        self._block: tuple[str, str] | None = None
        self._pieces: list[str] = []
        self._cited: list[Chunk] = []
        self._texts = 0

    def write(self, output: StreamOutput) -> list[Chunk]:
        """Takes the next output and returns its chunks.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._finished:
            raise AdapterUsageError(f"got {type(output).__name__} after the Finish, expected nothing more")
        chunks = [] if self._started else self._forms.start(self._asked, self._reply)
        self._started = True
        row_of_class(_WRITERS, output)(self, output, chunks)
        return chunks

    def _text(self, part: TextPart, chunks: list[Chunk]) -> None:
        if part.value:
            if self._block is None or self._block[0] != TEXT:
                self._texts += 1
                self._enter(TEXT, str(self._texts), chunks)
            self._say(part.value, chunks)

    def _thinking(self, part: ThinkingPart, chunks: list[Chunk]) -> None:
        # What only carries metadata and has no id belongs to the thought before it.
        block_id = part.id or (None if part.value else self._thought) or UNNAMED
        if part.value:
            self._enter(REASONING, block_id, chunks)
            self._say(part.value, chunks)
        if part.metadata is not None:
            for brought in self._items.take(part.metadata):
                self._bring(brought, block_id, chunks)

    @property
    def _thought(self) -> str | None:
        """The id of the block of reasoning that is open, or None."""
        return self._block[1] if self._block is not None and self._block[0] == REASONING else None

    def _bring(self, brought: Brought, block_id: str, chunks: list[Chunk]) -> None:
        if brought.kind == TOOL_CALL:
            self._of_calls.append(brought)
            return
        if brought.kind == SUMMARY:
            self._leave(chunks)
            self._texts += 1
            chunks += self._forms.summary(str(self._texts), brought.text or "", brought.said)
            return
        is_open = self._thought == block_id
        fits = brought.text is None or brought.text == ("".join(self._pieces) if is_open else "")
        said = brought.said if fits else brought.wrapped
        if is_open or said:
            self._enter(REASONING, block_id, chunks)
            self._leave(chunks, said)

    def _call(self, part: ToolCallPart, chunks: list[Chunk]) -> None:
        self._leave(chunks)
        arguments = dumps(part.input).decode()
        size = self._reply.argument_size or len(arguments)
        pieces = [arguments[start : start + size] for start in range(0, len(arguments), size)]
        brought = take_for_call(self._of_calls, part.call_id)
        chunks += self._forms.call(part, pieces, {} if brought is None else brought.said)

    def _data(self, part: DataPart, chunks: list[Chunk]) -> None:
        """Writes a source or a file; marks of the host are left out."""
        if part.mime_type == CITATION_MIME_TYPE:
            source = source_chunk(part)
            if source is not None:
                chunks += self._forms.source(source)
                span = cited_span(source)
                if span is not None and self._block is not None and self._block[0] == TEXT:
                    self._cited.append(span)
        elif not is_mark(part.mime_type):
            self._leave(chunks)
            chunks += self._forms.file(part)

    def _nothing(self, _output: Unmapped, _chunks: list[Chunk]) -> None:
        """Writes nothing: what no part holds has no place here either."""

    def _finish(self, finish: Finish, chunks: list[Chunk]) -> None:
        self._leave(chunks)
        chunks += self._forms.end(finish)
        self._finished = True

    def _enter(self, kind: str, block_id: str, chunks: list[Chunk]) -> None:
        if self._block != (kind, block_id):
            self._leave(chunks)
            self._block = kind, block_id
            chunks += self._forms.open(kind, block_id)

    def _say(self, piece: str, chunks: list[Chunk]) -> None:
        if self._block is not None:
            if self._block[0] == REASONING:
                self._pieces.append(piece)
            chunks += self._forms.delta(*self._block, piece)

    def _leave(self, chunks: list[Chunk], said: Metadata = {}) -> None:  # noqa: B006 - nobody changes it
        """Closes the block that is open."""
        if self._block is not None:
            chunks += self._forms.close(*self._block, said, self._cited)
        self._block, self._pieces, self._cited = None, [], []


_WRITERS: Final[dict[type[Any], Callable[[ChunkWriter, Any, list[Chunk]], None]]] = {
    TextPart: ChunkWriter._text,
    ThinkingPart: ChunkWriter._thinking,
    ToolCallPart: ChunkWriter._call,
    DataPart: ChunkWriter._data,
    Unmapped: ChunkWriter._nothing,
    Finish: ChunkWriter._finish,
}
"""What each output becomes."""
