import asyncio

from partstream import ChatMessage, DataPart, RequestOptions, TextPart, connect

PNG = b"\x89PNG\r\n\x1a\n"


async def main() -> None:
    messages = [
        ChatMessage.system("Answer briefly."),
        ChatMessage.user([TextPart("What is this?"), DataPart.image(PNG, "image/png")]),
    ]
    options = RequestOptions(model_configuration={"reasoningEffort": "low"})
    async with connect("http://localhost:1234/v1", model="image_echo") as model:
        print(await model.count_tokens("Answer briefly."))
        print(await model.ask(messages, options, temperature=0))


asyncio.run(main())
