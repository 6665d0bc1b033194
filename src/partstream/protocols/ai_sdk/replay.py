"""Sends provider metadata of an answer back: as reasoning parts and as options of tool calls.

The readers of this folder list it as `reasoning_items` in the metadata of thinking parts:
`{"type": "reasoning", "text", "providerOptions"}` for a block of reasoning, whole, the same with the type `text` for
the summary of a compacted conversation, which its provider knows by the options, and
`{"type": "tool-call", "toolCallId", "providerOptions"}` for a call that carries a signature of its own (Gemini).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.rules import ConversationRules
from partstream.conversation.turns import Call, Reasoning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.conversation.turns import Piece

__all__ = ["REASONING", "RULES", "SUMMARY", "TOOL_CALL", "is_own_part", "options_by_call"]

REASONING: Final = "reasoning"
SUMMARY: Final = "text"
TOOL_CALL: Final = "tool-call"


def _may_end(item: Mapping[str, Any]) -> bool:
    """Reasoning and the marks of a call lead to what follows; a summary stands for itself."""
    return item.get("type", REASONING) not in {REASONING, TOOL_CALL}


RULES: Final = ConversationRules(may_end=_may_end)


def is_own_part(item: Mapping[str, Any]) -> bool:
    """Tells whether an item is a message part of its own."""
    return item.get("type") in {REASONING, SUMMARY} and isinstance(item.get("text"), str)


def options_by_call(content: Sequence[Piece]) -> dict[str, Mapping[str, Any]]:
    """The provider options of the calls of a message, by the id that is sent.

    The id of an item is that of the upstream. One that had to be changed on the way (too long, used twice) names no
    call any more: then the next call behind the item is meant, which is where it stood in the answer.
    """
    ids = {piece.call_id for piece in content if isinstance(piece, Call)}
    found: dict[str, Mapping[str, Any]] = {}
    for index, piece in enumerate(content):
        if not isinstance(piece, Reasoning) or piece.item.get("type") != TOOL_CALL:
            continue
        options, call_id = piece.item.get("providerOptions"), piece.item.get("toolCallId")
        meant = call_id if call_id in ids else _next_call(content[index:])
        if isinstance(options, Mapping) and meant is not None:
            found.setdefault(str(meant), options)
    return found


def _next_call(content: Iterable[Piece]) -> str | None:
    return next((piece.call_id for piece in content if isinstance(piece, Call)), None)
