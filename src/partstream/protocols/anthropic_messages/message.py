"""The message of an answer, block by block: what becomes of each kind of block, and of each kind of delta."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.errors import ToolArgumentsError
from partstream.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.parts import text_part, thinking_part, tool_call_part
from partstream.protocols.anthropic_messages.blocks import Block, Blocks, Channel
from partstream.protocols.anthropic_messages.carried_blocks import FALLBACK, block_item, call_item
from partstream.protocols.anthropic_messages.carried_state import CarriedState
from partstream.protocols.anthropic_messages.citations import citation_of, key_of
from partstream.protocols.anthropic_messages.held_outputs import HeldOutputs
from partstream.protocols.call_arguments import read_arguments
from partstream.protocols.citations import Citations, RecentText
from partstream.protocols.fields import Wire, identifier, mapping, objects, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import StreamOptions

__all__ = ["BLOCKS", "DELTAS", "Message"]

_Outputs: TypeAlias = list[StreamOutput]
_DIGITS: Final = 24


class Message:
    """The message of one answer.

    Args:
        options: How it is rendered.

    Attributes:
        blocks: Its blocks.
        state: What the server wants back of it.
        held: What waits behind a call.
    """

    __slots__ = ("_broken", "_call_ids", "_citations", "_prefix", "_said", "_shows_thinking", "blocks", "held", "state")

    def __init__(self, options: StreamOptions) -> None:
        self.blocks = Blocks()
        self.state = CarriedState(options.thinking)
        self.held = HeldOutputs()
        self._citations = Citations(options.citations)
        self._prefix = options.call_id_prefix
        self._shows_thinking = options.thinking is not ThinkingMode.OFF
        self._said = RecentText()
        self._call_ids: set[str] = set()
        self._broken: list[ToolArgumentsError] = []

    @property
    def has_calls(self) -> bool:
        """Whether it holds a whole call of the client's."""
        return self.held.has_calls

    # What events say

    def start(self, place: int | None, wire: Wire, outputs: _Outputs) -> None:
        """Opens a block."""
        row = BLOCKS.get(text(wire, "type"), _OTHER_BLOCK)
        block = self._open(place, row.channel, wire)
        row.started(self, block, self.held.before(outputs))

    def delta(self, place: int | None, delta: Wire, outputs: _Outputs) -> bool:
        """Adds to a block; returns whether the delta is of a known kind.

        A delta goes by its own kind, and not by that of the block at its index: LiteLLM streams thinking into a block
        of text, and claude-code-router into blocks that are closed (facts 2.2).
        """
        row = DELTAS.get(text(delta, "type"))
        if row is None:
            return False
        block = self.blocks.find(place, row.channel)
        if block is None:
            if row.is_empty(delta):  # LiteLLM before vLLM: in place of pieces of text
                return True
            block = self._open(place, row.channel, {})
        row.read(self, block, delta, self.held.before(outputs))
        return True

    def stop(self, place: int | None, outputs: _Outputs) -> None:
        """Closes what is open at an index."""
        for block in self.blocks.close(place):
            self._close(block, outputs)

    def whole(self, wires: list[Wire], outputs: _Outputs) -> None:
        """Takes blocks that came whole, in `message_start` (facts 2.3) or in a document."""
        for place, wire in enumerate(wires):
            self.start(place, wire, outputs)
            self.stop(place, outputs)

    def end(self, outputs: _Outputs) -> ToolArgumentsError | None:
        """Closes what is still open and hands out what waits; returns the error of a call that is not whole."""
        for block in self.blocks.close_all():
            self._close(block, outputs)
        self.state.hand_out(self.held.before(outputs))
        self.held.release(outputs)
        outputs += self._citations.at_end()
        return next(iter(self._broken), None)

    def abandon(self, outputs: _Outputs) -> None:
        """Hands out what waits of an answer that broke, but none of its calls."""
        self.held.drop_calls()
        self.held.release(outputs)

    def _open(self, place: int | None, channel: Channel, wire: Wire) -> Block:
        block = Block(channel, wire, self._said if channel is Channel.TEXT else None)
        self.blocks.open(place, block)
        return block

    def _close(self, block: Block, outputs: _Outputs) -> None:
        CLOSED[block.channel](self, block, self.held.before(outputs))

    # Text

    def text_started(self, block: Block, outputs: _Outputs) -> None:
        """Takes the text that a block begins with."""
        for citation in objects(block.wire, "citations"):
            block.citations.append(citation)
        self.text(block, block.wire, outputs)

    def text(self, block: Block, delta: Wire, outputs: _Outputs) -> None:
        """Takes a piece of text."""
        if piece := text(delta, "text"):
            self.state.hand_out(outputs)
            block.add(piece)
            outputs.append(text_part(piece))

    def citation(self, block: Block, delta: Wire, _outputs: _Outputs) -> None:
        """Takes a citation; it is shown behind the text that it belongs to."""
        if citation := mapping(delta, "citation"):
            block.citations.append(citation)

    def text_closed(self, block: Block, outputs: _Outputs) -> None:
        """Shows the sources of a text."""
        block.fold()
        for citation in block.citations:
            outputs += self._citations.render(citation_of(citation), self._said, key_of(citation, block))

    # Thinking

    def thinking_started(self, block: Block, outputs: _Outputs) -> None:
        """Takes the thinking that a block begins with."""
        self.thinking(block, block.wire, outputs)
        self.signature(block, block.wire, outputs)

    def thinking(self, block: Block, delta: Wire, outputs: _Outputs) -> None:
        """Takes a piece of thinking."""
        if piece := text(delta, "thinking"):
            self.state.hand_out(outputs)
            block.add(piece)
            if self._shows_thinking:
                outputs.append(thinking_part(piece))

    def signature(self, block: Block, delta: Wire, _outputs: _Outputs) -> None:
        """Takes a signature: it replaces the one before it (facts 1.1)."""
        if signature := text(delta, "signature"):
            block.fields["signature"] = signature

    def thinking_closed(self, block: Block, outputs: _Outputs) -> None:
        """Keeps thinking that the server may want back: also without a text, and without a signature (facts 4.2)."""
        said = block.text
        if said or block.fields:
            wire = {**block.wire, "type": "thinking", "thinking": said, **block.fields}
            self.state.add(block_item(wire), outputs)

    # Calls and their results

    def nothing(self, _block: Block, _outputs: _Outputs) -> None:
        """Opens a block that says nothing before it is closed."""

    def input(self, block: Block, delta: Wire, _outputs: _Outputs) -> None:
        """Takes a piece of the arguments of a call."""
        if piece := text(delta, "partial_json"):
            block.add(piece)

    def input_closed(self, block: Block, outputs: _Outputs) -> None:
        """Hands out a call of the client's, keeps everything else."""
        given = _input_of(block)
        if block.wire and block.type != _TOOL_USE:
            has_input = block.text or "input" in block.wire
            self._keep(block.wire | ({"input": given} if has_input and given is not None else {}), outputs)
            return
        name = identifier(block.wire, "name")
        call_id = identifier(block.wire, "id")
        if given is None or name is None:
            expected = "a JSON object" if name else "a name for these arguments"
            self._broken.append(ToolArgumentsError(call_id=call_id, name=name, arguments=block.text, expected=expected))
            return
        call_id = call_id or _own_id(len(self._call_ids), name, given)
        if call_id in self._call_ids:
            return
        self._call_ids.add(call_id)
        extra = {field: value for field, value in block.wire.items() if field not in _OF_CALLS and value is not None}
        if extra:
            self.state.add(call_item(call_id, extra), outputs)
        self.state.hand_out(outputs)
        self.held.hold(tool_call_part(self._prefix + call_id, name, given))

    def compaction(self, block: Block, delta: Wire, _outputs: _Outputs) -> None:
        """Takes the summary of a compaction."""
        block.fields |= {name: value for name, value in delta.items() if name != "type"}

    def compaction_closed(self, block: Block, outputs: _Outputs) -> None:
        """Keeps the summary."""
        self._keep({**block.wire, **block.fields, "type": "compaction"}, outputs)

    def fallback(self, _block: Block, _outputs: _Outputs) -> None:
        """Another model goes on: the calls of the one before it are void (facts 10.4)."""
        self.held.drop_calls()

    def whole_closed(self, block: Block, outputs: _Outputs) -> None:
        """Keeps a block that came whole."""
        self._keep(block.wire, outputs)

    def _keep(self, wire: Wire, outputs: _Outputs) -> None:
        self.state.add(block_item(wire), outputs)
        if text(wire, "type") != _REDACTED:
            outputs.append(Unmapped(text(wire, "type") or "a block without a type", wire))


def _input_of(block: Block) -> dict[str, Any] | None:
    """The arguments of a call: those of the deltas, else those of its start, else none at all (facts 3)."""
    given, streamed = block.wire.get("input"), block.text
    if streamed.strip():
        return read_arguments(streamed) or (given if isinstance(given, dict) and given else read_arguments(streamed))
    return read_arguments(given) if isinstance(given, dict) else {} if given in (None, "") else None


def _own_id(number: int, name: str, given: Any) -> str:
    said = json.dumps([number, name, given]).encode()
    return f"call_{hashlib.sha256(said).hexdigest()[:_DIGITS]}"


_TOOL_USE: Final = "tool_use"
_REDACTED: Final = "redacted_thinking"
_OF_CALLS: Final = frozenset({"type", "id", "name", "input"})


class BlockRow(NamedTuple):
    """What streams into a kind of block, and the handler of its first state."""

    channel: Channel
    started: Callable[[Message, Block, _Outputs], None]


_TOOL = BlockRow(Channel.INPUT, Message.nothing)
_OTHER_BLOCK: Final = _TOOL
"""Calls of the server's tools and their results, and kinds that nobody knows yet: never text, never a call for us."""

BLOCKS: Final = {
    "text": BlockRow(Channel.TEXT, Message.text_started),
    "thinking": BlockRow(Channel.THINKING, Message.thinking_started),
    _REDACTED: BlockRow(Channel.NOTHING, Message.nothing),
    _TOOL_USE: _TOOL,
    "compaction": BlockRow(Channel.COMPACTION, Message.nothing),
    FALLBACK: BlockRow(Channel.NOTHING, Message.fallback),
}


class DeltaRow(NamedTuple):
    """The channel of a kind of delta, the field that makes it worth a block, and its handler."""

    channel: Channel
    field: str
    read: Callable[[Message, Block, Wire, _Outputs], None]

    def is_empty(self, delta: Wire) -> bool:
        """Whether a delta says nothing."""
        return not delta.get(self.field)


DELTAS: Final = {
    "text_delta": DeltaRow(Channel.TEXT, "text", Message.text),
    "citations_delta": DeltaRow(Channel.TEXT, "citation", Message.citation),
    "thinking_delta": DeltaRow(Channel.THINKING, "thinking", Message.thinking),
    "signature_delta": DeltaRow(Channel.THINKING, "signature", Message.signature),
    "input_json_delta": DeltaRow(Channel.INPUT, "partial_json", Message.input),
    "compaction_delta": DeltaRow(Channel.COMPACTION, "content", Message.compaction),
}

CLOSED: Final[dict[Channel, Callable[[Message, Block, _Outputs], None]]] = {
    Channel.TEXT: Message.text_closed,
    Channel.THINKING: Message.thinking_closed,
    Channel.INPUT: Message.input_closed,
    Channel.COMPACTION: Message.compaction_closed,
    Channel.NOTHING: Message.whole_closed,
}
