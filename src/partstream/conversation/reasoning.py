"""Carries reasoning through the conversation: out with the thinking parts, back as items of the same model.

Only the server and model that wrote encrypted reasoning can use it, so it records its origin, and reasoning of another
origin is dropped. Copilot keeps the last metadata of a model call and puts it on the first part of the message, so each
metadata lists all items so far, and each item records its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.places import PLACE, Spot, split_text, spot_of
from partstream.conversation.turns import Reasoning, Text
from partstream.lm.parts import ThinkingPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from partstream.conversation.state_marker import Origin, StateMarker
    from partstream.conversation.turns import Piece
    from partstream.lm.messages import ChatMessage

__all__ = ["ITEMS", "MOST_ITEMS", "ORIGIN", "carried_reasoning", "place_reasoning", "usable_items"]

ITEMS: Final = "reasoning_items"
"""The metadata field of thinking that lists the items of the answer."""
MOST_ITEMS: Final = 1000
"""The most items of one answer: each metadata lists all before it, so that twice as many take four times the space."""
ORIGIN: Final = "origin"
"""The metadata field that names the origin of the items."""
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


def place_reasoning(
    content: Sequence[Piece], items: Iterable[Mapping[str, Any]], may_end: Callable[[Mapping[str, Any]], bool]
) -> tuple[Piece, ...]:
    """The pieces of an assistant turn with its items at their places; a text is split where an item stood inside it.

    Args:
        content: The pieces.
        items: The items, each with its place.
        may_end: Whether an item may stand behind the last piece, see
            :attr:`partstream.conversation.preparation.ConversationRules.may_end`. One that may not is dropped there.
    """
    placed: dict[Spot, list[Mapping[str, Any]]] = {}
    for item in items:
        placed.setdefault(spot_of(content, item), []).append(item)
    result: list[Piece] = []
    for index, piece in enumerate(content):
        rest = piece
        done = 0
        for spot in sorted(spot for spot in placed if spot.index == index):
            if spot.characters and isinstance(rest, Text):
                before, rest = split_text(rest, spot.characters - done)
                done = spot.characters
                result.append(before)
            result += map(_piece, placed[spot])
        result.append(rest)
    result += (_piece(item) for item in placed.get(Spot(len(content)), ()) if may_end(item))
    return tuple(result)


def _piece(item: Mapping[str, Any]) -> Reasoning:
    return Reasoning({name: value for name, value in item.items() if name != PLACE})
