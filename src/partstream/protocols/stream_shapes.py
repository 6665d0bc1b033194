"""Shapes of streams: what real servers send that the protocol's own document does not lead one to expect.

A shape is a short answer in such a form, and what a right reader makes of it. The table of a protocol stands in its
folder; the conformance kit has the parsers of others read them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partstream.protocols.wire_request import WireEvent

__all__ = ["ShapeOutcome", "StreamShape"]


@dataclass(frozen=True, slots=True)
class ShapeOutcome:
    """What a right reader makes of a stream.

    Attributes:
        text: The whole text.
        thinking: The whole thinking.
        calls: Name and arguments of each call, in the order of the model.
        call_ids: The ids of the calls, in the same order; None where the server gives none.
        tokens: Input and output tokens, or None where the server reports none.
        is_failed: Whether the stream has failed.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    call_ids: tuple[str, ...] | None = None
    tokens: tuple[int, int] | None = None
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class StreamShape:
    """One shape.

    Attributes:
        name: Its name, in words with hyphens; the same for ever.
        title: What is unusual about it, as a phrase.
        events: The events of the stream, as JSON.
        outcome: What a right reader makes of it.
    """

    name: str
    title: str
    events: tuple[WireEvent, ...]
    outcome: ShapeOutcome = field(default_factory=ShapeOutcome)
