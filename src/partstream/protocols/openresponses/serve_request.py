"""Reads a request of OpenResponses as its server does; knows nothing of what will be answered, nor of a socket.

Read with care and not validated: what an answer depends on has a type, everything else passes. What real clients
send beside the specification (messages without a type, `strict` or `id` left out) is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import Tool
from partstream.protocols.served_items import ItemKind, ServedItem, describe_bytes, served_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.protocols.serving import ServedRequest

__all__ = ["read_request"]


def read_request(body: Mapping[str, Any], headers: Mapping[str, str]) -> ServedRequest:
    """Reads the body of `POST /responses`; a string as `input` is one user message.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type.
    """
    for name, (field_type, expected) in _TYPED_FIELDS.items():
        if not isinstance(body.get(name), field_type | None):
            raise InvalidRequestError(name, _type_name(body[name]), expected)
    tools = _read_tools(body.get("tools"))
    return served_request(
        body,
        model=_optional_text(body, "model"),
        stream=body.get("stream") is True,
        items=_read_input(body.get("input")),
        tools=tools,
        allowed_tools=_allowed(tools, body.get("tool_choice")),
        instructions=_optional_text(body, "instructions"),
    )


# What the response repeats in another form, or takes apart.
_TYPED_FIELDS: Final[dict[str, tuple[type, str]]] = {
    "include": (list, "a list of strings"),
    "metadata": (dict, "an object"),
    "reasoning": (dict, "an object"),
    "text": (dict, "an object"),
}


def _read_input(value: object) -> list[ServedItem]:
    if value is None:
        return []
    if isinstance(value, str):
        return [ServedItem(ItemKind.MESSAGE, "user", value)]
    if not isinstance(value, list):
        raise InvalidRequestError("input", _type_name(value), "a string or a list of items")
    return [_read_item(item, f"input[{index}]") for index, item in enumerate(value)]


def _read_item(item: object, where: str) -> ServedItem:
    if not isinstance(item, dict):
        raise InvalidRequestError(where, _type_name(item), "an object")
    # The specification's own example leaves out the type of a message.
    item_type = item.get("type") or ("message" if "role" in item else None)
    reader = _ITEM_READERS.get(item_type) if isinstance(item_type, str) else None
    if reader is None:
        raise InvalidRequestError(f"{where}.type", repr(item_type), f"one of {', '.join(_ITEM_READERS)}")
    return reader(item, where)


_ROLES: Final = ("user", "assistant", "system", "developer")


def _read_message(item: Mapping[str, Any], where: str) -> ServedItem:
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidRequestError(f"{where}.role", repr(role), f"one of {', '.join(_ROLES)}")
    text, images = _read_content(item.get("content"), f"{where}.content")
    return ServedItem(ItemKind.MESSAGE, role, text, images)


def _read_call(item: Mapping[str, Any], where: str) -> ServedItem:
    call_id, name, arguments = (_required_text(item, key, where) for key in ("call_id", "name", "arguments"))
    return ServedItem(ItemKind.CALL, text=arguments, call_id=call_id, name=name)


def _read_call_output(item: Mapping[str, Any], where: str) -> ServedItem:
    text, images = _read_content(item.get("output"), f"{where}.output")
    call_id = _required_text(item, "call_id", where)
    return ServedItem(ItemKind.OUTPUT, text=text, images=images, call_id=call_id)


def _read_reasoning(item: Mapping[str, Any], where: str) -> ServedItem:
    text, _ = _read_content(item.get("summary"), f"{where}.summary")
    return ServedItem(ItemKind.REASONING, text=text)


def _read_opaque(item: Mapping[str, Any], where: str) -> ServedItem:
    return ServedItem(item["type"])


_ITEM_READERS: Final[dict[str, Callable[[Mapping[str, Any], str], ServedItem]]] = {
    "message": _read_message,
    "function_call": _read_call,
    "function_call_output": _read_call_output,
    "reasoning": _read_reasoning,
    "compaction": _read_opaque,
    "item_reference": _read_opaque,
}


def _read_content(value: object, where: str) -> tuple[str, tuple[str, ...]]:
    """The text of a content field and a description of each image in it."""
    if isinstance(value, str):
        return value, ()
    if not isinstance(value, list):
        raise InvalidRequestError(where, _type_name(value), "a string or a list of content parts")
    texts, images = [], []
    for index, part in enumerate(value):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise InvalidRequestError(f"{where}[{index}]", _type_name(part), "an object with a type")
        if part["type"] == "input_image":
            images.append(_describe_url(_required_text(part, "image_url", f"{where}[{index}]")))
        elif part["type"] == "refusal":
            texts.append(_required_text(part, "refusal", f"{where}[{index}]"))
        elif part["type"].endswith("text"):
            texts.append(_required_text(part, "text", f"{where}[{index}]"))
    return "".join(texts), tuple(images)


def _describe_url(url: str) -> str:
    """A web address as it is; of a data URL the media type and the size."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return url
    return describe_bytes(head.removeprefix("data:").removesuffix(";base64"), data)


def _read_tools(value: object) -> list[Tool]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidRequestError("tools", _type_name(value), "a list of tools")
    tools = []
    for index, tool in enumerate(value):
        where = f"tools[{index}]"
        if not isinstance(tool, dict) or tool.get("type") != "function":
            got = repr(tool.get("type")) if isinstance(tool, dict) else _type_name(tool)
            raise InvalidRequestError(f"{where}.type", got, "function")
        parameters = tool.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise InvalidRequestError(f"{where}.parameters", _type_name(parameters), "a JSON schema")
        tools.append(Tool(_required_text(tool, "name", where), _optional_text(tool, "description", where), parameters))
    return tools


def _allowed(tools: Iterable[Tool], choice: object) -> tuple[Tool, ...]:
    """The tools that `tool_choice` leaves; the specification makes it binding."""
    if choice == "none":
        return ()
    if not isinstance(choice, dict):
        return tuple(tools)
    named = choice.get("tools") if choice.get("type") == "allowed_tools" else [choice]
    if not isinstance(named, list):
        raise InvalidRequestError("tool_choice.tools", _type_name(named), "a list of tools")
    names = [entry.get("name") for entry in named if isinstance(entry, dict)]
    return tuple(tool for tool in tools if tool.name in names)


def _required_text(value: Mapping[str, Any], key: str, where: str) -> str:
    text = value.get(key)
    if not isinstance(text, str):
        raise InvalidRequestError(f"{where}.{key}", _type_name(text), "a string")
    return text


def _optional_text(value: Mapping[str, Any], key: str, where: str = "body") -> str:
    return "" if value.get(key) is None else _required_text(value, key, where)


def _type_name(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
