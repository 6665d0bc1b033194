"""Converts wire shapes to the library's values and back, with a row for each type of part.

Knows no method, no process and no provider. A part of an unknown type is logged and skipped, except in a tool's result,
which keeps it as JSON: a newer VS Code may send types that this version does not know.
"""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from partstream.codec.checks import MOST_TOKENS, as_count
from partstream.codec.json_codec import dumps, loads, may_nest_deeply
from partstream.hosts.vscode.validation import InvalidParamsError, check
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.parts import (
    DataPart,
    FinishReason,
    MessagePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    row_of_class,
    tool_call_part,
    unchecked_part,
)
from partstream.runtime.progress import thinking_text
from partstream.vscode import rpc_types as wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.lm.outputs import Finish
    from partstream.lm.parts import ResponsePart
    from partstream.lm.provider import LanguageModelChatInformation

__all__ = [
    "PART_ROWS",
    "PartRow",
    "decode_message",
    "decode_options",
    "decode_part",
    "encode_finish",
    "encode_information",
    "encode_part",
    "encode_response_part",
]

_logger = logging.getLogger("partstream.hosts.vscode")


@dataclass(frozen=True, slots=True)
class PartRow:
    """The conversion of one type of part, both ways.

    Attributes:
        tag: The `type` on the wire.
        part: The library's class.
        shape: The TypedDict on the wire.
        decode: Makes a part of a checked wire value and its place.
        encode: Makes the wire value of a part.
        in_response: Whether a provider may report such parts.
    """

    tag: str
    part: type[Any]
    shape: type[Any]
    decode: Callable[[Any, str], MessagePart]
    encode: Callable[[Any], Mapping[str, Any]]
    in_response: bool = True


def _decode_bytes(value: str, where: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidParamsError(where, f"invalid base64 ({error})", "base64") from error


def _decode_tool_result(value: wire.ToolResultPart, where: str) -> ToolResultPart:
    content = tuple(_decode_result(item, f"{where}.content[{index}]") for index, item in enumerate(value["content"]))
    return unchecked_part(ToolResultPart, value["callId"], content, value.get("isError", False))


def _decode_result(value: object, where: str) -> TextPart | DataPart:
    """A part of a tool's result. The model waits for it: what is neither text nor data becomes JSON, and is logged."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind in _RESULT_TAGS:
        return cast("TextPart | DataPart", decode_part(value, where))
    _logger.warning("%s: passed a part of a tool result as JSON, whose type is %.80r, not text or data", where, kind)
    return TextPart(dumps(value).decode())


def _encode_tool_result(part: ToolResultPart) -> wire.ToolResultPart:
    content = cast("list[wire.TextPart | wire.DataPart]", [encode_part(item) for item in part.content])
    return {"type": "tool_result", "callId": part.call_id, "content": content, "isError": part.is_error}


PART_ROWS = (
    PartRow(
        "text",
        TextPart,
        wire.TextPart,
        lambda value, _: TextPart(value["value"]),
        lambda part: {"type": "text", "value": part.value},
    ),
    PartRow(
        "thinking",
        ThinkingPart,
        wire.ThinkingPart,
        lambda value, _: ThinkingPart(value["value"], value.get("id"), value.get("metadata")),
        lambda part: {"type": "thinking", "value": thinking_text(part), "id": part.id, "metadata": part.metadata},
    ),
    PartRow(
        "tool_call",
        ToolCallPart,
        wire.ToolCallPart,
        lambda value, _: tool_call_part(value["callId"], value["name"], value["input"]),
        lambda part: {"type": "tool_call", "callId": part.call_id, "name": part.name, "input": part.input},
    ),
    PartRow(
        "data",
        DataPart,
        wire.DataPart,
        lambda value, where: unchecked_part(DataPart, _decode_bytes(value["data"], f"{where}.data"), value["mimeType"]),
        lambda part: {"type": "data", "mimeType": part.mime_type, "data": b64encode(part.data).decode("ascii")},
    ),
    PartRow(
        "tool_result",
        ToolResultPart,
        wire.ToolResultPart,
        _decode_tool_result,
        _encode_tool_result,
        in_response=False,
    ),
)
"""The rows of all types of parts."""

_ROW_BY_TAG = {row.tag: row for row in PART_ROWS}
_RESULT_TAGS = {row.tag for row in PART_ROWS if row.part in (TextPart, DataPart)}
_ROW_BY_PART = {row.part: row for row in PART_ROWS}
_RESPONSE_ROW_BY_PART = {row.part: row for row in PART_ROWS if row.in_response}


def encode_part(part: MessagePart) -> Mapping[str, Any]:
    """The wire value of a part."""
    return row_of_class(_ROW_BY_PART, part).encode(part)


def encode_response_part(part: ResponsePart) -> Mapping[str, Any]:
    """The wire value of a part that a provider reports.

    Raises:
        TypeError: `part` is not a part, or one that only messages may hold.
    """
    row = _RESPONSE_ROW_BY_PART.get(type(part)) or next(
        (row for base in type(part).__mro__ if (row := _RESPONSE_ROW_BY_PART.get(base))), None
    )
    if row is None:
        parts = ", ".join(part.__name__ for part in _RESPONSE_ROW_BY_PART)
        raise TypeError(f"a provider reported a {type(part).__name__}, expected one of {parts}")
    return row.encode(part)


def decode_part(value: object, where: str) -> MessagePart | None:
    """Makes a part of a wire value; logs an unknown type and returns None for it.

    Raises:
        InvalidParamsError: `value` is not a part, or its fields have the wrong shape.
    """
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str):
        raise InvalidParamsError(where, type(value).__name__, "an object with a `type`")
    row = _ROW_BY_TAG.get(kind)
    if row is None:
        _logger.warning("%s: skipped a part of the unknown type %r", where, kind[:80])
        return None
    check(value, row.shape, where)
    return row.decode(value, where)


def decode_parts(values: Iterable[object], where: str) -> tuple[MessagePart, ...]:
    """Makes the parts of an array, without those of unknown types."""
    decoded = (decode_part(value, f"{where}[{index}]") for index, value in enumerate(values))
    return tuple(part for part in decoded if part is not None)


def decode_message(value: wire.RequestMessage, where: str) -> ChatMessage:
    """Makes a message of a wire value that was checked against its shape."""
    content = decode_parts(value["content"], f"{where}.content")
    return ChatMessage(Role(value["role"]), content, value.get("name") or None)


def decode_options(value: wire.RequestOptions) -> RequestOptions:
    """Makes the options of a wire value that was checked against its shape."""
    return RequestOptions(
        tools=tuple(
            Tool(tool["name"], tool["description"], tool.get("inputSchema")) for tool in value.get("tools", ())
        ),
        tool_mode=ToolMode(value.get("toolMode", ToolMode.AUTO)),
        model_options=value.get("modelOptions", {}),
        model_configuration=value.get("modelConfiguration", {}),
        request_initiator=value.get("requestInitiator"),
    )


def encode_finish(finish: Finish | None) -> wire.ResponseResult:
    """The wire value of an answer's end: only the facts that the provider reported, and those of the right type."""
    result: wire.ResponseResult = {}
    if finish is None:
        return result
    if isinstance(finish.reason, FinishReason):
        result["finishReason"] = finish.reason.unified.value
        if isinstance(finish.reason.raw, str):
            result["providerFinishReason"] = finish.reason.raw
    if isinstance(finish.response_id, str):
        result["responseId"] = finish.response_id
    if isinstance(finish.model, str):
        result["model"] = finish.model
    return result


def encode_information(information: LanguageModelChatInformation) -> wire.LanguageModelChatInformation:
    """The wire value of a model, under its own id.

    Raises:
        TypeError: A field has another type than VS Code takes, or holds a value that JSON cannot represent; the message
            names the model and the field. One such model would keep VS Code from reading all models.
    """
    capabilities = information.capabilities
    where = f"model {information.id!r:.100}"
    shown: wire.LanguageModelChatInformation = {
        "id": information.id,
        "name": information.name,
        "family": information.family,
        "version": information.version,
        "maxInputTokens": _limit(information.max_input_tokens),
        "maxOutputTokens": _limit(information.max_output_tokens),
        "tooltip": information.tooltip,
        "detail": information.detail,
        "capabilities": {"imageInput": capabilities.image_input, "toolCalling": capabilities.tool_calling},
        "extra": dict(information.extra),
    }
    try:
        check(shown, wire.LanguageModelChatInformation, where)
    except InvalidParamsError as error:
        raise TypeError(str(error)) from error
    try:
        written = dumps(shown)
    except TypeError as error:
        raise TypeError(_unwritable(shown, where) or f"{where}: {error}") from error
    # From Python 3.14 on, JSON is written as deep as the stack of C reaches; before, far less was too deep.
    if may_nest_deeply(written) and (said := _unwritable(shown, where)):
        raise TypeError(said)
    model: wire.LanguageModelChatInformation = loads(written)
    return model


def _unwritable(shown: object, where: str) -> str | None:
    from partstream.codec.json_codec import find_non_json  # noqa: PLC0415 - not before the first answer

    return find_non_json(shown, where)


def _limit(value: object) -> Any:
    """A limit of tokens, at most a billion: a provider without a limit may name any. What is none stays as it is."""
    if type(value) is int:
        return min(value, MOST_TOKENS)
    known = as_count(value)
    return value if known is None else known
