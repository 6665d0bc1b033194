"""Pydantic ai example: an agent of pydantic-ai in VS Code.

Ask it with `partstream chat --provider pydantic_ai_example.py`.
"""

from partstream_agents import as_model
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

# Answers without a network. For a real model, put its name in its place, such as "anthropic:claude-sonnet-4-5".
model = TestModel(call_tools=["count_words"], custom_output_text="I am ready for a real model.")

agent = Agent(model, instructions="Answer in one sentence.")


@agent.tool_plain
def count_words(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


# VS Code's own tools are at the agent's disposal too; host_tools= chooses among them.
provider = as_model(agent, name="Pydantic ai example", id="pydantic_ai_example")
