"""The blocks of an answer while it arrives, and the calls among them.

:class:`Blocks` finds the block that a delta means. Anthropic opens and closes one block after the other. Other servers
leave blocks open until the end, close them twice, or stream into blocks that nothing opened
(docs/wires/anthropic-messages.md#deviations-of-servers). So a block is found by its index and by what a delta holds.
:attr:`Block.raw` is a closed block as the server would take it back.

:class:`ToolCalls` makes a call of the client's whole, when its block closes; only `tool_use` is one. What a server runs
itself is never emitted, and neither is what nothing here knows: it is kept
(docs/wires/anthropic-messages.md#server-tools). Calls wait, and what follows them, until no other model takes over
(docs/wires/anthropic-messages.md#fallback-models). With `fallbacks`, a filter may stop a model after a whole call;
another model continues then, and the call is void. No part overtakes another: what comes after a call waits with it.
Calls are the last blocks of nearly all answers.
"""

from __future__ import annotations
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final

from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import StreamOutput, Unmapped
from partstream.lm.parts import ToolCallPart
from partstream.protocols.anthropic_messages.provider_state import DIRECT, CarriedState, block_item, call_item
from partstream.protocols.calls import Calls, CompleteCall, Pieces, check_number, later_pieces, read_pieces
from partstream.protocols.read_response import JSONObject, RecentText, identifier, text

# ---- Blocks ----


class Channel(Enum):
    """What streams into a block."""

    TEXT = auto()
    THINKING = auto()
    INPUT = auto()
    """The arguments of a call, of the client's tool or of the server's."""
    COMPACTION = auto()
    NOTHING = auto()
    """The block came whole."""


class Block(RecentText):
    """One block, whose text `said` learns.

    Attributes:
        channel: What streams into it.
        wire: Its first state, as it came.
        pieces: What came since the last :meth:`fold`; code that appends to it calls :meth:`fold` at times.
        citations: The citations that came for it, as they came.
        fields: What its deltas held beside the text: the signature, the summary of a compaction.
        raw: Once it is closed, the entry of `content` that the server would take back; None where it holds nothing,
            which no server takes.
    """

    __slots__ = ("_said", "_whole", "channel", "citations", "fields", "raw", "wire")

    def __init__(self, channel: Channel, wire: JSONObject, said: RecentText | None = None) -> None:
        super().__init__()
        self.channel = channel
        self.wire = wire
        self.citations: list[JSONObject] = []
        self.fields: dict[str, Any] = {}
        self.raw: JSONObject | None = None
        self._whole: list[Any] = Pieces() if channel is Channel.INPUT else []
        self._said = said

    def add_value(self, value: Any) -> None:
        """Adds arguments that came as a value, where a piece of their text belongs."""
        self.fold()
        self._whole.append(value)

    def fold(self) -> None:
        """Joins the pieces, which take many times the memory of their text. Those of arguments stay apart until the
        block closes: their borders tell what was said again (:data:`partstream.protocols.calls.MENDINGS`)."""
        if not self.pieces:
            return
        if self.channel is Channel.INPUT:
            for piece in self.pieces:
                self._whole.append(piece)
        else:
            self._whole.append("".join(self.pieces))
            if self._said is not None:
                self._said.add(self._whole[-1])
        self.pieces.clear()

    def said_all(self, text: str) -> bool:
        """Whether a text is all that streamed into it."""
        self.fold()
        at = 0
        for piece in self._whole:
            if not text.startswith(piece, at):
                return False
            at += len(piece)
        return at == len(text)

    @property
    def arguments(self) -> Sequence[Any]:
        """The pieces of the arguments that count, texts and values: those of the deltas, else that of the start."""
        return later_pieces(self.wire.get("input"), [*self._whole, *self.pieces])

    @property
    def has_input(self) -> bool:
        """Whether anything but blanks streamed into it."""
        return any(map(str.strip, map(str, (*self._whole, *self.pieces))))

    @property
    def type(self) -> str:
        """What the server calls a block like it."""
        return text(self.wire, "type") or _TYPES[self.channel]

    def close(self, given: JSONObject | None = None) -> JSONObject | None:
        """Makes :attr:`raw`, with the arguments if they are a JSON object, and forgets all else: an answer may
        have hundreds of blocks."""
        self.fold()
        said = "" if self.channel is Channel.INPUT else "".join(self._whole)
        match self.channel:
            case Channel.TEXT if said.strip():
                cited = {"citations": self.citations} if self.citations else {}
                self.raw = {**self.wire, "type": "text", "text": said, **cited}
            case Channel.THINKING if said or self.fields:
                self.raw = {**self.wire, "type": "thinking", "thinking": said, **self.fields}
            case Channel.INPUT:  # a call, or a block of an unknown kind, to which only a streamed input is added
                is_said = "input" in self.wire or self._whole or self.pieces
                self.raw = {**self.wire, "input": given} if self.wire and is_said and given is not None else self.wire
                self.raw = self.raw or None
            case Channel.COMPACTION:
                self.raw = {**self.wire, **self.fields, "type": "compaction"}
            case Channel.NOTHING:
                self.raw = self.wire
        self.pieces.clear()
        self._whole, self.citations, self.fields = [], [], {}
        return self.raw


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
    """All blocks of one answer."""

    def __init__(self) -> None:
        self.all: list[Block] = []
        self._open: dict[int, _Place] = {}
        self._unsigned: list[tuple[int, Block]] = []
        self._last = 0

    def open(self, index: int | None, block: Block) -> None:
        """Adds a block that an event opens, or a delta; without an index, at the one that came last."""
        check_number(len(self.all) + 1)
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
        return [one for one in self.all if id(one) in still_open] if still_open else []


# ---- Calls ----

TOOL_USE: Final = "tool_use"
_OF_CALLS: Final = frozenset({"type", "id", "name", "input"})
_QUIET: Final = frozenset({"redacted_thinking"})
"""Blocks that are kept and not counted: nothing of an answer is lost with them."""


class ToolCalls:
    """The calls of one answer, and the blocks of the server's tools."""

    def __init__(self, prefix: str, state: CarriedState) -> None:
        self.ended = Calls()
        self.has_calls = False
        self._prefix = prefix
        self._state = state
        self._waiting: list[StreamOutput] = []
        self._bare: tuple[Block, CompleteCall, ToolCallPart] | None = None  # the last call, if it said no arguments

    def closed(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Makes a call of the client's, and keeps everything else."""
        if block.wire and block.type != TOOL_USE:
            self.kept(block, outputs)
            return
        pieces, is_bare = block.arguments, not block.has_input
        if any(pieces):
            self._forget_bare(block)
        read = read_pieces(pieces)
        call = self.ended.take(identifier(block.wire, "id"), identifier(block.wire, "name"), pieces, outputs, read=read)
        block.close(read.value)
        if call is None:
            return
        extra = {
            field: value
            for field, value in block.wire.items()
            if field not in _OF_CALLS and value is not None and value != DIRECT
        }
        if extra:
            self._state.add(call_item(call.call_id, extra), outputs)
        self._state.emit(outputs)
        part = call.part(self._prefix)
        self._bare = (block, call, part) if is_bare and not call.input else None
        self._waiting.append(part)
        self.has_calls = True

    def _forget_bare(self, block: Block) -> None:
        """Takes back the call before a block, if it is that of the block, opened before without arguments."""
        if self._bare is None:
            return
        bare, call, part = self._bare
        if identifier(bare.wire, "id") == identifier(block.wire, "id") and call.name == identifier(block.wire, "name"):
            self._take_back(part)
            self.ended.forget(call, call.call_id)
            self._bare = None

    def end(self, last: Block | None, outputs: list[StreamOutput], *, is_cut: bool) -> ToolArgumentsError | None:
        """Ends the answer, and returns the error of a call that is not whole. If a limit or a filter cut the answer, no
        arguments at all are not yet `{}` in its last block."""
        if is_cut and self._bare is not None and self._bare[0] is last:
            block, call, part = self._bare
            self._take_back(part)
            self.ended.half(identifier(block.wire, "id"), call.name, ())
        return self.ended.end(outputs, is_cut=is_cut)

    def kept(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Keeps a block of the server's, and counts it."""
        given = read_pieces(block.arguments).value if block.channel is Channel.INPUT else None
        raw = block.close(given) or {}
        self._state.add(block_item(raw), outputs)
        if block.type not in _QUIET:
            outputs.append(Unmapped(block.type, raw))

    # What waits

    def before(self, outputs: list[StreamOutput]) -> list[StreamOutput]:
        """The list for the next output: what waits, or the outputs of the event."""
        return self._waiting or outputs

    def _take_back(self, call: ToolCallPart) -> None:
        self._waiting[:] = [one for one in self._waiting if one is not call]  # the outputs may be this very list
        self.has_calls = any(isinstance(one, ToolCallPart) for one in self._waiting)

    def drop(self) -> None:
        """Takes back the calls that wait."""
        self._waiting = [one for one in self._waiting if not isinstance(one, ToolCallPart)]
        self.has_calls = False

    def release(self, outputs: list[StreamOutput]) -> None:
        """Emits all that waits."""
        outputs += self._waiting
        self._waiting = []
