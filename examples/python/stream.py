import asyncio

from partstream import DataPart, TextPart, ThinkingPart, ToolCallPart, connect


async def main() -> None:
    async with connect("http://localhost:1234/v1", model="thinking") as model:
        response = model.stream("What is six times seven?")
        async for part in response:
            match part:
                case TextPart(value):
                    print(value, end="")
                case ThinkingPart():
                    pass  # what the model thinks before it answers
                case ToolCallPart(call_id, name, arguments):
                    print(f"{call_id}: {name} {arguments}")
                case DataPart():
                    pass  # images, files, and the usage for VS Code
        print()
        if response.usage is not None and response.finish_reason is not None:
            print(response.usage.input_tokens, response.usage.output_tokens, response.finish_reason.unified)


asyncio.run(main())
