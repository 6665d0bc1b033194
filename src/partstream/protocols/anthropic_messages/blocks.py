"""The blocks of one answer: what came of each, and which of them a delta means.

Anthropic opens and closes one block after the other. Other servers leave blocks open until the end, close them twice,
or stream into blocks that nothing opened (docs/wires/anthropic-messages.md#deviations-of-servers). So blocks are found
by their index and by what a delta holds.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.citations import FOLD_AT
from partstream.protocols.read_response import Wire, text

if TYPE_CHECKING:
    from partstream.protocols.citations import RecentText

__all__ = ["Block", "Blocks", "Channel"]


class Channel(Enum):
    """What streams into a block."""

    TEXT = auto()
    THINKING = auto()
    INPUT = auto()
    """The arguments of a call, of the client's tool or of the server's."""
    COMPACTION = auto()
    NOTHING = auto()
    """The block came whole."""


class Block:
    """One block.

    Args:
        channel: What streams into it.
        wire: Its first state.
        said: Learns the text of the block, or None.

    Attributes:
        channel: What streams into it.
        wire: Its first state, as it came.
        pieces: What came since the last :meth:`fold`; whoever appends to it calls :meth:`fold` at times.
        citations: The citations that came for it, as they came.
        fields: What deltas said of it beside its text: the signature, the summary of a compaction.
    """

    __slots__ = ("_said", "_whole", "channel", "citations", "fields", "pieces", "wire")

    def __init__(self, channel: Channel, wire: Wire, said: RecentText | None = None) -> None:
        self.channel = channel
        self.wire = wire
        self.pieces: list[str] = []
        self.citations: list[Wire] = []
        self.fields: dict[str, Any] = {}
        self._whole: list[str] = []
        self._said = said

    def add(self, piece: str) -> None:
        """Adds the next piece of its text, its thinking or its arguments."""
        self.pieces.append(piece)
        if len(self.pieces) >= FOLD_AT:
            self.fold()

    def fold(self) -> None:
        """Joins the pieces, which take many times the memory of their text."""
        if self.pieces:
            piece = "".join(self.pieces)
            self.pieces.clear()
            self._whole.append(piece)
            if self._said is not None:
                self._said.add(piece)

    @property
    def text(self) -> str:
        """All that streamed into it."""
        self.fold()
        if len(self._whole) > 1:
            self._whole = ["".join(self._whole)]
        return self._whole[0] if self._whole else ""

    @property
    def type(self) -> str:
        """What the server calls a block like it."""
        return text(self.wire, "type") or _TYPES[self.channel]


_TYPES: Final = {
    Channel.TEXT: "text",
    Channel.THINKING: "thinking",
    Channel.INPUT: "tool_use",
    Channel.COMPACTION: "compaction",
    Channel.NOTHING: "a block without a type",
}
"""The type of a block that no event has opened."""


class _Place:
    """What is open at one index: all blocks, by what tells them apart, and the last of each channel."""

    __slots__ = ("blocks", "latest")

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}
        self.latest: dict[Channel, Block] = {}


class Blocks:
    """All blocks of one answer.

    Attributes:
        all: The blocks in the order of their opening.
    """

    __slots__ = ("_last", "_open", "_unsigned", "all")

    def __init__(self) -> None:
        self.all: list[Block] = []
        self._open: dict[int, _Place] = {}
        self._unsigned: list[tuple[int, Block]] = []
        self._last = 0

    def open(self, index: int | None, block: Block) -> None:
        """Adds a block that an event opens, or a delta.

        Args:
            index: The index of the event; None where it has none, for the index that came last.
            block: The block.
        """
        self._last = self._last if index is None else index
        place = self._open.setdefault(self._last, _Place())
        self.all.append(block)
        place.blocks[id(block)] = block
        place.latest[block.channel] = block
        if block.channel is Channel.THINKING and "signature" not in block.wire:
            self._unsigned.append((self._last, block))

    def find(self, index: int | None, channel: Channel) -> Block | None:
        """The open block at an index into which a channel streams: the one that was opened last."""
        place = self._open.get(self._last if index is None else index)
        return None if place is None else place.latest.get(channel)

    def close_unsigned(self) -> list[Block]:
        """Closes open thinking that gets no signature, because something else follows it, and returns it.

        llama.cpp closes nothing before the end. The thinking still came before what follows, and goes back there.
        """
        closed = []
        for index, block in self._unsigned:
            place = self._open.get(index)
            if place is not None and place.latest.get(block.channel) is block and "signature" not in block.fields:
                del place.latest[block.channel]
                del place.blocks[id(block)]
                closed.append(block)
        self._unsigned.clear()
        return closed

    def close(self, index: int | None) -> list[Block]:
        """Closes what is open at an index, and returns it."""
        place = self._open.pop(self._last if index is None else index, None)
        return [] if place is None else list(place.blocks.values())

    def close_all(self) -> list[Block]:
        """Closes what is still open, in the order of the opening."""
        still_open = {one for place in self._open.values() for one in place.blocks}
        self._open.clear()
        return [one for one in self.all if id(one) in still_open]
