from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class Parrot(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """A chat client that needs no server; those of the framework, such as OpenAIChatClient, are used alike."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        async def updates() -> AsyncIterable[ChatResponseUpdate]:
            yield ChatResponseUpdate(contents=[Content.from_text(f"You said: {messages[-1].text}")], role="assistant")

        return self._build_response_stream(updates())


agent = Agent(Parrot(), name="Parrot", instructions="Repeat what is said.")
