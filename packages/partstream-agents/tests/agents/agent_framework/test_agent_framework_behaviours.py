"""What agents of the Microsoft Agent Framework show in the rows of the matrix of frameworks."""

import asyncio
import enum
import json
from collections.abc import AsyncIterator, Sequence
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    Message,
    WorkflowBuilder,
    agent_middleware,
    tool,
)
from behaviours import MCP_SERVER, PYTHON, Behaviour, Case, Cases, rows_of, show
from pydantic import BaseModel

from partstream_agents import AgentPairing
from partstream_agents.agent_framework import AgentFramework


class Client(FunctionInvocationLayer, BaseChatClient):  # type: ignore[type-arg]
    """Streams one step after the other, by the results that it sees: texts and calls."""

    def __init__(self, *steps: Any) -> None:
        super().__init__()
        self._steps = steps

    def _inner_get_response(self, *, messages: Sequence[Message], stream: bool, options: Any, **_more: Any) -> Any:
        return self._build_response_stream(self._updates(messages))

    async def _updates(self, messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
        results = [one for message in messages for one in message.contents if one.type == "function_result"]
        step = self._steps[min(len(results), len(self._steps) - 1)]
        for piece in step(results) if callable(step) else step:
            content = Content.from_text(piece) if isinstance(piece, str) else piece
            yield ChatResponseUpdate(role="assistant", contents=[content])
            await asyncio.sleep(0)
        yield ChatResponseUpdate(role="assistant", contents=[], finish_reason="stop")


def call(name: str, call_id: str = "c1", **arguments: Any) -> Content:
    return Content.from_function_call(call_id, name, arguments=json.dumps(arguments))


@tool(approval_mode="never_require")
def search() -> str:
    """Searches."""
    return "3 results"


@tool(approval_mode="never_require")
def stopping() -> str:
    """Finds nothing."""
    return next(iter(()))


@tool(approval_mode="always_require")
def delete_file(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


def agent_of(*steps: Any, name: str = "Agent", **settings: Any) -> Any:
    return Agent(Client(*steps), name=name, **settings)


def for_one_user() -> Any:
    users = count(1)

    def build() -> AgentPairing:
        @tool(approval_mode="never_require")
        def who(context: FunctionInvocationContext) -> str:
            """Says who asks."""
            return f"user {context.kwargs['user']}"

        agent = agent_of([call("who")], lambda results: [str(results[-1].result)], tools=[who])
        return AgentPairing(agent, AgentFramework(function_invocation_kwargs={"user": str(next(users))}))

    return build


def workflow(first: Any, *others: Any) -> Any:
    builder = WorkflowBuilder(start_executor=first)
    built = builder.add_edge(first, others[0]) if len(others) == 1 else builder.add_fan_out_edges(first, [*others])
    return built.build().as_agent(name="Workflow")


def at_once() -> Any:
    return workflow(
        agent_of([""], name="Start"),
        agent_of(["About cats: ", "first, ", "second."], name="Cats"),
        agent_of(["About dogs: ", "first, ", "second."], name="Dogs"),
    )


def judged() -> Any:
    judge = agent_of(["SAFEanswer"], name="Judge")

    @agent_middleware
    async def guard(_context: Any, call_next: Any) -> None:
        async for _ in judge.run("is it safe?", stream=True):
            pass
        await call_next()

    return agent_of(["Done."], middleware=[guard])


class Colour(enum.Enum):
    RED = "red"


class Result(BaseModel):
    when: date
    raw: bytes
    colour: Colour


def with_mcp() -> Any:
    from agent_framework import MCPStdioTool

    pytest.importorskip("mcp")

    class Closing(MCPStdioTool):
        """The framework connects at the first run, and leaves it to the program to close."""

        async def call_tool(self, *given: Any, **named: Any) -> Any:
            try:
                return await super().call_tool(*given, **named)
            finally:
                await self.close()

    server = Closing("sums", PYTHON, args=[MCP_SERVER], approval_mode="never_require")
    return agent_of([call("add", first=1, second=2)], ["Done."], tools=[server])


OBJECT = '{"when": "2026-01-01", "raw": "YQ==", "colour": "red"}'
NO_REVISION = "a middleware changes the stream itself, before anybody sees it"
TOLD = "the framework tells its model of the failure"
NO_GRAPH = "a run has no state and no nodes"

CASES: Cases = {
    "what a factory makes for a request is for it alone": for_one_user,
    "messages at the same time": at_once,
    "agents below at the same time": "what an agent in a tool says is not in the updates of the run",
    "a text that a validator changes": NO_REVISION,
    "a text that a function makes": NO_REVISION,
    "a draft that a validator refuses": NO_REVISION,
    "private data that a middleware replaces": NO_REVISION,
    "a judge that is asked before the agent": judged,
    "a judge that is asked beside the agent's model": judged,
    "other fields of a state": NO_GRAPH,
    "an answer without text": lambda: agent_of([""]),
    "two agents one after the other": lambda: workflow(
        agent_of(["I am ", "A."], name="A"), agent_of(["I am ", "B."], name="B")
    ),
    "two messages of one response": "an update does not say where a message ends",
    "an agent that is a node": NO_GRAPH,
    "a call that the person refuses": lambda: agent_of(
        [call("delete_file", "c1", path="a.py"), call("delete_file", "c2", path="b.py")],
        ["Done."],
        ["Done."],
        tools=[delete_file],
    ),
    "an id of a call that came before": lambda: agent_of([call("search")], [call("search")], ["Done."], tools=[search]),
    "a tool that fails with a group of errors": TOLD,
    "a tool that raises StopIteration": TOLD,
    "an output with a date, bytes and a member of an enumeration": lambda: agent_of(
        [OBJECT], default_options={"response_format": Result}
    ),
    "a tool that ends the run": "a middleware does it, with a text of its own",
    "a tool of a server of MCP": with_mcp,
    "a model with a retry": "the client of the model does it",
    "a chain": NO_GRAPH,
}


@pytest.mark.parametrize(("behaviour", "case"), rows_of(CASES))
def test_an_agent_of_the_agent_framework(behaviour: Behaviour, case: Case, tmp_path: Path) -> None:
    show(behaviour, case, tmp_path)


def test_a_tool_that_raises_stopiteration_does_not_hold_up_its_run(tmp_path: Path) -> None:
    row = Behaviour("a tool that raises StopIteration", thinking=("Called stopping", "-> "))
    show(row, lambda: agent_of([call("stopping")], ["Done."], tools=[stopping]), tmp_path)
