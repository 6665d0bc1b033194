"""The short way of the events that come by the thousand: a piece of text, of thinking, or of one call's arguments.

docs/decisions/0006-the-sink.md tells how it works. A sink takes a delta only if the long way would do nothing else with
it: one of the same kind, for the same block.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import make_event_decoder
from partstream.parts import text_part, thinking_part
from partstream.protocols.citations import FOLD_AT
from partstream.protocols.read_response import make_chunk_template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.outputs import FastPath, StreamOutput
    from partstream.protocols.anthropic_messages.blocks import Block

__all__ = ["FREQUENT", "DeltaFastPath"]

_DELTA: Final = "content_block_delta"

FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {_DELTA: {}}
"""The event that comes by the thousand; its sink takes the bytes."""

_decode = make_event_decoder("type", _DELTA, {"index": "index", "delta": "delta"})

_FIELDS: Final[Mapping[str, str]] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""The kinds of deltas that have a short way, and the field of each that holds the piece."""


class DeltaFastPath:
    """Offers a sink for more of what a delta brought.

    Args:
        shows_thinking: Whether thinking becomes parts.
    """

    __slots__ = ("_parts", "_sinks")

    def __init__(self, *, shows_thinking: bool) -> None:
        self._parts: Mapping[str, Callable[[str], StreamOutput] | None] = {
            "text_delta": text_part,
            "thinking_delta": thinking_part if shows_thinking else None,
            "input_json_delta": None,
        }
        self._sinks: dict[str, tuple[Block, FastPath]] = {}

    def for_more(self, kind: str, place: int | None, block: Block) -> FastPath | None:
        """The sink for more deltas of a kind at an index, which go to an open block; None where there is none."""
        if kind not in _FIELDS or place is None:
            return None
        known = self._sinks.get(kind)
        if known is not None and known[0] is block:
            return known[1]
        sink = self._make(kind, place, block)
        self._sinks[kind] = block, sink
        return sink

    def _make(self, kind: str, place: int, block: Block) -> FastPath:
        field, part = _FIELDS[kind], self._parts[kind]
        read, learn = make_chunk_template(field)
        piece_of = partial(_piece_of, kind, field, place)
        pieces, fold, add = block.pieces, block.fold, block.pieces.append

        def sink(data: bytes, outputs: list[StreamOutput]) -> bool:
            piece = read(data)
            if piece is None:
                piece = piece_of(_decode(data))
                if piece is None:
                    return False
                learn(data, piece)
            if not piece:
                return True
            add(piece)
            if len(pieces) >= FOLD_AT:
                fold()
            if part is not None:
                outputs.append(part(piece))
            return True

        return sink


def _piece_of(kind: str, field: str, place: int, event: Any) -> str | None:
    """The piece in a delta of a kind at an index; None for any other, which needs the long way.

    Raises:
        TypeError: The delta is of another form; also a KeyError.
    """
    delta = event.delta
    if type(event.index) is not int or event.index != place or delta["type"] != kind:
        return None
    piece = delta[field]
    return piece if type(piece) is str else None
