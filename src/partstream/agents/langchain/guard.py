"""Stops a run where LangChain would go on: before a model reads a placeholder, and after a cancellation.

Imports LangChain, which the person's own file has imported before.
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler

from partstream.agents.langchain.placeholders import HostCallsPending, has_placeholder

__all__ = ["RunGuard", "stop_if_cancelled"]


def stop_if_cancelled(task: asyncio.Task[Any] | None) -> None:
    """Cancels once more where a cancellation was lost.

    `asyncio.wait_for`, which langchain-openai puts around each chunk, loses one that comes together with a chunk
    (Python 3.11, cpython issue 86296).

    Raises:
        asyncio.CancelledError: Somebody has cancelled the task.
    """
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class RunGuard(AsyncCallbackHandler):
    """Is called before every request to a model and at every chunk of its answer, also those of nodes, tools and agents
    below.

    Its methods are coroutines, which LangChain awaits together with those of other handlers: one that raises leaves
    none of them behind.

    Args:
        task: The task that runs the graph.
    """

    raise_error = True

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        self._task = task
        self._is_closed = False

    def close(self) -> None:
        """Notes that nobody reads the run any more."""
        self._is_closed = True

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

    async def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        """Ends the stream of a model that has lost the cancellation of its run.

        Raises:
            asyncio.CancelledError: The run was cancelled, or nobody reads it.
        """
        del token, kwargs
        stop_if_cancelled(self._task)
        if self._is_closed:
            raise asyncio.CancelledError
