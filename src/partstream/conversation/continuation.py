"""Finds the stored response that a request can continue: one that saw exactly the messages before its answer.

A history that was edited, cut or summarised has another digest, so it is sent as a whole. The state cannot differ from
the conversation, because only the conversation holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.conversation.turns import HistoryDigest, Result, answer_digest
from partstream.lm.parts import ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.conversation.state_marker import Origin, StateMarker
    from partstream.conversation.turns import CallIds, Turn
    from partstream.lm.messages import ChatMessage

__all__ = ["find_continuation", "history_digest", "is_answer"]


def history_digest(messages: Iterable[ChatMessage]) -> str:
    """The digest of a whole conversation, for the marker of the answer to it."""
    digest = HistoryDigest()
    for message in messages:
        digest.add(message)
    return digest.value


def find_continuation(
    messages: Sequence[ChatMessage],
    markers: Mapping[int, StateMarker],
    turns: Sequence[Turn],
    origin: Origin,
    ids: CallIds,
) -> tuple[int, str] | None:
    """The last message whose stored response saw exactly the messages before it, and the id of that response; or None.

    Args:
        messages: The conversation.
        markers: Our markers in the conversation, by the number of their message.
        turns: The turns to send.
        origin: The upstream and model of this request.
        ids: The call ids to send.
    """
    usable = {
        number: marker
        for number, marker in markers.items()
        if marker.origin == origin and marker.response_id and is_answer(messages[number], marker)
    }
    found = None
    digest = HistoryDigest()
    for number, message in enumerate(messages):
        marker = usable.get(number)
        if marker is not None and marker.response_id and digest.value == marker.history:
            found = number, marker.response_id
        digest.add(message)
    return found if found is not None and _can_follow(turns, found[0], ids) else None


def is_answer(message: ChatMessage, marker: StateMarker) -> bool:
    """Whether a message still holds exactly the response."""
    if any(isinstance(part, ToolResultPart) for part in message.content):
        return False
    return answer_digest(message.content) == marker.answer


def _can_follow(turns: Sequence[Turn], last: int, ids: CallIds) -> bool:
    """Whether turns follow, and answer calls of the stored part only by ids that the server knows."""
    rest = [turn for turn in turns if turn.message > last]
    results = (piece for turn in rest for piece in turn.content if isinstance(piece, Result))
    return bool(rest) and not any(ids.is_changed(result.call_id) for result in results)
