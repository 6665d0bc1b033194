"""Asks with pydantic-ai, whose agent runs the loop: `pydantic_ai_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import sys
from collections.abc import Callable
from typing import Any

from lines import Told, serve
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider


async def ask(way: str, base_url: str, key: str, trial: dict[str, Any], told: Told) -> None:
    """Streams a run of an agent."""
    model, settings = MODELS[way](base_url, key, trial["model"])
    tools = [told.weather, told.time] if trial["asks"] == "tools" else []
    agent = Agent(model, tools=tools, model_settings=settings)
    async with agent.iter(trial["says"]) as run:
        async for node in run:
            if not Agent.is_model_request_node(node):
                continue
            async with node.stream(run.ctx) as events:
                async for event in events:
                    if _has_text(event) and trial["asks"] == "leave":
                        return
    assert run.result is not None
    told.text = run.result.output
    answers = [one for one in run.result.all_messages() if isinstance(one, ModelResponse)]
    parts = [part for one in answers for part in one.parts]
    told.thinking = "".join(part.content for part in parts if isinstance(part, ThinkingPart))
    told.tokens = [answers[-1].usage.input_tokens, answers[-1].usage.output_tokens]


def _has_text(event: Any) -> bool:
    if isinstance(event, PartStartEvent):
        return isinstance(event.part, TextPart)
    return isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta)


def _chat(base_url: str, key: str, model: str) -> tuple[Any, Any]:
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=key)), None


def _responses(base_url: str, key: str, model: str) -> tuple[Any, Any]:
    settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")
    return OpenAIResponsesModel(model, provider=OpenAIProvider(base_url=base_url, api_key=key)), settings


def _messages(base_url: str, key: str, model: str) -> tuple[Any, Any]:
    provider = AnthropicProvider(base_url=base_url.removesuffix("/v1"), api_key=key)
    return AnthropicModel(model, provider=provider), AnthropicModelSettings(anthropic_thinking={"type": "adaptive"})


def _gemini(base_url: str, key: str, model: str) -> tuple[Any, Any]:
    provider = GoogleProvider(base_url=base_url.rpartition("/")[0], api_key=key)
    return GoogleModel(model, provider=provider), GoogleModelSettings(google_thinking_config={"include_thoughts": True})


MODELS: dict[str, Callable[[str, str, str], tuple[Any, Any]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "gemini": _gemini,
}

if __name__ == "__main__":
    url, given, chosen = sys.argv[1:]
    serve(lambda trial, told: ask(chosen, url, given, trial, told))
