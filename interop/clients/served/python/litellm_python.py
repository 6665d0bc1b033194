"""Asks with the functions of the package `litellm`: `litellm_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it is read from GitHub otherwise, when the package is imported

import litellm
from lines import MOST_ROUNDS, SCHEMAS, Told, serve

litellm.telemetry = False
litellm.suppress_debug_info = True

FUNCTIONS = [
    {"type": "function", "function": {"name": name, "description": f"The {name}.", "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
Asked = dict[str, Any]


def completion(prefix: str, path: str = "", **options: Any) -> Callable[[Asked, Told, Asked], None]:
    """`completion(stream=True)` with the prefix that chooses a wire, and the end that its base URL wants."""

    def ask(trial: Asked, told: Told, server: Asked) -> None:
        messages: list[Any] = [{"role": "user", "content": trial["says"]}]
        where = {**server, "api_base": _base(server["api_base"], path)}
        for _ in range(MOST_ROUNDS):
            offered = {"tools": FUNCTIONS} if trial["asks"] == "tools" else {}
            stream = litellm.completion(
                model=f"{prefix}/{trial['model']}",
                messages=messages,
                stream=True,
                stream_options={"include_usage": True},
                **where,
                **offered,
                **options,
            )
            chunks = []
            for chunk in stream:
                chunks.append(chunk)
                if trial["asks"] == "leave" and chunk.choices and chunk.choices[0].delta.content:
                    asyncio.run(stream.aclose())
                    return
            whole = litellm.stream_chunk_builder(chunks, messages=messages)
            message = whole.choices[0].message
            told.text = message.content or ""
            told.thinking += getattr(message, "reasoning_content", None) or ""
            told.tokens = [whole.usage.prompt_tokens, whole.usage.completion_tokens]
            if not message.tool_calls:
                return
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                said = told.run(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": said})

    return ask


def _base(base_url: str, path: str) -> str:
    """The base URL as litellm wants it: with a further path, or without the last one where it is `..`."""
    return base_url.rpartition("/")[0] if path == ".." else base_url + path


def responses(trial: Asked, told: Told, server: Asked) -> None:
    """`responses(stream=True)`."""
    items: list[Any] = [{"role": "user", "content": trial["says"]}]
    tools = [{"type": "function", **one["function"], "strict": True} for one in FUNCTIONS]
    for _ in range(MOST_ROUNDS):
        offered = {"tools": tools} if trial["asks"] == "tools" else {}
        stream = litellm.responses(
            model=f"openai/{trial['model']}", input=items, stream=True, store=False, **server, **offered
        )
        response: Any = None
        for event in stream:
            if event.type == "response.output_text.delta" and trial["asks"] == "leave":
                stream.response.close()
                return
            response = getattr(event, "response", None) or response
            if event.type == "error":
                raise RuntimeError(event.error.message)
        items += (output := [_plain(item) for item in response.output])
        told.text = "".join(part["text"] for item in output for part in item.get("content") or () if "text" in part)
        told.thinking += "".join(part["text"] for item in output for part in item.get("summary") or ())
        usage = response.usage
        told.tokens = None if usage is None else [usage.input_tokens, usage.output_tokens]
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            return
        for call in calls:
            said = told.run(call["name"], json.loads(call["arguments"]))
            items.append({"type": "function_call_output", "call_id": call["call_id"], "output": said})


def _plain(item: Any) -> Asked:
    return item if isinstance(item, dict) else item.model_dump(exclude_none=True)


async def messages(trial: Asked, told: Told, server: Asked) -> None:
    """`anthropic_messages` in one document."""
    said: list[Any] = [{"role": "user", "content": trial["says"]}]
    tools = [{"name": name, "description": f"The {name}.", "input_schema": schema} for name, schema in SCHEMAS.items()]
    where = {**server, "api_base": _base(server["api_base"], "..")}
    for _ in range(MOST_ROUNDS):
        answer = await litellm.anthropic_messages(
            model=f"anthropic/{trial['model']}",
            messages=said,
            max_tokens=4096,
            **THINKING,
            **({"tools": tools} if trial["asks"] == "tools" else {}),
            **where,
        )
        content, usage = answer["content"], answer["usage"]
        told.text = "".join(block["text"] for block in content if block["type"] == "text")
        told.thinking += "".join(block["thinking"] for block in content if block["type"] == "thinking")
        told.tokens = [usage["input_tokens"], usage["output_tokens"]]
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": told.run(block["name"], block["input"])}
            for block in content
            if block["type"] == "tool_use"
        ]
        if not results:
            return
        said += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


WAYS: dict[str, Callable[[Asked, Told, Asked], Awaitable[None] | None]] = {
    "chat": completion("openai"),
    "anthropic": completion("anthropic", "..", **THINKING, allowed_openai_params=["thinking"]),
    "gemini": completion("gemini", **THINKING, allowed_openai_params=["thinking"]),
    "ollama": completion("ollama_chat", ".."),
    "responses": responses,
    "messages": messages,
}

if __name__ == "__main__":
    base_url, key, way = sys.argv[1:]
    serve(lambda trial, told: WAYS[way](trial, told, {"api_base": base_url, "api_key": key, "timeout": 20}))
