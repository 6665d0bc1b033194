"""One answer of an agent as messages: what VS Code knows of it, and what the agent did besides, in their order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.texts import joined_texts
from partstream.conversation.turns import Call, Reasoning, Text
from partstream.protocols.ag_ui.provider_state import (
    CALL,
    ENCRYPTED,
    ENTITY,
    INTERRUPTED,
    ITEM_TYPE,
    MESSAGE,
    PARENT,
    TOOL_CALL_ID,
)
from partstream.protocols.options import call_arguments
from partstream.protocols.read_response import identifier, mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["NOT_RUN", "Answer"]

NOT_RUN: Final = "The result of this call is not known. Call the tool again if it is needed."
"""The result of a call of the agent's own that has none in the conversation: servers refuse a call without a result."""

_Wire = dict[str, Any]


@dataclass(slots=True)
class _Step:
    """What the agent's model says in one go, and the results of its calls.

    Attributes:
        parent: The agent's id of the message, as far as a call names it.
        thoughts: The messages of reasoning before it.
        texts: What it says, in runs that something stands between.
        calls: Its calls, by their ids.
        results: The fields of their results, by the ids of the calls.
    """

    parent: str | None = None
    thoughts: list[_Wire] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: dict[str, _Wire] = field(default_factory=dict)
    results: dict[str, _Wire] = field(default_factory=dict)

    @property
    def is_begun(self) -> bool:
        return bool(self.texts or self.calls)


class Answer:
    """One answer of the conversation.

    Args:
        before: The answers before it: an agent may give the result of a call that it made before it asked a person.

    Attributes:
        asked: What the run waits for at its end, or None.
    """

    def __init__(self, before: Sequence[Answer]) -> None:
        self.asked: Mapping[str, Any] | None = None
        self._before = before
        self._steps = [_Step()]
        self._of_calls: dict[str, Mapping[str, Any]] = {}  # what items say of calls that VS Code knows
        self._goes_on = False  # whether the next text continues the last one

    def add(self, piece: Text | Call | Reasoning) -> None:
        """Takes the next piece."""
        match piece:
            case Text():
                self._text(piece.value)
            case Call():
                self._goes_on = False
                self._call(piece)
            case Reasoning(item) if item.get("type") == ITEM_TYPE:
                self._item(item)

    def give(self, call_id: str, result: _Wire) -> bool:
        """Gives a call its result; returns whether the call is one of this answer."""
        step = next((one for one in self._steps if call_id in one.calls), None)
        if step is not None:
            step.results[call_id] = result
        return step is not None

    def has_result(self, call_id: str) -> bool:
        """Whether a call of this answer has its result."""
        return any(call_id in one.results for one in self._steps)

    def waits_for(self, call_id: str) -> bool:
        """Whether a call of this answer still lacks its result."""
        return any(call_id in one.calls and call_id not in one.results for one in self._steps)

    def messages(self, waits: Collection[str | None]) -> list[_Wire]:
        """The messages.

        Args:
            waits: The calls that wait for a reply which the same request brings: they have no result yet.
        """
        said: list[_Wire] = []
        for step in self._steps:
            said += step.thoughts
            if step.is_begun:
                text = joined_texts(step.texts)
                message: _Wire = {"role": "assistant"} | ({"content": text} if text or not step.calls else {})
                said.append(message | ({"toolCalls": list(step.calls.values())} if step.calls else {}))
            for call_id in step.calls:
                result = step.results.get(call_id)
                if result is None and call_id not in waits:
                    result = {"content": NOT_RUN}
                if result is not None:
                    said.append({"role": "tool", "toolCallId": call_id, **result})
        return said

    def _text(self, value: str) -> None:
        if not value:  # the end of a turn
            self._goes_on = False
            return
        step = self._steps[-1]
        if step.calls and step.results:
            step = self._next()
            value = value.lstrip("\n")  # which parts it, for people, from what was said before the calls
        if self._goes_on and step.texts:
            step.texts[-1] += value
        else:
            step.texts.append(value)
        self._goes_on = True

    def _call(self, call: Call) -> None:
        said = self._of_calls.get(call.call_id, {})
        wire = _function(call.call_id, call.name, call_arguments(call).decode())
        if encrypted := identifier(said, ENCRYPTED):
            wire[ENCRYPTED] = encrypted
        self._place_call(call.call_id, wire, identifier(said, PARENT))

    def _place_call(self, call_id: str, wire: _Wire, parent: str | None) -> None:
        """Puts a call into the step in which the model made it."""
        step = next((one for one in self._steps if parent is not None and one.parent == parent), None)
        if step is None:
            step = self._steps[-1]
            if step.results or (parent is not None and step.parent not in (None, parent)):
                step = self._next()
            step.parent = step.parent or parent
        step.calls[call_id] = wire

    def _next(self) -> _Step:
        self._steps.append(_Step())
        return self._steps[-1]

    # What the agent did besides

    def _item(self, item: Mapping[str, Any]) -> None:
        for name, read in _ITEMS.items():
            if name in item:
                read(self, item)
                return

    def _carried_message(self, item: Mapping[str, Any]) -> None:
        message = mapping(item, MESSAGE)
        if message.get("role") == "reasoning":
            step = self._steps[-1]
            # What is thought between two calls of a batch stands before it: nothing parts a call from its result.
            if step.is_begun and not (step.calls and not step.results):
                step = self._next()
            step.thoughts.append(dict(message))
            return
        call_id = identifier(message, TOOL_CALL_ID) or ""
        result = {name: value for name, value in message.items() if name not in {"role", TOOL_CALL_ID}}
        if not self.give(call_id, result):
            any(one.give(call_id, result) for one in self._before)

    def _inner_call(self, item: Mapping[str, Any]) -> None:
        call = mapping(item, CALL)
        call_id = identifier(call, "id")
        # A run that goes on after a question may say its call again: it is the one that waited for the answer.
        if call_id is not None and not any(one.waits_for(call_id) for one in self._before):
            wire = _function(call_id, str(call.get("name", "")), str(call.get("arguments", "{}")))
            if encrypted := identifier(call, ENCRYPTED):
                wire[ENCRYPTED] = encrypted
            self._place_call(call_id, wire, identifier(item, PARENT))

    def _late_value(self, item: Mapping[str, Any]) -> None:
        entity, value = identifier(item, ENTITY), identifier(item, ENCRYPTED)
        for step in self._steps:
            for message in (*step.thoughts, *step.results.values()):
                if value is not None and message.get("id") == entity:
                    message[ENCRYPTED] = value

    def _waits(self, item: Mapping[str, Any]) -> None:
        self.asked = mapping(item, INTERRUPTED)

    def _outer_call(self, item: Mapping[str, Any]) -> None:
        self._of_calls[str(item[TOOL_CALL_ID])] = item


_ITEMS: Final[dict[str, Callable[[Answer, Mapping[str, Any]], None]]] = {
    MESSAGE: Answer._carried_message,  # noqa: SLF001 - the table of the class
    CALL: Answer._inner_call,  # noqa: SLF001
    ENTITY: Answer._late_value,  # noqa: SLF001
    INTERRUPTED: Answer._waits,  # noqa: SLF001
    TOOL_CALL_ID: Answer._outer_call,  # noqa: SLF001
}
"""The field that tells an item's form, in the order in which they are looked for."""


def _function(call_id: str, name: str, arguments: str) -> _Wire:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
