"""Runs of the Microsoft Agent Framework itself: approvals beside the host's tools, state, options, errors."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, FunctionInvocationContext, exceptions, tool
from agent_framework_scripts import FRAMEWORK, FollowingClient
from scenarios import Answer, Called, Chat, ModelScript, Step

from partstream import Tool
from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Call, Piece, Result, Text, Turn, TurnRole
from partstream.lm.messages import ToolMode
from partstream.runtime.client_failures import AgentFailedError
from partstream_agents import AgentPairing, as_model
from partstream_agents.adapter import AgentRequest
from partstream_agents.agent_framework import ADAPTER, AgentFramework, chosen_options, run_messages
from partstream_agents.run import RunStates

READ = Called("outer_1", "read_file", {"path": "a.py"})
DELETE = Called("c1", "delete_file", {"path": "a.py"})
SEARCH = Called("c2", "search", {"query": "x"})


def chat(agent: Any, folder: Path, **options: Any) -> Chat:
    return Chat(as_model(agent, name="Agent", states=RunStates(folder), **options))


def turn(role: TurnRole, *content: Piece) -> Turn:
    return Turn(role, content, 0)


def asked(*turns: Turn, **fields: Any) -> AgentRequest:
    return AgentRequest(turns or (turn(TurnRole.USER, Text("Hi")),), (), **fields)


async def collected(agent: Any, request: AgentRequest) -> list[Any]:
    return [output async for output in ADAPTER.run(agent, request)]


def test_a_person_allows_a_call_of_a_step_that_calls_the_hosts_tools_too(tmp_path: Path) -> None:
    script = ModelScript(Step(calls=(DELETE, READ, SEARCH)), Step(("Done.",)))

    async def run() -> list[Answer]:
        one = chat(FRAMEWORK.agent(script), tmp_path)
        return [await one.say("Clean up"), await one.say("yes"), await one.give({"read_file": "what was read"})]

    first, second, last = asyncio.run(run())
    assert "delete_file" in first.text
    assert "search" not in first.text, "a tool that needs no leave is not asked about"
    assert first.calls == []
    assert [call.name for call in second.calls] == ["read_file"]
    assert last.text == "Done."
    assert len(script.requests) == 2
    assert all(said in script.requests[1].text for said in ("deleted", "what was read", "second result"))
    assert [one["name"] for one in last.activity if one["type"] == "result"] == ["delete_file", "search"]


def test_a_session_that_the_framework_does_not_take_is_rebuilt_from_the_conversation() -> None:
    script = ModelScript(Step(("Hello",)))
    outputs = asyncio.run(collected(FRAMEWORK.agent(script), asked(resumed={"session": "of another version"})))
    assert [output.type for output in outputs if hasattr(output, "type")] == ["session"]
    assert "Hi" in script.requests[0].text


def test_an_exact_continuation_sees_what_the_first_request_saw(tmp_path: Path) -> None:
    script = ModelScript(Step(calls=(READ,)), Step(("Done.",)))

    async def run() -> None:
        one = chat(FRAMEWORK.agent(script), tmp_path)
        await one.say("Read a.py")
        await one.give({"read_file": "empty"})

    asyncio.run(run())
    first, second = (
        [(message["role"], message["contents"]) for message in json.loads(seen.text)] for seen in script.requests
    )
    assert second[: len(first)] == first, "the server's cache of prompts knows the beginning again"


def test_the_agents_own_arguments_reach_its_tools(tmp_path: Path) -> None:
    seen: list[Any] = []

    @tool(approval_mode="never_require")
    def remember(word: str, context: FunctionInvocationContext) -> str:
        """Remembers."""
        seen.append((word, context.kwargs["owner"]))
        return "remembered"

    script = ModelScript(Step(calls=(Called("c1", "remember", {"word": "x"}),)), Step(("Done.",)))
    agent: Agent[Any] = Agent(FollowingClient(script), name="A", tools=[remember])
    paired = AgentPairing(agent, AgentFramework(function_invocation_kwargs={"owner": "a person"}))
    assert asyncio.run(chat(paired, tmp_path).say("Remember x")).text == "Done."
    assert seen == [("x", "a person")]


def test_the_names_of_an_agents_own_tools_are_known_before_its_run() -> None:
    assert ADAPTER.inner_tools(FRAMEWORK.agent(ModelScript())) == {"search", "delete_file"}


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: exceptions.ChatClientInvalidAuthException("no such key"), "http"),
        (lambda: exceptions.ChatClientContentFilterException("filtered"), "refused"),
        (lambda: exceptions.ChatClientInvalidResponseException("no JSON"), "model"),
        (lambda: exceptions.MiddlewareException("bad order"), "usage"),
    ],
    ids=["authentication", "filter", "response", "middleware"],
)
def test_an_exception_of_the_framework_is_an_error_that_says_what_happened(
    make: Callable[[], Exception], kind: str, tmp_path: Path
) -> None:
    class Failing(FollowingClient):
        async def _updates(self, messages: Any, options: Any) -> Any:
            raise make()
            yield  # an asynchronous generator, like that of its base class

    agent: Agent[Any] = Agent(Failing(ModelScript()), name="A")
    answer = asyncio.run(chat(agent, tmp_path).say("Hi", fails=True))
    assert isinstance(answer.error, AgentFailedError)
    assert answer.error.kind == kind
    assert isinstance(answer.error.__cause__, exceptions.AgentFrameworkException)


def test_an_agent_whose_run_takes_no_tools_gets_none(tmp_path: Path) -> None:
    class Plain:
        """What a workflow looks like: `run` has neither tools nor options."""

        def __init__(self, agent: Agent[Any]) -> None:
            self.name = "Plain"
            self._agent = agent
            self.create_session = agent.create_session

        def run(self, messages: Any = None, *, stream: bool = False, session: Any = None) -> Any:
            assert stream
            return self._agent.run(messages, stream=True, session=session)

    script = ModelScript(Step(("Hello",)))
    paired = AgentPairing(Plain(FRAMEWORK.agent(script)), ADAPTER)
    assert asyncio.run(chat(paired, tmp_path).say("Hi")).text == "Hello"
    assert "read_file" not in script.requests[0].tools


def test_a_conversation_becomes_messages_in_its_order() -> None:
    image = Attachment(MediaKind.IMAGE, "image/png", b"png", "messages[0]")
    messages = run_messages(
        asked(
            turn(TurnRole.USER, Text("What is it?"), image),
            turn(TurnRole.ASSISTANT, Text("I look."), Call("c1", "read_file", {"path": "a"}, "")),
            turn(TurnRole.TOOL, Result("c1", "read_file", (Text("no such file"),), True, "")),
            instructions="You are in VS Code.",
        )
    )
    assert [str(message.role) for message in messages] == ["system", "user", "assistant", "tool"]
    assert [content.type for content in messages[1].contents] == ["text", "data"]
    assert messages[2].contents[1].arguments == {"path": "a"}
    [result] = messages[3].contents
    assert str(result.result).endswith("\nno such file")


def test_the_callers_options_are_chat_options_and_others_stay_out() -> None:
    options = {"temperature": 0.2, "maxTokens": 1, "max_output_tokens": 9, "model": "x", "headers": {}}
    tools = (Tool("read_file", "", {}),)
    request = asked(model_options=options, tools=tools, tool_mode=ToolMode.REQUIRED)
    assert chosen_options(request) == {"temperature": 0.2, "max_tokens": 9, "tool_choice": "required"}
    assert chosen_options(asked(tool_mode=ToolMode.REQUIRED)) == {}


def test_the_adapter_imports_the_framework_only_where_an_agent_runs() -> None:
    code = "import sys, partstream_agents.agent_framework; assert 'agent_framework' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
