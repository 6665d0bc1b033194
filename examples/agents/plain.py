from collections.abc import AsyncIterator, Sequence

from openai import AsyncOpenAI
from openai.types.responses import EasyInputMessageParam

from partstream import ChatMessage, Finish, RequestOptions, chat_model, from_events, text_of
from partstream.lm.messages import Role
from partstream.lm.parts import ResponsePart

client = AsyncOpenAI()


@chat_model(name="Hand-written")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[ResponsePart | Finish]:
    said = [
        EasyInputMessageParam(role="assistant" if message.role is Role.ASSISTANT else "user", content=text_of(message))
        for message in messages
    ]
    events = await client.responses.create(model="gpt-5", input=[*said], stream=True)
    async for part in from_events(events):
        yield part
