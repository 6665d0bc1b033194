"""Carries reasoning through the conversation: out with the thinking parts, back as items of the same model.

Only the server and model that wrote encrypted reasoning can use it, so it records its origin, and reasoning of another
origin is dropped. Copilot keeps the last metadata of a model call and puts it on the first part of the message, so each
metadata lists all items so far, and each item records its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.turns import Call, Reasoning, Text
from partstream.parts import ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.conversation.state_marker import Origin, StateMarker
    from partstream.conversation.turns import Piece
    from partstream.messages import ChatMessage

__all__ = ["ITEMS", "MOST_ITEMS", "ORIGIN", "PLACE", "carried_reasoning", "place_reasoning", "usable_items"]

ITEMS: Final = "reasoning_items"
"""The metadata field of thinking that lists the items of the answer."""
MOST_ITEMS: Final = 1000
"""The most items of one answer: each metadata lists all before it, so that twice as many take four times the space."""
ORIGIN: Final = "origin"
"""The metadata field that names the origin of the items."""
PLACE: Final = "after"
"""The field of an item that tells its place: `[number of calls before it, whether text came after the last call]`."""

_REASONING: Final = "reasoning"
_LEADING: Final = frozenset({_REASONING, "tool-call"})
"""Types of items that lead to the piece after them; an item without a type is reasoning."""

_NAMES: Final = frozenset({"type", "id", "status", "text", "summary", "content", "toolCallId", PLACE})
"""Fields with the identity, the place and the shown text of an item; all other fields are its state."""


def usable_items(items: Iterable[Any]) -> tuple[Mapping[str, Any], ...]:
    """The items that are useful when they come back: those with state beside the shown text."""
    return tuple(item for item in items if isinstance(item, Mapping) and _holds_state(item))


def _holds_state(item: Mapping[str, Any]) -> bool:
    return any(value for name, value in item.items() if name not in _NAMES)


def carried_reasoning(
    message: ChatMessage, marker: StateMarker | None, origin: Origin
) -> tuple[Mapping[str, Any], ...]:
    """The reasoning items that an assistant message brings back to their own upstream and model.

    Thinking parts hold them within a turn of the user, the stateful marker in later turns.
    """
    for part in reversed(message.content):
        if isinstance(part, ThinkingPart) and part.metadata and part.metadata.get(ORIGIN) == origin.key:
            listed = part.metadata.get(ITEMS)
            if items := usable_items(listed if isinstance(listed, list | tuple) else ()):
                return items
    if marker is not None and marker.origin == origin:
        return usable_items(marker.reasoning)
    return ()


def place_reasoning(content: Sequence[Piece], items: Iterable[Mapping[str, Any]]) -> tuple[Piece, ...]:
    """The pieces of an assistant turn with its reasoning items at their places.

    Reasoning without a following piece is dropped: servers refuse it without the item that it led to. Other items, such
    as an upstream's summary of the conversation, need no following piece.
    """
    placed: list[list[Reasoning]] = [[] for _ in range(len(content) + 1)]
    for item in items:
        wire = {name: value for name, value in item.items() if name != PLACE}
        placed[_index(content, item.get(PLACE))].append(Reasoning(wire))
    result: list[Piece] = []
    for before, piece in zip(placed, content, strict=False):
        result += before
        result.append(piece)
    result += (piece for piece in placed[-1] if piece.item.get("type", _REASONING) not in _LEADING)
    return tuple(result)


def _index(content: Sequence[Piece], place: Any) -> int:
    """The index of the piece before which an item stood; 0 if the item does not tell."""
    if not (isinstance(place, list | tuple) and len(place) == 2 and type(place[0]) is int):
        return 0
    calls, after_text = place
    index = 0
    while calls > 0 and index < len(content):
        calls -= isinstance(content[index], Call)
        index += 1
    while after_text and index < len(content) and isinstance(content[index], Text):
        index += 1
    return index
