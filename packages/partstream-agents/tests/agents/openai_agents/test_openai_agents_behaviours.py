"""What agents of the OpenAI Agents SDK show in the rows of the matrix of frameworks."""

import asyncio
import enum
from collections.abc import AsyncIterator
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunContextWrapper, function_tool, handoff, set_tracing_disabled
from agents.models.interface import Model
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from behaviours import MCP_SERVER, PYTHON, Behaviour, Case, Cases, rows_of, show
from pydantic import BaseModel

from partstream_agents import AgentPairing
from partstream_agents.openai_agents import OpenAIAgents

set_tracing_disabled(True)


class Steps(Model):
    """Answers one step after the other, by the results that it sees; a step may be made of them."""

    def __init__(self, *steps: Any) -> None:
        self._steps = steps

    async def get_response(self, **asked: Any) -> Any:  # type: ignore[override]
        return await ScriptedModel([self._step(asked["input"])]).get_response(**asked)

    async def stream_response(self, instructions: Any, given: Any, *rest: Any, **options: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        async for event in ScriptedModel([self._step(given)]).stream_response(instructions, given, *rest, **options):
            yield event
            await asyncio.sleep(0)

    def _step(self, given: Any) -> ModelStep:
        results = [one for one in given if isinstance(one, dict) and one.get("type") == "function_call_output"]
        step = self._steps[min(len(results), len(self._steps) - 1)]
        return ModelStep(output=step(results) if callable(step) else list(step))


def called(name: str, call_id: str = "c1", **arguments: Any) -> Any:
    return function_call(name, arguments, call_id=call_id)


DONE = [assistant_message("Done.")]


@function_tool
def search() -> str:
    """Searches."""
    return "3 results"


@function_tool(needs_approval=True)
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


@function_tool
def stopping() -> str:
    """Finds nothing."""
    return next(iter(()))


def for_one_user() -> Any:
    users = count(1)

    @function_tool
    def who(context: RunContextWrapper[str]) -> str:
        """Says who asks."""
        return f"user {context.context}"

    def build() -> AgentPairing:
        model = Steps([called("who")], lambda results: [assistant_message(results[-1]["output"])])
        agent = Agent("Agent", tools=[who], model=model, tool_use_behavior="stop_on_first_tool")
        return AgentPairing(agent, OpenAIAgents(context=str(next(users))))

    return build


def judged() -> Any:
    judge = Agent("Judge", model=Steps([assistant_message("SAFEanswer")]))

    async def instructions(_context: Any, _agent: Any) -> str:
        from agents import Runner

        return str((await Runner.run(judge, "is it safe?")).final_output)

    return Agent("Agent", model=Steps(DONE), instructions=instructions)


def handing_over() -> Any:
    other = Agent("B", model=Steps([assistant_message("I am B.")]))
    return Agent("A", handoffs=[handoff(other)], model=Steps([assistant_message("I am A."), called("transfer_to_b")]))


class Colour(enum.Enum):
    RED = "red"


class Result(BaseModel):
    when: date
    raw: bytes
    colour: Colour


def with_mcp() -> Any:
    from agents.mcp import MCPServerStdio

    class Connected(MCPServerStdio):
        """The SDK leaves it to the program to connect: here at the first list of its tools."""

        async def list_tools(self, *given: Any, **named: Any) -> Any:
            if self.session is None:
                await self.connect()
            return await super().list_tools(*given, **named)

        async def call_tool(self, *given: Any, **named: Any) -> Any:
            try:
                return await super().call_tool(*given, **named)
            finally:
                await self.cleanup()

    server = Connected(params={"command": PYTHON, "args": [MCP_SERVER]}, cache_tools_list=True)
    return Agent("Agent", mcp_servers=[server], model=Steps([called("add", first=1, second=2)], DONE))


OBJECT = '{"when": "2026-01-01", "raw": "YQ==", "colour": "red"}'
NO_MIDDLEWARE = "no hook of the SDK changes what a model says"
TOLD = "the SDK tells its model of the failure"
NO_GRAPH = "a run has no state and no nodes"

CASES: Cases = {
    "what a factory makes for a request is for it alone": for_one_user,
    "messages at the same time": "one agent speaks at a time",
    "agents below at the same time": "what an agent in a tool says is not in the events of the run",
    "a text that a validator changes": NO_MIDDLEWARE,
    "a text that a function makes": NO_MIDDLEWARE,
    "a draft that a validator refuses": "a guardrail ends the run, and the text stays",
    "private data that a middleware replaces": NO_MIDDLEWARE,
    "a judge that is asked before the agent": judged,
    "a judge that is asked beside the agent's model": "guardrails and instructions are the places for it",
    "other fields of a state": NO_GRAPH,
    "an answer without text": lambda: Agent("Agent", model=Steps([assistant_message("")])),
    "two agents one after the other": handing_over,
    "two messages of one response": lambda: Agent(
        "Agent", model=Steps([assistant_message("First."), assistant_message("Second.")])
    ),
    "an agent that is a node": NO_GRAPH,
    "a call that the person refuses": lambda: Agent(
        "Agent",
        tools=[delete_file],
        model=Steps([called("delete_file", "c1", path="a.py"), called("delete_file", "c2", path="b.py")], DONE),
    ),
    "an id of a call that came before": "the SDK takes the second call for the first",
    "a tool that fails with a group of errors": TOLD,
    "a tool that raises StopIteration": TOLD,
    "an output with a date, bytes and a member of an enumeration": lambda: Agent(
        "Agent", output_type=Result, model=Steps([assistant_message(OBJECT)])
    ),
    "a tool that ends the run": lambda: Agent(
        "Agent", tools=[search], tool_use_behavior="stop_on_first_tool", model=Steps([called("search")])
    ),
    "a tool of a server of MCP": with_mcp,
    "a model with a retry": "the client of the model does it",
    "a chain": NO_GRAPH,
}


@pytest.mark.parametrize(("behaviour", "case"), rows_of(CASES))
def test_an_agent_of_the_openai_agents_sdk(behaviour: Behaviour, case: Case, tmp_path: Path) -> None:
    show(behaviour, case, tmp_path)


def test_a_tool_that_raises_stopiteration_does_not_hold_up_its_run(tmp_path: Path) -> None:
    row = Behaviour("a tool that raises StopIteration", thinking=("Called stopping", "-> "))
    show(row, lambda: Agent("Agent", tools=[stopping], model=Steps([called("stopping")], DONE)), tmp_path)
