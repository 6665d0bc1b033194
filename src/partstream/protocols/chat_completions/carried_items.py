"""What a server wants back of its answer: the shape of the items that carry it through the conversation.

Reasoning goes back in the field in which it came: some servers refuse the wrong field, others a missing one
(docs/wires/chat-completions.md#sending-reasoning-back). So each item names the field. The items of one answer are, in
order, in the metadata of its thinking (:data:`partstream.conversation.reasoning.ITEMS`) and come back in requests to
the same upstream and model as :class:`partstream.conversation.turns.Reasoning`. They have `"type": "message-field"` and
one of these forms::

    {"field": NAME, "text": TEXT}              a text field of the assistant's message, such as `reasoning_content`,
                                               `reasoning`, `reasoning_text` or Copilot's `reasoning_opaque`; the text
                                               may be empty. NAME is `content` for thinking that stood in tags at the
                                               beginning of the content: the text with its tags, as it came
    {"reasoning_details": [ENTRY, ...]}        the entries of OpenRouter and MiniMax, merged, in order
    {"thinking_blocks": [BLOCK, ...]}          LiteLLM's signed blocks, merged, in order
    {"content_parts": [PART, ...]}             Mistral's parts of the type `thinking`, which stand before the text
    {"toolCallId": ID, "extra_content": {}}    Gemini's signature of the call with this id, as the server knows it
    {"extra_content": {}}                      the same of the message

An item may continue the one before it: an answer goes on after its first thinking was handed out, and what was handed
out cannot be changed. :func:`joined_items` joins them to what one message holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.chat_completions.reasoning_details import merge_blocks, merge_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "CONTENT",
    "CONTENT_PARTS",
    "EXTRA_CONTENT",
    "FIELD",
    "ITEM_TYPE",
    "REASONING_DETAILS",
    "THINKING_BLOCKS",
    "TOOL_CALL_ID",
    "CarriedMessage",
    "joined_items",
]

ITEM_TYPE: Final = "message-field"
"""The type of every item: it belongs to its message, not to the piece that follows, and stays where none does."""
FIELD: Final = "field"
REASONING_DETAILS: Final = "reasoning_details"
THINKING_BLOCKS: Final = "thinking_blocks"
CONTENT_PARTS: Final = "content_parts"
EXTRA_CONTENT: Final = "extra_content"
TOOL_CALL_ID: Final = "toolCallId"
CONTENT: Final = "content"
"""The field of thinking in tags."""


@dataclass(frozen=True, slots=True)
class CarriedMessage:
    """What one message of the assistant takes back.

    Attributes:
        fields: The texts by the names of their fields; `content` is what stands before the message's own text.
        details: The list for `reasoning_details`, whole and in order; empty where there is none.
        blocks: The list for `thinking_blocks`.
        parts: The parts that stand before the content.
        extra: The object for `extra_content` of the message.
        extra_of_calls: The object for `extra_content` of each call, by the server's id of the call.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    details: tuple[Mapping[str, Any], ...] = ()
    blocks: tuple[Mapping[str, Any], ...] = ()
    parts: tuple[Mapping[str, Any], ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    extra_of_calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def joined_items(items: Iterable[Mapping[str, Any]]) -> CarriedMessage:
    """What the items of one message mean together; items of other protocols' forms mean nothing."""
    fields: dict[str, str] = {}
    lists: dict[str, list[Any]] = {REASONING_DETAILS: [], THINKING_BLOCKS: [], CONTENT_PARTS: []}
    extra: dict[str, Any] = {}
    extra_of_calls: dict[str, Mapping[str, Any]] = {}
    for item in items:
        name, said, added = item.get(FIELD), item.get("text"), item.get(EXTRA_CONTENT)
        if isinstance(name, str) and isinstance(said, str):
            fields[name] = fields.get(name, "") + said
        for kind, entries in lists.items():
            listed = item.get(kind)
            if isinstance(listed, list | tuple):
                entries.extend(one for one in listed if isinstance(one, dict))
        if isinstance(added, dict):
            call_id = item.get(TOOL_CALL_ID)
            if isinstance(call_id, str):
                extra_of_calls[call_id] = added
            else:
                extra |= added
    return CarriedMessage(
        fields,
        tuple(merge_details(lists[REASONING_DETAILS])),
        tuple(merge_blocks(lists[THINKING_BLOCKS])),
        tuple(lists[CONTENT_PARTS]),
        extra,
        extra_of_calls,
    )
