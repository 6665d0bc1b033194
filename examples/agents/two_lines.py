from pydantic_ai import Agent

agent = Agent("openai:gpt-5", name="My agent")
