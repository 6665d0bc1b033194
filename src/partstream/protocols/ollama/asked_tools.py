"""Reads the tools of a request (docs/wires/ollama.md#requests)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.protocols.read_request import read_function, tools_of_type

if TYPE_CHECKING:
    from partstream.messages import Tool
    from partstream.protocols.read_request import Counts

__all__ = ["read_tools"]


def read_tools(value: object, counts: Counts) -> tuple[Tool, ...]:
    """The functions that the model may call; other tools are counted.

    Raises:
        InvalidRequestError: `tools` has the wrong form.
    """
    tools: dict[str, Tool] = {}
    for where, tool in tools_of_type(value, "function", counts):
        read = read_function(tool, where)
        if read.name in tools:
            counts.add("tools[].function (a name for the second time)")
        tools.setdefault(read.name, read)
    return tuple(tools.values())
