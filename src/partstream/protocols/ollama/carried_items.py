"""What goes back to the model of its thinking: the shape of the items that carry it through the conversation.

The items of one answer stand, in order, in the metadata of its thinking
(:data:`partstream.conversation.reasoning.ITEMS`) and come back in requests to the same upstream and model as the pieces
:class:`partstream.conversation.turns.Reasoning`. Each has the form::

    {"type": "message-field", "field": NAME, "text": TEXT}

NAME is `thinking` for the field of the assistant's message that holds thoughts, and `content` for thoughts in tags at
the beginning of the content: the text with its tags, as it came. Nothing is signed (docs/wires/ollama.md#thinking). An
item may continue the one before it, because what was handed out cannot be changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CONTENT", "FIELD", "ITEM_TYPE", "TEXT", "THINKING", "joined_items"]

ITEM_TYPE: Final = "message-field"
"""The type of every item: it belongs to its message, not to the piece that follows, and stays where none does."""
FIELD: Final = "field"
TEXT: Final = "text"
THINKING: Final = "thinking"
CONTENT: Final = "content"


def joined_items(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The texts of the items of one message by field; items of other protocols' forms mean nothing."""
    fields: dict[str, str] = {}
    for item in items:
        name, said = item.get(FIELD), item.get(TEXT)
        if name in (THINKING, CONTENT) and isinstance(said, str):
            fields[name] = fields.get(name, "") + said
    return fields
