"""What a run brings for the middleware of an agent: the host's tools and instructions; no framework, no state.

It travels in the configuration of the run, which LangGraph hands down to every node and every agent below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.messages import Tool

__all__ = ["CONFIG_KEY", "HostRun", "function_schema", "host_run_in"]

CONFIG_KEY: Final = "__partstream_host_run"
"""The name in `config["configurable"]`. LangGraph copies names with two underscores into no trace and no checkpoint."""


@dataclass(frozen=True, slots=True)
class HostRun:
    """The host's side of one run.

    Attributes:
        tools: The host's tools under the names to use.
        instructions: The host's instructions; may be empty.
        must_call: Whether the model has to call a tool.
        model_options: The caller's options for the model.
    """

    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    must_call: bool = False
    model_options: Mapping[str, Any] = field(default_factory=dict)

    def is_host_tool(self, name: object) -> bool:
        """Whether a name is that of one of the tools."""
        return any(tool.name == name for tool in self.tools)


def function_schema(tool: Tool) -> dict[str, Any]:
    """A tool in the form that every chat model of LangChain takes in `bind_tools`."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema or {})}
    return {"type": "function", "function": function}


def host_run_in(config: Mapping[str, Any]) -> HostRun:
    """The host's side of the run with a configuration; an empty one for a run that a provider did not start."""
    found = (config.get("configurable") or {}).get(CONFIG_KEY)
    return found if isinstance(found, HostRun) else HostRun()
