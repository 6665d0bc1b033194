"""The tools that a pydantic-ai agent has itself, as far as they are known before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["own_tools"]


def own_tools(agent: Any) -> dict[str, bool]:
    """The names of the agent's tools, each with whether its calls always want to be allowed.

    The tools of servers and those that a function makes are known in a run alone, and are not among them.
    """
    return {name: asks for toolset in agent.toolsets for name, asks in _tools_in(toolset)}


def _tools_in(toolset: Any) -> Iterator[tuple[str, bool]]:
    """The tools of a toolset: of functions, of several toolsets, or of one that it wraps and perhaps renames."""
    tools = getattr(toolset, "tools", None)
    if isinstance(tools, dict):
        yield from ((name, getattr(tool, "requires_approval", False) is True) for name, tool in tools.items())
    for definition in getattr(toolset, "tool_defs", ()):
        yield definition.name, False
    for inner in getattr(toolset, "toolsets", ()):
        yield from _tools_in(inner)
    wrapped = getattr(toolset, "wrapped", None)
    if wrapped is not None:
        prefix = getattr(toolset, "prefix", None)
        new_names = {old: new for new, old in (getattr(toolset, "name_map", None) or {}).items()}
        for name, asks in _tools_in(wrapped):
            yield f"{prefix}_{name}" if isinstance(prefix, str) else new_names.get(name, name), asks
