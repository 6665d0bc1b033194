"""Chat models and agents of LangChain whose model follows a script, for the tests of their adapters."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field
from scenarios import DELETED, FOUND, ModelScript, Seen, Step, hang

from partstream_agents.langchain import host_tools

__all__ = [
    "City",
    "ScriptedAgents",
    "ScriptedChatModel",
    "ScriptedChatModels",
    "ScriptedFactories",
    "ScriptedThreads",
    "delete_file",
    "search",
]


class City(BaseModel):
    """The result of an agent whose output is an object."""

    city: str
    people: int


@tool
def search(query: str) -> str:
    """Searches."""
    return "; ".join(FOUND)


@tool
def delete_file(path: str) -> str:
    """Deletes a file."""
    return DELETED


class ScriptedChatModel(BaseChatModel):
    """Streams what its script says.

    Attributes:
        script: What it says.
        tools: The names of the tools that it is given.
        messages_seen: The messages of each request.
        settings_seen: The settings with which it was given tools, each time.
    """

    script: Any
    tools: tuple[str, ...] = ()
    messages_seen: list[Any] = Field(default_factory=list)
    settings_seen: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        names = tuple(one["function"]["name"] if isinstance(one, dict) else one.name for one in tools)
        self.settings_seen.append(settings)
        return self.model_copy(update={"tools": names})

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
        raise AssertionError("the model is streamed")

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **settings))

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.messages_seen.append(messages)
        step = self.script.begin(Seen("\n".join(map(_seen, messages)), self.tools))
        with self.script.streaming():
            for message in _chunks(step, messages):
                chunk = ChatGenerationChunk(message=message)
                if run_manager:
                    await run_manager.on_llm_new_token("", chunk=chunk)
                yield chunk
            if step.error:
                raise RuntimeError("the model broke")
            if step.hangs:
                await hang()


def _seen(message: Any) -> str:
    return f"{message.type}: {message.content} {getattr(message, 'tool_calls', '')}"


def _chunks(step: Step, messages: Any) -> Iterator[AIMessageChunk]:
    """The chunks of a step: as lists of blocks if it thinks, as models that think stream."""
    if step.thinking:
        yield AIMessageChunk([{"type": "reasoning", "reasoning": step.thinking, "index": 0}])
        signed = {"type": "reasoning", "reasoning": "", "extras": {"signature": step.signature}, "index": 0}
        yield AIMessageChunk([signed])
    for piece in (_last_words(messages),) if step.echo else step.text:
        yield AIMessageChunk([{"type": "text", "text": piece, "index": 1}] if step.thinking else piece)
    calls = [(call.name, dict(call.arguments), call.call_id) for call in step.calls]
    if step.result is not None:
        calls.append(("City", dict(step.result), "result_1"))
    for index, (name, arguments, call_id) in enumerate(calls):
        text = json.dumps(arguments)
        yield _call_chunk(name, text[:5], call_id, index)
        yield _call_chunk(None, text[5:], None, index)
    given, said = step.usage
    usage: Any = {"input_tokens": given, "output_tokens": said, "total_tokens": given + said}
    reason = {"finish_reason": "tool_calls" if calls else "stop", "model_name": "scripted-1"}
    yield AIMessageChunk("", usage_metadata=usage, response_metadata=reason)


def _call_chunk(name: str | None, arguments: str, call_id: str | None, index: int) -> AIMessageChunk:
    piece: Any = {"name": name, "args": arguments, "id": call_id, "index": index, "type": "tool_call_chunk"}
    return AIMessageChunk("", tool_call_chunks=[piece])


def _last_words(messages: Any) -> str:
    return str([message.content for message in messages if message.type == "human"][-1])


class ScriptedChatModels:
    """Chat models: they have no tools of their own."""

    name = "LangChain chat models"
    can = frozenset({"thinking"})

    def agent(self, script: ModelScript, *, output: bool = False) -> Any:
        return ScriptedChatModel(script=script)


class ScriptedAgents:
    """Agents of `create_agent` without a checkpointer: a run that was stopped goes on with its messages."""

    name = "LangChain agents"
    can = frozenset({"inner tools", "objects", "thinking"})

    def agent(self, script: ModelScript, *, output: bool = False, **settings: Any) -> Any:
        """An agent; `settings` are further arguments of `create_agent`."""
        middleware = [host_tools(), *settings.pop("middleware", ())]
        form = {"response_format": City} if output else {}
        model = ScriptedChatModel(script=script)
        return create_agent(model, [search, delete_file], middleware=middleware, **form, **settings)


class ScriptedThreads(ScriptedAgents):
    """Agents of `create_agent` with a checkpointer, which ask before they delete a file."""

    name = "LangChain agents with a checkpointer"
    can = frozenset({"inner tools", "objects", "thinking", "approvals"})

    def agent(self, script: ModelScript, *, output: bool = False, **settings: Any) -> Any:
        asks = HumanInTheLoopMiddleware(interrupt_on={"delete_file": True})
        return super().agent(script, output=output, middleware=[asks], checkpointer=InMemorySaver(), **settings)


class ScriptedFactories:
    """Bare graphs that a function makes with the host's tools."""

    name = "LangGraph graphs"
    can = frozenset({"inner tools", "thinking"})

    def __init__(self, **compiled: Any) -> None:
        self._compiled = compiled

    def agent(self, script: ModelScript, *, output: bool = False) -> Any:
        def build(tools: Any) -> Any:
            own = [search, delete_file, *tools]
            model = ScriptedChatModel(script=script).bind_tools(own)

            async def call_model(state: MessagesState) -> Any:
                return {"messages": [await model.ainvoke(state["messages"])]}

            graph = StateGraph(MessagesState)
            graph.add_node("agent", call_model)
            graph.add_node("tools", ToolNode(own))
            graph.add_edge(START, "agent")
            graph.add_conditional_edges("agent", tools_condition)
            graph.add_edge("tools", "agent")
            return graph.compile(**self._compiled)

        return build
