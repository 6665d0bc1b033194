"""Wraps any callable, here a plain function, so that it can use the tools that VS Code offers.

The callable gets what the person asked, what tools said, and the names of the tools. It returns what to say, or which
tool to run with what input. VS Code runs the tool and asks again with the result: that loop is not ours to write.

Say `run NAME {"key": "value"}` to have a tool run.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

from partstream import (
    ChatMessage,
    RequestOptions,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    chat_model,
    user_request,
)


def agent(request: str, results: Sequence[str], tools: Sequence[str]) -> str | tuple[str, dict[str, Any]]:
    """Any callable: it knows nothing of VS Code, and may block (it runs in a thread)."""
    if results:
        return "The tool said: " + results[-1]
    command, _, arguments = request.partition(" ")
    name, _, document = arguments.partition(" ")
    if command == "run" and name in tools:
        return name, json.loads(document or "{}")
    return f"I have {len(tools)} tools. Say `run NAME {{...}}`."


@chat_model(name="Agent with tools", family="example-agent", tool_calling=True)
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str | ToolCallPart]:
    """Gives the callable what it needs and turns what it returns into parts."""
    results = [
        "".join(item.value for item in part.content if isinstance(item, TextPart))
        for part in messages[-1].content
        if isinstance(part, ToolResultPart)
    ]
    answer = await asyncio.to_thread(agent, user_request(messages), results, [tool.name for tool in options.tools])
    if isinstance(answer, str):
        yield answer
    else:
        name, tool_input = answer
        yield ToolCallPart(uuid4().hex, name, tool_input)
