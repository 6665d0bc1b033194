"""Reads a request of the AI Gateway as its server does; knows nothing of what will be answered, nor of a socket.

Everything is checked: the shape by the version that the client names (`serve_prompt.py`), that every result has its
call and every call its result, and that what the served models signed comes back as it was given. A model's server
refuses the same, in its own words.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.json_codec import dumps
from partstream.messages import Tool
from partstream.protocols.ai_gateway.serve_prompt import PROVIDER_OPTIONS, VERSIONS, prompt_of
from partstream.protocols.ai_gateway.serve_shapes import (
    Check,
    Shape,
    any_json,
    boolean,
    check_object,
    integer,
    list_of,
    number,
    object_of,
    one_of,
    string,
    tagged,
    whole_number,
)
from partstream.protocols.served_items import ItemKind, ServedItem, describe_bytes, served_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from partstream.protocols.serving import ServedRequest

__all__ = ["MODEL_HEADER", "STREAMING_HEADER", "VERSION_HEADER", "read_request", "signature"]

VERSION_HEADER: Final = "ai-language-model-specification-version"
MODEL_HEADER: Final = "ai-language-model-id"
STREAMING_HEADER: Final = "ai-language-model-streaming"


def read_request(body: Mapping[str, Any], headers: Mapping[str, str]) -> ServedRequest:
    """Reads `POST {base}/language-model`; the model, the version and whether to stream stand in headers.

    Raises:
        InvalidRequestError: A header or a field of the body is not what the protocol asks for.
    """
    for name, values in _HEADERS.items():
        if headers.get(name) not in values:
            raise InvalidRequestError(f"header {name}", _got(headers.get(name)), f"one of {', '.join(values)}")
    if not headers.get(MODEL_HEADER):
        raise InvalidRequestError(f"header {MODEL_HEADER}", _got(headers.get(MODEL_HEADER)), "the id of a model")
    version = headers[VERSION_HEADER]
    check_object(body, "", _BODY[version])
    prompt: list[dict[str, Any]] = body["prompt"]
    _check_calls(prompt)
    tools = [_tool(tool) for tool in body.get("tools") or ()]
    return served_request(
        body,
        model=headers[MODEL_HEADER],
        stream=headers[STREAMING_HEADER] == "true",
        items=[item for index, message in enumerate(prompt) for item in _items(message, f"prompt[{index}]")],
        tools=tools,
        allowed_tools=_allowed(tools, body.get("toolChoice")),
        dialect=version,
    )


def signature(text: str) -> str:
    """What the served models sign `text` with; whoever has both can tell whether they belong together."""
    return base64.b64encode(hashlib.sha256(f"signed: {text}".encode(errors="surrogatepass")).digest()).decode()


_HEADERS: Final[dict[str, tuple[str, ...]]] = {
    "ai-gateway-protocol-version": ("0.0.1",),
    VERSION_HEADER: VERSIONS,
    STREAMING_HEADER: ("true", "false"),
}


def _got(value: str | None) -> str:
    return "nothing" if value is None else repr(value)


# ---- the shape of the body ----


def _tools(version: str) -> Check:
    required: dict[str, Check] = {"name": string, "inputSchema": object_of(any_json)}
    optional: dict[str, Check] = {"description": string, "providerOptions": PROVIDER_OPTIONS}
    provider = Shape({"id": string, "name": string, "args": object_of(any_json)}, {})
    if version == "2":
        return list_of(tagged({"function": Shape(required, optional), "provider-defined": provider}))
    optional |= {"inputExamples": list_of(object_of(any_json)), "strict": boolean}
    return list_of(tagged({"function": Shape(required, optional), "provider": provider}))


_TOOL_CHOICES: Final[dict[str, Shape]] = {
    **dict.fromkeys(("auto", "none", "required"), Shape({}, {})),
    "tool": Shape({"toolName": string}, {}),
}
_RESPONSE_FORMATS: Final[dict[str, Shape]] = {
    "text": Shape({}, {}),
    "json": Shape({}, {"schema": object_of(any_json), "name": string, "description": string}),
}
_REASONING: Final = ("provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max")


def _body(version: str) -> Shape:
    """Source: the `CallOptions` of each version; `abortSignal` stays with the client."""
    optional: dict[str, Check] = {
        "maxOutputTokens": whole_number,
        **dict.fromkeys(("temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"), number),
        "stopSequences": list_of(string),
        "seed": integer,
        "responseFormat": tagged(_RESPONSE_FORMATS),
        "tools": _tools(version),
        "toolChoice": tagged(_TOOL_CHOICES),
        "includeRawChunks": boolean,
        "headers": object_of(string),
        "providerOptions": PROVIDER_OPTIONS,
    }
    if version == "4":
        optional["reasoning"] = one_of(_REASONING)
    return Shape({"prompt": prompt_of(version)}, optional)


_BODY: Final[dict[str, Shape]] = {version: _body(version) for version in VERSIONS}

# ---- tools ----


def _tool(tool: Mapping[str, Any]) -> Tool:
    return Tool(tool["name"], tool.get("description") or "", tool.get("inputSchema"))


def _allowed(tools: Sequence[Tool], choice: Mapping[str, Any] | None) -> tuple[Tool, ...]:
    """The tools that `toolChoice` leaves."""
    kind = "auto" if choice is None else choice["type"]
    if kind in {"required", "tool"} and not tools:
        raise InvalidRequestError("toolChoice.type", repr(kind), "tools beside it")
    if choice is None or kind != "tool":
        return () if kind == "none" else tuple(tools)
    chosen = tuple(tool for tool in tools if tool.name == choice["toolName"])
    if not chosen:
        names = ", ".join(tool.name for tool in tools)
        raise InvalidRequestError("toolChoice.toolName", repr(choice["toolName"]), f"one of {names}")
    return chosen


def _check_calls(prompt: Sequence[Mapping[str, Any]]) -> None:
    """Every result stands in the tool messages right behind its call, under the call's name, and no call is left."""
    waiting: dict[str, tuple[str, str]] = {}  # call id to tool name and place
    for place, message in enumerate(prompt):
        if message["role"] != "tool":
            _refuse_unanswered(waiting)
        if message["role"] not in {"assistant", "tool"}:
            continue
        for index, part in enumerate(message["content"]):
            where = f"prompt[{place}].content[{index}]"
            if part["type"] == "tool-call" and not part.get("providerExecuted"):
                waiting[part["toolCallId"]] = part["toolName"], where
            elif part["type"] == "tool-result" and message["role"] == "tool":
                _answer(waiting, part, where)
    _refuse_unanswered(waiting)


def _answer(waiting: dict[str, tuple[str, str]], part: Mapping[str, Any], where: str) -> None:
    call_id = part["toolCallId"]
    if call_id not in waiting:
        expected = f"one of {', '.join(waiting)}" if waiting else "no result here, because no call waits for one"
        raise InvalidRequestError(f"{where}.toolCallId", repr(call_id), expected)
    name, _ = waiting.pop(call_id)
    if part["toolName"] != name:
        raise InvalidRequestError(f"{where}.toolName", repr(part["toolName"]), f"{name}, the name of the call")


def _refuse_unanswered(waiting: Mapping[str, tuple[str, str]]) -> None:
    for call_id, (_, where) in waiting.items():
        raise InvalidRequestError(
            where, f"the call {call_id!r} without a result", "a result in the tool message behind it"
        )


# ---- what the prompt holds ----


def _items(message: Mapping[str, Any], where: str) -> Iterator[ServedItem]:
    role, content = message["role"], message["content"]
    if role == "system":
        yield ServedItem(ItemKind.MESSAGE, role, content)
    elif role == "user":
        images = tuple(_describe(part["mediaType"], part["data"]) for part in content if _is_image(part))
        text = "".join(part["text"] for part in content if part["type"] == "text")
        yield ServedItem(ItemKind.MESSAGE, role, text, images)
    else:
        for index, part in enumerate(content):
            read = _PARTS.get(part["type"])
            if read is None:
                yield ServedItem(part["type"], role)
            else:
                yield read(part, f"{where}.content[{index}]")


def _text_item(part: Mapping[str, Any], where: str) -> ServedItem:
    return ServedItem(ItemKind.MESSAGE, "assistant", part["text"])


def _reasoning_item(part: Mapping[str, Any], where: str) -> ServedItem:
    """Only Anthropic's models, of those whose form is served, sign what they think."""
    _check_signature(part, ("anthropic", "signature"), part["text"], where)
    return ServedItem(ItemKind.REASONING, text=part["text"])


def _call_item(part: Mapping[str, Any], where: str) -> ServedItem:
    arguments = dumps(part["input"]).decode()
    _check_signature(part, ("google", "thoughtSignature"), part["toolCallId"], where)
    return ServedItem(ItemKind.CALL, text=arguments, call_id=part["toolCallId"], name=part["toolName"])


def _check_signature(part: Mapping[str, Any], place: tuple[str, str], signed: str, where: str) -> None:
    provider, name = place
    given = (part.get("providerOptions") or {}).get(provider, {}).get(name)
    if given is not None and given != signature(signed):
        raise InvalidRequestError(
            f"{where}.providerOptions.{provider}.{name}", "a signature of something else", "the one that came with it"
        )


def _output_item(part: Mapping[str, Any], where: str) -> ServedItem:
    output = part["output"]
    value = output.get("value")
    if output["type"] == "content":
        text = "".join(item["text"] for item in value if item["type"] == "text")
        images = tuple(_describe_item(item) for item in value if _is_image(item))
        return ServedItem(ItemKind.OUTPUT, text=text, images=images, call_id=part["toolCallId"])
    if output["type"] == "execution-denied":
        value = output.get("reason") or "denied"
    return ServedItem(
        ItemKind.OUTPUT, text=value if isinstance(value, str) else dumps(value).decode(), call_id=part["toolCallId"]
    )


_PARTS: Final[dict[str, Callable[[Mapping[str, Any], str], ServedItem]]] = {
    "text": _text_item,
    "reasoning": _reasoning_item,
    "tool-call": _call_item,
    "tool-result": _output_item,
}

# ---- images ----


def _is_image(part: Mapping[str, Any]) -> bool:
    return part["type"].startswith("image-") or str(part.get("mediaType", "")).startswith("image")


def _describe_item(item: Mapping[str, Any]) -> str:
    """An image in the content of a tool's output."""
    return _describe(item.get("mediaType", "image"), item.get("data") or item.get("url") or str(item.get("fileId")))


def _describe(media_type: str, data: str | Mapping[str, Any]) -> str:
    """A web address as it is; of bytes the media type and the size."""
    text = data if isinstance(data, str) else str(data.get("data") or data.get("url") or data)
    if text.startswith(("http://", "https://")) or (not isinstance(data, str) and data["type"] == "reference"):
        return text
    if text.startswith("data:"):
        head, _, text = text.partition(",")
        media_type = head.removeprefix("data:").removesuffix(";base64")
    return describe_bytes(media_type, text)
