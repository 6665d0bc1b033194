"""Callable example: a language model for VS Code, around a plain function.

Ask it with `partstream chat --provider callable_example.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, user_request


def answer(request: str) -> str:
    """Put any callable here: it knows nothing of VS Code, and it may block."""
    return f"You said: {request}"


@chat_model(name="Callable example", id="callable_example")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    """Called once for each message; the function runs in a thread, so that other answers go on meanwhile."""
    yield await asyncio.to_thread(answer, user_request(messages))
