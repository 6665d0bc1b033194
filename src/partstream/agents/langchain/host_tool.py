"""The host's tools as tools of LangChain, for graphs that a person's function makes with them.

Imports LangChain, which the person's own file has imported before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from partstream.agents.langchain.placeholders import PLACEHOLDER

if TYPE_CHECKING:
    from partstream.messages import Tool

__all__ = ["HostTool", "host_tool"]


class HostTool(BaseTool):
    """A tool of the host: models see its name, description and schema, and a call of it gives the placeholder.

    Arguments are neither checked nor read: the host does both, and a tool may have an argument of any name.
    """

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """The placeholder, as a message where the whole call is given."""
        del config, kwargs
        if isinstance(input, dict) and input.get("type") == "tool_call":
            return ToolMessage(content=PLACEHOLDER, tool_call_id=input["id"], name=self.name)
        return PLACEHOLDER

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """As :meth:`invoke`."""
        return self.invoke(input, config, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> str:
        del args, kwargs
        return PLACEHOLDER


def host_tool(tool: Tool) -> HostTool:
    """A tool of the host for a graph."""
    return HostTool(name=tool.name, description=tool.description, args_schema=dict(tool.input_schema or {}))
