"""Writes the tools of a request, and whether one must be called; source: docs/wires/gemini.md#tools-and-schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.messages import ToolMode
from partstream.protocols.gemini.models import ToolSchemas
from partstream.protocols.gemini.refused_parts import JSON_SCHEMA, SUBSET
from partstream.protocols.schemas import inlined, openapi_subset, with_inner_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conversation.chat_request import ChatRequest
    from partstream.messages import Tool
    from partstream.protocols.gemini.models import GeminiSettings, KnownModel, Wire

__all__ = ["json_schema", "tool_fields"]


def tool_fields(request: ChatRequest, settings: GeminiSettings, model: KnownModel) -> Wire:
    """The fields of a body that say which tools there are; none where there are none.

    Tools of the server stand beside those of the client only from Gemini 3 on: older models refuse both together, and
    get those of the client alone.
    """
    functions = [_declaration(tool, settings) for tool in request.tools]
    own: list[Wire] = [{name: {}} for name in settings.server_tools] if model.signs_calls or not functions else []
    tools = [*([{"functionDeclarations": functions}] if functions else []), *own]
    if not tools:
        return {}
    config = _calling(request, settings) if functions else {}
    if functions and own:
        config["includeServerSideToolInvocations"] = True
    return {"tools": tools} | ({"toolConfig": config} if config else {})


def json_schema(schema: Mapping[str, Any]) -> Wire:
    """A schema as the servers take it whole: of an object, with its references resolved and without its dialect."""
    return {"type": "object"} | _without_dialect(inlined(schema))


def _without_dialect(schema: Mapping[str, Any]) -> Wire:
    kept = {name: value for name, value in schema.items() if name != "$schema"}
    return with_inner_schemas(kept, _without_dialect)


def _declaration(tool: Tool, settings: GeminiSettings) -> Wire:
    declared: Wire = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    schema = tool.input_schema or {}
    if schema.get("properties") or schema.keys() - {"type", "properties", "required", "$schema"}:
        is_subset = settings.tool_schemas is ToolSchemas.OPENAPI
        declared |= {SUBSET: openapi_subset(schema)} if is_subset else {JSON_SCHEMA: json_schema(schema)}
    return declared  # a tool without parameters has no schema: older models refuse an object without properties


def _calling(request: ChatRequest, settings: GeminiSettings) -> Wire:
    if request.tool_mode is ToolMode.REQUIRED:
        only = {"allowedFunctionNames": [request.tools[0].name]} if len(request.tools) == 1 else {}
        return {"functionCallingConfig": {"mode": "ANY", **only}}
    return {"functionCallingConfig": {"mode": "VALIDATED"}} if settings.validates_calls else {}
