"""Reads with the package anthropic: the helper that puts a stream together."""

from __future__ import annotations
from typing import Any

from anthropic import AsyncAnthropic
from lines import serve


async def read(wire: str, url: str, told: Any) -> None:
    del wire
    async with (
        AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client,
        client.messages.stream(
            model="recorded", max_tokens=4096, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        final = await stream.get_final_message()
    for block in final.content:
        if block.type == "text":
            told.text += block.text
        elif block.type == "thinking":
            told.thinking += block.thinking
        elif block.type == "tool_use":
            told.calls.append({"name": block.name, "input": block.input})
    usage = final.usage
    cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    told.tokens = [usage.input_tokens + cached, usage.output_tokens]


serve(read)
