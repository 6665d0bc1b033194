from collections.abc import AsyncIterator, Sequence
from os import environ

from partstream import ChatMessage, Finish, RequestOptions, ResponsePart, chat_model, connect


@chat_model(name="Forwarded")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[ResponsePart | Finish]:
    async with connect(environ["MODEL_SERVER"]) as model:
        response = model.stream(messages, options)
        async for part in response:
            yield part
        if response.finish is not None:
            yield response.finish
