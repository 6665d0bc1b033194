"""Writes the tools of a request and their choice (docs/wires/chat-completions.md#tools-and-schemas)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.messages import ToolMode

if TYPE_CHECKING:
    from partstream.conversation.chat_request import ChatRequest
    from partstream.messages import Tool
    from partstream.protocols.chat_completions.attachments import Wire
    from partstream.protocols.chat_completions.quirks import Quirks

__all__ = ["tool_fields"]


def tool_fields(request: ChatRequest, quirks: Quirks, *, has_calls: bool) -> Wire:
    """The fields of a body that say which tools there are.

    `strict` is never sent: many servers refuse it, and schemas of tools do not keep to what it demands.

    Args:
        request: The request.
        quirks: What the server takes.
        has_calls: Whether the conversation holds calls.
    """
    if not request.tools:
        return {"tools": []} if quirks.lists_no_tools and has_calls else {}
    fields: Wire = {"tools": [_tool(tool, quirks) for tool in request.tools], **quirks.tool_fields}
    if request.tool_mode is ToolMode.REQUIRED and quirks.required:
        fields["tool_choice"] = quirks.required
    return fields


def _tool(tool: Tool, quirks: Quirks) -> Wire:
    schema = tool.input_schema or {}
    function: Wire = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = schema if quirks.normalize_schema is None else quirks.normalize_schema(schema)
    return {"type": "function", "function": function}
