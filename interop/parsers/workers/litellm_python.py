"""Reads with LiteLLM's package: its chunks, and the helper that puts them together."""

from __future__ import annotations
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from lines import arguments_of, serve

litellm.suppress_debug_info = True

MODELS = {
    "chat-completions": "openai/recorded",
    "anthropic-messages": "anthropic/recorded",
    "gemini": "gemini/recorded",
    "ollama": "ollama_chat/recorded",
}


async def read(wire: str, url: str, told: Any) -> None:
    chunks = []
    base = f"{url}/models/recorded" if wire == "gemini" else url
    try:
        async for chunk in await litellm.acompletion(
            model=MODELS[wire],
            api_base=base,
            api_key="none",
            messages=[{"role": "user", "content": "Hi"}],
            stream=True,
            stream_options={"include_usage": True},
            max_retries=0,
            num_retries=0,
        ):
            chunks.append(chunk)
    finally:
        whole = litellm.stream_chunk_builder(chunks) if chunks else None
        if whole is not None:
            take(whole, told)


def take(whole: Any, told: Any) -> None:
    message = whole.choices[0].message
    told.text = message.content or ""
    told.thinking = getattr(message, "reasoning_content", None) or ""
    told.calls = [
        {"name": call.function.name, "input": arguments_of(call.function.arguments)}
        for call in message.tool_calls or ()
    ]
    usage = getattr(whole, "usage", None)
    if usage is not None:
        told.tokens = [usage.prompt_tokens, usage.completion_tokens]


serve(read)
