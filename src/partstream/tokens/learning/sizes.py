"""The bytes of text in a message or in the tools of a request, from which upstreams without a tokenizer compute tokens.

Proxies and local servers report a usage that they compute from the length of the text. Compared with such a report, an
estimate of a tokenizer is off by a different factor for every kind of text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultPart, is_mark
from partstream.tokens.counting import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.lm.messages import ChatMessage, Tool
    from partstream.lm.parts import MessagePart

__all__ = ["BYTES_PER_TOKEN", "size_of_message", "size_of_text", "size_of_tools"]

BYTES_PER_TOKEN: Final = 4
"""The rule of thumb of nearly all such upstreams; the learned factor covers others."""


def size_of_text(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def size_of_message(message: ChatMessage) -> int | None:
    """The bytes of a message's text; None if the message also holds an image or a file.

    Thinking is left out: only few upstreams get it back, in their own forms.
    """
    return _size_of_parts(message.content)


def size_of_tools(tools: Iterable[Tool]) -> int:
    """The bytes of names, descriptions and schemas."""
    return sum(
        size_of_text(tool.name + tool.description) + (_size_of_json(tool.input_schema) if tool.input_schema else 0)
        for tool in tools
    )


def _size_of_json(value: object) -> int:
    return len(json_text(value).encode())


def _size_of_parts(parts: Iterable[MessagePart]) -> int | None:
    total = 0
    for part in parts:
        size = _size_of_part(part)
        if size is None:
            return None
        total += size
    return total


def _size_of_part(part: MessagePart) -> int | None:
    match part:
        case TextPart(value=text):
            return size_of_text(text)
        case ToolCallPart():
            return size_of_text(part.name) + _size_of_json(part.input)
        case ToolResultPart():
            return _size_of_parts(part.content)
        case DataPart():
            return 0 if is_mark(part.mime_type) else None
        case _:
            return 0
