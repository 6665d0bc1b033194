import asyncio

from partstream import CancellationTokenSource, connect


async def main() -> None:
    source = CancellationTokenSource()
    async with connect("http://localhost:1234/v1", model="long") as model:
        response = model.stream("Tell me a long story.", token=source.token)
        async for _ in response.text:
            source.cancel()
        print("cancelled:", response.is_cancelled)


asyncio.run(main())
