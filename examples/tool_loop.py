"""A tool loop that runs offline: a small provider asks for the weather of two cities and talks about the answers.

Run it with `python examples/tool_loop.py`. To ask a real model instead, register a `GatewayProvider`.
"""

import asyncio

from partstream import ChatMessage, LanguageModels, TextPart, Tool, ToolCallPart, ToolResultPart
from partstream.consumer import LoopFinished, PartReceived, ToolFunction, ToolResultReceived, stream_tool_loop
from partstream.provider import LanguageModelChatInformation, LanguageModelChatProvider

WEATHER_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DEGREES = {"Oslo": 4, "Rome": 19}


class WeatherParrot(LanguageModelChatProvider):
    """Calls `get_weather` for every city it knows, then repeats what it was told."""

    async def provide_language_model_chat_information(self, silent, token):
        """Offers one model."""
        return [LanguageModelChatInformation("parrot", "Weather parrot", "parrot", "1", 1000, 1000)]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        """Calls the tool, or speaks when the last message holds its results."""
        results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]
        if not results:
            progress.report(TextPart("Let me ask."))
            for number, city in enumerate(DEGREES):
                progress.report(ToolCallPart(f"call-{number}", "get_weather", {"city": city}))
        for result in results:
            progress.report(TextPart(f"I heard: {result.content[0].value}."))

    async def provide_token_count(self, model, text, token):
        """Takes four characters for a token."""
        return len(str(text)) // 4


async def get_weather(tool_input):
    """The tool: what it returns is what the model is told."""
    return f"{tool_input['city']} has {DEGREES[tool_input['city']]} degrees"


async def main() -> None:
    """Runs one conversation turn and prints what happens."""
    tools = [ToolFunction(Tool("get_weather", "Tells the weather of a city.", WEATHER_SCHEMA), get_weather)]
    async with LanguageModels() as models:
        models.register_language_model_chat_provider("example", WeatherParrot())
        (model,) = await models.select_chat_models()
        async for event in stream_tool_loop(model, [ChatMessage.user("Where is it warm?")], tools):
            match event:
                case PartReceived(TextPart(text)):
                    print("model:", text)
                case PartReceived(ToolCallPart(_, name, tool_input)):
                    print("calls:", name, tool_input)
                case ToolResultReceived(call, result):
                    print("tool: ", call.call_id, result.content[0].value)
                case LoopFinished(result):
                    print(f"{result.rounds} rounds, {len(result.messages)} messages")


if __name__ == "__main__":
    asyncio.run(main())
