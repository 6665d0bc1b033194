"""Langchain example: a chat model of LangChain in VS Code.

Ask it with `partstream chat --provider langchain_example.py`.
"""

from langchain_core.language_models import FakeListChatModel
from partstream_agents import as_model

# Answers without a network. Take a real model in its place, such as ChatOpenAI(model="gpt-5").
model = FakeListChatModel(responses=["I am ready for a real model."])

# A real model calls VS Code's tools: leave host_tools out then.
provider = as_model(model, name="Langchain example", id="langchain_example", host_tools=False)
