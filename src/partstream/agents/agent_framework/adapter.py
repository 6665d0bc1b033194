"""Runs agents of the Microsoft Agent Framework: the loop between a request and the outputs of its run."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from partstream.agents.agent_framework.conversation import chosen_options, run_messages
from partstream.agents.agent_framework.errors import ERRORS
from partstream.agents.agent_framework.events import RunEvents
from partstream.agents.agent_framework.run_state import kept_state, restored
from partstream.outputs import Unmapped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence

    from agent_framework import FunctionTool

    from partstream.agents.adapter import AgentOutput, AgentRequest
    from partstream.agents.failures import FailureKind
    from partstream.messages import Tool

__all__ = ["AgentFramework"]

_ASKS = "always_require"


class AgentFramework:
    """Runs agents of the Microsoft Agent Framework; see :class:`partstream.agents.adapter.AgentAdapter`.

    An agent that needs more than the defaults comes in a pairing with an object of this class::

        as_model(AgentPairing(agent, AgentFramework(function_invocation_kwargs={...})), name="My agent")

    Args:
        arguments: Further arguments of the agent's `run`, the same for all requests.
    """

    framework: str = "Microsoft Agent Framework"
    tested: str = "1.21-1.23"
    errors: Mapping[str, FailureKind] = ERRORS

    def __init__(self, **arguments: Any) -> None:
        self._given = arguments

    def inner_tools(self, agent: Any) -> Collection[str]:
        """The names of the agent's own tools; of those of MCP servers, which are connected already."""
        return frozenset(tool.name for tool in _own_tools(agent))

    def make_tools(self, request: AgentRequest) -> Sequence[Any]:
        """The host's tools of a request as declarations; an agent need not be made with them."""
        return _declarations(request.tools)

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Runs the agent until it ends, wants one of the host's tools, or asks the person.

        Raises:
            ToolArgumentsError: The arguments of a call for the host are no JSON object.
            UpstreamFailureError: The model's server has reported a failure in the stream.
            Exception: Any exception of the framework or of the agent's model.
        """
        own = list(_own_tools(agent))
        events = RunEvents(
            {tool.name for tool in request.tools},
            {tool.name for tool in own if getattr(tool, "approval_mode", None) == _ASKS},
            is_structured=bool(_defaults(agent).get("response_format")),
        )
        found = None if request.resumed is None else restored(request, request.resumed, events.tools)
        if found is None and request.resumed is not None:
            yield Unmapped("session", {"type": "session"})
        session, messages = found or (agent.create_session(), run_messages(request))
        names = {tool.name for tool in own}
        added = [tool for tool in request.tools if tool.name not in names]
        stream = agent.run(messages, stream=True, session=session, **self._arguments(agent, request, added))
        try:
            async for update in stream:
                for output in events.read(update):
                    yield output
            await stream.get_final_response()  # the session knows the answer once this is made
        finally:
            await stream.close()
            # Generators of the framework that were in use between two updates are closed by the event loop.
            await asyncio.sleep(0)
        for output in events.end(lambda: kept_state(session, events.tools)):
            yield output

    def _arguments(self, agent: Any, request: AgentRequest, added: Sequence[Tool]) -> dict[str, Any]:
        """The arguments of a run beside the conversation, as far as the agent takes them: a workflow takes no tools."""
        arguments: dict[str, Any] = {}
        if added:
            arguments["tools"] = _declarations(added)
        if chosen := chosen_options(request):
            arguments["options"] = chosen
        taken = inspect.signature(agent.run).parameters
        is_open = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
        return {name: value for name, value in arguments.items() if is_open or name in taken} | self._given


def _declarations(tools: Iterable[Tool]) -> list[FunctionTool]:
    """Tools without a function: the framework returns their calls (docs/wires/agents.md#microsoft-agent-framework)."""
    from agent_framework import FunctionTool  # noqa: PLC0415 - only where the person's file has imported it

    return [
        FunctionTool(name=tool.name, description=tool.description, func=None, input_model=dict(tool.input_schema or {}))
        for tool in tools
    ]


def _own_tools(agent: Any) -> Iterable[Any]:
    """The agent's own tools that have a name of their own; a server of tools stands for its tools."""
    for tool in [*(_defaults(agent).get("tools") or ()), *(getattr(agent, "mcp_tools", None) or ())]:
        functions = getattr(tool, "functions", None)
        yield from (functions if isinstance(functions, list) else [tool] if hasattr(tool, "name") else ())


def _defaults(agent: Any) -> Mapping[str, Any]:
    return getattr(agent, "default_options", None) or {}
