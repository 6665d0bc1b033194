"""Openai agents example: an agent of the OpenAI Agents SDK in VS Code.

Ask it with `partstream chat --provider openai_agents_example.py`.
"""

from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from partstream_agents import as_model

set_tracing_disabled(True)  # else the SDK sends every run to OpenAI


@function_tool
def count_words(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


def build() -> Agent[None]:
    """Makes the agent of one request."""
    # Answers without a network. For a real model, put its name in its place, such as "gpt-5".
    model = ScriptedModel(
        [
            [function_call("count_words", {"text": "three words here"}, call_id="call-1")],
            [assistant_message("I am ready for a real model.")],
        ]
    )
    return Agent("Openai agents example", instructions="Answer in one sentence.", model=model, tools=[count_words])


# VS Code's own tools are at the agent's disposal too; host_tools= chooses among them.
provider = as_model(build, name="Openai agents example", id="openai_agents_example")
