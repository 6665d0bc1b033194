"""A model in VS Code's picker, answered by a plain async generator.

Put the path of this file into the setting `partstream.providers`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, user_request


@chat_model(name="Echo", family="echo")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    """Says what it heard, one word at a time."""
    for word in user_request(messages).split():
        yield word + " "
        await asyncio.sleep(0.02)
