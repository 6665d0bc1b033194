"""Every scenario of agents, with agents of the OpenAI Agents SDK."""

from pathlib import Path

import pytest
from openai_agents_scripts import FRAMEWORK
from scenarios import Scenario, run_scenario, scenarios_for


@pytest.mark.parametrize("scenario", scenarios_for(FRAMEWORK), ids=str)
def test_an_agent_of_the_openai_agents_sdk(scenario: Scenario, tmp_path: Path) -> None:
    run_scenario(scenario, FRAMEWORK, tmp_path)
