"""The core of agents as models, proven with the agents of a framework that does not exist."""

import pytest
from made_up import MadeUp
from scenarios import run_scenario, scenarios_for


@pytest.mark.parametrize("scenario", scenarios_for(MadeUp()), ids=str)
def test_a_made_up_agent_is_a_model(scenario, tmp_path):
    run_scenario(scenario, MadeUp(), tmp_path)
