"""Reads calls: those of the client go out whole, others are kept (docs/wires/anthropic-messages.md#server-tools).

What a server runs itself is never handed out, and neither is what nobody knows: only `tool_use` is a call of ours.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import ToolArgumentsError
from partstream.outputs import StreamOutput, Unmapped
from partstream.parts import tool_call_part
from partstream.protocols.anthropic_messages.carried_blocks import block_item, call_item
from partstream.protocols.anthropic_messages.raw_content import input_of, raw_block
from partstream.protocols.read_response import Wire, identifier, text

if TYPE_CHECKING:
    from partstream.protocols.anthropic_messages.blocks import Block
    from partstream.protocols.anthropic_messages.carried_state import CarriedState
    from partstream.protocols.anthropic_messages.held_outputs import PendingOutputs

__all__ = ["TOOL_USE", "ToolCalls"]

TOOL_USE: Final = "tool_use"
_OF_CALLS: Final = frozenset({"type", "id", "name", "input"})
_DIRECT: Final = {"type": "direct"}
"""The `caller` of a call that the model made itself: as good as none."""
_DIGITS: Final = 24
_QUIET: Final = frozenset({"redacted_thinking"})
"""Blocks that are kept and not counted: nothing of an answer is lost with them."""


class ToolCalls:
    """The calls of one answer, and the blocks of the server's tools.

    Args:
        prefix: The prefix of the ids of calls.
        state: Takes what the server may want back.
        held: Takes the whole calls of the client's tools.

    Attributes:
        half: The calls that closed without being whole.
    """

    __slots__ = ("_held", "_ids", "_prefix", "_state", "half")

    def __init__(self, prefix: str, state: CarriedState, held: PendingOutputs) -> None:
        self.half: list[Block] = []
        self._prefix = prefix
        self._state = state
        self._held = held
        self._ids: set[str] = set()

    def delta(self, block: Block, delta: Wire, _outputs: list[StreamOutput]) -> None:
        """Takes a piece of the arguments of a call."""
        if piece := text(delta, "partial_json"):
            block.add(piece)

    def closed(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Hands out a call of the client's; keeps everything else."""
        if block.wire and block.type != TOOL_USE:
            self.kept(block, outputs)
            return
        given, name = input_of(block), identifier(block.wire, "name")
        if given is None or name is None:
            self.half.append(block)
            return
        call_id = identifier(block.wire, "id") or _own_id(len(self._ids), name, given)
        if call_id in self._ids:
            return
        self._ids.add(call_id)
        extra = {
            field: value
            for field, value in block.wire.items()
            if field not in _OF_CALLS and value is not None and value != _DIRECT
        }
        if extra:
            self._state.add(call_item(call_id, extra), outputs)
        self._state.hand_out(outputs)
        self._held.hold(tool_call_part(self._prefix + call_id, name, given))

    def kept(self, block: Block, outputs: list[StreamOutput]) -> None:
        """Keeps a block of the server's, and counts it."""
        raw = raw_block(block) or {}
        self._state.add(block_item(raw), outputs)
        if block.type not in _QUIET:
            outputs.append(Unmapped(block.type, raw))

    def count_halves(self, outputs: list[StreamOutput]) -> None:
        """Counts the calls that a limit or a filter has cut: no part, and no error beside that reason."""
        outputs += (
            Unmapped(f"{TOOL_USE} (incomplete)", {**block.wire, "partial_json": block.text}) for block in self.half
        )

    @property
    def error(self) -> ToolArgumentsError | None:
        """The error of a call that is not whole, though the answer is; None without one."""
        for block in self.half:
            name = identifier(block.wire, "name")
            expected = "a JSON object" if name else "a name for these arguments"
            call_id = identifier(block.wire, "id")
            return ToolArgumentsError(call_id=call_id, name=name, arguments=_arguments(block), expected=expected)
        return None


def _arguments(block: Block) -> str:
    given = block.wire.get("input")
    return block.text or ("" if given in (None, {}) else str(given))


def _own_id(number: int, name: str, given: Any) -> str:
    said = json.dumps([number, name, given]).encode()
    return f"call_{hashlib.sha256(said).hexdigest()[:_DIGITS]}"
