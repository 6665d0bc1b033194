"""Conversations for tests, and the bodies that they become; nothing here knows more than the public interface."""

import json
import struct
import zlib
from typing import Any

from openresponses_schema import validate_request
from partstream import ChatMessage, DataPart, RequestOptions, TextPart, Tool, ToolCallPart, ToolResultPart
from partstream.conversation.preparation import ANY_CONVERSATION, Preparation, RequestSettings, prepare
from partstream.conversation.provider_state import Carried, Origin
from partstream.protocols.openresponses.serve import READ_REQUEST
from partstream.protocols.openresponses.write_request import WRITE_REQUEST

ORIGIN = Origin("upstream", "small")
PREFIX = "gw-"
user, assistant, system = ChatMessage.user, ChatMessage.assistant, ChatMessage.system


def png(width: int = 1) -> bytes:
    """A picture that every decoder takes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * (width + 1)))
        + chunk(b"IEND", b"")
    )


PNG, JPEG, PDF = png(), b"\xff\xd8\xff\xe0\x00\x10JFIF", b"%PDF-1.7\n\xe2\xe3\xcf\xd3"
WEATHER = Tool("get_weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


def called(call_id: str = "gw-1", name: str = "f", **arguments: Any) -> ToolCallPart:
    return ToolCallPart(call_id, name, arguments)


def gave(call_id: str = "gw-1", *content: TextPart | DataPart | str, is_error: bool = False) -> ToolResultPart:
    parts = tuple(TextPart(part) if isinstance(part, str) else part for part in content)
    return ToolResultPart(call_id, parts, is_error)


def prepared(*messages: ChatMessage, **options: Any) -> Preparation:
    settings = options.pop("settings", RequestSettings())
    origin, prefix = options.pop("origin", ORIGIN), options.pop("prefix", PREFIX)
    rules = options.pop("rules", ANY_CONVERSATION)
    return prepare(origin, messages, RequestOptions(**options), settings, prefix, rules)


def body_of(*messages: ChatMessage, carried: Carried = Carried.EVERYTHING, **options: Any) -> dict[str, Any]:
    """The body as JSON, after the schema and our own server have accepted it."""
    asks = WRITE_REQUEST.write(prepared(*messages, **options).request(carried))
    body = dict(asks.body)
    validate_request(body)
    READ_REQUEST.read(asks)
    return json.loads(json.dumps(body))


# ---- what a body holds ----


def text(value: str) -> dict[str, Any]:
    return {"type": "input_text", "text": value}


def image(url: str) -> dict[str, Any]:
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def file(name: str, url: str) -> dict[str, Any]:
    return {"type": "input_file", "filename": name, "file_data": url}


def asked(*content: dict[str, Any] | str) -> dict[str, Any]:
    pieces = [text(piece) if isinstance(piece, str) else piece for piece in content]
    return {"type": "message", "role": "user", "content": pieces}


def said(*values: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": value} for value in values]
    return {"type": "message", "role": "assistant", "content": content}


def call(call_id: str = "1", name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    fields = {"call_id": call_id, "name": name, "arguments": arguments, "status": "completed"}
    return {"type": "function_call", **fields}


def output(call_id: str = "1", value: Any = "") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}
