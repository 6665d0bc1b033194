"""What goes back to an agent of its own run: the shape of the items that carry it through the conversation.

An agent of this wire remembers nothing by itself: the next request brings its whole run again
(docs/wires/ai-sdk.md#ag-ui-memory). VS Code knows only the text and the calls that it has to run. The rest goes out in
the metadata of thinking (:data:`partstream.conversation.reasoning.ITEMS`), and comes back in requests to the same agent
as the pieces :class:`partstream.conversation.turns.Reasoning`. Every item has one of these forms::

    {"type": "ag-ui", "message": {"role": "reasoning" | "tool", "id", "content", ...}}    a message of the run
    {"type": "ag-ui", "call": {"id", "name", "arguments"}, "parent": ID}     a call that the agent has run itself
    {"type": "ag-ui", "toolCallId": ID, "parent": ID, "encryptedValue": TEXT}      what belongs to a call of VS Code's
    {"type": "ag-ui", "entity": ID, "encryptedValue": TEXT}                  what belongs to a message before
    {"type": "ag-ui", "toolCallId": "", "interrupted": {"threadId", "interrupts": [...]}}    what the run waits for

A call that waits for a person has the field `toolCallId` beside `call`: it is no call of VS Code's.
`parent` is the message in which the agent's model made a call: those of one message go back in one message. The field
`toolCallId` keeps an item in a marker that is too small for all, see :mod:`partstream.conversation.state_marker`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CALL",
    "ENCRYPTED",
    "ENTITY",
    "INTERRUPTED",
    "ITEM_TYPE",
    "MESSAGE",
    "MOST_CARRIED",
    "PARENT",
    "TOOL_CALL_ID",
    "StateBudget",
    "item_of",
]

ITEM_TYPE: Final = "ag-ui"
MESSAGE: Final = "message"
CALL: Final = "call"
PARENT: Final = "parent"
ENTITY: Final = "entity"
TOOL_CALL_ID: Final = "toolCallId"
ENCRYPTED: Final = "encryptedValue"
INTERRUPTED: Final = "interrupted"

MOST_CARRIED: Final = 36_000
"""The most characters of all results and thoughts of one run that go back: a marker holds 65,536 in base64."""
_MOST_OF_ONE: Final = 8_000


class StateBudget:
    """How many characters of one run may still be carried: a longer text is cut, and says so."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MOST_CARRIED

    def take(self, text: str) -> str:
        """The text, as far as it may be carried."""
        most = min(_MOST_OF_ONE, self._left // 2)
        if len(text) > most:
            text = f"{text[:most]} […{len(text) - most:,} more characters were cut]"
        self._left = max(0, self._left - len(text))
        return text


def item_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """An item of ours; fields of the value None are left out."""
    return {"type": ITEM_TYPE, **{name: value for name, value in fields.items() if value is not None}}
