"""The core of agents as models, proven with the agents of a framework that does not exist."""

from pathlib import Path

import pytest
from made_up import MadeUp
from scenarios import ModelScript, run_scenario, scenarios_for

from partstream import InvalidArgumentError
from partstream_agents import as_model
from rows import one_test_for


@pytest.mark.parametrize("scenario", scenarios_for(MadeUp()), ids=str)
def test_a_made_up_agent_is_a_model(scenario, tmp_path):
    run_scenario(scenario, MadeUp(), tmp_path)


@one_test_for(
    ("keywords", "said"),
    [
        ({"nmae": "A"}, "as_model: unknown keyword 'nmae'; did you mean 'name'?"),
        ({"host_tool": False}, "as_model: unknown keyword 'host_tool'; did you mean 'host_tools'?"),
        ({"max_input_tokens": "x"}, "as_model.max_input_tokens: got 'x' (str), expected a whole number above 0"),
        ({"isUserSelectable": 1}, "as_model.isUserSelectable: got 1 (int), expected True or False"),
        ({"extra": {"a": {1}}}, "as_model.extra['a']: got a set, expected a JSON value"),
    ],
)
def test_a_wrong_keyword_is_refused_with_what_is_meant(keywords, said):
    with pytest.raises(InvalidArgumentError) as refused:
        as_model(MadeUp().agent(ModelScript()), **keywords)
    assert str(refused.value).startswith(said)


def test_no_folder_of_tests_stands_in_the_way_of_the_framework_that_it_is_called_like():
    assert not list(Path(__file__).parent.rglob("__init__.py"))
