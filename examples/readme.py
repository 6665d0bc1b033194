import asyncio
from partstream import ChatMessage, LanguageModels
from partstream.simple import chat_model

@chat_model(name="Parrot")
async def parrot(messages, options):
    yield f"You said: {messages[-1].content[0].value}"

async def main():
    async with LanguageModels() as models:
        models.register_language_model_chat_provider("example", parrot)
        (model,) = await models.select_chat_models()
        print(await (await model.send_request([ChatMessage.user("hello")])).read_text())

asyncio.run(main())
