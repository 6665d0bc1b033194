"""The way back: gives the parts of an answer the consumer's names, and makes the marker of the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partstream.conversation.places import PLACE, AnswerPlace, follows_text
from partstream.conversation.reasoning import ITEMS, ORIGIN, usable_items
from partstream.conversation.state_marker import StateMarker, marker_part
from partstream.conversation.turns import answer_digest
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, tool_call_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conversation.state_marker import Origin
    from partstream.conversation.turns import ToolNames
    from partstream.lm.parts import DataPart, ResponsePart

__all__ = ["ResponseState"]


class ResponseState:
    """The state that one answer leaves in the conversation; sees every part of the answer, in order.

    Args:
        origin: The upstream and model that answer.
        names: The sent and the given names of tools.
    """

    def __init__(self, origin: Origin, names: ToolNames) -> None:
        self._origin = origin
        self._names = names
        self._texts: list[str] = []
        self._calls: list[ToolCallPart] = []
        self._place = AnswerPlace()
        self._reasoning: list[dict[str, Any]] = []

    def see(self, part: ResponsePart) -> ResponsePart:
        """Takes a part of the answer; returns the part for the consumer."""
        if type(part) is TextPart:
            self._texts.append(part.value)
            self._place.add_text(part.value)
        elif isinstance(part, ToolCallPart):
            part = tool_call_part(part.call_id, self._names.from_upstream(part.name), part.input)
            self._calls.append(part)
            self._place.add_call()
        elif isinstance(part, ThinkingPart) and part.metadata is not None:
            return self._see_thinking(part, part.metadata.get(ITEMS))
        return part

    def _see_thinking(self, part: ThinkingPart, items: Any) -> ThinkingPart:
        if not isinstance(items, list | tuple) or part.metadata is None:
            return part
        place = self._place.value
        self._reasoning += [{**item, PLACE: place} for item in items[len(self._reasoning) :]]
        return replace(part, metadata={**part.metadata, ITEMS: list(self._reasoning), ORIGIN: self._origin.key})

    def marker(self, model_id: str, response_id: str | None, history: Callable[[], str]) -> DataPart | None:
        """The stateful marker of the answer, or None if it would carry no state.

        Args:
            model_id: The host's id of the model.
            response_id: The id of the response if the server was asked to store it, otherwise None.
            history: Returns the digest of the answered messages; called only if needed.
        """
        reasoning = usable_items(self._reasoning)
        if response_id is None and not reasoning:
            return None
        marker = StateMarker(self._origin, response_id, reasoning=reasoning)
        if response_id is not None:
            marker = replace(marker, history=history(), answer=self._answer)
        elif any(map(follows_text, reasoning)):
            marker = replace(marker, answer=self._answer)
        return marker_part(model_id, marker)

    @property
    def _answer(self) -> str:
        """The digest of the answer."""
        parts: list[ResponsePart] = [TextPart("".join(self._texts)), *self._calls]
        return answer_digest(parts)
