"""Asks with the package `anthropic`: `anthropic_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import sys
from typing import Any

import anthropic
from anthropic import beta_tool
from lines import MOST_ROUNDS, SCHEMAS, Told, serve

THINKING = {"type": "adaptive"}


def stream(client: anthropic.Anthropic, trial: dict[str, Any], told: Told) -> None:
    """The helper `messages.stream`, with a loop of the program."""
    messages: list[Any] = [{"role": "user", "content": trial["says"]}]
    tools = [{"name": name, "description": f"The {name}.", "input_schema": schema} for name, schema in SCHEMAS.items()]
    for _ in range(MOST_ROUNDS):
        offered = {"tools": tools} if trial["asks"] == "tools" else {}
        with client.messages.stream(
            model=trial["model"], max_tokens=4096, messages=messages, thinking=THINKING, **offered
        ) as answer:
            for event in answer:
                if event.type == "text" and trial["asks"] == "leave":
                    return
            message = answer.get_final_message()
        _take(message, told)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return
        results = [_result(call, told) for call in calls]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]


def runner(client: anthropic.Anthropic, trial: dict[str, Any], told: Told) -> None:
    """`beta.messages.tool_runner`, which runs the loop itself."""
    tools = [beta_tool(told.weather), beta_tool(told.time)] if trial["asks"] == "tools" else []
    rounds = client.beta.messages.tool_runner(
        model=trial["model"],
        max_tokens=4096,
        messages=[{"role": "user", "content": trial["says"]}],
        thinking=THINKING,
        tools=tools,
        stream=True,
    )
    for answer in rounds:
        for event in answer:
            if event.type == "text" and trial["asks"] == "leave":
                answer.close()
                return
        _take(answer.get_final_message(), told)


def document(client: anthropic.Anthropic, trial: dict[str, Any], told: Told) -> None:
    """`messages.create` in one document."""
    messages: list[Any] = [{"role": "user", "content": trial["says"]}]
    tools = [{"name": name, "description": f"The {name}.", "input_schema": schema} for name, schema in SCHEMAS.items()]
    for _ in range(MOST_ROUNDS):
        offered = {"tools": tools} if trial["asks"] == "tools" else {}
        message = client.messages.create(
            model=trial["model"], max_tokens=4096, messages=messages, thinking=THINKING, **offered
        )
        _take(message, told)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return
        results = [_result(call, told) for call in calls]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]


def _result(call: Any, told: Told) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": told.run(call.name, dict(call.input))}


def _take(message: Any, told: Told) -> None:
    told.text = "".join(block.text for block in message.content if block.type == "text")
    told.thinking += "".join(block.thinking for block in message.content if block.type == "thinking")
    told.tokens = [message.usage.input_tokens, message.usage.output_tokens]


WAYS = {"stream": stream, "runner": runner, "document": document}

if __name__ == "__main__":
    base_url, key, way = sys.argv[1:]
    with anthropic.Anthropic(base_url=base_url, auth_token=key, timeout=20) as asking:
        serve(lambda trial, told: WAYS[way](asking, trial, told))
