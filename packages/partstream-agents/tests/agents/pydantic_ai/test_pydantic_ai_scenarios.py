"""An agent of pydantic-ai shows what every framework's agents must show."""

from pathlib import Path

import pytest
from scenarios import Scenario, run_scenario, scenarios_for
from scripted_pydantic_ai import ScriptedPydanticAI

MINE = ScriptedPydanticAI()


@pytest.mark.parametrize("scenario", scenarios_for(MINE), ids=str)
def test_scenario(scenario: Scenario, tmp_path: Path):
    run_scenario(scenario, MINE, tmp_path)
