"""Asks with the package `openai`: `openai_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import json
import sys
from typing import Any

import openai
from lines import MOST_ROUNDS, SCHEMAS, Told, serve


def responses(client: openai.OpenAI, trial: dict[str, Any], told: Told) -> None:
    """Responses, with the helper `stream`."""
    items: list[Any] = [{"role": "user", "content": trial["says"]}]
    tools = [
        {"type": "function", "name": name, "description": f"The {name}.", "parameters": schema, "strict": True}
        for name, schema in SCHEMAS.items()
    ]
    for _ in range(MOST_ROUNDS):
        offered = {"tools": tools} if trial["asks"] == "tools" else {}
        with client.responses.stream(model=trial["model"], input=items, store=False, **offered) as stream:
            for event in stream:
                if event.type == "response.output_text.delta" and trial["asks"] == "leave":
                    return
            response = stream.get_final_response()
        if not _take(response, told):
            return
        items += response.output
        for call in response.output:
            if call.type == "function_call":
                said = told.run(call.name, json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": said})


def stored(client: openai.OpenAI, trial: dict[str, Any], told: Told) -> None:
    """Responses in one document, with `previous_response_id`."""
    tools = [
        {"type": "function", "name": name, "description": f"The {name}.", "parameters": schema, "strict": True}
        for name, schema in SCHEMAS.items()
    ]
    items: list[Any] = [{"role": "user", "content": trial["says"]}]
    before: dict[str, Any] = {}
    for _ in range(MOST_ROUNDS):
        offered = {"tools": tools} if trial["asks"] == "tools" else {}
        response = client.responses.create(model=trial["model"], input=items, **offered, **before)
        if not _take(response, told):
            return
        before = {"previous_response_id": response.id}
        items = [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": told.run(call.name, json.loads(call.arguments)),
            }
            for call in response.output
            if call.type == "function_call"
        ]


def _take(response: Any, told: Told) -> bool:
    """Takes what a response says; returns whether it calls tools."""
    told.text = response.output_text
    for item in response.output:
        if item.type == "reasoning":
            told.thinking += "".join(one.text for one in [*item.summary, *(item.content or [])])
    told.tokens = None if response.usage is None else [response.usage.input_tokens, response.usage.output_tokens]
    return any(item.type == "function_call" for item in response.output)


def chat(client: openai.OpenAI, trial: dict[str, Any], told: Told) -> None:
    """Chat Completions, with the helper `stream`."""
    messages: list[Any] = [{"role": "user", "content": trial["says"]}]
    for _ in range(MOST_ROUNDS):
        offered = {"tools": _chat_tools()} if trial["asks"] == "tools" else {}
        options = {"include_usage": True}
        with client.chat.completions.stream(
            model=trial["model"], messages=messages, stream_options=options, **offered
        ) as stream:
            for event in stream:
                if event.type == "chunk" and event.chunk.choices:
                    told.thinking += getattr(event.chunk.choices[0].delta, "reasoning_content", None) or ""
                if event.type == "content.delta" and trial["asks"] == "leave":
                    return
            completion = stream.get_final_completion()
        message = completion.choices[0].message
        told.text = message.content or ""
        told.tokens = (
            None if completion.usage is None else [completion.usage.prompt_tokens, completion.usage.completion_tokens]
        )
        if not message.tool_calls:
            return
        messages.append(message)
        for call in message.tool_calls:
            said = told.run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})


def _chat_tools() -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {"name": name, "description": f"The {name}.", "parameters": schema, "strict": True},
        }
        for name, schema in SCHEMAS.items()
    ]


WAYS = {"responses": responses, "stored": stored, "chat": chat}

if __name__ == "__main__":
    base_url, key, way = sys.argv[1:]
    with openai.OpenAI(base_url=base_url, api_key=key, timeout=20) as asking:
        serve(lambda trial, told: WAYS[way](asking, trial, told))
