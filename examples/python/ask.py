import asyncio

from partstream import connect


async def main() -> None:
    async with connect("http://localhost:1234/v1") as model:
        print(model.id, model.max_input_tokens)
        print(await model.ask("Hi"))


asyncio.run(main())
