"""The blocks of an answer as the server would take them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.anthropic_messages.blocks import Block, Channel
from partstream.protocols.read_response import read_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.protocols.read_response import Wire

__all__ = ["input_of", "raw_block"]


def raw_block(block: Block) -> Wire | None:
    """A block as it stands in `content`; None for one that holds nothing, which no server takes."""
    return _RAW[block.channel](block)


def input_of(block: Block) -> dict[str, Any] | None:
    """The arguments of a call: those of the deltas, else those of its start, else `{}`.

    None where they are no JSON object (docs/wires/anthropic-messages.md#arguments-of-calls).
    """
    given, streamed = block.wire.get("input"), block.text
    if streamed.strip():
        read = read_arguments(streamed)
        return given if read is None and isinstance(given, dict) and given else read
    return {} if given in (None, "") else read_arguments(given) if isinstance(given, dict) else None


def _text(block: Block) -> Wire | None:
    said = block.text
    if not said.strip():
        return None
    raw = {**block.wire, "type": "text", "text": said}
    return raw | {"citations": block.citations} if block.citations else raw


def _thinking(block: Block) -> Wire | None:
    said = block.text
    if not said and not block.fields:
        return None
    return {**block.wire, "type": "thinking", "thinking": said, **block.fields}


def _input(block: Block) -> Wire | None:
    """A call, or a block of a kind that nobody knows, to which only a streamed input is added."""
    if not block.wire:
        return None
    given = input_of(block)
    has_input = "input" in block.wire or bool(block.text)
    return {**block.wire, "input": given} if has_input and given is not None else block.wire


def _compaction(block: Block) -> Wire:
    return {**block.wire, **block.fields, "type": "compaction"}


_RAW: Final[dict[Channel, Callable[[Block], Wire | None]]] = {
    Channel.TEXT: _text,
    Channel.THINKING: _thinking,
    Channel.INPUT: _input,
    Channel.COMPACTION: _compaction,
    Channel.NOTHING: lambda block: block.wire,
}
