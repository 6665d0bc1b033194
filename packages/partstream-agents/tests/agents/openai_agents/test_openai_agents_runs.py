"""Runs of the OpenAI Agents SDK itself: handoffs, agents as tools, guardrails, limits, tracing, what a person sets."""

import asyncio
import json
from pathlib import Path
from typing import Any

import agents
import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    RunConfig,
    RunContextWrapper,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
)
from openai_agents_scripts import FRAMEWORK, FollowingModel, delete_file, search
from scenarios import Answer, Called, Chat, ModelScript, Step

from partstream import Tool
from partstream.conversation.turns import Text, Turn, TurnRole
from partstream.lm.messages import ToolMode
from partstream.runtime.client_failures import AgentFailedError
from partstream_agents import AgentPairing, as_model
from partstream_agents.adapter import AgentRequest
from partstream_agents.openai_agents import ADAPTER, OpenAIAgents
from partstream_agents.run import RunStates

READ = Called("outer_1", "read_file", {"path": "a.py"})
TO_BILLING, TO_TRIAGE = Called("h1", "transfer_to_billing"), Called("h2", "transfer_to_triage")


def chat(agent: Any, folder: Path, **options: Any) -> Chat:
    return Chat(as_model(agent, name="Agent", states=RunStates(folder)), **options)


def asked(**fields: Any) -> AgentRequest:
    return AgentRequest((Turn(TurnRole.USER, (Text("Hi"),), 0),), (), **fields)


async def collected(agent: Any, request: AgentRequest, adapter: OpenAIAgents = ADAPTER) -> list[Any]:
    return [output async for output in adapter.run(agent, request)]


class _Paired:
    """An agent that says itself how it is run."""

    def __init__(self, agent: Agent[Any], adapter: OpenAIAgents) -> None:
        self._pairing = AgentPairing(agent, adapter)

    def __partstream_model__(self) -> AgentPairing:
        return self._pairing


def _desks(script: ModelScript, *, by_function: bool) -> Agent[Any]:
    """Two agents that hand over to each other."""
    model = FollowingModel(script)
    billing: Agent[Any] = Agent("billing", model=model, tools=[search])
    triage: Agent[Any] = Agent("triage", model=model, handoffs=[handoff(billing) if by_function else billing])
    billing.handoffs.append(handoff(triage) if by_function else triage)
    return triage


@pytest.mark.parametrize("by_function", [True, False], ids=["handoff(agent)", "agent"])
def test_an_agent_that_took_over_gets_the_hosts_tools_and_goes_on_exactly(by_function: bool, tmp_path: Path) -> None:
    script = ModelScript(
        Step(calls=(TO_BILLING,)), Step(calls=(READ,)), Step(calls=(TO_TRIAGE,)), Step(("Done.",), usage=(30, 4))
    )
    triage = _desks(script, by_function=by_function)

    async def run() -> tuple[Answer, Answer]:
        one = chat(triage, tmp_path)
        return await one.say("Read a.py"), await one.give({"read_file": "empty"})

    first, last = asyncio.run(run())
    assert [call.name for call in first.calls] == ["read_file"]
    assert "Handed over to billing" in first.thinking
    assert "transfer_to" not in first.thinking
    assert last.text == "Done."
    assert "Handed over to triage" in last.thinking
    last.check((30, 4))
    assert "empty" in script.requests[2].text
    assert "transfer_to_billing" in script.requests[2].text, "the run goes on, it is not rebuilt"
    assert [names for names in (seen.tools for seen in script.requests) if "read_file" not in names] == []
    assert (len(triage.tools), len(triage.handoffs)) == (0, 1), "the person's own agents are never changed"


def test_names_of_handoffs_are_the_agents_own_too() -> None:
    assert ADAPTER.inner_tools(_desks(ModelScript(), by_function=False)) == {
        "search",
        "transfer_to_billing",
        "transfer_to_triage",
    }


def _with_helper(script: ModelScript, below: ModelScript) -> Agent[Any]:
    helper: Agent[Any] = Agent("helper", model=FollowingModel(below), tools=[delete_file])
    return Agent("A", model=FollowingModel(script), tools=[helper.as_tool("ask_helper", "Asks the helper.")])


ASK_HELPER = Called("c1", "ask_helper", {"input": "clean up"})


def test_the_tokens_of_an_agent_below_are_in_the_sum_and_not_what_the_host_compacts_by(tmp_path: Path) -> None:
    script = ModelScript(Step(calls=(ASK_HELPER, READ), usage=(20, 2)))
    below = ModelScript(Step(("Nothing to do.",), usage=(900, 90)))
    answer = asyncio.run(chat(_with_helper(script, below), tmp_path).say("Clean up"))
    assert "Called ask_helper" in answer.thinking
    assert "Nothing to do." not in answer.text
    answer.check((20, 2))
    told = asyncio.run(
        collected(
            _with_helper(ModelScript(Step(calls=(ASK_HELPER,), usage=(20, 2)), Step(("Done.",), usage=(40, 4))),
                         ModelScript(Step(("Nothing to do.",), usage=(900, 90)))),
            asked(),
        )
    )  # fmt: skip
    assert sorted(output.usage.input_tokens for output in told if hasattr(output, "usage") and output.usage) == [
        20,
        40,
        900,
    ]


def test_a_person_allows_a_call_of_an_agent_below(tmp_path: Path) -> None:
    script = ModelScript(Step(calls=(ASK_HELPER,)), Step(("Done.",), usage=(50, 2)))
    below = ModelScript(Step(calls=(Called("c2", "delete_file", {"path": "a.py"}),)), Step(("It is gone.",)))

    async def run() -> tuple[Answer, Answer]:
        one = chat(_with_helper(script, below), tmp_path)
        return await one.say("Clean up"), await one.say("yes")

    first, last = asyncio.run(run())
    assert 'delete_file(path="a.py")' in first.text
    assert last.text == "Done."
    assert "deleted" in below.requests[1].text
    last.check((50, 2))


def test_a_person_allows_a_call_of_a_step_that_calls_the_hosts_tools_too(tmp_path: Path) -> None:
    delete = Called("c1", "delete_file", {"path": "a.py"})
    script = ModelScript(Step(calls=(delete, READ)), Step(("Done.",)))

    async def run() -> list[Answer]:
        one = chat(FRAMEWORK.agent(script), tmp_path)
        return [await one.say("Clean up"), await one.say("yes"), await one.give({"read_file": "what was read"})]

    first, second, last = asyncio.run(run())
    assert ("delete_file" in first.text, first.calls) == (True, [])
    assert [call.name for call in second.calls] == ["read_file"]
    assert last.text == "Done."
    assert len(script.requests) == 2
    assert "deleted" in script.requests[1].text
    assert "what was read" in script.requests[1].text


@input_guardrail
def _no_poems(_context: Any, _agent: Any, given: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput("poems", tripwire_triggered="poem" in json.dumps(given))


@output_guardrail
def _no_secrets(_context: Any, _agent: Any, said: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput("secrets", tripwire_triggered="secret" in str(said))


@pytest.mark.parametrize(
    ("given", "text"),
    [("Write a poem", None), ("Tell me", "a secret")],
    ids=["on the input", "on the output, after the text was shown"],
)
def test_a_guardrail_that_trips_ends_the_answer_with_an_error(given: str, text: str | None, tmp_path: Path) -> None:
    guarded: Agent[Any] = Agent(
        "A",
        model=FollowingModel(ModelScript(Step(("a secret",)))),
        input_guardrails=[_no_poems],
        output_guardrails=[_no_secrets],
    )
    answer = asyncio.run(chat(guarded, tmp_path).say(given, fails=True))
    assert isinstance(answer.error, AgentFailedError)
    assert answer.error.kind == "refused"
    assert answer.error.__cause__ is not None
    assert "Traceback" not in str(answer.error)
    assert text is None or answer.text == text, "what was shown cannot be taken back"


def test_a_conversation_may_have_more_calls_of_the_host_than_a_run_may_have_turns(tmp_path: Path) -> None:
    rounds = 14
    calls = [Step(calls=(Called(f"c{number}", "read_file", {"path": "a.py"}),)) for number in range(rounds)]
    script = ModelScript(*calls, Step(("Done.",)))

    async def run() -> Answer:
        one = chat(FRAMEWORK.agent(script), tmp_path)
        await one.say("Read a.py often")
        for number in range(rounds):
            last = await one.give({"read_file": f"read {number}."})
        return last

    assert asyncio.run(run()).text == "Done."
    seen = script.requests[-1].text
    assert [seen.count(f"read {number}.") for number in range(rounds)] == [1] * rounds


def test_a_run_without_end_is_an_error_that_names_the_limit(tmp_path: Path) -> None:
    script = ModelScript(*(Step(calls=(Called(f"c{number}", "search", {"query": "x"}),)) for number in range(4)))
    paired = _Paired(FRAMEWORK.agent(script), OpenAIAgents(max_turns=3))
    answer = asyncio.run(chat(paired, tmp_path).say("Search", fails=True))
    assert isinstance(answer.error, AgentFailedError)
    assert (answer.error.kind, answer.error.error_type) == ("limit", "MaxTurnsExceeded")


def test_an_agent_that_stops_at_its_first_tool_shows_what_the_tool_said_and_still_uses_the_hosts(
    tmp_path: Path,
) -> None:
    script = ModelScript(Step(calls=(READ,)), Step(calls=(Called("c1", "delete_file", {"path": "a.py"}),)))
    stopping = FRAMEWORK.agent(script)
    stopping.tool_use_behavior = "stop_on_first_tool"

    async def run() -> Answer:
        one = Chat(as_model(stopping, name="Agent", approve=lambda _: True, states=RunStates(tmp_path)))
        await one.say("Read, then delete")
        return await one.give({"read_file": "empty"})

    assert asyncio.run(run()).text == "deleted"
    assert "empty" in script.requests[1].text


def test_a_state_that_the_sdk_does_not_take_is_rebuilt_from_the_conversation() -> None:
    script = ModelScript(Step(("Hello",)))
    outputs = asyncio.run(collected(FRAMEWORK.agent(script), asked(resumed={"$schemaVersion": "0.1"})))
    assert [output.type for output in outputs if hasattr(output, "type")] == ["run_state"]
    assert "Hi" in script.requests[0].text


def test_the_object_of_a_person_reaches_the_tools_of_the_agent(tmp_path: Path) -> None:
    seen: list[Any] = []

    @function_tool
    def remember(context: RunContextWrapper[Any], word: str) -> str:
        """Remembers."""
        seen.append((context.context, word))
        return "remembered"

    script = ModelScript(Step(calls=(Called("c1", "remember", {"word": "x"}), READ)), Step(("Done.",)))
    agent: Agent[Any] = Agent("A", model=FollowingModel(script), tools=[remember])
    shelf = {"owner": "a person"}

    async def run() -> Answer:
        one = chat(_Paired(agent, OpenAIAgents(context=shelf)), tmp_path)
        await one.say("Remember x")
        return await one.give({"read_file": "empty"})

    assert asyncio.run(run()).text == "Done."
    assert seen == [(shelf, "x")]


class _Recorder(agents.TracingProcessor):
    def __init__(self) -> None:
        self.traces: list[str] = []

    def on_trace_start(self, trace: Any) -> None:
        self.traces.append(trace.name)

    def on_trace_end(self, trace: Any) -> None: ...

    def on_span_start(self, span: Any) -> None: ...

    def on_span_end(self, span: Any) -> None: ...

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


@pytest.mark.parametrize(
    ("config", "traced"),
    [
        (None, ["Agent workflow"]),
        (RunConfig(workflow_name="Mine"), ["Mine"]),
        (RunConfig(tracing_disabled=True), []),
    ],
    ids=["the SDK's default", "with a name", "off"],
)
def test_tracing_is_what_the_person_has_chosen(config: RunConfig | None, traced: list[str]) -> None:
    recorder = _Recorder()
    agents.set_trace_processors([recorder])  # nothing is sent to anybody
    agents.set_tracing_disabled(False)
    try:
        script = ModelScript(Step(("Hello",)))
        asyncio.run(collected(FRAMEWORK.agent(script), asked(), OpenAIAgents(run_config=config)))
    finally:
        agents.set_tracing_disabled(True)
        agents.set_trace_processors([])
    assert recorder.traces == traced


def test_what_a_caller_chooses_stands_above_the_settings_of_the_run() -> None:
    settings: list[Any] = []

    class Noting(FollowingModel):
        def stream_response(self, *given: Any, **options: Any) -> Any:
            settings.append(given[2])
            return super().stream_response(*given, **options)

    agent: Agent[Any] = Agent("A", model=Noting(ModelScript(Step(calls=(READ,)))))
    config = RunConfig(model_settings=agents.ModelSettings(temperature=1.0, top_p=0.5))
    request = asked(
        tools=(Tool("read_file", "", {"type": "object", "properties": {}}),),
        tool_mode=ToolMode.REQUIRED,
        model_options={"temperature": 0.2},
    )
    asyncio.run(collected(agent, request, OpenAIAgents(run_config=config)))
    [one] = settings
    assert (one.temperature, one.top_p, one.tool_choice) == (0.2, 0.5, "required")
