# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from partstream_agents import as_model
from partstream_agents.langchain import AnsweringGraph


class Order(TypedDict):
    wish: str
    order: str


def take_order(state: Order) -> dict[str, str]:
    size = interrupt("Small or large?")
    return {"order": f"One {size} {state['wish']}."}


graph = StateGraph(Order).add_node("take_order", take_order).add_edge(START, "take_order")

provider = as_model(
    AnsweringGraph(
        graph.compile(checkpointer=InMemorySaver()),
        input=lambda messages: {"wish": messages[-1].content},
        output=lambda state: state["order"],
    ),
    name="Tea house",
)
