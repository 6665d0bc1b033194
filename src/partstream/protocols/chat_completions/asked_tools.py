"""Reads the tools of a request, and which of them the model may or must call.

Source: `openai` 3.54.0, `types/chat/chat_completion_tool_union_param.py` and
`types/chat/chat_completion_tool_choice_option_param.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.messages import ToolMode
from partstream.protocols.read_request import (
    checked,
    described,
    optional_text,
    read_function,
    required_text,
    tools_of_type,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.messages import Tool
    from partstream.protocols.read_request import Counts

__all__ = ["read_tools"]


def read_tools(body: Mapping[str, Any], counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The functions that the model may call, and whether it must call one; other tools are counted.

    Raises:
        InvalidRequestError: `tools` or `tool_choice` has the wrong form.
    """
    tools = _listed(body.get("tools"), counts)
    mode, names = _chosen(body.get("tool_choice"), counts)
    if names is not None:
        tools = tuple(tool for tool in tools if tool.name in names)
    return tools, mode if tools else ToolMode.AUTO


def _listed(value: object, counts: Counts) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for where, tool in tools_of_type(value, "function", counts):
        read = read_function(tool, where)
        if tool["function"].get("strict"):
            counts.add("tools[].function.strict")
        if read.name in tools:
            counts.add("tools[].function (a name for the second time)")
        tools.setdefault(read.name, read)
    return tuple(tools.values())


_NONE: Final[frozenset[str]] = frozenset()
_MODES: Final[Mapping[str, tuple[ToolMode, frozenset[str] | None]]] = {
    "auto": (ToolMode.AUTO, None),
    "none": (ToolMode.AUTO, _NONE),
    "required": (ToolMode.REQUIRED, None),
    "any": (ToolMode.REQUIRED, None),  # Mistral's word (docs/wires/chat-completions.md#tool-choice)
}
"""The mode that each word means, and the names of the tools that it allows; None allows all."""


def _chosen(choice: object, counts: Counts) -> tuple[ToolMode, frozenset[str] | None]:
    if choice is None:
        return _MODES["auto"]
    if isinstance(choice, dict):
        return _named(choice, counts)
    if not isinstance(choice, str) or choice not in _MODES:
        raise InvalidRequestError("tool_choice", described(choice), f"one of {', '.join(_MODES)}, or an object")
    return _MODES[choice]


def _named(choice: Mapping[str, Any], counts: Counts) -> tuple[ToolMode, frozenset[str] | None]:
    kind = choice.get("type")
    if kind == "function":
        function = checked(choice, "function", dict, "an object with a name", "tool_choice") or {}
        return ToolMode.REQUIRED, frozenset({required_text(function, "name", "tool_choice.function")})
    if kind != "allowed_tools":
        counts.add(f"tool_choice.{kind}")
        return _MODES["auto"]
    where = "tool_choice.allowed_tools"
    allowed = checked(choice, "allowed_tools", dict, "an object with tools", "tool_choice") or {}
    listed = allowed.get("tools")
    if not isinstance(listed, list):
        raise InvalidRequestError(f"{where}.tools", described(listed), "a list of tools")
    word = optional_text(allowed, "mode", where) or "auto"
    if word not in _MODES:
        raise InvalidRequestError(f"{where}.mode", described(word), f"one of {', '.join(_MODES)}")
    functions = (tool.get("function") for tool in listed if isinstance(tool, dict))
    names = (function.get("name") for function in functions if isinstance(function, dict))
    return _MODES[word][0], frozenset(name for name in names if isinstance(name, str))
