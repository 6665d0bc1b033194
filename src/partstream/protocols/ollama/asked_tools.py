"""Reads the tools of a request (facts 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.errors import InvalidRequestError
from partstream.messages import Tool
from partstream.protocols.asked_fields import checked, described, optional_text, required_text

if TYPE_CHECKING:
    from partstream.protocols.asked_fields import Counts

__all__ = ["read_tools"]


def read_tools(value: object, counts: Counts) -> tuple[Tool, ...]:
    """The functions that the model may call; other tools are counted.

    Raises:
        InvalidRequestError: `tools` has the wrong form.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRequestError("tools", described(value), "a list of tools")
    tools: dict[str, Tool] = {}
    for place, tool in enumerate(value):
        where = f"tools[{place}]"
        if not isinstance(tool, dict):
            raise InvalidRequestError(where, described(tool), "an object")
        kind = optional_text(tool, "type", where) or "function"
        if kind != "function":
            counts.add(f"tools[].{kind}")
            continue
        read = _function(tool.get("function"), f"{where}.function")
        if read.name in tools:
            counts.add("tools[].function (a name for the second time)")
        tools.setdefault(read.name, read)
    return tuple(tools.values())


def _function(function: object, where: str) -> Tool:
    if not isinstance(function, dict):
        raise InvalidRequestError(where, described(function), "an object with a name")
    checked(function, "parameters", dict, "a JSON schema", where)
    name, description = required_text(function, "name", where), optional_text(function, "description", where)
    return Tool(name, description, function.get("parameters"))
