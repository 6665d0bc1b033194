"""The package openai as a provider."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

from chat_messages import messages_of, parts_of, tools_of
from openai import AsyncOpenAI

from partstream import LanguageModelChatProvider, chat_model

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from partstream import ChatMessage, Finish, RequestOptions, ResponsePart


def make(upstream: str) -> LanguageModelChatProvider:
    """The provider, which asks a base URL in Chat Completions."""
    client = AsyncOpenAI(base_url=upstream, api_key="none", max_retries=0)

    @chat_model(name="openai", tool_calling=True)
    async def provider(
        messages: Sequence[ChatMessage], options: RequestOptions
    ) -> AsyncIterator[ResponsePart | Finish]:
        more: dict[str, Any] = {"tools": tools_of(options.tools)} if options.tools else {}
        given: Any = messages_of(messages)
        asked: Any = client.chat.completions.create(
            model="scripted", messages=given, stream=True, stream_options={"include_usage": True}, **more
        )
        async for part in parts_of(asked):
            yield part

    return provider
