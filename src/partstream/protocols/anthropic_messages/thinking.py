"""Reads the thinking of an answer, and keeps its blocks as they came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.outputs import ThinkingMode
from partstream.parts import thinking_part
from partstream.protocols.anthropic_messages.carried_blocks import block_item
from partstream.protocols.anthropic_messages.raw_content import raw_block
from partstream.protocols.read_response import Wire, text

if TYPE_CHECKING:
    from partstream.outputs import StreamOutput
    from partstream.protocols.anthropic_messages.blocks import Block
    from partstream.protocols.anthropic_messages.carried_state import CarriedState

__all__ = ["Thinking"]


class Thinking:
    """The thinking blocks of one answer.

    Args:
        mode: What becomes of thinking.
        state: Takes the blocks that the server may want back.

    Attributes:
        is_shown: Whether thinking is shown at all.
    """

    __slots__ = ("_state", "is_shown")

    def __init__(self, mode: ThinkingMode, state: CarriedState) -> None:
        self.is_shown = mode is not ThinkingMode.OFF
        self._state = state

    def started(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Takes the thinking that a block begins with."""
        self.delta(block, block.wire, outputs)
        self.signature(block, block.wire, outputs)

    def delta(self, block: Block, delta: Wire, outputs: list[StreamOutput]) -> None:
        """Takes a piece of thinking."""
        if piece := text(delta, "thinking"):
            self._state.hand_out(outputs)
            block.add(piece)
            if self.is_shown:
                outputs.append(thinking_part(piece))

    def signature(self, block: Block, delta: Wire, _outputs: list[StreamOutput]) -> None:
        """Takes a signature: it replaces the one before it (docs/wires/anthropic-messages.md#blocks)."""
        if signature := text(delta, "signature"):
            block.fields["signature"] = signature

    def closed(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Keeps a block, also one without a text or without a signature: some servers want those back."""
        if (raw := raw_block(block)) is not None:
            self._state.add(block_item(raw), outputs)
