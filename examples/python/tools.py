import asyncio
from collections.abc import Mapping
from typing import Any

from partstream import ChatMessage, Tool, ToolFunction, connect, run_tool_loop

WEATHER = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


async def get_weather(arguments: Mapping[str, Any]) -> str:
    return f"{arguments['city']} has 19 degrees."


async def main() -> None:
    async with connect("http://localhost:1234/v1", model="tools") as model:
        question = ChatMessage.user("What is the weather in Lisbon?")
        result = await run_tool_loop(model, [question], [ToolFunction(WEATHER, get_weather)])
        print(result.text)
        print(f"{result.rounds} requests, {len(result.messages)} messages")


asyncio.run(main())
