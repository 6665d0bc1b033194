import asyncio

from seeing_images import provider

from partstream import ChatMessage, DataPart, TextPart, connect

PNG = b"\x89PNG\r\n\x1a\n"


async def main() -> None:
    message = ChatMessage.user([TextPart("What is this?"), DataPart.image(PNG, "image/png")])
    async with connect(provider) as model:
        async for part in model.stream([message]):
            print(part)


asyncio.run(main())
