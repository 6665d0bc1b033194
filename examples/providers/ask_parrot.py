import asyncio

from parrot import provider

from partstream import connect


async def main() -> None:
    async with connect(provider) as model:
        print(await model.ask("Say hello to the world."))


asyncio.run(main())
