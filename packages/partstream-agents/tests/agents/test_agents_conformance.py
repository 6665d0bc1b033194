"""The core of agents keeps the contract: with the conformance kit as the model server of an agent."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType
from typing import Any

from partstream import DataPart, LanguageModelChat, RequestOptions, ToolCallPart, connect
from partstream.lm.outputs import Finish, Outcome
from partstream_agents import (
    AgentOutput,
    AgentPairing,
    AgentRequest,
    ExternalCalls,
    FailureKind,
    KeptState,
    RunStates,
    StepUsage,
    as_model,
)
from partstream_devtools.conformance.driver import TimeLimits
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import run


class OneStep:
    """An agent that asks its model once in a run, and keeps a state at each call of the host's tools."""

    framework = "one step"
    tested = "1"
    errors: Mapping[str, FailureKind] = MappingProxyType({})

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def __partstream_model__(self) -> AgentPairing:
        return AgentPairing(self, self)

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        async with connect(self.base_url, model="any", protocol="openresponses") as model:
            async for output in self._step(model, request):
                yield output

    async def _step(self, model: LanguageModelChat, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        options = RequestOptions(request.tools, request.tool_mode, request.model_options)
        response = model.stream(request.messages, options)
        calls = []
        async for part in response:
            if isinstance(part, ToolCallPart):
                calls.append(part)
            elif not isinstance(part, DataPart):
                yield part
        if response.usage is not None:
            yield StepUsage(response.usage)
        yield Finish(Outcome.COMPLETED, response.finish_reason)
        if calls:
            yield KeptState({"step": 1})
            yield ExternalCalls(tuple(calls))


def test_an_agent_keeps_the_contract_whatever_its_model_server_does(tmp_path):
    def made(upstream: str) -> Any:
        return as_model(OneStep(upstream), name="Agent", states=RunStates(tmp_path))

    limits = TimeLimits(grace_seconds=0.003)
    report = asyncio.run(run(made, limits=limits, capabilities={"usage": True}))
    assert report.exit_code == 0, [(check.id, check.got) for check in report.broken]
    assert report.counts[Verdict.PASSED] > 200
