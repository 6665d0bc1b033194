import asyncio
from partstream import chat_model, connect, user_request

@chat_model(name="Parrot")
async def parrot(messages, options):
    yield f"You said: {user_request(messages)}"

async def main():
    async with connect(parrot) as model:
        print(await model.ask("hello"))

asyncio.run(main())
