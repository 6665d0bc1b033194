"""Writes tools and the choice among them (docs/wires/anthropic-messages.md#tools-and-tool-choice)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.messages import ToolMode
from partstream.protocols.schemas import inlined

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.messages import Tool
    from partstream.protocols.anthropic_messages.provider_state import Wire
    from partstream.protocols.schemas import Schema

__all__ = ["input_schema", "tool_fields"]

_ALTERNATIVES: Final = ("anyOf", "oneOf")
_TOGETHER: Final = "allOf"


def tool_fields(request: ChatRequest, *, parallel: bool | None) -> Wire:
    """The fields of a body that say which tools there are.

    `strict` is never sent: it has limits that the tools of an editor exceed.

    Args:
        request: The request.
        parallel: Whether several tools may be called at once; None where nobody chose.
    """
    if not request.tools:
        return {}
    choice: Wire = {"type": "any"} if request.tool_mode is ToolMode.REQUIRED else {}
    if parallel is not None:
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": not parallel}
    return {"tools": [_tool(tool) for tool in request.tools], **({"tool_choice": choice} if choice else {})}


def _tool(tool: Tool) -> Wire:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": input_schema(tool.input_schema or {})}


def input_schema(schema: Mapping[str, Any]) -> Schema:
    """The schema of a tool's input as servers take it: an object at the top, with no alternatives there.

    Alternatives at the top become one object that takes the properties of each, and demands what all of them demand.
    """
    top: Schema = dict(schema) if "$ref" not in schema else inlined(schema)
    if any(word in top for word in (*_ALTERNATIVES, _TOGETHER)):
        top = _flattened(top, schema)
    if top.get("type") != "object":
        top = {**top, "type": "object"}
    return top if isinstance(top.get("properties", {}), Mapping) else {**top, "properties": {}}


def _flattened(top: Schema, root: Mapping[str, Any]) -> Schema:
    rest = {name: value for name, value in top.items() if name not in {*_ALTERNATIVES, _TOGETHER}}
    properties: dict[str, Any] = {}
    required = dict.fromkeys(_names(rest))
    for part in _objects(top.get(_TOGETHER), root):
        properties |= _properties(part)
        required |= dict.fromkeys(_names(part))
    for word in _ALTERNATIVES:
        listed = _objects(top.get(word), root)
        for part in listed:
            for name, value in _properties(part).items():
                properties.setdefault(name, value)
        if listed:
            required |= {name: None for name in _names(listed[0]) if all(name in _names(one) for one in listed)}
    flat: Schema = {**rest, "type": "object", "properties": {**properties, **_properties(rest)}}
    return flat | ({"required": list(required)} if required else {})


def _objects(parts: Any, root: Mapping[str, Any]) -> list[Schema]:
    """The schemas of a list, each flat and without references to the rest."""
    definitions = {name: root[name] for name in ("$defs", "definitions") if name in root}
    found = (inlined({**part, **definitions}) for part in parts or () if isinstance(part, Mapping))
    return [
        _flattened(part, part) if any(word in part for word in (*_ALTERNATIVES, _TOGETHER)) else part for part in found
    ]


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _names(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
