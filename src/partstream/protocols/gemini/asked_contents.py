"""Reads the contents of a request as the messages of a conversation (docs/wires/gemini.md#contents).

What a signature carries goes where :mod:`partstream.conversation.reasoning` looks for it, with its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import URI_LIST
from partstream.conversation.places import PLACE, AnswerPlace
from partstream.conversation.reasoning import ITEMS
from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.gemini.asked_fields import camel_case, field_of, list_of, object_of, text_of
from partstream.protocols.gemini.provider_state import (
    GIVEN,
    ITEM_TYPE,
    PART,
    SIGNATURE,
    TEXT_LENGTH,
    TOOL_CALL_ID,
    is_made_up,
    read_sealed,
    usable_signature,
)
from partstream.protocols.read_request import described, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.parts import MessagePart
    from partstream.protocols.read_request import Counts

__all__ = ["read_contents", "read_system"]

_MODEL: Final = "model"
_ROLES: Final = ("", "user", "function", _MODEL)
"""Who speaks: the user where nobody is named; `function` is the older name of who gives results."""


def read_contents(body: Mapping[str, Any], counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation that the `contents` of a request hold. A text alone stands for a content of the user.

    Raises:
        InvalidRequestError: A content has the wrong form.
    """
    calls = _Calls()
    messages = []
    for place, content in enumerate(list_of(body, "contents")):
        where = f"contents[{place}]"
        role = text_of(content, "role", where)
        if role not in _ROLES:
            raise InvalidRequestError(f"{where}.role", described(role), "user or model")
        reader = _ContentReader(calls, counts)
        for number, part in enumerate(list_of(content, "parts", where)):
            reader.read(part, f"{where}.parts[{number}]")
        message = reader.message(is_model=role == _MODEL)
        messages += [message] if message.content else []
    return tuple(messages)


def read_system(body: Mapping[str, Any], counts: Counts) -> tuple[ChatMessage, ...]:
    """The message that the `systemInstruction` of a request holds, if there is one.

    Raises:
        InvalidRequestError: It has the wrong form.
    """
    parts = list_of(object_of(body, "systemInstruction"), "parts", "systemInstruction")
    texts = [text_of(part, "text", f"systemInstruction.parts[{place}]") for place, part in enumerate(parts)]
    for part in parts:
        for name in part.keys() - {"text"}:
            counts.add(f"systemInstruction.parts[].{name}")
    said = [TextPart(text) for text in texts if text]
    return (ChatMessage.system(said),) if said else ()


class _Calls:
    """The calls of a conversation that wait for their responses."""

    def __init__(self) -> None:
        self._opened = 0
        self._waiting: list[tuple[str, str]] = []  # id and name

    def open(self, call_id: str, name: str) -> str:
        """The id of the next call: its own, or one of ours."""
        self._opened += 1
        call_id = call_id or f"call_{self._opened}"
        self._waiting.append((call_id, name))
        return call_id

    def close(self, call_id: str, name: str) -> str:
        """The id of the call that a response answers, else of the first of its name (docs/wires/gemini.md#call-ids)."""
        for one in self._waiting:
            if one[0] == call_id or (not call_id and one[1] == name):
                self._waiting.remove(one)
                return one[0]
        self._opened += 1
        return call_id or f"call_{self._opened}"


class _ContentReader:
    """Reads the parts of one content."""

    def __init__(self, calls: _Calls, counts: Counts) -> None:
        self._calls = calls
        self._counts = counts
        self._parts: list[MessagePart] = []
        self._place = AnswerPlace()
        self._items: list[Mapping[str, Any]] = []
        self._beside: Mapping[str, Any] = {}

    def read(self, part: Mapping[str, Any], where: str) -> None:
        for name, reader in _READERS.items():
            if name in part:
                reader(self, part, where)
                break
        else:
            if usable_signature(part.get(SIGNATURE)) is None:
                for name in part:
                    self._counts.add(f"parts[].{name}")
            self._sign_text(part, 0)

    def message(self, *, is_model: bool) -> ChatMessage:
        """The message with all parts, the state before them."""
        if self._items or self._beside:
            state = ThinkingPart("", None, {**self._beside, ITEMS: list(self._items)})
            self._parts.insert(0, state)
        return ChatMessage.assistant(self._parts) if is_model else ChatMessage.user(self._parts)

    def _text(self, part: Mapping[str, Any], where: str) -> None:
        value = text_of(part, "text", where)
        if part.get("thought") is True:
            self._parts += [ThinkingPart(value)] if value else []
            if usable_signature(part.get(SIGNATURE)) is not None:
                self._carry({PART: dict(part)})
            return
        if value:
            self._parts.append(TextPart(value))
            self._place.add_text(value)
        self._sign_text(part, len(value))

    def _sign_text(self, part: Mapping[str, Any], length: int) -> None:
        """Takes the signature of a text, in which something may be sealed."""
        signature = usable_signature(part.get(SIGNATURE))
        sealed = None if signature is None else read_sealed(signature)
        if sealed is not None:
            self._items += [] if sealed.item is None else [sealed.item]
            self._beside = {**self._beside, **sealed.beside}
        elif signature is not None:
            self._carry({TEXT_LENGTH: length, SIGNATURE: signature})

    def _call(self, part: Mapping[str, Any], where: str) -> None:
        call = object_of(part, "functionCall", where)
        at = f"{where}.functionCall"
        given, name = text_of(call, "id", at), _name(call, at)
        call_id = self._calls.open(given, name)
        signature = usable_signature(part.get(SIGNATURE))
        if signature is not None and not is_made_up(signature):
            self._carry({TOOL_CALL_ID: call_id, GIVEN: bool(given), SIGNATURE: signature})
        arguments = field_of(call, "args", dict, "an object", at) or {}
        self._parts.append(ToolCallPart(call_id, name, arguments))
        self._place.add_call()

    def _response(self, part: Mapping[str, Any], where: str) -> None:
        response = object_of(part, "functionResponse", where)
        at = f"{where}.functionResponse"
        name = _name(response, at)
        call_id = self._calls.close(text_of(response, "id", at), name)
        said = field_of(response, "response", dict, "an object", at) or {}
        is_error = "error" in said and not said.keys() - {"error"}
        content: list[TextPart | DataPart] = [TextPart(text)] if (text := _words(said, name)) else []
        for number, inner in enumerate(list_of(response, "parts", at)):
            content.append(_blob(inner, f"{at}.parts[{number}]"))
        self._parts.append(ToolResultPart(call_id, content, is_error))

    def _file(self, part: Mapping[str, Any], where: str) -> None:
        self._parts.append(_blob(part, where))

    def _carried(self, part: Mapping[str, Any], _where: str) -> None:
        """What the server ran goes back to it as it came."""
        self._carry({PART: dict(part)})

    def _carry(self, item: Mapping[str, Any]) -> None:
        self._items.append({"type": ITEM_TYPE, **item, PLACE: self._place.value})


_READERS: Final[Mapping[str, Callable[[_ContentReader, Mapping[str, Any], str], None]]] = {
    "functionCall": _ContentReader._call,  # noqa: SLF001 - the table of the class
    "functionResponse": _ContentReader._response,  # noqa: SLF001
    "inlineData": _ContentReader._file,  # noqa: SLF001
    "fileData": _ContentReader._file,  # noqa: SLF001
    **dict.fromkeys(
        ("executableCode", "codeExecutionResult", "toolCall", "toolResponse"),
        _ContentReader._carried,  # noqa: SLF001
    ),
    "text": _ContentReader._text,  # noqa: SLF001
}
"""What is read of a part, by its data field."""

_KEYS: Final = ("output", "error", "result", "return_value")
"""The documented key of what a tool gave, that of its failure, that of the official Python client, and that of
pydantic-ai 2.66."""


def _words(response: Mapping[str, Any], name: str) -> str:
    """The text of a response: that of a known key which stands alone, else the JSON of the whole object.

    The AI SDK names the function once more and puts what the tool gave beside it, under `content` (`@ai-sdk/google`
    4.0.121).
    """
    if response.keys() == {"name", "content"} and response["name"] == name:
        response = {"output": response["content"]}
    key = next(iter(response)) if len(response) == 1 else ""
    if key in _KEYS and isinstance(response[key], str):
        return str(response[key])
    return dumps(response.get(key, response) if key in _KEYS else response).decode() if response else ""


def _name(call: Mapping[str, Any], where: str) -> str:
    name = text_of(call, "name", where)
    if not name:
        raise InvalidRequestError(f"{where}.name", "nothing", "a string that is not empty")
    return name


def _blob(part: Mapping[str, Any], where: str) -> DataPart:
    """The bytes or the address of a file."""
    if "fileData" in part:
        address = text_of(object_of(part, "fileData", where), "fileUri", f"{where}.fileData")
        return DataPart.text(address, URI_LIST)
    blob = camel_case(object_of(part, "inlineData", where))
    at = f"{where}.inlineData"
    said = text_of(blob, "data", at).replace("-", "+").replace("_", "/")
    return read_bytes(said, f"{at}.data", text_of(blob, "mimeType", at))
