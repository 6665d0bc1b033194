"""Sdk example: a language model for VS Code, around the client of an SDK.

Ask it with `partstream chat --provider sdk_example.py`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, text_of, user_request


class Client:
    """Plays the client of your SDK, and answers without a network: import yours instead."""

    async def stream(self, conversation: Sequence[Mapping[str, str]]) -> AsyncIterator[str]:
        """The pieces of the answer as they arrive."""
        yield "You said: "
        yield conversation[-1]["content"]


client = Client()


@chat_model(name="Sdk example", id="sdk_example")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    """Called once for each message: writes the conversation as the SDK takes it, and hands on what comes."""
    conversation = [{"role": message.role.name.lower(), "content": text_of(message)} for message in messages[:-1]]
    conversation.append({"role": "user", "content": user_request(messages)})
    async for piece in client.stream(conversation):
        yield piece
