from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, user_request


@chat_model(name="Parrot")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    for word in user_request(messages).split():
        yield word + " "
