"""What agents, graphs, chat models and chains of LangChain show in the rows of the matrix of frameworks."""

import asyncio
import enum
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from behaviours import MCP_SERVER, PYTHON, Behaviour, Case, Cases, rows_of, show
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    after_model,
    before_agent,
    wrap_model_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from partstream_agents import AgentPairing
from partstream_agents.langchain import AnsweringGraph
from partstream_agents.langchain.graphs import GraphAdapter


class Model(BaseChatModel):
    """Streams one step after the other: texts, and calls as `(name, arguments, id)`."""

    steps: list[list[Any]]

    @property
    def _llm_type(self) -> str:
        return "steps"

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
        raise AssertionError("the model is streamed")

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **settings))

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        done = sum(message.type == "ai" for message in messages)
        for number, piece in enumerate(self.steps[min(done, len(self.steps) - 1)]):
            await asyncio.sleep(0)
            chunk = ChatGenerationChunk(
                message=AIMessageChunk(piece) if isinstance(piece, str) else _call(piece, number)
            )
            if run_manager:
                await run_manager.on_llm_new_token("", chunk=chunk)
            yield chunk


def _call(call: Any, index: int) -> AIMessageChunk:
    name, arguments, call_id = call
    piece: Any = {"name": name, "args": arguments, "id": call_id, "index": index, "type": "tool_call_chunk"}
    return AIMessageChunk("", tool_call_chunks=[piece])


def agent(*steps: list[Any], tools: Any = (), **settings: Any) -> Any:
    return create_agent(Model(steps=[*steps]), [*tools], **settings)


def node(*steps: list[Any], **fields: Any) -> Any:
    model = Model(steps=[*steps])

    async def ask(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"][:1])], **fields}

    return ask


def graph(*nodes: tuple[str, Any], state: Any = MessagesState) -> Any:
    built: Any = StateGraph(state)
    before = START
    for name, one in nodes:
        built.add_node(name, one)
        built.add_edge(before, name)
        before = name
    return built.compile()


def for_one_user() -> Any:
    users = count(1)

    def build() -> AgentPairing:
        user = f"user {next(users)}"
        answering = AnsweringGraph(graph(("say", node([user]))))
        return AgentPairing(answering, GraphAdapter())

    return build


def at_once() -> Any:
    async def worker(state: Any) -> Any:
        return {"messages": [await Model(steps=[[f"About {state['of']}: ", "first, ", "second."]]).ainvoke("x")]}

    built: Any = StateGraph(MessagesState)
    built.add_node("worker", worker)
    built.add_conditional_edges(START, lambda _: [Send("worker", {"of": one}) for one in ("cats", "dogs")], ["worker"])
    return built.compile()


@tool
async def research(of: str) -> str:
    """Asks a model below."""
    await Model(steps=[[f"About {of}: ", "first, ", "second."]]).ainvoke("x")
    return of


@tool
def search() -> str:
    """Searches."""
    return "3 results"


search_and_end = StructuredTool.from_function(lambda: "3 results", name="search", description="S.", return_direct=True)


@tool
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


@tool
async def failing() -> str:
    """Fails as a client of MCP does."""

    async def connect() -> None:
        raise ConnectionError("refused")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(connect())
    return ""


@tool
def stopping() -> str:
    """Finds nothing."""
    return next(iter(()))


@after_model
def straight(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    return {"messages": [last.model_copy(update={"content": last.content.replace("\u2019", "'")})]}


@after_model
def loud(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    return {"messages": [last.model_copy(update={"content": last.content.upper()})]}


JUDGE = Model(steps=[["SAFE", "answer"]])


@before_agent
async def guard(state: Any, runtime: Any) -> None:
    await JUDGE.ainvoke("is it safe?")


@wrap_model_call
async def critic(request: Any, handler: Any) -> Any:
    await JUDGE.ainvoke([*request.messages])
    answer = await handler(request)
    await JUDGE.ainvoke("critique")
    return answer


class Private(MessagesState):
    api_key: str


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Result:
    """A result."""

    when: date
    raw: bytes
    colour: Colour


def with_mcp() -> Any:
    mcp = pytest.importorskip("mcp")

    @asynccontextmanager
    async def session() -> AsyncIterator[Any]:
        from mcp.client.stdio import stdio_client

        parameters = mcp.StdioServerParameters(command=PYTHON, args=[MCP_SERVER])
        async with stdio_client(parameters) as (reading, writing), mcp.ClientSession(reading, writing) as opened:
            await opened.initialize()
            yield opened

    @tool
    async def add(first: int, second: int) -> str:
        """Adds two numbers, by a server of MCP."""
        async with session() as opened:
            return (await opened.call_tool("add", {"first": first, "second": second})).content[0].text

    return agent([("add", json.dumps({"first": 1, "second": 2}), "c1")], ["Done."], tools=[add])


CALLS = [("research", '{"of": "cats"}', "c1"), ("research", '{"of": "dogs"}', "c2")]
TWO = [("delete_file", '{"path": "a.py"}', "c1"), ("delete_file", '{"path": "b.py"}', "c2")]
OBJECT = '{"when": "2026-01-01", "raw": "YQ==", "colour": "red"}'
CHAIN = ChatPromptTemplate.from_messages([("system", "Be kind."), MessagesPlaceholder("messages")])

CASES: Cases = {
    "what a factory makes for a request is for it alone": for_one_user,
    "messages at the same time": at_once,
    "agents below at the same time": lambda: agent(CALLS, ["Done."], tools=[research]),
    "a text that a validator changes": lambda: agent(["It\u2019s ", "done."], middleware=[straight]),
    "a text that a function makes": lambda: agent(["Do", "ne."], middleware=[loud]),
    "a draft that a validator refuses": "a hook that jumps to the model keeps the draft in the messages",
    "private data that a middleware replaces": lambda: agent(
        ["Mail ann@exam", "ple.org now."],
        middleware=[PIIMiddleware("email", apply_to_output=True, apply_to_input=False)],
    ),
    "a judge that is asked before the agent": lambda: agent(["Done."], middleware=[guard]),
    "a judge that is asked beside the agent's model": lambda: agent(["Done."], middleware=[critic]),
    "other fields of a state": lambda: graph(("say", node([""], api_key="sk-private")), state=Private),
    "an answer without text": lambda: agent([""]),
    "two agents one after the other": lambda: graph(("a", node(["I am ", "A."])), ("b", node(["I am ", "B."]))),
    "two messages of one response": lambda: graph(
        ("say", lambda _: {"messages": [AIMessage("First."), AIMessage("Second.")]})
    ),
    "an agent that is a node": lambda: graph(("agent", agent(["Hello ", "you."]))),
    "a call that the person refuses": lambda: agent(
        TWO,
        ["Done."],
        tools=[delete_file],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"delete_file": True})],
        checkpointer=InMemorySaver(),
    ),
    "an id of a call that came before": lambda: agent(
        [("search", "{}", "c1")], [("search", "{}", "c1")], ["Done."], tools=[search]
    ),
    "a tool that fails with a group of errors": lambda: agent([("failing", "{}", "c1")], tools=[failing]),
    "a tool that raises StopIteration": lambda: agent([("stopping", "{}", "c1")], tools=[stopping]),
    "an output with a date, bytes and a member of an enumeration": lambda: agent(
        [("Result", OBJECT, "c1")], response_format=ToolStrategy(Result)
    ),
    "a tool that ends the run": lambda: agent([("search", "{}", "c1")], tools=[search_and_end]),
    "a tool of a server of MCP": with_mcp,
    "a model with a retry": lambda: Model(steps=[["Hello ", "you."]]).with_retry().with_config(tags=["x"]),
    "a chain": lambda: CHAIN | Model(steps=[["Hello ", "you."]]) | StrOutputParser(),
}


@pytest.mark.parametrize(("behaviour", "case"), rows_of(CASES))
def test_a_graph_or_model_of_langchain(behaviour: Behaviour, case: Case, tmp_path: Path):
    show(behaviour, case, tmp_path)
