"""Reads the tools of a request, and which of them the model may or must call.

Source: `anthropic` 2.12.0, `types/tool_param.py` and `types/tool_choice_param.py`. A tool with a dated type is one that
the server runs, or that only its own models were taught: it has no schema, and is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import Tool, ToolMode
from partstream.protocols.read_request import checked, described, optional_text, required_text, tools_of_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.read_request import Counts

__all__ = ["read_tools"]


def read_tools(body: Mapping[str, Any], counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that the model may call, and whether it must call one.

    Raises:
        InvalidRequestError: `tools` or `tool_choice` has the wrong form.
    """
    tools = _listed(body.get("tools"), counts)
    mode, name = _chosen(checked(body, "tool_choice", dict, "an object with a type"), counts)
    if mode is None:
        return (), ToolMode.AUTO
    if name is not None:
        tools = tuple(tool for tool in tools if tool.name == name)
    return tools, mode if tools else ToolMode.AUTO


def _listed(value: object, counts: Counts) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for where, tool in tools_of_type(value, "custom", counts):
        name = required_text(tool, "name", where)
        if name in tools:
            counts.add("tools[] (a name for the second time)")
            continue
        schema = checked(tool, "input_schema", dict, "a JSON schema", where)
        if tool.get("strict"):
            counts.add("tools[].strict")
        tools[name] = Tool(name, optional_text(tool, "description", where), schema)
    return tuple(tools.values())


_MODES: Final[Mapping[str, ToolMode | None]] = {
    "auto": ToolMode.AUTO,
    "any": ToolMode.REQUIRED,
    "tool": ToolMode.REQUIRED,
    "none": None,
}


def _chosen(choice: Mapping[str, Any] | None, counts: Counts) -> tuple[ToolMode | None, str | None]:
    """Whether a tool must be called, or None where none may be; and the name of the only one that may be."""
    if choice is None:
        return ToolMode.AUTO, None
    kind = choice.get("type")
    if not isinstance(kind, str) or kind not in _MODES:
        raise InvalidRequestError("tool_choice.type", described(kind), f"one of {', '.join(_MODES)}")
    if choice.get("disable_parallel_tool_use"):
        counts.add("tool_choice.disable_parallel_tool_use")
    return _MODES[kind], required_text(choice, "name", "tool_choice") if kind == "tool" else None
