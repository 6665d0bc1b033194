"""The host's tools as function tools of the SDK, and an agent with them; its own objects are never changed.

A host's tool wants to be allowed, always: the SDK runs the agent's own tools of the step, stops, and hands the calls
out. When the run goes on, the adapter approves the call, and its function returns the host's result
(docs/wires/agents.md#host-tools-through-approvals). Imports the SDK, which the person's file has imported before.
"""

from __future__ import annotations

import dataclasses
import weakref
from typing import TYPE_CHECKING, Any

from partstream.agents.openai_agents.conversation import tool_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agents import Agent, FunctionTool, Handoff
    from agents.tool_context import ToolContext

    from partstream.conversation.turns import Result
    from partstream.messages import Tool

__all__ = ["ExtendedAgents", "agents_below", "asking_tools", "function_tools", "own_tools"]


def function_tools(tools: Sequence[Tool], results: Mapping[str, Result]) -> list[FunctionTool]:
    """The host's tools as objects of the SDK.

    Args:
        tools: The tools.
        results: What the host has returned, by call id.
    """
    from agents import FunctionTool  # noqa: PLC0415 - only where the person's file has imported it

    async def returned(context: ToolContext[Any], _arguments: str) -> str | list[dict[str, Any]]:
        return tool_output(results[context.tool_call_id])

    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=dict(tool.input_schema or {}),
            on_invoke_tool=returned,
            strict_json_schema=False,
            needs_approval=True,
        )
        for tool in tools
    ]


class ExtendedAgents:
    """Copies of agents that have the host's tools too: of the asked one, and of all that it may hand over to.

    Each agent has one copy, so that agents may hand over to each other.

    Args:
        tools: The host's tools.
    """

    def __init__(self, tools: Sequence[FunctionTool]) -> None:
        self._tools = tools
        self._copies: dict[int, Agent[Any]] = {}

    def copy_of(self, agent: Agent[Any]) -> Agent[Any]:
        """The copy of an agent; an agent that is a copy already is returned as it is."""
        if any(copy is agent for copy in self._copies.values()):
            return agent
        known = self._copies.get(id(agent))
        if known is not None:
            return known
        own = {tool.name for tool in agent.tools}
        added = [tool for tool in self._tools if tool.name not in own]
        handoffs: list[Agent[Any] | Handoff[Any, Any]] = []
        changed: dict[str, Any] = {"tools": [*agent.tools, *added], "handoffs": handoffs}
        if agent.tool_use_behavior == "stop_on_first_tool":
            # It means the agent's own tools: what the host returns goes back to the model.
            changed["tool_use_behavior"] = {"stop_at_tool_names": sorted(own)}
        copy = self._copies[id(agent)] = agent.clone(**changed)
        # Filled once the copy is known: agents may hand over to each other.
        handoffs += [self._handed_over(one) for one in agent.handoffs]
        return copy

    def _handed_over(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        """A handoff to the copy of its agent."""
        from agents import Handoff  # noqa: PLC0415 - see `function_tools`

        if not isinstance(handoff, Handoff):
            return self.copy_of(handoff)
        invoke = handoff.on_invoke_handoff

        async def to_copy(context: Any, arguments: str) -> Agent[Any]:
            return self.copy_of(await invoke(context, arguments))

        copy = dataclasses.replace(handoff, on_invoke_handoff=to_copy)
        target = _target(handoff)
        if target is not None:
            copy._agent_ref = weakref.ref(self.copy_of(target))  # noqa: SLF001 - by it the SDK finds agents in a state
        return copy


def agents_below(agent: Agent[Any]) -> Iterator[Agent[Any]]:
    """An agent, and all that it may hand over to, once each."""
    waiting: list[Agent[Any]] = [agent]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [target for handoff in one.handoffs if (target := _target(handoff)) is not None]


def own_tools(agent: Agent[Any]) -> frozenset[str]:
    """The names of the tools and of the handoffs that a model of the agents may call."""
    names: set[str] = set()
    for one in agents_below(agent):
        names |= {tool.name for tool in one.tools}
        names |= {_handoff_name(handoff) for handoff in one.handoffs}
    return frozenset(names)


def asking_tools(agent: Agent[Any]) -> frozenset[str]:
    """The names of the agents' own tools that may want to be allowed."""
    tools = (tool for one in agents_below(agent) for tool in one.tools)
    return frozenset(tool.name for tool in tools if getattr(tool, "needs_approval", False))


def _target(handoff: Any) -> Agent[Any] | None:
    """The agent of a handoff, which may be the agent itself; None where the handoff makes it when it is called."""
    if not hasattr(handoff, "on_invoke_handoff"):
        agent: Agent[Any] = handoff
        return agent
    reference: Callable[[], Agent[Any] | None] | None = getattr(handoff, "_agent_ref", None)
    return None if reference is None else reference()


def _handoff_name(handoff: Any) -> str:
    from agents import Handoff  # noqa: PLC0415 - see `function_tools`

    return handoff.tool_name if isinstance(handoff, Handoff) else Handoff.default_tool_name(handoff)
