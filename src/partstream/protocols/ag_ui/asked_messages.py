"""Reads the messages of a request: a conversation as an application keeps it.

What the application keeps for itself, its activity messages, is counted. The context of a request is what the agent
should know beside the conversation, so it is a system message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage
from partstream.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.ag_ui.asked_content import read_content
from partstream.protocols.read_request import (
    AskedMessages,
    checked,
    described,
    messages_by_role,
    object_in_text,
    optional_text,
    required_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import MessagePart
    from partstream.protocols.read_request import Counts

__all__ = ["read_context", "read_messages"]

_FIELDS: Final = frozenset(
    {"id", "role", "content", "name", "toolCalls", "toolCallId", "error", "metadata", "encryptedValue", "subagentRunId"}
)


def read_context(value: object) -> ChatMessage | None:
    """The context of a request as a system message; None without any.

    Raises:
        InvalidRequestError: It has the wrong form.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        raise InvalidRequestError("context", described(value), "a list of entries")
    lines = []
    for place, entry in enumerate(value):
        where = f"context[{place}]"
        if not isinstance(entry, dict):
            raise InvalidRequestError(where, described(entry), "an object")
        description, said = optional_text(entry, "description", where), optional_text(entry, "value", where)
        lines.append(f"{description}:\n{said}" if description else said)
    return ChatMessage.system("\n\n".join(lines)) if any(lines) else None


def read_messages(value: object, counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    reader = _Reader(counts)
    for role, message, where in messages_by_role(value, _READERS):
        for name, given in message.items():
            if given and name not in _FIELDS:
                counts.add(f"messages[].{name}")
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: Counts) -> None:
        self.messages = AskedMessages()
        self._counts = counts

    def _system(self, message: Mapping[str, Any], where: str) -> None:
        self.messages.add(ChatMessage.system(optional_text(message, "content", where)))

    def _user(self, message: Mapping[str, Any], where: str) -> None:
        content = read_content(message.get("content"), f"{where}.content", self._counts)
        self.messages.add(ChatMessage.user(content, optional_text(message, "name", where) or None))

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        text = optional_text(message, "content", where)
        listed = checked(message, "toolCalls", list, "a list of calls", where) or []
        calls = [_call(call, f"{where}.toolCalls[{place}]") for place, call in enumerate(listed)]
        parts: list[MessagePart] = [*([TextPart(text)] if text else []), *calls]
        if parts:
            self.messages.add(ChatMessage.assistant(parts, optional_text(message, "name", where) or None))

    def _reasoning(self, message: Mapping[str, Any], where: str) -> None:
        if text := optional_text(message, "content", where):
            thought = ThinkingPart(text, optional_text(message, "id", where) or None)
            self.messages.add(ChatMessage.assistant([thought]))

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        call_id = required_text(message, "toolCallId", where)
        content = read_content(message.get("content"), f"{where}.content", self._counts)
        error = optional_text(message, "error", where)
        if error and not content:
            content = (TextPart(error),)
        self.messages.add_result(ToolResultPart(call_id, content, is_error=bool(error)))

    def _activity(self, _message: Mapping[str, Any], _where: str) -> None:
        self._counts.add("messages[].activity")


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._system,  # noqa: SLF001 - the table of the class
    "developer": _Reader._system,  # noqa: SLF001
    "user": _Reader._user,  # noqa: SLF001
    "assistant": _Reader._assistant,  # noqa: SLF001
    "reasoning": _Reader._reasoning,  # noqa: SLF001
    "tool": _Reader._tool,  # noqa: SLF001
    "activity": _Reader._activity,  # noqa: SLF001
}


def _call(call: object, where: str) -> ToolCallPart:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        raise InvalidRequestError(f"{where}.function", described(function), "an object with a name")
    at = f"{where}.function"
    call_id, name = required_text(call, "id", where), required_text(function, "name", at)
    return ToolCallPart(call_id, name, object_in_text(function, "arguments", at))
