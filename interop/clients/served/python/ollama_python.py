"""Asks with the package `ollama`: `ollama_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import sys
from typing import Any

import ollama
from lines import MOST_ROUNDS, Told, serve


def chat(client: ollama.Client, trial: dict[str, Any], told: Told) -> None:
    """`chat(stream=True)`, with a loop of the program."""
    messages: list[Any] = [{"role": "user", "content": trial["says"]}]
    tools = [told.weather, told.time] if trial["asks"] == "tools" else None
    for _ in range(MOST_ROUNDS):
        told.text = ""
        calls: list[Any] = []
        stream = client.chat(model=trial["model"], messages=messages, tools=tools, stream=True)
        for chunk in stream:
            told.text += chunk.message.content or ""
            told.thinking += chunk.message.thinking or ""
            calls += chunk.message.tool_calls or []
            messages.append(chunk.message)
            if chunk.done:
                told.tokens = [chunk.prompt_eval_count or 0, chunk.eval_count or 0]
            if told.text and trial["asks"] == "leave":
                stream.close()
                return
        if not calls:
            return
        messages += [
            {
                "role": "tool",
                "tool_name": call.function.name,
                "content": told.run(call.function.name, dict(call.function.arguments)),
            }
            for call in calls
        ]


WAYS = {"chat": chat}

if __name__ == "__main__":
    base_url, key, way = sys.argv[1:]
    headers = {"authorization": f"Bearer {key}"}
    asking = ollama.Client(host=base_url.removesuffix("/api"), headers=headers, timeout=20)
    serve(lambda trial, told: WAYS[way](asking, trial, told))
