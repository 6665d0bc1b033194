"""Text and reasoning, block by block, as they stream; knows no tool call and no end.

Text is shown as it comes. Of reasoning the whole text is kept as well, because providers want it back with its
signature, unchanged.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.parts import TextPart, ThinkingPart, text_part, thinking_part
from partstream.protocols.ai_sdk.fields import (
    BLOCK_ID,
    METADATA,
    TEXT,
    Chunk,
    field,
    identifier,
    is_summary,
    metadata,
    take_metadata,
    text,
)
from partstream.protocols.citations import FOLD_AT

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import FastPath
    from partstream.protocols.ai_sdk.carried import CarriedItems
    from partstream.protocols.citations import RecentText

__all__ = ["SIGNING_PROVIDER", "Blocks"]

SIGNING_PROVIDER: Final = "anthropic"
"""Version 4 does not say whose signatures it streams; only Anthropic's models have any."""


class _Reasoning:
    """A block of reasoning that is open."""

    __slots__ = ("id", "options", "pieces", "sink")

    def __init__(self, block_id: str | None) -> None:
        self.id = block_id
        self.sink: FastPath | None = None
        self.pieces: list[str] = []
        self.options: Chunk = {}


class Blocks:
    """The blocks of one response.

    Args:
        options: What becomes of reasoning.
        carried: Where signed reasoning is noted.
        said: Where the visible text is noted.

    Attributes:
        shown: Whether a part was given since the step began.
    """

    def __init__(self, options: StreamOptions, carried: CarriedItems, said: RecentText) -> None:
        self._mode = options.thinking
        self._carried = carried
        self._said = said
        self._hidden: dict[str | None, tuple[Chunk, list[str]]] = {}
        self._reasoning: dict[str | None, _Reasoning] = {}
        self._text_sink: FastPath | None = None
        self._text_id: str | None = None
        self.shown = False

    # Text

    def start_text(self, chunk: Chunk, outputs: list[StreamOutput]) -> None:
        """Opens a block. The summary of a compacted conversation is no part of the answer."""
        self.end_unnamed(outputs)
        block_id = identifier(chunk, BLOCK_ID)
        self._end_hidden(block_id, outputs)
        if is_summary(metadata(chunk)):
            self._hidden[block_id] = chunk, []

    def push_text(self, chunk: Chunk, outputs: list[StreamOutput]) -> FastPath | None:
        """Takes a delta; returns the short way for more of the same block."""
        self.end_unnamed(outputs)
        block_id, delta = identifier(chunk, BLOCK_ID), text(chunk, TEXT)
        hidden = self._hidden.get(block_id)
        if hidden is not None:
            hidden[1].append(delta)
            return None
        if not delta:
            return None
        self._said.add(delta)
        self.shown = True
        outputs.append(text_part(delta))
        if self._text_sink is None or block_id != self._text_id:
            self._text_id = block_id
            self._text_sink = _make_sink(block_id, self._said.pieces, self._said.fold, text_part)
        return self._text_sink

    def end_text(self, chunk: Chunk, outputs: list[StreamOutput]) -> None:
        """Closes a block."""
        self.end_unnamed(outputs)
        self._end_hidden(identifier(chunk, BLOCK_ID), outputs)

    def _end_hidden(self, block_id: str | None, outputs: list[StreamOutput]) -> None:
        hidden = self._hidden.pop(block_id, None)
        if hidden is not None:
            chunk, pieces = hidden
            summary = "".join(pieces)
            carried = self._carried.add_summary(summary, metadata(chunk), block_id)
            outputs += carried or [Unmapped("text (compaction)", {**chunk, "text": summary})]

    # Reasoning

    def start_reasoning(self, chunk: Chunk, outputs: list[StreamOutput]) -> None:
        """Opens a block."""
        block_id = identifier(chunk, BLOCK_ID)
        self._end_reasoning(block_id, outputs)
        take_metadata(self._open(block_id).options, chunk)

    def push_reasoning(self, chunk: Chunk, outputs: list[StreamOutput]) -> FastPath | None:
        """Takes a delta; returns the short way for more of the same block."""
        block_id, delta = identifier(chunk, BLOCK_ID), text(chunk, TEXT)
        block = self._reasoning.get(block_id) or self._open(block_id)
        if METADATA[0] in chunk:
            take_metadata(block.options, chunk)
        if not delta:
            return None
        make = self._maker(block_id)
        if self._carried.wanted:
            block.pieces.append(delta)
        if make is not None:
            self.shown = True
            outputs.append(make(delta))
        if block.sink is None:
            forget = None if self._carried.wanted else block.pieces.clear
            block.sink = _make_sink(block_id, block.pieces, forget, make)
        return block.sink

    def end_reasoning(self, chunk: Chunk, outputs: list[StreamOutput]) -> None:
        """Closes a block; what the provider wants back with it comes out as metadata."""
        block_id = identifier(chunk, BLOCK_ID)
        if block_id in self._reasoning:
            take_metadata(self._reasoning[block_id].options, chunk)
            self._end_reasoning(block_id, outputs)

    def sign(self, chunk: Chunk, outputs: list[StreamOutput]) -> None:
        """`reasoning-signature`: version 4 signs the block that it closes with it."""
        block = self._reasoning.get(None) or self._open(None)
        block.options[SIGNING_PROVIDER] = {"signature": field(chunk, ("signature",))}
        self._end_reasoning(None, outputs)

    def redact(self, chunk: Chunk, outputs: list[StreamOutput]) -> None:
        """`redacted-reasoning`: a block of its own in version 4, which nobody but its provider can read."""
        self._end_reasoning(None, outputs)
        self._open(None).options[SIGNING_PROVIDER] = {"redactedData": field(chunk, ("data",))}
        self._end_reasoning(None, outputs)

    def end_unnamed(self, outputs: list[StreamOutput]) -> None:
        """Closes the block of version 4, which neither names nor closes its blocks: anything else ends it."""
        if None in self._reasoning:
            self._end_reasoning(None, outputs)

    def end_all(self, outputs: list[StreamOutput]) -> None:
        """Closes what nobody has closed."""
        for block_id in [*self._reasoning]:
            self._end_reasoning(block_id, outputs)
        for block_id in [*self._hidden]:
            self._end_hidden(block_id, outputs)

    def _open(self, block_id: str | None) -> _Reasoning:
        block = self._reasoning[block_id] = _Reasoning(block_id)
        return block

    def _end_reasoning(self, block_id: str | None, outputs: list[StreamOutput]) -> None:
        block = self._reasoning.pop(block_id, None)
        if block is not None:
            outputs += self._carried.add_reasoning("".join(block.pieces), block.options, block.id)

    def _maker(self, block_id: str | None) -> Callable[[str], TextPart | ThinkingPart] | None:
        return partial(thinking_part, id=block_id) if self._mode is ThinkingMode.PART else None


def _make_sink(
    block_id: str | None,
    pieces: list[str],
    fold: Callable[[], None] | None,
    make: Callable[[str], TextPart | ThinkingPart] | None,
) -> FastPath:
    """The short way: nearly all chunks of a response are deltas for the block that the one before went to.

    Everything is a local name here, because this function costs more than all others together.
    """
    add, fold_at = pieces.append, FOLD_AT

    def sink(event: Any, outputs: list[StreamOutput]) -> bool:
        delta = event.text
        if delta is None:
            delta = event.text_delta
            if delta is None:
                delta = event.delta
        if type(delta) is not str or not delta or event.id != block_id or event.metadata is not None:
            return False
        add(delta)
        if fold is not None and len(pieces) >= fold_at:
            fold()
        if make is not None:
            outputs.append(make(delta))
        return True

    return sink
