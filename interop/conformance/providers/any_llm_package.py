"""any-llm's package as a provider."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

from any_llm import acompletion
from chat_messages import messages_of, parts_of, tools_of

from partstream import LanguageModelChatProvider, chat_model

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from partstream import ChatMessage, Finish, RequestOptions, ResponsePart


def make(upstream: str, protocol: str = "chat-completions") -> LanguageModelChatProvider:
    """The provider, which asks a base URL in one of any-llm's wires."""
    wire = {"chat-completions": "openai", "anthropic-messages": "anthropic"}[protocol]

    @chat_model(name="any-llm", tool_calling=True)
    async def provider(
        messages: Sequence[ChatMessage], options: RequestOptions
    ) -> AsyncIterator[ResponsePart | Finish]:
        more: dict[str, Any] = {"tools": tools_of(options.tools)} if options.tools else {}
        asked: Any = acompletion(
            model="scripted",
            provider=wire,
            api_base=upstream.removesuffix("/v1") if protocol == "anthropic-messages" else upstream,
            api_key="none",
            messages=messages_of(messages),
            stream=True,
            stream_options={"include_usage": True},
            client_args={"max_retries": 0},
            **more,
        )
        async for part in parts_of(asked):
            yield part

    return provider
