"""Agent framework example: an agent of the Microsoft Agent Framework in VS Code.

Ask it with `partstream chat --provider agent_framework_example.py`.
"""

from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
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
from partstream_agents import as_model


class OfflineClient(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Answers without a network. Take a real client in its place, such as OpenAIChatClient()."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        async def updates() -> AsyncIterable[ChatResponseUpdate]:
            for text in ("I am ready ", "for a real model."):
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(text)])

        answer: ResponseStream[ChatResponseUpdate, ChatResponse[Any]] = ResponseStream(
            updates(), finalizer=ChatResponse.from_updates
        )
        return answer if stream else answer.get_final_response()


agent = Agent(OfflineClient(), instructions="Answer in one sentence.", name="Agent framework example")

# VS Code's own tools are at the agent's disposal too; host_tools= chooses among them.
provider = as_model(agent, name="Agent framework example", id="agent_framework_example")
