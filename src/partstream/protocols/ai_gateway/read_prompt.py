"""The prompt of a request as VS Code's messages; its shape was checked before.

What a message says and no part has a place for is collected, by its place in the request: approvals, what the provider
itself has run, files that only a provider can reach, options of a provider on anything but reasoning and calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.conversation.media import file_name
from partstream.conversation.places import PLACE, AnswerPlace
from partstream.conversation.reasoning import ITEMS
from partstream.messages import ChatMessage, Role
from partstream.outputs import FileMode, Unmapped
from partstream.parts import (
    DataPart,
    TextPart,
    ToolResultPart,
    thinking_part,
    tool_call_part,
    unchecked_part,
)
from partstream.protocols.ai_sdk.blocks import file_part
from partstream.protocols.ai_sdk.errors import is_summary
from partstream.protocols.ai_sdk.provider_state import REASONING, SUMMARY, TOOL_CALL, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.parts import MessagePart, ToolResultContent

__all__ = ["DENIED", "read_prompt"]

DENIED: Final = "The tool was not run: its execution was denied."
"""The result of a call that somebody has forbidden without a word."""

_OPTIONS: Final = "providerOptions"
_OF_THE_GATEWAY: Final = "gateway"
"""What the gateway said of an answer, given back by clients that give everything back."""


_Calls: TypeAlias = "dict[str, Mapping[str, Any]]"
"""The calls of the messages so far as they came, by their ids."""


def read_prompt(prompt: Iterable[Mapping[str, Any]], unmapped: dict[str, Any]) -> tuple[ChatMessage, ...]:
    """The messages, in order.

    Args:
        prompt: The messages of the wire.
        unmapped: Collects what has no place.
    """
    calls: _Calls = {}
    messages = []
    for number, message in enumerate(prompt):
        parts = _ROLES[message["role"]](message["content"], f"prompt[{number}].content", calls, unmapped)
        if parts:
            messages.append(ChatMessage(_SPEAKERS[message["role"]], tuple(parts)))
    return tuple(messages)


_SPEAKERS: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.USER}


def _system(content: str, _where: str, _calls: _Calls, _unmapped: dict[str, Any]) -> list[MessagePart]:
    return [TextPart(content)] if content else []


def _user(content: Any, where: str, _calls: _Calls, unmapped: dict[str, Any]) -> list[MessagePart]:
    parts: list[MessagePart] = []
    for place, part in enumerate(content):
        _collect_options(part, f"{where}[{place}]", unmapped)
        parts += _shown(part, f"{where}[{place}]", unmapped)
    return parts


def _assistant(content: Any, where: str, calls: _Calls, unmapped: dict[str, Any]) -> list[MessagePart]:
    reader = _Answer(unmapped)
    for place, part in enumerate(content):
        reader.read(part, f"{where}[{place}]")
    calls |= reader.calls
    return reader.parts


def _tool(content: Any, where: str, calls: _Calls, unmapped: dict[str, Any]) -> list[MessagePart]:
    parts: list[MessagePart] = []
    for place, part in enumerate(content):
        if part["type"] != "tool-result":
            unmapped[f"{where}[{place}]"] = part
            continue
        call = calls.get(part["toolCallId"], {})
        if call.get("toolName", part["toolName"]) != part["toolName"]:
            unmapped[f"{where}[{place}].toolName"] = part["toolName"]
        if part.get(_OPTIONS) != call.get(_OPTIONS):  # clients repeat at the result what they give back at its call
            _collect_options(part, f"{where}[{place}]", unmapped)
        parts.append(_result(part, f"{where}[{place}].output", unmapped))
    return parts


_ROLES: Final[dict[str, Callable[[Any, str, _Calls, dict[str, Any]], list[MessagePart]]]] = {
    "system": _system,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}

# ---- what the model said ----


class _Answer:
    """Reads one message of the assistant.

    Attributes:
        parts: What it says.
        calls: Its calls as they came, by their ids.
    """

    def __init__(self, unmapped: dict[str, Any]) -> None:
        self.parts: list[MessagePart] = []
        self.calls: dict[str, Mapping[str, Any]] = {}
        self._unmapped = unmapped
        self._items: list[Mapping[str, Any]] = []
        self._place = AnswerPlace()

    def read(self, part: Mapping[str, Any], where: str) -> None:
        """Takes the next part."""
        read = _PARTS.get(part["type"])
        if read is None or part.get("providerExecuted") is True:
            self._unmapped[where] = part
        else:
            read(self, part, where)

    def text(self, part: Mapping[str, Any], where: str) -> None:
        """Visible text; the summary of a compacted conversation is none, and goes back to its provider alone."""
        options = part.get(_OPTIONS) or {}
        if is_summary(options):
            self._carry({"type": SUMMARY, "text": part["text"]}, options, "")
            return
        _collect_options(part, where, self._unmapped)
        if part["text"]:
            self._place.add_text(part["text"])
            self.parts.append(TextPart(part["text"]))

    def file(self, part: Mapping[str, Any], where: str) -> None:
        """A file that the model made."""
        _collect_options(part, where, self._unmapped)
        self.parts += _shown(part, where, self._unmapped)

    def reasoning(self, part: Mapping[str, Any], _where: str) -> None:
        """A block of reasoning, with what its provider wants back."""
        self._carry({"type": REASONING, "text": part["text"]}, part.get(_OPTIONS) or {}, part["text"])

    def call(self, part: Mapping[str, Any], _where: str) -> None:
        """A call, and before it what its provider said about it."""
        self._carry({"type": TOOL_CALL, "toolCallId": part["toolCallId"]}, part.get(_OPTIONS) or {}, "")
        self.calls[part["toolCallId"]] = part
        self._place.add_call()
        self.parts.append(tool_call_part(part["toolCallId"], part["toolName"], part["input"]))

    def _carry(self, item: dict[str, Any], options: Mapping[str, Any], text: str) -> None:
        """Adds the thinking part that shows a text and brings back an item."""
        own, foreign, beside, thought_id = unwrap({name: options[name] for name in options if name != _OF_THE_GATEWAY})
        new = [dict(foreign)] if foreign is not None else []
        if any(own.values()):
            new.append({**item, _OPTIONS: own})
        self._items += [{**one, PLACE: self._place.value} for one in new]
        metadata = {**beside, **({ITEMS: list(self._items)} if new else {})}
        if text or metadata:
            self.parts.append(thinking_part(text, thought_id, metadata or None))


_PARTS: Final[dict[str, Callable[[_Answer, Mapping[str, Any], str], None]]] = {
    "text": _Answer.text,
    "file": _Answer.file,
    "reasoning": _Answer.reasoning,
    "tool-call": _Answer.call,
}
"""Every part that has a place, by its type."""

# ---- texts, files and results ----


def _shown(part: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> list[TextPart | DataPart]:
    """A text or a file, also as an item of a result."""
    if part["type"] == "text":
        return [TextPart(part["text"])] if part["text"] else []
    data = part.get("data")
    if isinstance(data, dict) and data["type"] == "text":
        read: Any = unchecked_part(DataPart, data["text"].encode(), part["mediaType"])
    else:
        read = file_part(dict(part), FileMode.ADDRESS)
    if isinstance(read, Unmapped):  # the reference of a file that a provider keeps
        unmapped[where] = part
        return []
    if part.get("filename", made_up := file_name(read.mime_type)) != made_up:
        unmapped[f"{where}.filename"] = part["filename"]
    return [read]


def _result(part: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> ToolResultPart:
    output = part["output"]
    content = _OUTPUTS[output["type"]](output, f"{where}.value", unmapped)
    is_error = output["type"] not in {"text", "json", "content"}
    return unchecked_part(ToolResultPart, part["toolCallId"], tuple(content), is_error)


def _text_output(output: Mapping[str, Any], _where: str, _unmapped: dict[str, Any]) -> list[ToolResultContent]:
    return [TextPart(output["value"])] if output["value"] else []


def _json_output(output: Mapping[str, Any], _where: str, _unmapped: dict[str, Any]) -> list[ToolResultContent]:
    return [DataPart.json(output["value"])]


def _content_output(output: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> list[ToolResultContent]:
    return [said for place, item in enumerate(output["value"]) for said in _shown(item, f"{where}[{place}]", unmapped)]


def _denied(output: Mapping[str, Any], _where: str, _unmapped: dict[str, Any]) -> list[ToolResultContent]:
    return [TextPart(output.get("reason") or DENIED)]


_OUTPUTS: Final[dict[str, Callable[[Mapping[str, Any], str, dict[str, Any]], list[ToolResultContent]]]] = {
    "text": _text_output,
    "json": _json_output,
    "error-text": _text_output,
    "error-json": _json_output,
    "content": _content_output,
    "execution-denied": _denied,
}


def _collect_options(part: Mapping[str, Any], where: str, unmapped: dict[str, Any]) -> None:
    """Notes what is asked of a provider about a text or a file; what the gateway said of it is of no further use."""
    options = {name: value for name, value in (part.get(_OPTIONS) or {}).items() if name != _OF_THE_GATEWAY}
    if options:
        unmapped[f"{where}.{_OPTIONS}"] = options
