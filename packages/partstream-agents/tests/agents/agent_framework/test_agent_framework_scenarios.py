"""Every scenario of agents, with agents of the Microsoft Agent Framework."""

from pathlib import Path

import pytest
from agent_framework_scripts import FRAMEWORK
from scenarios import Scenario, run_scenario, scenarios_for


@pytest.mark.parametrize("scenario", scenarios_for(FRAMEWORK), ids=str)
def test_an_agent_of_the_microsoft_agent_framework(scenario: Scenario, tmp_path: Path) -> None:
    run_scenario(scenario, FRAMEWORK, tmp_path)
