"""Reads with any-llm: chunks of Chat Completions, put together as its documentation does."""

from __future__ import annotations
from typing import Any

from any_llm import acompletion
from lines import arguments_of, serve

PROVIDERS = {"chat-completions": "openai", "anthropic-messages": "anthropic"}


async def read(wire: str, url: str, told: Any) -> None:
    calls: dict[int, dict[str, str]] = {}
    stream: Any = await acompletion(
        model="recorded",
        provider=PROVIDERS[wire],
        api_base=url,
        api_key="none",
        messages=[{"role": "user", "content": "Hi"}],
        stream=True,
    )
    try:
        async for chunk in stream:
            if getattr(chunk, "usage", None) is not None:
                told.tokens = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens]
            for choice in chunk.choices:
                delta = choice.delta
                told.text += delta.content or ""
                reasoning = getattr(delta, "reasoning", None)
                told.thinking += getattr(reasoning, "content", None) or ""
                for one in delta.tool_calls or ():
                    call = calls.setdefault(one.index, {"name": "", "arguments": ""})
                    call["name"] += (one.function and one.function.name) or ""
                    call["arguments"] += (one.function and one.function.arguments) or ""
    finally:
        told.calls = [{"name": one["name"], "input": arguments_of(one["arguments"])} for one in calls.values()]


serve(read)
