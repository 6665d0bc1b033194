"""Langgraph example: a graph of LangGraph in VS Code.

Ask it with `partstream chat --provider langgraph_example.py`.
"""

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langgraph.graph import START, MessagesState, StateGraph
from partstream_agents import as_model

# Answers without a network. Take a real model in its place, such as ChatOpenAI(model="gpt-5").
model = FakeListChatModel(responses=["I am ready for a real model."])


async def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
    """Asks the model."""
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()

provider = as_model(graph, name="Langgraph example", id="langgraph_example")
