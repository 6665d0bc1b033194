"""The same words behind LiteLLM's proxy, as one of its custom handlers; runs in the proxy's own environment."""

from __future__ import annotations
import asyncio
import time
from typing import TYPE_CHECKING, Any

from litellm import CustomLLM

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WORDS = [f"word{number:02} " for number in range(64)]


class Words(CustomLLM):
    """Says as many words as the last message asks for."""

    async def astreaming(self, *_: Any, messages: list[dict[str, Any]], **__: Any) -> AsyncIterator[Any]:
        """One answer, word by word."""
        count = int(messages[-1]["content"])
        yield _chunk(f"t={time.monotonic_ns()};")
        for number in range(count - 1):
            yield _chunk(WORDS[number % 64])
            await asyncio.sleep(0)
        yield _chunk("", "stop")


def _chunk(text: str, reason: str | None = None) -> dict[str, Any]:
    """A `GenericStreamingChunk`, the form that LiteLLM documents for custom handlers."""
    return {
        "text": text,
        "is_finished": reason is not None,
        "finish_reason": reason or "",
        "index": 0,
        "tool_use": None,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2} if reason else None,
    }


model = Words()
