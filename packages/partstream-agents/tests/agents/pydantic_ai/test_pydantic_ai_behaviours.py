"""What agents of pydantic-ai show in the rows of the matrix of frameworks."""

import asyncio
import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from behaviours import MCP_SERVER, PYTHON, Behaviour, Case, Cases, rows_of, show
from pydantic_ai import Agent, ModelRetry, RunContext, TextOutput
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from partstream_agents import AgentPairing
from partstream_agents.pydantic_ai import PydanticAI


def model(*steps: list[Any]) -> FunctionModel:
    """Streams one step after the other: texts, and calls as `(name, arguments, id)`."""

    async def stream(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        done = sum(isinstance(message, ModelResponse) for message in messages)
        for number, piece in enumerate(steps[min(done, len(steps) - 1)]):
            await asyncio.sleep(0)
            if isinstance(piece, str):
                yield piece
            else:
                name, arguments, call_id = piece
                name = info.output_tools[0].name if name == "output" else name
                yield {number + 1: DeltaToolCall(name, arguments, tool_call_id=call_id)}

    return FunctionModel(stream_function=stream)


def for_one_user() -> Any:
    users = count(1)

    def build() -> AgentPairing:
        def user(context: RunContext[str], text: str) -> str:
            return f"{text}{context.deps}"

        agent = Agent(model(["user "]), deps_type=str, output_type=TextOutput(user))
        return AgentPairing(agent, PydanticAI(deps=str(next(users))))

    return build


def validated() -> Any:
    agent = Agent(model(["It\u2019s ", "done."]))
    agent.output_validator(lambda text: text.replace("\u2019", "'"))
    return agent


def refusing() -> Any:
    agent = Agent(model(["Draft"], ["Done."]))

    @agent.output_validator
    def check(text: str) -> str:
        if text == "Draft":
            raise ModelRetry("better")
        return text

    return agent


def judged() -> Any:
    agent = Agent(model(["Done."]))
    judge = Agent(TestModel(custom_output_text="SAFEanswer"))

    @agent.instructions
    async def guard() -> str:
        return (await judge.run("is it safe?")).output

    return agent


def with_tool(tool: Any, *steps: list[Any], **settings: Any) -> Any:
    agent = Agent(model(*steps))
    agent.tool_plain(**settings)(tool)
    return agent


def delete_file(path: str) -> str:
    return f"deleted {path}"


def search() -> str:
    return "3 results"


async def failing() -> str:
    async def connect() -> None:
        raise ConnectionError("refused")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(connect())
    return ""


def stopping() -> str:
    return next(iter(()))


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Result:
    when: date
    raw: bytes
    colour: Colour


def with_mcp() -> Any:
    mcp = pytest.importorskip("pydantic_ai.mcp", exc_type=ImportError)
    if hasattr(mcp, "MCPToolset"):  # since 2.0
        transports = pytest.importorskip("fastmcp.client.transports")
        server = mcp.MCPToolset(transports.StdioTransport(PYTHON, [MCP_SERVER]))
    else:
        server = mcp.MCPServerStdio(PYTHON, [MCP_SERVER])
    return Agent(model([("add", '{"first": 1, "second": 2}', "c1")], ["Done."]), toolsets=[server])


TWO = [("delete_file", '{"path": "a.py"}', "c1"), ("delete_file", '{"path": "b.py"}', "c2")]
OBJECT = '{"when": "2026-01-01", "raw": "YQ==", "colour": "red"}'
ONE_AGENT = "a run has one agent; others run in its tools"
NO_GRAPH = "a run has no state and no nodes"

CASES: Cases = {
    "what a factory makes for a request is for it alone": for_one_user,
    "messages at the same time": ONE_AGENT,
    "agents below at the same time": "what an agent in a tool says is not in the events of the run",
    "a text that a validator changes": validated,
    "a text that a function makes": lambda: Agent(model(["Do", "ne."]), output_type=TextOutput(upper)),
    "a draft that a validator refuses": refusing,
    "private data that a middleware replaces": "validators do it",
    "a judge that is asked before the agent": judged,
    "a judge that is asked beside the agent's model": "validators and instructions are the places for it",
    "other fields of a state": NO_GRAPH,
    "an answer without text": lambda: Agent(model([("output", "{}", "c1")]), output_type=[nothing_said]),
    "two agents one after the other": ONE_AGENT,
    "two messages of one response": "a response is one message",
    "an agent that is a node": NO_GRAPH,
    "a call that the person refuses": lambda: with_tool(delete_file, TWO, ["Done."], requires_approval=True),
    "an id of a call that came before": lambda: with_tool(
        search, [("search", "{}", "c1")], [("search", "{}", "c1")], ["Done."]
    ),
    "a tool that fails with a group of errors": lambda: with_tool(failing, [("failing", "{}", "c1")]),
    "a tool that raises StopIteration": lambda: with_tool(stopping, [("stopping", "{}", "c1")]),
    "an output with a date, bytes and a member of an enumeration": lambda: Agent(
        model([("output", OBJECT, "c1")]), output_type=Result
    ),
    "a tool that ends the run": "an output function does it, and no tool",
    "a tool of a server of MCP": with_mcp,
    "a model with a retry": "the client of the model does it",
    "a chain": NO_GRAPH,
}


def upper(text: str) -> str:
    return text.upper()


def nothing_said() -> None:
    return None


@pytest.mark.parametrize(("behaviour", "case"), rows_of(CASES))
def test_an_agent_of_pydantic_ai(behaviour: Behaviour, case: Case, tmp_path: Path):
    show(behaviour, case, tmp_path)
