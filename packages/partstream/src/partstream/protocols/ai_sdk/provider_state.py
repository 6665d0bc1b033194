"""The state that a provider wants back in the next request: signed reasoning, and marks on tool calls.

It is kept in the conversation alone, in the metadata of thinking parts. Copilot keeps only the last metadata of a model
call, so each lists all items before it as well, as `reasoning_items`: `{"type": "reasoning", "text",
"providerOptions"}` for a whole block of reasoning, the same with the type `text` for the summary of a compacted
conversation, which its provider knows by the options, and `{"type": "tool-call", "toolCallId", "providerOptions"}` for
a call with a signature of its own (Gemini). In the next request they are reasoning parts and options of tool calls.

A client of the SDK gives back the metadata beside a response (`providerMetadata`) as `providerOptions` of the next
request: metadata of the SDK's own providers under their names. State of other protocols is wrapped, as the options of a
provider named `partstream`: an item of another protocol as `item`, the fields beside the items as `metadata`, the id of
a thought that has no other place as `id`.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import is_json
from partstream.conversation.preparation import ConversationRules
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS
from partstream.conversation.turns import Call, Piece, Reasoning
from partstream.lm.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import ThinkingPart

if TYPE_CHECKING:
    from partstream.protocols.ai_sdk.errors import Chunk

GATEWAY: Final = "gateway"
"""The gateway's own metadata: the origin of the whole response (its generation id and the like), wherever it is. The
next request does not need it; some clients give it back."""


class CarriedItems:
    """The items of one response, in order.

    Args:
        mode: What becomes of reasoning; only thinking parts can carry anything.

    Attributes:
        wanted: Whether items can be carried at all.
    """

    def __init__(self, mode: ThinkingMode) -> None:
        self.wanted = mode is ThinkingMode.PART
        self._items: list[dict[str, Any]] = []

    @property
    def length(self) -> int:
        """The number of items."""
        return len(self._items)

    def shorten(self, length: int) -> None:
        """Forgets all but the first `length` items."""
        del self._items[length:]

    def add(self, item: dict[str, Any], options: Chunk, part_id: str | None = None) -> list[StreamOutput]:
        """The part that carries an item, if its provider attached state to it; the one of a call precedes the call."""
        options = {name: value for name, value in options.items() if name != GATEWAY and value}
        if not (self.wanted and options and is_json(options)):
            return []
        item = {**item, "providerOptions": options}
        if len(self._items) >= MOST_ITEMS:
            return [Unmapped(f"{item['type']} (more than {MOST_ITEMS} items of one answer)", item)]
        self._items.append(item)
        return [ThinkingPart("", part_id, {ITEMS: list(self._items)})]


# ---- Sending state back ----

REASONING: Final = "reasoning"
SUMMARY: Final = "text"
TOOL_CALL: Final = "tool-call"

# Reasoning and the marks of a call belong to later content; a summary may be the last item.
RULES: Final = ConversationRules(may_end=lambda item: item.get("type", REASONING) not in {REASONING, TOOL_CALL})


def is_own_part(item: Mapping[str, Any]) -> bool:
    """Tells whether an item is a message part of its own."""
    return item.get("type") in {REASONING, SUMMARY} and isinstance(item.get("text"), str)


def options_by_call(content: Sequence[Piece]) -> dict[str, Mapping[str, Any]]:
    """The provider options of the calls of a message, by the id that is sent.

    The id of an item is that of the upstream. One that had to be changed on the way (too long, used twice) names no
    call any more: then the next call after the item is meant, which had this place in the answer.
    """
    ids = {piece.call_id for piece in content if isinstance(piece, Call)}
    found: dict[str, Mapping[str, Any]] = {}
    for index, piece in enumerate(content):
        if not isinstance(piece, Reasoning) or piece.item.get("type") != TOOL_CALL:
            continue
        options, call_id = piece.item.get("providerOptions"), piece.item.get("toolCallId")
        meant = (
            call_id
            if call_id in ids
            else next((piece.call_id for piece in content[index:] if isinstance(piece, Call)), None)
        )
        if isinstance(options, Mapping) and meant is not None:
            found.setdefault(str(meant), options)
    return found


# ---- State of other protocols ----

PROVIDER: Final = "partstream"


def wrap(
    item: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None, thought_id: str | None = None
) -> dict[str, Any]:
    """The options that carry it; empty if there is nothing to carry."""
    said = {
        **({} if item is None else {"item": dict(item)}),
        **({"metadata": dict(metadata)} if metadata else {}),
        **({} if thought_id is None else {"id": thought_id}),
    }
    return {PROVIDER: said} if said else {}


def unwrap(
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], Mapping[str, Any] | None, Mapping[str, Any], str | None]:
    """The other options, and what :func:`wrap` took: an item or None, the fields beside the items, an id or None.

    A value of another form is not ours and stays among the options.
    """
    others, wrapped = dict(options), options.get(PROVIDER)
    if isinstance(wrapped, Mapping) and wrapped.keys() <= {"item", "metadata", "id"}:
        item, metadata, thought_id = wrapped.get("item"), wrapped.get("metadata", {}), wrapped.get("id")
        if isinstance(item, Mapping | None) and isinstance(metadata, Mapping) and isinstance(thought_id, str | None):
            del others[PROVIDER]
            return others, item, metadata, thought_id
    return others, None, {}, None
