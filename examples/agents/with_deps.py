from dataclasses import dataclass

from pydantic_ai import Agent, RunContext, UsageLimits

from partstream_agents import AgentPairing, as_model
from partstream_agents.pydantic_ai import PydanticAI


@dataclass
class Stock:
    """What the agent's tools need."""

    apples: int


seller = Agent("openai:gpt-5", deps_type=Stock)


@seller.tool
def apples_left(context: RunContext[Stock]) -> int:
    """How many apples are left."""
    return context.deps.apples


provider = as_model(
    AgentPairing(seller, PydanticAI(deps=Stock(apples=12), usage_limits=UsageLimits(request_limit=20))),
    name="Fruit seller",
)
