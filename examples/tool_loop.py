"""A tool loop that runs offline: a small provider asks for the weather of two cities and talks about the answers.

Run it with `python examples/tool_loop.py`. To ask a real model instead, write `connect("http://localhost:1234/v1")`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from partstream import (
    ChatMessage,
    LoopFinished,
    PartReceived,
    RequestOptions,
    TextPart,
    Tool,
    ToolCallPart,
    ToolFunction,
    ToolResultPart,
    ToolResultReceived,
    chat_model,
    connect,
    stream_tool_loop,
)

WEATHER_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DEGREES = {"Oslo": 4, "Rome": 19}


@chat_model(name="Weather parrot")
async def parrot(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str | ToolCallPart]:
    """Calls `get_weather` for every city it knows, then repeats the results."""
    results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]
    if not results:
        yield "Let me ask."
        for number, city in enumerate(DEGREES):
            yield ToolCallPart(f"call-{number}", "get_weather", {"city": city})
    for result in results:
        yield f"I heard: {text_of_result(result)}."


async def get_weather(tool_input: Mapping[str, Any]) -> str:
    """The tool: the model receives what it returns."""
    return f"{tool_input['city']} has {DEGREES[tool_input['city']]} degrees"


def text_of_result(result: ToolResultPart) -> str:
    """The text of a tool's result, without images and other data."""
    return "".join(part.value for part in result.content if isinstance(part, TextPart))


async def main() -> None:
    """Runs one conversation turn and prints what happens."""
    tools = [ToolFunction(Tool("get_weather", "Tells the weather of a city.", WEATHER_SCHEMA), get_weather)]
    async with connect(parrot) as model:
        async for event in stream_tool_loop(model, [ChatMessage.user("Where is it warm?")], tools):
            match event:
                case PartReceived(TextPart(text)):
                    print("model:", text)
                case PartReceived(ToolCallPart(_, name, tool_input)):
                    print("calls:", name, tool_input)
                case ToolResultReceived(call, result):
                    print("tool: ", call.call_id, text_of_result(result))
                case LoopFinished(finished):
                    print(f"{finished.rounds} rounds, {len(finished.messages)} messages")
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main())
