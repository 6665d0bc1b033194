"""The middleware by which an agent of `create_agent` takes the tools of the host that asks it.

Imported by the person's own file only, through :func:`partstream_agents.langchain.host_tools`.
"""

from __future__ import annotations
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.config import get_config

from partstream_agents.langchain.events import PLACEHOLDER, function_schema, host_run_in, is_placeholder

_SEAT: Final = "partstream_host_tools"
"""The name of a tool that no model sees. `create_agent` makes the node of tools only for an agent that has one."""


class HostToolsMiddleware(AgentMiddleware):
    """Gives an agent the host's tools of each run, and stops the run where it calls one.

    The agent's own tools of the same step run first, and no model reads the placeholder. Where the agent runs without
    a host, it has its own tools only.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tools = [StructuredTool.from_function(lambda: "", name=_SEAT, description="Not for use.")]

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Adds the host's tools and instructions to a request to the model."""
        return await handler(_with_host(request))

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """As :meth:`awrap_model_call`."""
        return handler(_with_host(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Answers a call of a host's tool with the placeholder; the agent's own tools run."""
        return _placeholder_for(request) or await handler(request)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """As :meth:`awrap_tool_call`."""
        return _placeholder_for(request) or handler(request)

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Ends the run if a call waits for the host."""
        del runtime
        return _stop_before_model(state)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """As :meth:`abefore_model`."""
        del runtime
        return _stop_before_model(state)


def _with_host(request: Any) -> Any:
    run = host_run_in(get_config())
    own = [tool for tool in request.tools if getattr(tool, "name", None) != _SEAT]
    changes: dict[str, Any] = {"tools": [*own, *map(function_schema, run.tools)]}
    if run.instructions:
        changes |= _instructions(request, run.instructions)
    if run.model_options:
        changes["model_settings"] = {**request.model_settings, **run.model_options}
    # Only the first answer: a model that must call a tool in every step never ends.
    if run.must_call and isinstance(request.messages[-1], HumanMessage):
        changes["tool_choice"] = "any"
    return request.override(**changes)


def _instructions(request: Any, text: str) -> dict[str, Any]:
    """The host's instructions after the agent's own, in the field that the version of LangChain has for them."""
    if not hasattr(request, "system_message"):
        return {"system_prompt": "\n\n".join(filter(None, [request.system_prompt, text]))}
    given = request.system_message
    if given is None:
        return {"system_message": SystemMessage(content=text)}
    own = given.content
    joined = f"{own}\n\n{text}" if isinstance(own, str) else [*own, {"type": "text", "text": text}]
    return {"system_message": given.model_copy(update={"content": joined})}


def _placeholder_for(request: Any) -> ToolMessage | None:
    call = request.tool_call
    if all(tool.name != call["name"] for tool in host_run_in(get_config()).tools):
        return None
    return ToolMessage(content=PLACEHOLDER, tool_call_id=call["id"], name=call["name"])


def _stop_before_model(state: Any) -> dict[str, Any] | None:
    """The jump to the end, if the newest results hold a placeholder."""
    for message in reversed(state["messages"]):
        if not isinstance(message, ToolMessage):
            return None
        if is_placeholder(message):
            return {"jump_to": "end"}
    return None
