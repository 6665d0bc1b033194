from agents import Agent, RunConfig, function_tool

from partstream_agents import AgentPairing, as_model
from partstream_agents.openai_agents import OpenAIAgents


@function_tool
def find_invoice(number: int) -> str:
    """Finds an invoice."""
    return f"Invoice {number}: 40 euros, not paid."


billing: Agent[None] = Agent("Billing", model="gpt-5", tools=[find_invoice])
front_desk: Agent[None] = Agent("Front desk", model="gpt-5", handoffs=[billing])

provider = as_model(
    AgentPairing(front_desk, OpenAIAgents(max_turns=30, run_config=RunConfig(tracing_disabled=True))),
    name="Front desk",
)
