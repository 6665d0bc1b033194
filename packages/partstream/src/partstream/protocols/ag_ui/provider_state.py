"""What goes back to an agent of its own run: the shape of the items that carry it through the conversation.

An agent of this wire remembers nothing by itself: the next request brings its whole run again
(docs/wires/ai-sdk.md#ag-ui-memory). VS Code knows only the text and the calls that it has to run. The rest goes out in
the metadata of thinking (:data:`partstream.conversation.provider_state.ITEMS`), and comes back in requests to the same
agent as the pieces :class:`partstream.conversation.turns.Reasoning`. Every item has one of these forms::

    {"type": "ag-ui", "message": {"role": "reasoning" | "tool", "id", "content", ...}}    a message of the run
    {"type": "ag-ui", "call": {"id", "name", "arguments"}, "parent": ID}     a call that the agent has run itself
    {"type": "ag-ui", "toolCallId": ID, "parent": ID, "encryptedValue": TEXT}      what belongs to a call of VS Code's
    {"type": "ag-ui", "entity": ID, "encryptedValue": TEXT}                  what belongs to a message before
    {"type": "ag-ui", "toolCallId": "", "interrupted": {"threadId", "interrupts": [...]}}    what the run waits for

A call that waits for a person has the field `toolCallId` beside `call`: it is no call of VS Code's.
`parent` is the message in which the agent's model made a call: those of one message go back in one message. The field
`toolCallId` keeps an item in a marker that is too small for all, see :mod:`partstream.conversation.provider_state`.
"""

from __future__ import annotations
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from partstream.conversation.provider_state import ITEMS
from partstream.conversation.turns import canonical_json
from partstream.lm.outputs import StreamOptions, StreamOutput, ThinkingMode
from partstream.lm.parts import thinking_part

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


class Carrying:
    """The items of one run. An item goes out before the text after it: its place is where it goes out.

    Attributes:
        has_new: Whether items have come that did not go out.
    """

    __slots__ = ("_items", "_left", "_wanted", "has_new")

    def __init__(self, options: StreamOptions) -> None:
        self._left = MOST_CARRIED  # characters
        self._wanted = options.thinking is ThinkingMode.PART
        self._items: list[dict[str, Any]] = []
        self.has_new = False

    def cut(self, text: str) -> str:
        """The text, as far as it may be carried; one that is cut says so."""
        most = min(_MOST_OF_ONE, self._left // 2)
        if len(text) > most:
            text = f"{text[:most]} […{len(text) - most:,} more characters were cut]"
        self._left = max(0, self._left - len(text))
        return text

    def add(self, fields: Mapping[str, Any]) -> None:
        """Takes the next item; fields of the value None are left out."""
        if self._wanted:
            known = {name: value for name, value in fields.items() if value is not None}
            self._items.append({"type": ITEM_TYPE, **known})
            self.has_new = True

    def emit(self, outputs: list[StreamOutput]) -> None:
        """Emits all items so far, if new ones have come."""
        if self.has_new:
            self.has_new = False
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))


# ---- Ids of messages: the agent's own, else a digest of the conversation up to the message ----
# A message has the same id in every request with the same conversation, so that agents which keep messages by their
# ids know those that they have.

_SIZE: Final = 12


def with_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, each with an id as its first field."""
    digest = blake2b(digest_size=_SIZE)
    named = []
    for message in messages:
        digest.update(canonical_json(message))
        fields = {name: value for name, value in message.items() if name != "id"}
        named.append({"id": message.get("id") or f"msg_{digest.copy().hexdigest()}", **fields})
    return named


def digest_of(*values: object) -> str:
    """A text that is the same for the same values."""
    return blake2b(canonical_json({"values": list(values)}), digest_size=_SIZE).hexdigest()
