"""Chunks that several streams write in the same form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from partstream.errors import AdapterUsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import InboundRequest
    from partstream.parts import ToolCallPart
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.ai_sdk.write_response import Metadata

__all__ = [
    "beside",
    "delta",
    "end_block",
    "error_body",
    "no_document",
    "start_block",
    "streamed_input",
    "warnings",
    "whole_text",
]

_OF_EVERY_CLIENT: Final = frozenset({"headers"})
"""What no person has asked for: the client of version 5 sends its own headers in every body."""


def start_block(kind: str, block_id: str) -> list[Chunk]:
    """A block opens: since version 5."""
    return [{"type": f"{kind}-start", "id": block_id}]


def delta(name: str, kind: str, block_id: str, piece: str) -> list[Chunk]:
    """A piece of a block, in the field of that name."""
    return [{"type": f"{kind}-delta", "id": block_id, name: piece}]


def whole_text(name: str, block_id: str, text: str, said: Metadata) -> list[Chunk]:
    """A text at once, with what providers say beside it from the beginning."""
    start = {"type": "text-start", "id": block_id, **beside(said)}
    return [start, *delta(name, "text", block_id, text), {"type": "text-end", "id": block_id}]


def end_block(kind: str, block_id: str, said: Metadata, _cited: Sequence[Chunk] = ()) -> list[Chunk]:
    """A block ends, with what providers say beside it."""
    return [{"type": f"{kind}-end", "id": block_id, **beside(said)}]


def streamed_input(part: ToolCallPart, pieces: Sequence[str]) -> list[Chunk]:
    """The input of a call as it streams; the call itself follows."""
    return [
        {"type": "tool-input-start", "id": part.call_id, "toolName": part.name},
        *({"type": "tool-input-delta", "id": part.call_id, "delta": piece} for piece in pieces),
        {"type": "tool-input-end", "id": part.call_id},
    ]


def beside(said: Metadata) -> Chunk:
    """The field for what providers say; none where they say nothing."""
    return {"providerMetadata": dict(said)} if said else {}


def warnings(asked: InboundRequest) -> list[Chunk]:
    """The parts of a request that have no place; the provider never sees them."""
    missed = [place for place in asked.unmapped if place not in _OF_EVERY_CLIENT]
    return [{"type": "other", "message": f"{place}: has no place and was left out"} for place in missed]


def error_body(_status: int, message: str) -> Chunk:
    """The JSON of an HTTP error; the SDK has no form of its own for it."""
    return {"error": {"message": message}}


def no_document(_chunks: Sequence[Chunk]) -> NoReturn:
    """Refuses to write an answer in one piece.

    Raises:
        AdapterUsageError: Always: a stream of the SDK is a stream.
    """
    raise AdapterUsageError("a stream of the AI SDK has no document in its place")
