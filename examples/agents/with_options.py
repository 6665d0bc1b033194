from pydantic_ai import Agent

from partstream_agents import as_model


def word_count(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


counter = Agent("openai:gpt-5", tools=[word_count])

provider = as_model(
    counter,
    name="Word counter",
    host_tools=["read_file", "insert_edit_into_file"],
    tools="thinking",
    approve="ask",
    max_input_tokens=272_000,
)
