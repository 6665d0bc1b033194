import asyncio
from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, LanguageModelError, RequestOptions, chat_model, connect, user_request


@chat_model(name="Guarded")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    if user_request(messages) == "quota":
        raise LanguageModelError.blocked("No more answers today: the quota is used up.")
    yield "So far, so good. "
    raise KeyError("seed")


async def main() -> None:
    async with connect(provider) as model:
        for words in ("quota", "bug"):
            try:
                await model.ask(words)
            except LanguageModelError as error:
                print(f"{error.code}: {error}")


asyncio.run(main())
