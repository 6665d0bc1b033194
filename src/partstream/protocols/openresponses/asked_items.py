"""Reads the input items of a request into messages.

Neighbouring items of the model are one message, as its answer was, and neighbouring results of tools are one message of
the user. Opaque state of reasoning goes where :mod:`partstream.conversation.reasoning` looks for it.

Source: OpenResponses specification 2026-04-24, `ItemParam`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.places import PLACE, AnswerPlace
from partstream.conversation.reasoning import ITEMS
from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart, ToolCallPart, ToolResultPart, thinking_part
from partstream.protocols.openresponses.asked_content import read_content
from partstream.protocols.provider_state import open_state
from partstream.protocols.read_request import described, object_in_text, optional_text, required_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import MessagePart
    from partstream.protocols.read_request import Counts

__all__ = ["read_items"]


def read_items(value: object, counts: Counts) -> list[ChatMessage]:
    """The messages that the `input` of a request holds; a string is one message of the user.

    Raises:
        InvalidRequestError: An item that a model would have to read has the wrong form.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return [ChatMessage.user(value)]
    if not isinstance(value, list):
        raise InvalidRequestError("input", described(value), "a string or a list of items")
    reader = _Reader(counts)
    for place, item in enumerate(value):
        reader.read(item, f"input[{place}]")
    return reader.end()


_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._messages: list[ChatMessage] = []
        self._answer = _Answer()
        self._results: list[MessagePart] = []

    def read(self, item: object, where: str) -> None:
        if not isinstance(item, dict):
            raise InvalidRequestError(where, described(item), "an object")
        # The specification's own example leaves out the type of a message.
        kind = item.get("type") or ("message" if "role" in item else None)
        if not isinstance(kind, str):
            raise InvalidRequestError(f"{where}.type", described(kind), "a string")
        reader = _READERS.get(kind)
        if reader is None:
            self._counts.add(f"input[].{kind}")
        else:
            reader(self, item, where)

    def end(self) -> list[ChatMessage]:
        self._close()
        return self._messages

    def _message(self, item: Mapping[str, Any], where: str) -> None:
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise InvalidRequestError(f"{where}.role", described(role), f"one of {', '.join(_ROLES)}")
        content = read_content(item.get("content"), f"{where}.content", self._counts)
        if _ROLES[role] is Role.ASSISTANT:
            self._close_results()
            if self._answer.ends_with_text:
                self._close()
            self._answer.say(content)
        else:
            self._close()
            self._messages.append(ChatMessage(_ROLES[role], content))

    def _call(self, item: Mapping[str, Any], where: str) -> None:
        self._close_results()
        call_id, name = required_text(item, "call_id", where), required_text(item, "name", where)
        self._answer.call(ToolCallPart(call_id, name, object_in_text(item, "arguments", where)))

    def _output(self, item: Mapping[str, Any], where: str) -> None:
        self._close_answer()
        content = read_content(item.get("output"), f"{where}.output", self._counts)
        self._results.append(ToolResultPart(required_text(item, "call_id", where), content))

    def _reasoning(self, item: Mapping[str, Any], where: str) -> None:
        self._close_results()
        shown = [
            part
            for name in ("summary", "content")
            if item.get(name) is not None
            for part in read_content(item[name], f"{where}.{name}", self._counts)
        ]
        state = _state(item, where)
        self._answer.think("".join(part.value for part in shown if isinstance(part, TextPart)), state.get("id"), state)

    def _compaction(self, item: Mapping[str, Any], where: str) -> None:
        """A summary of the conversation that only its server can read; it is carried like reasoning."""
        self._close_results()
        self._answer.think("", None, {"type": item["type"], **_state(item, where)})

    def _close(self) -> None:
        self._close_answer()
        self._close_results()

    def _close_answer(self) -> None:
        if self._answer.parts:
            self._messages.append(ChatMessage.assistant(self._answer.parts))
            self._answer = _Answer()

    def _close_results(self) -> None:
        if self._results:
            self._messages.append(ChatMessage.user(self._results))
            self._results = []


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "message": _Reader._message,  # noqa: SLF001 - the table of the class
    "function_call": _Reader._call,  # noqa: SLF001
    "function_call_output": _Reader._output,  # noqa: SLF001
    "reasoning": _Reader._reasoning,  # noqa: SLF001
    "compaction": _Reader._compaction,  # noqa: SLF001
}


class _Answer:
    """One message of the model so far.

    Attributes:
        parts: What it says.
        ends_with_text: Whether a message was its last item.
    """

    def __init__(self) -> None:
        self.parts: list[MessagePart] = []
        self.ends_with_text = False
        self._place = AnswerPlace()
        self._items: list[dict[str, Any]] = []

    def say(self, content: tuple[MessagePart, ...]) -> None:
        self.parts += content
        self.ends_with_text = True
        self._place.add_text("".join(part.value for part in content if isinstance(part, TextPart)))

    def call(self, call: ToolCallPart) -> None:
        self.parts.append(call)
        self.ends_with_text = False
        self._place.add_call()

    def think(self, shown: str, part_id: str | None, state: dict[str, str]) -> None:
        """Adds an item with opaque state; the metadata of its part lists all items so far, each with its place."""
        item: Mapping[str, Any] | None = state
        beside: Mapping[str, Any] = {}
        sealed = open_state(state.get("encrypted_content", ""))
        if sealed is not None:
            item, beside = sealed
        if item is not None:
            self._items.append({**item, PLACE: self._place.value})
            own = item if item.keys() <= _OWN else {}
            beside = {**own, **beside, ITEMS: list(self._items)}
        self.parts.append(thinking_part(shown, part_id, beside))
        self.ends_with_text = False


_OWN: Final = frozenset({"id", "encrypted_content"})
"""The fields of reasoning that the metadata of its part says beside the list."""


def _state(item: Mapping[str, Any], where: str) -> dict[str, str]:
    return {name: value for name in ("id", "encrypted_content") if (value := optional_text(item, name, where))}
