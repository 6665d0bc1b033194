import asyncio
from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, connect


@chat_model(name="Endless")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    try:
        while True:
            yield "and on "
            await asyncio.sleep(0.01)
    finally:
        print("stopped: close connections here")


async def main() -> None:
    async with connect(provider) as model, model.stream("Go on.") as response:
        async for fragment in response.text:
            print(fragment)
            break


asyncio.run(main())
