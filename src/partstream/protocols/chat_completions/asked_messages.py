"""Reads the messages of a request.

Neighbouring results of tools are one message of the user, as VS Code has them. What an assistant thought, and the
opaque state of it, goes where :mod:`partstream.conversation.reasoning` looks for it.

Source: the messages of `openai` 3.54.0 (`types/chat/chat_completion_*_message_param.py`), the older `function` message
included; reasoning has no field there, see :mod:`partstream.protocols.chat_completions.asked_thinking`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage, Role
from partstream.parts import TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.chat_completions.asked_content import read_content, read_spoken
from partstream.protocols.chat_completions.asked_thinking import read_thinking
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

__all__ = ["read_messages"]


def read_messages(value: object, counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation that the `messages` of a request hold.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    reader = _Reader(counts)
    for role, message, where in messages_by_role(value, _READERS):
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: Counts) -> None:
        self.messages = AskedMessages()
        self._counts = counts
        self._functions = _FunctionCalls()

    def _system(self, message: Mapping[str, Any], where: str) -> None:
        self._say(Role.SYSTEM, message, where)

    def _user(self, message: Mapping[str, Any], where: str) -> None:
        self._say(Role.USER, message, where)

    def _say(self, role: Role, message: Mapping[str, Any], where: str) -> None:
        content = read_content(message.get("content"), f"{where}.content", self._counts)
        self._add(role, content, message, where)

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        spoken = read_spoken(message.get("content"), f"{where}.content", self._counts)
        refusal = optional_text(message, "refusal", where)
        calls = self._calls(message, where)
        thinking = read_thinking(message, where, self._counts)
        parts = (*thinking, *spoken, *([TextPart(refusal)] if refusal else []), *calls)
        if message.get("audio") is not None:
            self._counts.add("messages[].audio")  # the id of an answer that only its server has
        if parts:
            self._add(Role.ASSISTANT, parts, message, where)

    def _calls(self, message: Mapping[str, Any], where: str) -> list[ToolCallPart]:
        listed = checked(message, "tool_calls", list, "a list of calls", where) or []
        calls = []
        for place, call in enumerate(listed):
            at = f"{where}.tool_calls[{place}]"
            if not isinstance(call, dict):
                raise InvalidRequestError(at, described(call), "an object")
            calls.append(_read_call(call, at))
        function = checked(message, "function_call", dict, "an object", where)
        if function is not None:
            calls.append(self._functions.open(function, f"{where}.function_call"))
        return calls

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        self._result(required_text(message, "tool_call_id", where), message, where)

    def _function(self, message: Mapping[str, Any], where: str) -> None:
        self._result(self._functions.close(required_text(message, "name", where), where), message, where)

    def _result(self, call_id: str, message: Mapping[str, Any], where: str) -> None:
        said = message.get("content")
        content = () if said is None else read_content(said, f"{where}.content", self._counts)
        self.messages.add_result(ToolResultPart(call_id, content))

    def _add(self, role: Role, parts: tuple[MessagePart, ...], message: Mapping[str, Any], where: str) -> None:
        self.messages.add(ChatMessage(role, parts, optional_text(message, "name", where) or None))


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._system,  # noqa: SLF001 - the table of the class
    "developer": _Reader._system,  # noqa: SLF001
    "user": _Reader._user,  # noqa: SLF001
    "assistant": _Reader._assistant,  # noqa: SLF001
    "tool": _Reader._tool,  # noqa: SLF001
    "function": _Reader._function,  # noqa: SLF001
}


def _read_call(call: Mapping[str, Any], where: str) -> ToolCallPart:
    """A call; what a custom tool was given, which is any text, is its argument `input`."""
    call_id = required_text(call, "id", where)
    custom = checked(call, "custom", dict, "an object", where)
    if custom is not None:
        at = f"{where}.custom"
        return ToolCallPart(call_id, required_text(custom, "name", at), {"input": optional_text(custom, "input", at)})
    function = call.get("function")
    if not isinstance(function, dict):
        raise InvalidRequestError(f"{where}.function", described(function), "an object with a name")
    at = f"{where}.function"
    return ToolCallPart(call_id, required_text(function, "name", at), object_in_text(function, "arguments", at))


class _FunctionCalls:
    """The calls in the older form, `function_call`, without ids: each gets one, and its result finds it by name."""

    def __init__(self) -> None:
        self._opened = 0
        self._waiting: dict[str, str] = {}

    def open(self, call: Mapping[str, Any], where: str) -> ToolCallPart:
        """The next call."""
        self._opened += 1
        call_id, name = f"function_call_{self._opened}", required_text(call, "name", where)
        self._waiting[name] = call_id
        return ToolCallPart(call_id, name, object_in_text(call, "arguments", where))

    def close(self, name: str, where: str) -> str:
        """The id of the call that a result of the function answers.

        Raises:
            InvalidRequestError: There is no such call.
        """
        call_id = self._waiting.pop(name, None)
        if call_id is None:
            raise InvalidRequestError(where, f"a result of {name!r}", "a function_call before it")
        return call_id
