"""Reads the messages of a request (docs/wires/ollama.md#requests).

Neighbouring results of tools are one message of the user, as VS Code has them. Clients of old servers send calls and
results without ids: a result belongs to the first open call of its tool then, else to the first open call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.read_request import (
    AskedMessages,
    checked,
    described,
    messages_by_role,
    optional_text,
    read_bytes,
    required_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import DataPart, MessagePart
    from partstream.protocols.read_request import Counts

__all__ = ["read_messages"]


def read_messages(value: object, counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation that the `messages` of a request hold; none for a request that loads a model.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    if value is None:
        return ()
    reader = _Reader()
    for role, message, where in messages_by_role(value, _READERS):
        for name, field in message.items():
            if field and name not in _FIELDS:
                counts.add(f"messages[].{name}")
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self) -> None:
        self.messages = AskedMessages()
        self._open: list[ToolCallPart] = []
        self._calls = 0

    def _system(self, message: Mapping[str, Any], where: str) -> None:
        self._add(Role.SYSTEM, _content(message, where))

    def _user(self, message: Mapping[str, Any], where: str) -> None:
        self._add(Role.USER, _content(message, where))

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        thought = optional_text(message, "thinking", where)
        listed = checked(message, "tool_calls", list, "a list of calls", where) or []
        calls = [self._call(call, f"{where}.tool_calls[{place}]") for place, call in enumerate(listed)]
        parts = (*([ThinkingPart(thought)] if thought else []), *_content(message, where), *calls)
        if parts:
            self._add(Role.ASSISTANT, parts)

    def _call(self, call: object, where: str) -> ToolCallPart:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise InvalidRequestError(f"{where}.function", described(function), "an object with a name")
        self._calls += 1
        at = f"{where}.function"
        call_id = optional_text(call, "id", where) or f"call_{self._calls}"
        arguments = checked(function, "arguments", dict, "an object", at) or {}
        part = ToolCallPart(call_id, required_text(function, "name", at), arguments)
        self._open.append(part)
        return part

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        call_id = optional_text(message, "tool_call_id", where)
        name = optional_text(message, "tool_name", where) or optional_text(message, "name", where)
        meant = self._meant(call_id, name)
        if meant is not None:
            self._open.remove(meant)
            call_id = meant.call_id
        if not call_id:
            raise InvalidRequestError(where, f"a result of {name or 'a tool'!r}", "a call before it")
        self.messages.add_result(ToolResultPart(call_id, _content(message, where)))

    def _meant(self, call_id: str, name: str) -> ToolCallPart | None:
        """The open call that a result is of."""
        by_id = (one for one in self._open if one.call_id == call_id)
        if call_id:
            return next(by_id, None)
        return next((one for one in self._open if one.name == name), None) or next(iter(self._open), None)

    def _add(self, role: Role, parts: tuple[MessagePart, ...]) -> None:
        self.messages.add(ChatMessage(role, parts))


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._system,  # noqa: SLF001 - the table of the class
    "user": _Reader._user,  # noqa: SLF001
    "assistant": _Reader._assistant,  # noqa: SLF001
    "tool": _Reader._tool,  # noqa: SLF001
}

_FIELDS: Final = frozenset({"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id", "name"})


def _content(message: Mapping[str, Any], where: str) -> tuple[TextPart | DataPart, ...]:
    """The text of a message, and the images beside it."""
    text = optional_text(message, "content", where)
    listed = checked(message, "images", list, "a list of images", where) or []
    images: list[DataPart] = []
    for place, image in enumerate(listed):
        at = f"{where}.images[{place}]"
        if not isinstance(image, str):
            raise InvalidRequestError(at, described(image), "base64")
        images.append(read_bytes(image, at))
    return (*([TextPart(text)] if text else []), *images)
