"""The message of an answer: which handler each kind of block and of delta has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.outputs import StreamOutput, Unmapped
from partstream.protocols.anthropic_messages.blocks import Block, Blocks, Channel
from partstream.protocols.anthropic_messages.carried_blocks import FALLBACK, container_item
from partstream.protocols.anthropic_messages.carried_state import CarriedState
from partstream.protocols.anthropic_messages.held_outputs import PendingOutputs
from partstream.protocols.anthropic_messages.raw_content import raw_block
from partstream.protocols.anthropic_messages.short_way import DeltaFastPath
from partstream.protocols.anthropic_messages.texts import Texts
from partstream.protocols.anthropic_messages.thinking import Thinking
from partstream.protocols.anthropic_messages.tool_calls import TOOL_USE, ToolCalls
from partstream.protocols.read_response import Wire, identifier, mapping, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.errors import ToolArgumentsError
    from partstream.outputs import FastPath, StreamOptions

__all__ = ["BLOCKS", "DELTAS", "Message"]

_Outputs: TypeAlias = list[StreamOutput]

_UNTYPED: Final = "a block without a type"


class Message:
    """The message of one answer.

    Args:
        options: How it is rendered.

    Attributes:
        texts: Its text.
        thinking: Its thinking.
        calls: Its calls.
        state: What the server wants back of it.
        held: What waits behind a call.
        was_compacted: Whether the server has summarised the conversation.
        other_model: The model that went on with the answer of another one, or None.
    """

    __slots__ = ("_blocks", "_short_way", "calls", "held", "other_model", "state", "texts", "thinking", "was_compacted")

    def __init__(self, options: StreamOptions) -> None:
        self.held = PendingOutputs()
        self.state = CarriedState(options.thinking)
        self.texts = Texts(options.citations, self.state)
        self.thinking = Thinking(options.thinking, self.state)
        self.calls = ToolCalls(options.call_id_prefix, self.state, self.held)
        self.was_compacted = False
        self.other_model: str | None = None
        self._blocks = Blocks()
        self._short_way = DeltaFastPath(shows_thinking=self.thinking.is_shown)

    @property
    def is_empty(self) -> bool:
        """Whether no block has begun."""
        return not self._blocks.all

    @property
    def ran_tools(self) -> bool:
        """Whether the server has run tools of its own: its tokens are those of several calls of the model then."""
        return any(block.type != TOOL_USE and block.type.endswith(TOOL_USE) for block in self._blocks.all)

    @property
    def content(self) -> list[Wire]:
        """All its blocks, as the server would take them back."""
        return [raw for block in self._blocks.all if (raw := raw_block(block)) is not None]

    def start(self, place: int | None, wire: Wire, outputs: _Outputs) -> None:
        """Opens a block; one that does not say what it is opens none, and its deltas say what they are."""
        kind = identifier(wire, "type")
        if kind is None:
            self.held.before(outputs).append(Unmapped(_UNTYPED, wire))
            return
        row = BLOCKS.get(kind, _OTHER_BLOCK)
        if row.channel is not Channel.THINKING:
            self._close_all(self._blocks.close_unsigned(), outputs)
        block = self._open(place, row.channel, wire)
        row.started(self, block, self.held.before(outputs))
        if not self.held.has_calls:  # another model goes on, and what waits behind void calls waits no longer
            self.held.release(outputs)

    def delta(self, place: int | None, delta: Wire, outputs: _Outputs) -> FastPath | None:
        """Adds to a block, and offers the short way for more of the same.

        The kind of the delta counts, and not that of the block at its index: LiteLLM streams thinking into a block of
        text, and claude-code-router into blocks that are closed.
        """
        kind = text(delta, "type")
        row = DELTAS.get(kind)
        if row is None:
            self.held.before(outputs).append(Unmapped(f"delta:{kind or 'without a type'}", delta))
            return None
        block = self._blocks.find(place, row.channel)
        if block is None:
            if not delta.get(row.field):  # LiteLLM in front of vLLM sends empty arguments in place of text
                return None
            block = self._open(place, row.channel, {})
        if row.channel is Channel.TEXT:
            self._close_all(self._blocks.close_unsigned(), outputs)
        target = self.held.before(outputs)
        row.read(self, block, delta, target)
        return self._short_way.for_more(kind, place, block) if target is outputs else None

    def stop(self, place: int | None, outputs: _Outputs) -> None:
        """Closes what is open at an index."""
        self._close_all(self._blocks.close(place), outputs)

    def whole(self, wires: list[Wire], outputs: _Outputs) -> None:
        """Takes whole blocks: of a document, or (docs/wires/anthropic-messages.md#blocks-in-message_start)."""
        for place, wire in enumerate(wires):
            self.start(place, wire, outputs)
            self.stop(place, outputs)

    def close(self, outputs: _Outputs) -> None:
        """Closes open blocks: llama.cpp closes none before the end (docs/wires/anthropic-messages.md#servers)."""
        self._close_all(self._blocks.close_all(), outputs)

    def end(self, container: Wire, outputs: _Outputs, *, is_cut: bool) -> ToolArgumentsError | None:
        """Hands out what waits.

        Args:
            container: The container of the server's tools, or nothing.
            outputs: Where all that is left goes.
            is_cut: Whether a limit or a filter ended the answer: then half a call is no error.

        Returns:
            The error of a call that is not whole.
        """
        self.close(outputs)
        waiting = self.held.before(outputs)
        if is_cut:
            self.calls.count_halves(waiting)
        if container:
            self.state.add(container_item(container), waiting)
        self.texts.end(waiting)
        self.state.hand_out(waiting)
        self.held.release(outputs)
        return None if is_cut else self.calls.error

    def abandon(self, outputs: _Outputs) -> None:
        """Hands out what waits of an answer that broke, but no call: it cannot be gone on with."""
        self.held.drop_calls()
        self.held.release(outputs)

    def _open(self, place: int | None, channel: Channel, wire: Wire) -> Block:
        block = Block(channel, wire, self.texts.said if channel is Channel.TEXT else None)
        self._blocks.open(place, block)
        return block

    def _close_all(self, blocks: Iterable[Block], outputs: _Outputs) -> None:
        for block in blocks:
            before = self.held.before(outputs)
            match block.channel:
                case Channel.TEXT:
                    self.texts.closed(block, before)
                case Channel.THINKING:
                    self.thinking.closed(block, before)
                case Channel.INPUT:
                    self.calls.closed(block, before)
                case Channel.COMPACTION:
                    raw = raw_block(block) or {}
                    self.was_compacted |= any(raw.get(name) for name in ("content", "encrypted_content"))
                    self.calls.kept(block, before)
                case Channel.NOTHING:
                    self.calls.kept(block, before)


def _nothing(_message: Message, _block: Block, _outputs: _Outputs) -> None:
    """Opens a block that says nothing before it is closed."""


def _summary(_message: Message, block: Block, delta: Wire, _outputs: _Outputs) -> None:
    """Takes what the server made of the conversation; null where it could not."""
    block.fields |= {name: value for name, value in delta.items() if name != "type"}


def _other_model(message: Message, block: Block, _outputs: _Outputs) -> None:
    """Another model goes on: earlier calls are void (docs/wires/anthropic-messages.md#fallback-models)."""
    message.other_model = identifier(mapping(block.wire, "to"), "model") or message.other_model
    message.held.drop_calls()


class BlockRow(NamedTuple):
    """What streams into a kind of block, and the handler of its first state."""

    channel: Channel
    started: Callable[[Message, Block, _Outputs], None]


_OTHER_BLOCK: Final = BlockRow(Channel.INPUT, _nothing)
"""Calls of the server's tools and their results, and kinds that nobody knows yet: never text, never a call for us."""

BLOCKS: Final = {
    "text": BlockRow(Channel.TEXT, lambda message, *rest: message.texts.started(*rest)),
    "thinking": BlockRow(Channel.THINKING, lambda message, *rest: message.thinking.started(*rest)),
    "compaction": BlockRow(Channel.COMPACTION, _nothing),
    FALLBACK: BlockRow(Channel.NOTHING, _other_model),
}
"""Every kind of block of which something is done when it opens."""


class DeltaRow(NamedTuple):
    """The channel of a kind of delta, the field without which it says nothing, and its handler."""

    channel: Channel
    field: str
    read: Callable[[Message, Block, Any, _Outputs], None]


DELTAS: Final = {
    "text_delta": DeltaRow(Channel.TEXT, "text", lambda message, *rest: message.texts.delta(*rest)),
    "citations_delta": DeltaRow(Channel.TEXT, "citation", lambda message, *rest: message.texts.citation(*rest)),
    "thinking_delta": DeltaRow(Channel.THINKING, "thinking", lambda message, *rest: message.thinking.delta(*rest)),
    "signature_delta": DeltaRow(
        Channel.THINKING, "signature", lambda message, *rest: message.thinking.signature(*rest)
    ),
    "input_json_delta": DeltaRow(Channel.INPUT, "partial_json", lambda message, *rest: message.calls.delta(*rest)),
    "compaction_delta": DeltaRow(Channel.COMPACTION, "content", _summary),
}
"""Every kind of delta that is understood."""
