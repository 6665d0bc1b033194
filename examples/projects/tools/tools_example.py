"""Tools example: a language model for VS Code that calls its tools.

Ask it with `partstream chat --provider tools_example.py`. Say `run NAME {"key": "value"}` to have a tool run.
"""

import json
from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

from partstream import ChatMessage, RequestOptions, TextPart, ToolCallPart, ToolResultPart, chat_model, user_request


@chat_model(name="Tools example", id="tools_example", tool_calling=True)
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str | ToolCallPart]:
    """Called once for each message, and again with the result of each tool: VS Code runs the tool in between."""
    results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]
    if results:
        yield "The tool said: "
        for part in results[-1].content:
            if isinstance(part, TextPart):
                yield part.value
        return
    names = [tool.name for tool in options.tools]
    command, _, call = user_request(messages).partition(" ")
    name, _, arguments = call.partition(" ")
    if command == "run" and name in names:
        yield ToolCallPart(uuid4().hex, name, json.loads(arguments or "{}"))
    else:
        yield f"I have {len(names)} tools. Say `run NAME {{...}}`."
