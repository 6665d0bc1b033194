"""Runs compiled graphs of LangGraph, also those that `create_agent` of LangChain makes.

A call of a host's tool gets a placeholder as its result, and the run stops before a model reads it
(:mod:`partstream_agents.langchain.events`). It goes on in one of three ways: in its thread, where the graph has a
checkpointer and the thread is as the run left it; with the kept messages, where the graph itself made the calls; else
it is rebuilt from the conversation. Threads of ended runs are removed from a checkpointer in memory. Of a graph, only
the attributes are read before its run.
"""

from __future__ import annotations
import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from inspect import signature
from typing import Any, Final
from uuid import uuid4

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END
from langgraph.types import Command

from partstream.codec.checks import dataclass
from partstream.lm.messages import Tool, ToolMode
from partstream.lm.outputs import Unmapped
from partstream_agents.adapter import AgentOutput, AgentRequest, ApprovalAsked, KeptState, Question
from partstream_agents.langchain import AnsweringGraph, conversation
from partstream_agents.langchain import events as graph_events
from partstream_agents.langchain.messages import Nodes

# ---- Parts of a graph ----

_MIDDLEWARE_NODE: Final = "HostToolsMiddleware.before_model"
"""The node that `create_agent` makes of our middleware."""
_IN_MEMORY: Final = "langgraph.checkpoint.memory"
_OWN_MODULES: Final = "partstream."
_SEAT: Final = "partstream_host_tools"


async def forget_thread(graph: Any, thread_id: str) -> None:
    """Removes the thread of an ended run from a checkpointer in memory, which would keep it for ever.

    No run goes on with such a thread. Other checkpointers keep it, for people to look at.
    """
    saver = graph.checkpointer
    if any(one.__module__.startswith(_IN_MEMORY) for one in type(saver).__mro__) and hasattr(saver, "adelete_thread"):
        await saver.adelete_thread(thread_id)


def host_tools_enter(graph: Any, *, through_middleware: bool = False) -> bool:
    """Whether a graph takes the host's tools: by our middleware, or, unless only that counts, because it was made with
    them."""
    if through_middleware:
        return _MIDDLEWARE_NODE in _nodes(graph)
    for one in _with_subgraphs(graph):
        if _MIDDLEWARE_NODE in _nodes(one):
            return True
        tools = [tool for node in _nodes(one).values() for tool in _tools_of(node).values()]
        if any(type(tool).__module__.startswith(_OWN_MODULES) for tool in tools):
            return True
    return False


def _with_subgraphs(graph: Any) -> Iterator[Any]:
    yield graph
    if hasattr(graph, "get_subgraphs"):
        yield from (found for _, found in graph.get_subgraphs(recurse=True))


def _nodes(graph: Any) -> Mapping[str, Any]:
    found = getattr(graph, "nodes", None)
    return found if isinstance(found, dict) else {}


def _tools_of(node: Any) -> Mapping[str, Any]:
    """The tools of a node that runs tools; none for other nodes."""
    found = getattr(getattr(node, "bound", None), "tools_by_name", None)
    return found if isinstance(found, dict) else {}


_HOOKS: Final = (".before_agent", ".before_model", ".after_model", ".after_agent", "pre_model_hook", "post_model_hook")
"""How the names of nodes end that LangChain makes of the hooks of middleware."""
_AFTER: Final = (".after_model", ".after_agent", "post_model_hook")
"""Hooks that may replace what the model has said."""
_AGENTS: Final = frozenset({"langchain.agents.factory", "langgraph.prebuilt.chat_agent_executor"})
"""The modules that make agents, in whose nodes they ask the model."""
_KEEP_WORDS: Final = ("langchain.agents.middleware.", "deepagents.", "partstream_agents.")
"""Where middleware comes from that leaves alone what the model has said, besides the two rows below."""
_OF_PERSONS: Final = frozenset({"langchain.agents.middleware.types"})
"""The module of middleware that a decorator makes of a person's function."""
_REVISE: Final = ("PIIMiddleware", "OpenAIModerationMiddleware")


def _speaking(graph: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Nodes]]:
    """The nodes of a graph, and of each graph that is a node of it with the last word, by its path."""
    found = _nodes(graph)
    functions = {name: _function_of(node) for name, node in found.items()}
    modules = {name: getattr(one, "__module__", None) or "" for name, one in functions.items()}
    after = [functions[name] for name in found if name.endswith(_AFTER)]
    yield (
        path,
        Nodes(
            frozenset({"tools", *(name for name, node in found.items() if _tools_of(node))}),
            frozenset(name for name in found if name.endswith(_HOOKS)),
            {name: module for name, module in modules.items() if module in _AGENTS},
            any(map(_revises, after)),
            "messages" in getattr(graph, "channels", ()),
        ),
    )
    for name, node in found.items():
        below = getattr(node, "bound", None)
        if _nodes(below) and "messages" in getattr(below, "channels", ()) and _may_end(graph, name):
            yield from _speaking(below, (*path, name))


def _function_of(node: Any) -> Any:
    bound = getattr(node, "bound", None)
    return getattr(bound, "afunc", None) or getattr(bound, "func", None)


def _revises(hook: Any) -> bool:
    """Whether a hook may replace what the model has said: those of people, and those that look for private data."""
    own = type(getattr(hook, "__self__", None))
    module = own.__module__ if own is not type(None) else getattr(hook, "__module__", None) or ""
    return own.__name__ in _REVISE or module in _OF_PERSONS or not module.startswith(_KEEP_WORDS)


def _may_end(graph: Any, node: str) -> bool:
    """Whether a graph may end after a node, which then has the last word."""
    builder = getattr(graph, "builder", None)
    after = [end for start, end in getattr(builder, "edges", ()) if start == node]
    branches = [*getattr(builder, "branches", {}).get(node, {}).values()]
    ends = [one.ends for one in branches]
    return END in after or not (after or ends) or any(one is None or END in one.values() for one in ends)


# ---- The input of a run ----

_THREAD: Final = "thread_id"
_CHECKPOINT: Final = "checkpoint_id"


@dataclass(frozen=True, slots=True)
class RunInput:
    """The input of a run."""

    value: Any  # the graph's input: fields of its state, a `Command`, or None to go on where it stopped
    config: dict[str, Any]
    update: dict[str, Any] | None = None  # the fields to write into the stopped graph before; None for nothing
    is_new: bool = True  # whether the thread of the run is its own; otherwise it is that of a stopped run


def begun(graph: AnsweringGraph, request: AgentRequest, *, takes_instructions: bool) -> RunInput:
    """A run that is rebuilt from the conversation alone, in a thread of its own."""
    messages = [
        *([] if takes_instructions else conversation.system_message(request)),
        *conversation.messages_of(request.turns),
    ]
    return RunInput(_input(graph, messages), thread_config(graph, request, uuid4().hex))


def resumed_from_messages(graph: AnsweringGraph, request: AgentRequest, *, takes_instructions: bool) -> RunInput | None:
    """A run that goes on with the kept messages of a graph without a checkpointer; None if they cannot be read. It
    takes instructions if the graph's middleware adds those of the host."""
    messages = conversation.messages_from_json((request.resumed or {}).get("messages"))
    if messages is None:
        return None
    own = [message for message in messages if message.id != conversation.INSTRUCTIONS_ID]
    placed = conversation.with_results(own, request.results, graph_events.is_placeholder)
    placed = [*([] if takes_instructions else conversation.system_message(request)), *placed]
    return RunInput(_input(graph, placed), thread_config(graph, request, uuid4().hex))


def continued(graph: AnsweringGraph, request: AgentRequest, snapshot: Any) -> RunInput | None:
    """A run that goes on in its thread, whose state is `snapshot`; None where the thread is no longer as the run has
    left it."""
    kept = request.resumed or {}
    if not snapshot.values or _checkpoint_of(snapshot) != kept.get(_CHECKPOINT):
        return None
    config = thread_config(graph, request, kept[_THREAD])
    if "asked" in kept:
        answers = graph_events.resume_values(kept["asked"], request.decisions, request.reply)
        return RunInput(Command(resume=answers) if answers else None, config, is_new=False)
    # The host's results go under the ids of their placeholders, whose places they take.
    messages = snapshot.values.get("messages") if isinstance(snapshot.values, dict) else None
    places = {
        one.tool_call_id: one.id for one in messages or () if graph_events.is_placeholder(one) and one.type == "tool"
    }
    if not request.results or not places.keys() >= request.results.keys():
        return None
    update = {
        "messages": [
            conversation.result_message(result, places[call_id]) for call_id, result in request.results.items()
        ]
    }
    if snapshot.next:
        return RunInput(None, config, update, is_new=False)
    return RunInput(update, config, is_new=False)


def thread_config(graph: AnsweringGraph, request: AgentRequest, thread_id: str) -> dict[str, Any]:
    """The configuration of a run: the thread and the host's side of the run, beside what the person has set."""
    must_call = request.tool_mode is ToolMode.REQUIRED
    run = graph_events.HostRun(request.tools, request.instructions, must_call, request.model_options)
    ours = {_THREAD: thread_id, graph_events.CONFIG_KEY: run}
    given = (getattr(graph.graph, "config", None) or {}, graph.config)
    own = {name: value for config in given for name, value in (config.get("configurable") or {}).items()}
    return {"configurable": {**own, **ours}}


def _input(graph: AnsweringGraph, messages: list[Any]) -> Any:
    return {"messages": messages} if graph.input is None else graph.input(messages)


def _checkpoint_of(snapshot: Any) -> Any:
    return snapshot.config.get("configurable", {}).get(_CHECKPOINT)


# ---- The host's tools as tools of LangChain, for graphs that a person's function makes with them ----


class HostTool(BaseTool):
    """A tool of the host: models see its name, description and schema, and a call of it gives the placeholder.

    Arguments are neither checked nor read: the host does both, and a tool may have an argument of any name.
    """

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """The placeholder, as a message where the whole call is given."""
        del config, kwargs
        if isinstance(input, dict) and input.get("type") == "tool_call":
            return ToolMessage(content=graph_events.PLACEHOLDER, tool_call_id=input["id"], name=self.name)
        return graph_events.PLACEHOLDER

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """As :meth:`invoke`."""
        return self.invoke(input, config, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> str:
        del args, kwargs
        return graph_events.PLACEHOLDER


def host_tool(tool: Tool) -> HostTool:
    """A tool of the host for a graph."""
    return HostTool(name=tool.name, description=tool.description, args_schema=dict(tool.input_schema or {}))


# ---- The adapter ----

_NO_CHECKPOINTER: Final = (
    "\n\n(The agent cannot resume: its graph has no checkpointer. Make it with one, such as "
    "`checkpointer=InMemorySaver()`.)"
)


class GraphAdapter:
    """Runs graphs; see :class:`partstream_agents.adapter.AgentAdapter`."""

    framework = "LangGraph"
    tested = "langgraph 1.0-1.2, langchain 1.0-1.5"
    errors = conversation.ERRORS

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
        """The names of the tools of a graph and its sub-graphs, without the host's."""
        return frozenset(
            name
            for one in _with_subgraphs(agent.graph if isinstance(agent, AnsweringGraph) else agent)
            for node in _nodes(one).values()
            for name, tool in _tools_of(node).items()
            if not type(tool).__module__.startswith(_OWN_MODULES) and name != _SEAT
        )


class _GraphRun:
    """One run of a graph."""

    def __init__(self, graph: AnsweringGraph, request: AgentRequest) -> None:
        self._graph = graph
        self._request = request
        self._guard = conversation.RunGuard(asyncio.current_task())
        found = getattr(graph.graph, "checkpointer", None)
        self._has_thread = found is not None and not isinstance(found, bool)
        names = [tool.name for tool in request.tools]
        # The stream of values has also the fields that only nodes read; `output_channels` are those of the output.
        given = getattr(graph.graph, "output_channels", None)
        fields = () if "messages" in getattr(graph.graph, "channels", ()) else None if isinstance(given, str) else given
        self._events = graph_events.GraphEvents(
            names, graph.answer_nodes, dict(_speaking(graph.graph)), graph.output, fields
        )

    async def outputs(self) -> AsyncGenerator[AgentOutput, None]:
        # `with_config` joins callbacks; before LangGraph 1.1, those given to a run took the place of the graph's own.
        graph = self._graph.graph.with_config(dict(self._graph.config)) if self._graph.config else self._graph.graph
        compiled = graph.with_config({"callbacks": [self._guard, conversation.AskedBy()]})
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
        except graph_events.HostCallsPending:
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
            if found is not None and found.update is not None:
                try:
                    await compiled.aupdate_state(found.config, found.update)
                except InvalidUpdateError:
                    # Several nodes have ended at once: LangGraph cannot tell after which of them the run goes on.
                    found = None
        return found or begun(graph, request, takes_instructions=takes_instructions)

    def _stream(self, compiled: Any, start: RunInput) -> Any:
        known = signature(compiled.astream).parameters
        options: dict[str, Any] = {"version": "v2"} if "version" in known else {}
        if self._graph.context is not None:
            options["context"] = self._graph.context
        modes = list(graph_events.STREAM_MODES)
        return compiled.astream(start.value, start.config, stream_mode=modes, subgraphs=True, **options)

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
            kept = {_THREAD: config["configurable"][_THREAD], _CHECKPOINT: _checkpoint_of(snapshot)}
            return {**kept, "asked": asked.kept} if asked is not None else kept
        if asked is not None or not self._events.ends_at(pending):
            return None
        messages = conversation.messages_as_json(self._events.messages)
        return None if messages is None else {"messages": messages}


def _explained(output: AgentOutput) -> AgentOutput:
    """A question that cannot be answered, with the reason."""
    if isinstance(output, Question):
        return Question(output.text + _NO_CHECKPOINTER, output.id)
    if isinstance(output, ApprovalAsked):
        names = ", ".join(f"`{one.name}`" for one in output.approvals)
        return Question(f"The agent asks for permission to run {names}.{_NO_CHECKPOINTER}")
    return output


ADAPTER: Final = GraphAdapter()
"""The adapter of graphs."""
