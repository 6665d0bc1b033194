"""Stops a run before any model reads a placeholder, wherever in a graph that model is.

Middleware stops only the agents that have it. Imports LangChain, which the person's own file has imported before.
"""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler

from partstream.agents.langchain.placeholders import HostCallsPending, has_placeholder

__all__ = ["PlaceholderGuard"]


class PlaceholderGuard(AsyncCallbackHandler):
    """Is called before every request to a model, also of nodes, tools and agents below.

    Its methods are coroutines, which LangChain awaits together with those of other handlers: one that raises leaves
    none of them behind.
    """

    raise_error = True

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        """Refuses a request to a chat model that holds a placeholder.

        Raises:
            HostCallsPending: It holds one.
        """
        del serialized, kwargs
        if any(has_placeholder(batch) for batch in messages):
            raise HostCallsPending

    async def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
        """As :meth:`on_chat_model_start`, for a model that takes texts.

        Raises:
            HostCallsPending: A text holds a placeholder.
        """
        del serialized, kwargs
        if has_placeholder(prompts):
            raise HostCallsPending
