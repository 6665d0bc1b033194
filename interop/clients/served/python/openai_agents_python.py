"""Asks with the OpenAI Agents SDK, whose runner runs the loop: `openai_agents_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import sys
from typing import Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from lines import MOST_ROUNDS, Told, serve
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

MODELS = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}


async def ask(way: str, base_url: str, key: str, trial: dict[str, Any], told: Told) -> None:
    """Streams a run of an agent."""
    reasoning = Reasoning(effort="low", summary="auto") if way == "responses" else None
    async with AsyncOpenAI(base_url=base_url, api_key=key, timeout=20) as client:
        tools: list[Any] = [function_tool(told.weather), function_tool(told.time)] if trial["asks"] == "tools" else []
        agent = Agent(
            name="client",
            model=MODELS[way](trial["model"], client),
            tools=tools,
            model_settings=ModelSettings(reasoning=reasoning, include_usage=True),
        )
        run = Runner.run_streamed(agent, trial["says"], max_turns=MOST_ROUNDS)
        async for event in run.stream_events():
            is_text = event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
            if is_text and trial["asks"] == "leave":
                run.cancel()
                return
        told.text = str(run.final_output)
        for item in run.new_items:
            if item.type == "reasoning_item":
                raw = item.raw_item
                told.thinking += "".join(one.text for one in [*raw.summary, *(raw.content or [])])
        usage = run.raw_responses[-1].usage
        told.tokens = [usage.input_tokens, usage.output_tokens]


if __name__ == "__main__":
    set_tracing_disabled(disabled=True)
    url, given, chosen = sys.argv[1:]
    serve(lambda trial, told: ask(chosen, url, given, trial, told))
