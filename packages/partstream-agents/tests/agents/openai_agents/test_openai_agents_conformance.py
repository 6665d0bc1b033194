"""An agent of the OpenAI Agents SDK keeps the contract: with the conformance kit as the server of its model."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from agents import Agent, OpenAIResponsesModel, set_tracing_disabled
from openai import AsyncOpenAI

from extent import IS_WHOLE, TELLING
from partstream_agents import RunStates, as_model
from partstream_devtools.conformance.driver import TimeLimits
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.scenarios import SCENARIOS

set_tracing_disabled(True)

LONG = {"long-text", "fifty-at-once"}
"""Left out: they show the same, for longer. Many runs at once are a scenario of every framework."""
CHOSEN = set(SCENARIOS) - LONG if IS_WHOLE else TELLING


def test_an_agent_keeps_the_contract_whatever_its_model_server_does(tmp_path: Path) -> None:
    clients: list[AsyncOpenAI] = []

    def made(upstream: str) -> Any:
        clients.append(AsyncOpenAI(base_url=upstream, api_key="none", max_retries=0))
        model = OpenAIResponsesModel("demo", openai_client=clients[-1])
        return as_model(Agent("A", model=model), name="A", image_input=True, states=RunStates(tmp_path))

    async def judged() -> Any:
        try:
            return await run(made, select=CHOSEN, limits=TimeLimits(grace_seconds=0.003))
        finally:
            for client in clients:
                await client.close()

    report = asyncio.run(judged())
    assert report.exit_code == 0, [(check.id, check.got) for check in report.broken]
    assert report.counts[Verdict.PASSED] > (200 if IS_WHOLE else 50)


def test_the_adapter_imports_the_sdk_only_where_an_agent_runs() -> None:
    code = "import sys, partstream_agents.openai_agents; assert not {'agents', 'openai'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
