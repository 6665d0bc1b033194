"""Models of frameworks, each as a provider by `as_model`: a factory for each, which receives the address."""

from __future__ import annotations
from typing import TYPE_CHECKING

from partstream_agents import as_model

if TYPE_CHECKING:
    from partstream import LanguageModelChatProvider


def pydantic_ai(upstream: str, protocol: str = "chat-completions") -> LanguageModelChatProvider:
    """An agent of Pydantic AI."""
    from pydantic_ai import Agent

    if protocol == "anthropic-messages":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        claude = AsyncAnthropic(base_url=upstream.removesuffix("/v1"), api_key="none", max_retries=0)
        return as_model(
            Agent(AnthropicModel("scripted", provider=AnthropicProvider(anthropic_client=claude))), name="Pydantic AI"
        )
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=upstream, api_key="none", max_retries=0)
    kind = OpenAIResponsesModel if protocol == "openresponses" else OpenAIChatModel
    return as_model(Agent(kind("scripted", provider=OpenAIProvider(openai_client=client))), name="Pydantic AI")


def langchain(upstream: str, protocol: str = "chat-completions") -> LanguageModelChatProvider:
    """A chat model of LangChain."""
    if protocol == "anthropic-messages":
        from langchain_anthropic import ChatAnthropic

        return as_model(
            ChatAnthropic(
                model_name="scripted",
                base_url=upstream.removesuffix("/v1"),
                api_key="none",
                max_retries=0,
                timeout=None,
                stop=None,
            ),
            name="LangChain",
        )
    from langchain_openai import ChatOpenAI

    return as_model(
        ChatOpenAI(
            model="scripted",
            base_url=upstream,
            api_key="none",
            max_retries=0,
            use_responses_api=protocol == "openresponses",
            stream_usage=True,
        ),
        name="LangChain",
    )


def openai_agents(upstream: str, protocol: str = "openresponses") -> LanguageModelChatProvider:
    """An agent of the OpenAI Agents SDK."""
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=upstream, api_key="none", max_retries=0)
    kind = OpenAIResponsesModel if protocol == "openresponses" else OpenAIChatCompletionsModel
    return as_model(Agent(name="Agent", model=kind("scripted", client)), name="OpenAI Agents SDK")
