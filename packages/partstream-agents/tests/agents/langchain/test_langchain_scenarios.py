"""LangChain's chat models and agents, and graphs of LangGraph, show what every framework's agents must show."""

from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from scenarios import Framework, Scenario, run_scenario, scenarios_for
from scripted_langchain import ScriptedAgents, ScriptedChatModels, ScriptedFactories, ScriptedThreads

KINDS: dict[str, Framework] = {
    "chat model": ScriptedChatModels(),
    "agent": ScriptedAgents(),
    "agent with a checkpointer": ScriptedThreads(),
    "graph": ScriptedFactories(),
    "graph with a checkpointer": ScriptedFactories(checkpointer=InMemorySaver()),
}


DEAR = {("graph with a checkpointer", "100 runs at once")}
"""What takes long and shows nothing that the other kinds do not show."""

ROWS = [
    (kind, scenario)
    for kind, framework in KINDS.items()
    for scenario in scenarios_for(framework)
    if (kind, str(scenario)) not in DEAR
]


@pytest.mark.parametrize(("kind", "scenario"), ROWS, ids=[f"{kind}: {scenario}" for kind, scenario in ROWS])
def test_scenario(kind: str, scenario: Scenario, tmp_path: Path):
    run_scenario(scenario, KINDS[kind], tmp_path)
