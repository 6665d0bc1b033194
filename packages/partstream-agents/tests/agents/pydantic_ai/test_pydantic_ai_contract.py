"""An agent of pydantic-ai between VS Code and a model server keeps the contract, as the conformance kit sees it.

`partstream conformance FILE:make --protocol NAME` runs all checks; here are those that agents break most easily.
"""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent

from partstream_agents import as_model
from partstream_devtools.conformance.running import run

pytest.importorskip("openai")

CHECKS = ("truncated", "one-call", "cancel-in-arguments")


def make(upstream: str) -> Any:
    """An agent whose model is at the scripted server of the kit."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("text", provider=OpenAIProvider(base_url=upstream, api_key="none"))
    return as_model(Agent(model), name="Agent")


def test_an_agent_before_a_model_server_keeps_the_contract():
    report = asyncio.run(run(make, select=CHECKS, protocol="chat-completions"))
    assert report.exit_code == 0, report.broken
    assert len(report.checks) > 15
