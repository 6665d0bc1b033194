"""Reads with the models of Pydantic AI, as its agents do."""

from __future__ import annotations
from typing import Any

from lines import arguments_of, serve
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

MESSAGES = [ModelRequest(parts=[UserPromptPart(content="Hi")])]


def model_of(wire: str, url: str) -> Any:
    if wire == "gemini":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel("recorded", provider=GoogleProvider(api_key="none", base_url=url.removesuffix("/v1beta")))
    if wire == "anthropic-messages":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
        return AnthropicModel("recorded", provider=AnthropicProvider(anthropic_client=client))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if wire == "openresponses" else OpenAIChatModel
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    return kind("recorded", provider=OpenAIProvider(openai_client=client))


async def read(wire: str, url: str, told: Any) -> None:
    model = model_of(wire, url)
    async with model.request_stream(MESSAGES, None, ModelRequestParameters()) as stream:
        async for _ in stream:
            take(stream.get(), told)
        take(stream.get(), told)


def take(response: Any, told: Any) -> None:
    told.text = "".join(part.content for part in response.parts if part.part_kind == "text")
    told.thinking = "".join(part.content for part in response.parts if part.part_kind == "thinking")
    told.calls = [
        {"name": part.tool_name, "input": arguments_of(part.args or {})}
        for part in response.parts
        if part.part_kind == "tool-call"
    ]
    told.tokens = [response.usage.input_tokens, response.usage.output_tokens]


serve(read)
