"""Reads with the package google-genai, which has no helper that puts chunks together: part by part."""

from __future__ import annotations
from typing import Any

from google import genai
from google.genai import types
from lines import serve


async def read(wire: str, url: str, told: Any) -> None:
    del wire
    root, _, version = url.rpartition("/")
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=root, api_version=version))
    async for chunk in await client.aio.models.generate_content_stream(model="recorded", contents="Hi"):
        for part in chunk.parts or ():
            if part.thought:
                told.thinking += part.text or ""
            else:
                told.text += part.text or ""
            if part.function_call is not None:
                told.calls.append({"name": part.function_call.name, "input": part.function_call.args or {}})
        if (usage := chunk.usage_metadata) is not None:
            given = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
            told.tokens = [given, (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)]


serve(read)
