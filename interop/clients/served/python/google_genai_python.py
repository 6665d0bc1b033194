"""Asks with the package `google-genai`, whose automatic function calling runs the loop: `… BASE_URL KEY WAY`."""

from __future__ import annotations
import sys
from typing import Any

from google import genai
from google.genai import types
from lines import Told, serve


def stream(client: genai.Client, trial: dict[str, Any], told: Told) -> None:
    """`generate_content_stream`."""
    chunks = client.models.generate_content_stream(
        model=trial["model"], contents=trial["says"], config=_config(trial, told)
    )
    for chunk in chunks:
        _take(chunk, told)
        if told.text and trial["asks"] == "leave":
            chunks.close()
            return


def document(client: genai.Client, trial: dict[str, Any], told: Told) -> None:
    """`generate_content`."""
    _take(
        client.models.generate_content(model=trial["model"], contents=trial["says"], config=_config(trial, told)), told
    )


def _config(trial: dict[str, Any], told: Told) -> types.GenerateContentConfig:
    thinking = types.ThinkingConfig(include_thoughts=True)
    tools = [told.weather, told.time] if trial["asks"] == "tools" else None
    return types.GenerateContentConfig(thinking_config=thinking, tools=tools)


def _take(chunk: Any, told: Told) -> None:
    for candidate in chunk.candidates or []:
        for part in (candidate.content and candidate.content.parts) or []:
            if part.thought:
                told.thinking += part.text or ""
            else:
                told.text += part.text or ""
    if chunk.usage_metadata is not None:
        usage = chunk.usage_metadata
        made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        told.tokens = [usage.prompt_token_count or 0, made]


WAYS = {"stream": stream, "document": document}

if __name__ == "__main__":
    base_url, key, way = sys.argv[1:]
    root, _, version = base_url.rpartition("/")
    options = types.HttpOptions(base_url=root, api_version=version, timeout=20_000)
    asking = genai.Client(api_key=key, http_options=options)
    serve(lambda trial, told: WAYS[way](asking, trial, told))
