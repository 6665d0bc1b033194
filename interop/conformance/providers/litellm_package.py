"""LiteLLM's package as a provider."""

from __future__ import annotations
import os
from typing import TYPE_CHECKING, Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from chat_messages import messages_of, parts_of, tools_of

from partstream import LanguageModelChatProvider, chat_model

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from partstream import ChatMessage, Finish, RequestOptions, ResponsePart

litellm.suppress_debug_info = True


def make(upstream: str, protocol: str = "chat-completions") -> LanguageModelChatProvider:
    """The provider, which asks a base URL in one of LiteLLM's wires."""
    prefix = {"chat-completions": "openai", "anthropic-messages": "anthropic", "openresponses": "openai/responses"}

    @chat_model(name="LiteLLM", tool_calling=True)
    async def provider(
        messages: Sequence[ChatMessage], options: RequestOptions
    ) -> AsyncIterator[ResponsePart | Finish]:
        more: dict[str, Any] = {"tools": tools_of(options.tools)} if options.tools else {}
        asked: Any = litellm.acompletion(
            model=f"{prefix[protocol]}/scripted",
            api_base=upstream.removesuffix("/v1") if protocol == "anthropic-messages" else upstream,
            api_key="none",
            messages=messages_of(messages),
            stream=True,
            stream_options={"include_usage": True},
            max_retries=0,
            num_retries=0,
            **more,
        )
        async for part in parts_of(asked):
            yield part

    return provider
