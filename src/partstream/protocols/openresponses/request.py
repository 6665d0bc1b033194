"""A conversation as the body of an OpenResponses request; knows no HTTP.

Source: OpenResponses specification 2026-04-24, `CreateResponseBody` and `ItemParam`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import RequestNotExpressibleError
from partstream.json_codec import dumps
from partstream.messages import ChatMessage, RequestOptions, Role, ToolMode
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from partstream.messages import Tool
    from partstream.parts import MessagePart

__all__ = ["build_request"]

_EMPTY_SCHEMA: Final = {"type": "object", "properties": {}}
_TEXT_TYPES: Final = {Role.USER: "input_text", Role.ASSISTANT: "output_text"}
_ROLE_NAMES: Final = {Role.USER: "user", Role.ASSISTANT: "assistant"}


def build_request(
    model_id: str, messages: Sequence[ChatMessage], options: RequestOptions, call_id_prefix: str
) -> dict[str, Any]:
    """The JSON body that asks `model_id` to go on with `messages`, as a stream that the server does not store.

    Args:
        model_id: The model as the server names it.
        messages: The conversation. Thinking and the host's own marks (data parts whose media type has no slash) are
            left out.
        options: Tools and options; model options whose names start with an underscore are left out.
        call_id_prefix: What was put before the call ids of this server; taken off again, ids without it stay.

    Raises:
        RequestNotExpressibleError: A part has no form in this protocol.
    """
    instructions = "\n\n".join(filter(None, (_plain_text(m) for m in messages if m.role is Role.SYSTEM)))
    body: dict[str, Any] = {
        name: value for name, value in options.model_options.items() if not name.startswith("_")
    } | {"model": model_id, "input": list(_items(messages, call_id_prefix)), "stream": True, "store": False}
    if instructions:
        body["instructions"] = instructions
    if options.tools:
        body["tools"] = [_tool(tool) for tool in options.tools]
        body["tool_choice"] = "required" if options.tool_mode is ToolMode.REQUIRED else "auto"
    return body


def _plain_text(message: ChatMessage) -> str:
    return "".join(part.value for part in message.content if isinstance(part, TextPart))


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema or _EMPTY_SCHEMA,
        "strict": False,  # servers default to true, which arbitrary schemas of tools do not satisfy: facts 3
    }


def _items(messages: Sequence[ChatMessage], prefix: str) -> Iterator[dict[str, Any]]:
    """Input items in order: runs of content become messages, calls and results items of their own."""
    for number, message in enumerate(messages):
        if message.role is Role.SYSTEM:
            continue
        content: list[dict[str, Any]] = []
        for place, part in enumerate(message.content):
            piece = _CONVERTERS[type(part)](part, message.role, f"messages[{number}].content[{place}]", prefix)
            if piece is None:
                continue
            if piece["type"] in _ITEM_TYPES:
                yield from _message(message.role, content)
                content = []
                yield piece
            else:
                content.append(piece)
        yield from _message(message.role, content)


_ITEM_TYPES: Final = frozenset({"function_call", "function_call_output"})


def _message(role: Role, content: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if content:
        yield {"type": "message", "role": _ROLE_NAMES[role], "content": content}


def _text(part: TextPart, role: Role, _where: str, _prefix: str) -> dict[str, Any] | None:
    return {"type": _TEXT_TYPES[role], "text": part.value} if part.value else None


def _thinking(_part: ThinkingPart, _role: Role, _where: str, _prefix: str) -> None:
    """Reasoning is not the assistant's text; sending it as such teaches the model to think aloud."""


def _data(part: DataPart, role: Role, where: str, _prefix: str) -> dict[str, Any] | None:
    kind, slash, _ = part.mime_type.partition("/")
    if not slash:
        return None  # the host's own marks: cache_control, stateful_marker, usage
    if kind == "text" or part.mime_type.endswith(("/json", "+json")):
        return _text(TextPart(part.data.decode(errors="replace")), role, where, "")
    if kind == "image" and role is Role.USER:
        return {"type": "input_image", "image_url": _data_url(part), "detail": "auto"}
    raise RequestNotExpressibleError(f"data of type {part.mime_type}", where, "text, JSON, or an image of the user")


def _data_url(part: DataPart) -> str:
    return f"data:{part.mime_type};base64,{b64encode(part.data).decode()}"


def _call(part: ToolCallPart, _role: Role, _where: str, prefix: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": part.call_id.removeprefix(prefix),
        "name": part.name,
        "arguments": dumps(dict(part.input)).decode(),
        "status": "completed",
    }


def _result(part: ToolResultPart, _role: Role, where: str, prefix: str) -> dict[str, Any]:
    pieces = [
        piece
        for place, content in enumerate(part.content)
        if (piece := _CONVERTERS[type(content)](content, Role.USER, f"{where}.content[{place}]", prefix))
    ]
    # Many servers take only a string here (facts 2.2); a list is sent where a string cannot say it.
    only_text = all(piece["type"] == "input_text" for piece in pieces)
    output: Any = "".join(piece["text"] for piece in pieces) if only_text else pieces
    return {"type": "function_call_output", "call_id": part.call_id.removeprefix(prefix), "output": output}


_CONVERTERS: Final[dict[type[MessagePart], Callable[..., dict[str, Any] | None]]] = {
    TextPart: _text,
    ThinkingPart: _thinking,
    DataPart: _data,
    ToolCallPart: _call,
    ToolResultPart: _result,
}
"""One row a part class: what a part becomes, None for nothing."""
