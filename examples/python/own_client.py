import asyncio

import httpx2

from partstream import Finish, TextPart, read_stream

BODY = {"model": "text", "input": "Hi", "stream": True}


async def main() -> None:
    async with (
        httpx2.AsyncClient() as client,
        client.stream("POST", "http://localhost:1234/v1/responses", json=BODY) as response,
    ):
        async for part in read_stream(response.aiter_bytes()):
            if isinstance(part, TextPart):
                print(part.value, end="")
            elif isinstance(part, Finish):
                print(f"\n{part.outcome}, {part.error or 'no error'}")


asyncio.run(main())
