"""Parts and messages as JSON values for a report; a part that breaks the contract is shown as what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import find_non_json, shorten
from partstream.lm import parts as parts_json
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage

__all__ = ["message_json", "part_json", "shown_part"]

_MOST_BYTES: Final = 64


def part_json(part: object) -> dict[str, Any]:
    """A part in the form of :mod:`partstream.lm.parts`; of long data, the beginning, and the number of its bytes."""
    match part:
        case DataPart(data=bytes()) if len(part.data) > _MOST_BYTES:
            said = parts_json.part_json(DataPart(part.data[:_MOST_BYTES], part.mime_type or "?"))
            return {**_safe_fields(said), "mime_type": _safe(part.mime_type), "bytes": len(part.data)}
        case ToolResultPart():
            content = [part_json(one) for one in part.content]
            return {"type": "tool_result", "call_id": part.call_id, "content": content, "is_error": part.is_error}
        case TextPart() | ThinkingPart() | ToolCallPart() | DataPart():
            return _safe_fields(parts_json.part_json(part))
    return {"type": type(part).__name__, "shown": shorten(part)}


def _safe_fields(said: dict[str, Any]) -> dict[str, Any]:
    return {name: _safe(value) for name, value in said.items()}


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
