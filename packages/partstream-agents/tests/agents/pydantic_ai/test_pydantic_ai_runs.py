"""Runs of pydantic-ai agents that differ from those of other frameworks: what they wait for, and how they end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    ModelHTTPError,
    ModelRetry,
    NativeOutput,
    RunContext,
    TextOutput,
    ToolOutput,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UsageLimits,
)
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from scenarios import DELETED, FOUND, SCENARIOS, TOOLS, Called, Chat, ModelScript, Step, run_scenario
from scripted_pydantic_ai import City, ScriptedModel, ScriptedPydanticAI

from partstream import CancellationTokenSource, ChatMessage, DataPart, RequestOptions, TextPart, ToolResultPart
from partstream.errors import LanguageModelErrorCode, ToolArgumentsError, UpstreamHTTPError
from partstream.lm.messages import ToolMode
from partstream.lm.parts import ThinkingPart
from partstream_agents import AgentFailedError, AgentPairing, FailureKind, as_model
from partstream_agents.detection import find_adapter
from partstream_agents.pydantic_ai import ADAPTER, PydanticAI
from partstream_agents.run import RunStates

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
SEARCH = Called("inner_1", "search", {"query": "agents"})
READ = Called("outer_1", "read_file", {"path": "a.py"})
DELETE = Called("inner_2", "delete_file", {"path": "a.py"})


def chat_with(agent: Any, folder: Path, **options: Any) -> Chat:
    return Chat(as_model(agent, name="Agent", states=RunStates(folder), **options))


def scripted(*steps: Step, **settings: Any) -> tuple[Agent[None, Any], ModelScript, ScriptedModel]:
    script = ModelScript(*steps)
    agent = ScriptedPydanticAI().agent(script, **settings)
    assert isinstance(agent.model, ScriptedModel)
    return agent, script, agent.model


class Validated(ScriptedPydanticAI):
    """Agents that check their results, which pydantic-ai gives no other type of results for one run."""

    def agent(self, script: ModelScript, *, output: bool = False, **settings: Any) -> Agent[None, Any]:
        agent = super().agent(script, output=output, **settings)

        @agent.output_validator
        def check(value: Any) -> Any:
            return value

        return agent


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "one external call, then the answer",
        "external calls one after the other",
        "a mixed batch, gone on with exactly",
        "a mixed batch, rebuilt from the conversation",
        "an output that is an object",
        "a person allows a call",
        "calls that no approval can allow",
    ],
)
def test_an_agent_with_output_validators_shows_the_same(name: str, tmp_path: Path):
    run_scenario(SCENARIOS[name], Validated(), tmp_path)


def test_an_output_validator_still_judges_the_result(tmp_path: Path):
    async def run() -> None:
        agent, script, _ = scripted(Step(("bad",)), Step(("good",)))

        @agent.output_validator
        def check(value: str) -> str:
            if value == "bad":
                raise ModelRetry("say it better")
            return value

        answer = await chat_with(agent, tmp_path).say("Hi")
        assert answer.text == "good"
        assert "say it better" in script.requests[1].text

    asyncio.run(run())


def test_a_batch_of_all_three_kinds_asks_first_and_then_hands_out(tmp_path: Path):
    async def run() -> None:
        agent, script, _ = scripted(Step(("All. ",), calls=(DELETE, SEARCH, READ)), Step(("Done.",)))
        chat = chat_with(agent, tmp_path)
        asked = await chat.say("Do it all")
        assert "delete_file" in asked.text
        assert not asked.calls
        assert 'Called search(query="agents")' in asked.thinking
        assert "delete_file" not in asked.thinking, "it was not called yet"
        handed_out = await chat.say("yes")
        assert [call.name for call in handed_out.calls] == ["read_file"]
        last = await chat.give({"read_file": "what was read"})
        assert last.text == "Done."
        assert 'Called delete_file(path="a.py")' in last.thinking
        assert "search" not in last.thinking, "it does not run again"
        assert len(script.requests) == 2
        for piece in (FOUND[0], DELETED, "what was read"):
            assert piece in script.requests[1].text

    asyncio.run(run())


def test_a_handler_of_the_agent_decides_before_the_person(tmp_path: Path):
    async def run() -> None:
        handler: Any = HandleDeferredToolCalls(lambda _, requests: requests.build_results(approve_all=True))
        agent, script, _ = scripted(Step(calls=(DELETE,)), Step(("Done.",)), capabilities=[handler])
        answer = await chat_with(agent, tmp_path).say("Clean up")
        assert answer.text == "Done."
        assert 'Called delete_file(path="a.py")' in answer.thinking
        assert DELETED in script.requests[1].text

    asyncio.run(run())


def test_a_call_that_a_tool_leaves_to_others_is_a_question_to_the_person(tmp_path: Path):
    async def run() -> None:
        ask = Called("inner_3", "ask_user", {"question": "Which colour?"})
        agent, script, _ = scripted(Step(calls=(ask, READ)), Step(("Red it is.",)))

        @agent.tool_plain
        def ask_user(question: str) -> str:
            raise CallDeferred

        chat = chat_with(agent, tmp_path)
        first = await chat.say("Paint it")
        assert [call.name for call in first.calls] == ["read_file"], "the host's results come before the next words"
        asked = await chat.give({"read_file": "a wall"})
        assert asked.text == "Which colour?"
        assert not asked.calls
        assert len(script.requests) == 1
        last = await chat.say("red")
        assert last.text == "Red it is."
        assert "a wall" in script.requests[1].text
        assert '"red"' in script.requests[1].text

    asyncio.run(run())


def test_arguments_that_are_no_json_object_are_never_handed_out(tmp_path: Path):
    async def broken(_messages: Any, _info: Any) -> AsyncIterator[Any]:
        yield {0: DeltaToolCall("read_file", "[1]", tool_call_id="c1")}

    answer = asyncio.run(chat_with(Agent(FunctionModel(stream_function=broken)), tmp_path).say("Read", fails=True))
    assert not answer.calls
    assert isinstance(answer.error, ToolArgumentsError)
    assert (answer.error.name, answer.error.arguments) == ("read_file", "[1]")


def test_both_the_agent_and_the_host_instruct_every_request(tmp_path: Path):
    async def run() -> None:
        steps = (Step(("One",)), Step(calls=(READ,)), Step(("Two",)))
        agent, script, model = scripted(*steps, system_prompt="You are mine.", instructions="Be brief.")
        chat = chat_with(agent, tmp_path)
        chat.messages.append(ChatMessage.system("You are Copilot."))
        await chat.say("first")
        await chat.say("second")
        await chat.give({"read_file": "content"})
        assert [seen.text.count("You are mine.") for seen in script.requests] == [1, 1, 1]
        for messages in model.messages_seen:
            assert "Be brief." in messages[-1].instructions
            assert "You are Copilot." in messages[-1].instructions

    asyncio.run(run())


def test_an_image_that_a_tool_of_the_host_returns_reaches_the_model(tmp_path: Path):
    async def run() -> None:
        agent, _, model = scripted(Step(calls=(READ, SEARCH)), Step(("A cat.",)))
        chat = chat_with(agent, tmp_path)
        await chat.say("Look")
        content = [TextPart("here"), DataPart.image(PNG, "image/png")]
        chat.messages.append(ChatMessage.user([ToolResultPart("outer_1", content)]))
        assert (await chat.ask()).text == "A cat."
        parts = [part for message in model.messages_seen[1] for part in message.parts]
        [back] = [part for part in parts if isinstance(part, ToolReturnPart) and part.tool_call_id == "outer_1"]
        words, image = back.content
        assert (words, image.data) == ("here", PNG)

    asyncio.run(run())


def test_a_tool_of_the_host_that_failed_has_failed_for_the_model(tmp_path: Path):
    async def run() -> None:
        agent, script, _ = scripted(Step(calls=(READ,)), Step(("Too bad.",)))
        chat = chat_with(agent, tmp_path)
        await chat.say("Read")
        chat.messages.append(ChatMessage.user([ToolResultPart("outer_1", [TextPart("no such file")], is_error=True)]))
        assert (await chat.ask()).text == "Too bad."
        assert "no such file" in script.requests[1].text

    asyncio.run(run())


@pytest.mark.parametrize("damage", [lambda state: state.clear(), lambda state: state.update(version=9, calls=[3])])
def test_a_state_of_another_form_is_not_gone_on_with(damage: Callable[[dict[str, Any]], None], tmp_path: Path):
    class Damaged(RunStates):
        def keep(self, record: dict[str, Any]) -> str | None:
            damage(record["state"])
            return super().keep(record)

    async def run() -> None:
        agent, script, _ = scripted(Step(calls=(SEARCH, READ)), Step(("Done.",)))
        chat = Chat(as_model(agent, name="Agent", states=Damaged(tmp_path)))
        await chat.say("Search and read")
        assert (await chat.give({"read_file": "what was read"})).text == "Done."
        assert FOUND[0] not in script.requests[1].text, "rebuilt from the conversation"

    asyncio.run(run())


async def _error(error: Exception) -> AsyncIterator[str]:
    yield "Hel"
    raise error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UsageLimitExceeded("too many requests"), FailureKind.LIMIT),
        (UnexpectedModelBehavior("no output"), FailureKind.MODEL),
    ],
    ids=repr,
)
def test_what_the_framework_raises_is_an_error_of_ours(error: Exception, kind: FailureKind, tmp_path: Path):
    agent = Agent(FunctionModel(stream_function=lambda *_: _error(error)))
    answer = asyncio.run(chat_with(agent, tmp_path).say("Hi", fails=True))
    assert answer.text == "Hel"
    assert isinstance(answer.error, AgentFailedError)
    assert (answer.error.kind, answer.error.__cause__) == (kind, error)


def test_the_status_of_the_models_server_stays(tmp_path: Path):
    error = ModelHTTPError(429, "small", {"message": "slow down"})
    agent = Agent(FunctionModel(stream_function=lambda *_: _error(error)))
    answer = asyncio.run(chat_with(agent, tmp_path).say("Hi", fails=True))
    assert isinstance(answer.error, UpstreamHTTPError)
    assert (answer.error.http_status, answer.error.code) == (429, LanguageModelErrorCode.BLOCKED)


def test_every_named_exception_is_one_of_the_framework():
    from pydantic_ai import exceptions

    known = {name for name in ADAPTER.errors if hasattr(exceptions, name)}
    assert {"UsageLimitExceeded", "UnexpectedModelBehavior", "ModelHTTPError", "UserError"} <= known
    if hasattr(exceptions, "RunTimedOut"):  # the newest
        assert known == {*ADAPTER.errors}


def test_an_error_of_the_persons_own_tool_stays_as_it_is(tmp_path: Path):
    agent, _, _ = scripted(Step(calls=(Called("c1", "broken"),)))

    @agent.tool_plain
    def broken() -> str:
        raise ZeroDivisionError("in my own tool")

    answer = asyncio.run(chat_with(agent, tmp_path).say("Hi", fails=True))
    assert isinstance(answer.error, ZeroDivisionError)


def _shout(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize(
    ("output", "streamed", "shown"),
    [
        (NativeOutput(City), '{"city": "Paris", "people": 2}', '{"city": "Paris", "people": 2}'),
        (TextOutput(_shout), "hello", "HELLO"),
        ([str, DeferredToolRequests], "hello", "hello"),
        ([str, City], "hello", "hello"),
    ],
    ids=["written by the model as text", "made by a function", "with what it waits for", "a text or an object"],
)
def test_what_the_agent_gives_back_is_shown_once(output: Any, streamed: str, shown: str, tmp_path: Path):
    agent = Agent(ScriptedModel(ModelScript(Step((streamed,)))), output_type=output)
    assert asyncio.run(chat_with(agent, tmp_path).say("Hi")).text == shown


def test_a_text_that_is_the_argument_of_a_tool_is_the_answer(tmp_path: Path):
    agent = Agent(ScriptedModel(ModelScript(Step(result={"response": "Hello"}))), output_type=ToolOutput(str))
    assert asyncio.run(chat_with(agent, tmp_path).say("Hi")).text == "Hello"


def test_tools_are_known_through_the_toolsets_that_hold_them(tmp_path: Path):
    def find(query: str) -> str:
        return query

    toolset: Any = FunctionToolset([find])
    agent, _, _ = scripted(toolsets=[toolset.prefixed("web"), toolset.renamed({"look": "find"})])
    assert {*ADAPTER.inner_tools(agent)} == {"search", "delete_file", "web_find", "look"}


def test_a_wrapped_agent_is_an_agent(tmp_path: Path):
    agent, _, _ = scripted(Step(calls=(READ,)), Step(("Done.",)))
    wrapped = WrapperAgent(agent)
    assert find_adapter(wrapped) is ADAPTER

    async def run() -> None:
        chat = chat_with(wrapped, tmp_path)
        await chat.say("Read")
        assert (await chat.give({"read_file": "content"})).text == "Done."

    asyncio.run(run())


def test_the_signature_of_thinking_survives_where_nothing_was_kept(tmp_path: Path):
    async def run() -> None:
        steps = (Step(thinking="hm", signature="signed", calls=(READ,)), Step(("Done.",)))
        agent, script, _ = scripted(*steps)
        chat = Chat(as_model(agent, name="Agent", states=RunStates(tmp_path)), keeps_markers=False)
        answer = await chat.say("Read")
        chat.messages[-1] = ChatMessage.assistant([p for p in answer.parts if not isinstance(p, DataPart)])
        assert any(isinstance(part, ThinkingPart) and part.metadata for part in answer.parts)
        await chat.give({"read_file": "content"})
        assert '"signature":"signed"' in script.requests[1].text

    asyncio.run(run())


def test_a_cancellation_reaches_the_agents_own_tools(tmp_path: Path):
    async def run() -> None:
        agent, script, _ = scripted(Step(calls=(Called("c1", "wait"),)))
        left = asyncio.Event()

        @agent.tool_plain
        async def wait() -> str:
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            return ""

        await chat_with(agent, tmp_path).say("Wait", cancel_at=lambda part: isinstance(part, ThinkingPart))
        assert left.is_set()
        assert len(script.requests) == 1
        assert script.open == 0

    asyncio.run(run())


def test_an_agent_may_come_with_what_its_tools_need_and_the_limits_of_its_runs(tmp_path: Path):
    async def run() -> None:
        agent: Any = Agent(ScriptedModel(ModelScript(Step(calls=(Called("c1", "whose"),)), Step(("Done.",)))))
        asked = []

        @agent.tool
        def whose(context: RunContext[str]) -> str:
            asked.append(context.deps)
            return "mine"

        paired = AgentPairing(agent, PydanticAI(deps="database", usage_limits=UsageLimits(request_limit=1)))
        answer = await chat_with(paired, tmp_path).say("Whose is it?", fails=True)
        assert asked == ["database"]
        assert isinstance(answer.error, AgentFailedError)
        assert answer.error.kind is FailureKind.LIMIT

    asyncio.run(run())


class Reported(list[Any]):
    """Takes the parts of an answer."""

    report = list.append


def test_a_demanded_call_is_demanded_of_the_model_once(tmp_path: Path):
    agent, _, model = scripted(Step(calls=(SEARCH,)), Step(calls=(READ,)))
    provider = chat_with(agent, tmp_path).provider
    options, token = RequestOptions(TOOLS, ToolMode.REQUIRED), CancellationTokenSource().token
    asking = provider.provide_language_model_chat_response(
        provider.information, [ChatMessage.user("Read")], options, Reported(), token
    )
    asyncio.run(asking)
    assert [seen and seen.get("tool_choice") for seen in model.settings_seen] == [["read_file", "edit_file"], None]


def test_the_thinking_of_a_step_and_the_lines_on_its_calls_are_one_block_of_this_answer(tmp_path: Path):
    async def run() -> None:
        steps = (Step(thinking="I search.", calls=(SEARCH,)), Step(("Well. ",), thinking="Again.", calls=(SEARCH,)))
        agent, _, _ = scripted(*steps, Step(("Done.",)), *steps[:1], Step(("Done.",)))
        chat = chat_with(agent, tmp_path)
        ids = []
        for answer in (await chat.say("Search"), await chat.say("Search again")):
            blocks: dict[str | None, str] = {}
            for part in answer.parts:
                if isinstance(part, ThinkingPart):
                    blocks[part.id] = blocks.get(part.id, "") + part.value
            assert all("Called search" in block and "-> " in block for block in blocks.values())
            ids += blocks
        assert len(ids) == len({*ids}) == 3

    asyncio.run(run())
