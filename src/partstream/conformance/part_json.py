"""Parts and messages as JSON values for a report; a part that breaks the contract is shown as what it is."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

from partstream.contract.json_values import find_non_json, shorten
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from partstream.messages import ChatMessage

__all__ = ["message_json", "part_json", "shown_part"]

_MOST_BYTES: Final = 64


def part_json(part: object) -> dict[str, Any]:
    """A part as JSON values; bytes are cut after 64."""
    match part:
        case TextPart():
            return {"type": "text", "value": _safe(part.value)}
        case ThinkingPart():
            said = {"type": "thinking", "value": _safe(part.value)}
            if part.id is not None:
                said["id"] = _safe(part.id)
            if part.metadata is not None:
                said["metadata"] = _safe(part.metadata)
            return said
        case ToolCallPart():
            named = {"callId": _safe(part.call_id), "name": _safe(part.name), "input": _safe(part.input)}
            return {"type": "toolCall", **named}
        case DataPart():
            return {"type": "data", "mimeType": _safe(part.mime_type), "data": _bytes(part.data)}
        case ToolResultPart():
            content = [part_json(one) for one in part.content]
            return {"type": "toolResult", "callId": part.call_id, "content": content, "isError": part.is_error}
    return {"type": type(part).__name__, "shown": shorten(part)}


def message_json(message: ChatMessage) -> dict[str, Any]:
    """A message as JSON values."""
    return {"role": message.role.name.lower(), "content": [part_json(part) for part in message.content]}


def shown_part(part: object) -> str:
    """A part in one line for a person."""
    match part:
        case TextPart():
            return f"text {shorten(part.value)}"
        case ThinkingPart():
            return f"thinking {shorten(part.value)}"
        case ToolCallPart():
            return f"call {shorten(part.call_id)} {part.name} {shorten(part.input)}"
        case DataPart():
            return f"data {shorten(part.mime_type)} {shorten(part.data)}"
    return f"{type(part).__name__} {shorten(part)}"


def _safe(value: object) -> Any:
    """The value, if a JSON document can hold it."""
    if isinstance(value, str):
        return value if _is_utf8(value) else value.encode(errors="backslashreplace").decode()
    return shorten(value) if find_non_json(value, "value") is not None else value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(value: object) -> Any:
    if not isinstance(value, bytes):
        return {"shown": shorten(value)}
    if len(value) <= _MOST_BYTES:
        return {"base64": b64encode(value).decode()}
    return {"base64": b64encode(value[:_MOST_BYTES]).decode(), "bytes": len(value)}
