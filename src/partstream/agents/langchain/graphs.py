"""Runs compiled graphs of LangGraph, also those that `create_agent` of LangChain makes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from langgraph.errors import InvalidUpdateError

from partstream.agents.adapter import ApprovalAsked, KeptState, Question
from partstream.agents.langchain import AnsweringGraph
from partstream.agents.langchain.events import STREAM_MODES, GraphEvents
from partstream.agents.langchain.failures import ERRORS
from partstream.agents.langchain.graph_parts import (
    forget_thread,
    has_checkpointer,
    host_tools_enter,
    inner_tools_of,
    tool_nodes_of,
)
from partstream.agents.langchain.guard import RunGuard
from partstream.agents.langchain.host_tool import host_tool
from partstream.agents.langchain.kept_messages import messages_as_json
from partstream.agents.langchain.placeholders import HostCallsPending
from partstream.agents.langchain.run_input import (
    RunInput,
    begun,
    continued,
    kept_thread,
    resumed_from_messages,
    thread_config,
)
from partstream.outputs import Unmapped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Sequence

    from partstream.agents.adapter import AgentOutput, AgentRequest

__all__ = ["ADAPTER", "GraphAdapter"]

_NO_CHECKPOINTER: Final = (
    "\n\n(The agent cannot go on with an answer: its graph has no checkpointer. Make it with one, such as "
    "`checkpointer=InMemorySaver()`.)"
)


class GraphAdapter:
    """Runs graphs; see :class:`partstream.agents.adapter.AgentAdapter`."""

    framework = "LangGraph"
    tested = "langgraph 1.0-1.2, langchain 1.0-1.4"
    errors = ERRORS

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Runs a graph. An external call stops it after the step that made it; see docs/agents.md."""
        graph = agent if isinstance(agent, AnsweringGraph) else AnsweringGraph(agent)
        async with aclosing(_GraphRun(graph, request).outputs()) as outputs:
            async for output in outputs:
                yield output

    def make_tools(self, request: AgentRequest) -> Sequence[Any]:
        """The host's tools as tools of LangChain."""
        return [host_tool(tool) for tool in request.tools]

    def inner_tools(self, agent: Any) -> Collection[str]:
        """The names of the tools of a graph and its sub-graphs."""
        return inner_tools_of(agent.graph if isinstance(agent, AnsweringGraph) else agent)


class _GraphRun:
    """One run of a graph."""

    def __init__(self, graph: AnsweringGraph, request: AgentRequest) -> None:
        self._graph = graph
        self._request = request
        self._guard = RunGuard(asyncio.current_task())
        self._has_thread = has_checkpointer(graph.graph)
        names = [tool.name for tool in request.tools]
        self._events = GraphEvents(names, graph.answer_nodes, tool_nodes_of(graph.graph), graph.output)

    async def outputs(self) -> AsyncGenerator[AgentOutput, None]:
        compiled = self._configured()
        start = await self._start(compiled)
        if self._request.tools and not host_tools_enter(self._graph.graph):
            yield Unmapped("host tools that the graph does not take: see host_tools() in docs/agents.md", {})
        try:
            async with aclosing(self._stream(compiled, start)) as events:
                try:
                    async for event in events:
                        for output in self._events.read(event):
                            yield output
                finally:
                    self._guard.close()  # before the stream is closed, which waits for the model
        except HostCallsPending:
            self._events.stop()
        except BaseException as error:
            if start.is_new or isinstance(error, Exception):  # a stopped run that is cancelled may be tried again
                await self._forget(start.config)
            raise
        kept = await self._kept(start.config)
        if kept is None:
            await self._forget(start.config)
        for output in self._events.end():
            yield _explained(output) if kept is None else output
        if kept is not None:
            yield KeptState(kept)

    async def _start(self, compiled: Any) -> RunInput:
        """The input of the run; that of a stopped run if what is kept of it still holds."""
        graph, request = self._graph, self._request
        takes_instructions = host_tools_enter(graph.graph, through_middleware=True)
        found: RunInput | None = None
        if request.resumed is not None and "messages" in request.resumed:
            found = resumed_from_messages(graph, request, takes_instructions=takes_instructions)
        elif request.resumed is not None and self._has_thread:
            config = thread_config(graph, request, request.resumed.get("thread_id", ""))
            found = continued(graph, request, await compiled.aget_state(config))
            if found is not None and found.update is not None and not await _updated(compiled, found):
                found = None
        return found or begun(graph, request, takes_instructions=takes_instructions)

    def _configured(self) -> Any:
        """The graph with its owner's configuration, and the guard of the run.

        `with_config` joins callbacks; before LangGraph 1.1, those given to a run took the place of the graph's own.
        """
        graph = self._graph.graph.with_config(dict(self._graph.config)) if self._graph.config else self._graph.graph
        return graph.with_config({"callbacks": [self._guard]})

    def _stream(self, compiled: Any, start: RunInput) -> AsyncGenerator[Any, None]:
        known = signature(compiled.astream).parameters
        options: dict[str, Any] = {"version": "v2"} if "version" in known else {}
        if self._graph.context is not None:
            options["context"] = self._graph.context
        stream: AsyncGenerator[Any, None] = compiled.astream(
            start.value, start.config, stream_mode=list(STREAM_MODES), subgraphs=True, **options
        )
        return stream

    async def _forget(self, config: dict[str, Any]) -> None:
        if self._has_thread:
            await forget_thread(self._graph.graph, config["configurable"]["thread_id"])

    async def _kept(self, config: dict[str, Any]) -> dict[str, Any] | None:
        """What an exact continuation needs; None for a run that has ended, and where it cannot be exact."""
        asked, pending = self._events.asked(), self._events.calls.pending()
        if asked is None and not pending:
            return None
        if self._has_thread:
            snapshot = await self._graph.graph.aget_state(config)
            kept = kept_thread(config, snapshot)
            return {**kept, "asked": asked.kept} if asked is not None else kept
        if asked is not None or not self._events.ends_at(pending):
            return None
        messages = messages_as_json(self._events.messages)
        return None if messages is None else {"messages": messages}


async def _updated(compiled: Any, start: RunInput) -> bool:
    """Whether the thread took the host's results. It does not where several nodes have ended at once: then LangGraph
    cannot tell after which of them the run goes on."""
    try:
        await compiled.aupdate_state(start.config, start.update)
    except InvalidUpdateError:
        return False
    return True


def _explained(output: AgentOutput) -> AgentOutput:
    """A question that nobody can answer says why."""
    if isinstance(output, Question):
        return Question(output.text + _NO_CHECKPOINTER, output.id)
    if isinstance(output, ApprovalAsked):
        names = ", ".join(f"`{one.name}`" for one in output.approvals)
        return Question(f"The agent wants to be allowed to run {names}.{_NO_CHECKPOINTER}")
    return output


ADAPTER: Final = GraphAdapter()
"""The adapter of graphs."""
