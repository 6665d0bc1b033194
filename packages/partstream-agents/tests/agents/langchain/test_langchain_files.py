"""A file with nothing but a graph, an agent or a chat model of LangChain is a provider."""

import asyncio
from pathlib import Path

import pytest
from scenarios import Chat

from partstream.runtime.provider_files import SourceLoader

MODEL = """
from langchain_core.language_models import FakeListChatModel

model = FakeListChatModel(responses=["Hello"])
"""
GRAPH = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def speak(state):
    return {"messages": [AIMessage("Hello from a graph")]}


graph = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak").compile()
"""
ANSWERING = (
    GRAPH
    + """
from partstream_agents.langchain import AnsweringGraph

agent = AnsweringGraph(graph, answer_nodes=[], output=lambda state: "Hello from an answering graph")
"""
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (MODEL, "Hello"),
        (GRAPH, "Hello from a graph"),
        (MODEL + GRAPH, "Hello from a graph"),
        (ANSWERING, "Hello from an answering graph"),
    ],
    ids=["chat model", "graph", "graph beside its model", "agent beside its graph"],
)
def test_a_file_is_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, answer: str):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    file = tmp_path / "provider.py"
    file.write_text(text, encoding="utf-8")
    assert asyncio.run(Chat(SourceLoader(str(file)).load()).say("Hi")).text.strip() == answer
